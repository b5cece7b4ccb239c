// Files of their owner alone, in a directory of their owner alone: written whole or not at all, and refused where somebody else
// could have put them there.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { isForeign, OTHERS } from '../base/system.ts';
import { ParleyError } from '../errors.ts';

const MAX_FILE_BYTES = 262_144;

/**
 * Makes the directory, or checks the one that is there: its owner's, and nobody else's.
 * @throws ParleyError `config-invalid`
 */
export async function ownDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const found = await lstat(directory);
  if (!found.isDirectory() || isForeign(found, OTHERS.any)) {
    throw new ParleyError(
      'config-invalid',
      `${directory} holds credentials, but is not a directory of yours alone (mode 700). Correct that.`,
    );
  }
}

/** The text of a file that is its owner's alone; undefined when there is none. @throws ParleyError `config-invalid` for any other */
export async function readOwn(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw foreign(path, error);
  }
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_FILE_BYTES || isForeign(found, OTHERS.any)) throw foreign(path);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Writes beside the file and puts it in its place, so that there is the old one or the new one at any time. */
export async function writeWhole(directory: string, path: string, text: string): Promise<void> {
  const beside = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  const file = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await rename(beside, path);
  } catch (error) {
    await file.close().catch(() => {});
    await unlink(beside).catch(ignoreMissing);
    throw error;
  }
  // So that the name outlives a crash too; some systems do not let a directory be opened.
  const folder = await open(directory, constants.O_RDONLY).catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function foreign(path: string, cause?: unknown): ParleyError {
  const message = `${path} is not a credential file of yours alone (mode 600, no link). Nothing in it was used; remove it and sign in again.`;
  return new ParleyError('config-invalid', message, { cause });
}

/** Removes a file, if there is one. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
