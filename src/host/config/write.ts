// Replaces a file in one step: readers see the old text or the new one, also after a crash. Never writes into the file itself.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface WriteOptions {
  /** `private`: only its owner may read it, whatever its mode was. `shared`: keeps its mode; a new file gets the usual one. */
  readonly access: 'private' | 'shared';
  /** The step that makes the new text the file. Default: the file system's rename. */
  readonly rename?: (from: string, to: string) => void;
}

/**
 * Writes `text` beside the file, forces it to the disk and renames it over the file. A link stays a link: what it points to is
 * replaced. Directories are made as needed. Whatever fails is thrown as the file system says it, and leaves no trace.
 */
export function writeWhole(file: string, text: string, { access, rename = renameSync }: WriteOptions): void {
  mkdirSync(dirname(file), { recursive: true, ...(access === 'private' && { mode: 0o700 }) });
  const target = existsSync(file) ? realpathSync(file) : file;
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  const mode = access === 'private' ? 0o600 : existsSync(target) ? statSync(target).mode & 0o777 : undefined;
  try {
    // `wx` follows no link that somebody put there first.
    const descriptor = openSync(temporary, 'wx', access === 'private' ? 0o600 : 0o666);
    try {
      for (let bytes = Buffer.from(text); bytes.length > 0;) bytes = bytes.subarray(writeSync(descriptor, bytes));
      if (mode !== undefined) chmodSync(temporary, mode);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    rename(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(target));
}

/** Makes the rename itself durable. The text is safe without it, and some systems do not offer it. */
function syncDirectory(directory: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(directory, 'r');
    fsyncSync(descriptor);
  } catch {
    // The new file is in its place already.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
