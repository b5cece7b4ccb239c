// Credentials in files of their owner alone: each written whole or not at all, bound to its name, and encrypted when there is a
// key. What somebody else could have put there is refused.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ParleyError } from '../errors.ts';
import { digest, systemClock, type Clock } from '../base/index.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { withFileLock } from './file-lock.ts';
import { createTurns, storeKey, type AuthStore, type StoreName } from './store.ts';

export interface FileStoreOptions {
  /** A directory for this alone; it is made when it is not there. */
  readonly directory: string;
  /** 32 bytes from a safer place than a file, to encrypt with (AES-256-GCM). Default: files are readable to their owner. */
  readonly key?: Uint8Array;
  /** Milliseconds to wait for another process that renews the same tokens. Default 10,000. */
  readonly lockWaitMs?: number;
  readonly clock?: Clock;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const MAX_FILE_BYTES = 262_144;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const OWNER_ONLY = 0o077;

/**
 * Returns a store of files in one directory.
 * @throws ParleyError `config-invalid` when the key has the wrong length
 */
export function createFileStore(options: FileStoreOptions): AuthStore {
  const { directory, key, lockWaitMs = 10_000, clock = systemClock, now = Date.now } = options;
  if (key !== undefined && key.length !== 32)
    throw new ParleyError('config-invalid', 'The key of a credential store has 32 bytes.');
  const turns = createTurns();
  const pathOf = (name: StoreName) => join(directory, digest(storeKey(name)));
  let ready: Promise<void> | undefined;
  const prepare = () =>
    (ready ??= ownDirectory(directory).catch((error: unknown) => {
      ready = undefined;
      throw error;
    }));

  return {
    async get(name) {
      await prepare();
      const text = await readOwn(`${pathOf(name)}.json`);
      return text === undefined ? undefined : opened(text, storeKey(name), key);
    },
    async set(name, value) {
      await prepare();
      await writeWhole(directory, `${pathOf(name)}.json`, sealed(storeKey(name), value, key));
    },
    async delete(name) {
      await prepare();
      await unlink(`${pathOf(name)}.json`).catch(ignoreMissing);
    },
    exclusively: (name, act, { signal }) =>
      turns(
        storeKey(name),
        async () => {
          await prepare();
          return withFileLock(`${pathOf(name)}.lock`, act, { waitMs: lockWaitMs, clock, now, signal });
        },
        signal,
      ),
  };
}

/** Makes the directory, or checks the one that is there: its owner's, and nobody else's. */
async function ownDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const found = await lstat(directory);
  if (!found.isDirectory() || isForeign(found)) {
    throw new ParleyError(
      'config-invalid',
      `${directory} holds credentials, but is not a directory of yours alone (mode 700). Correct that.`,
    );
  }
}

async function readOwn(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw foreign(path, error);
  }
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_FILE_BYTES || isForeign(found)) throw foreign(path);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Writes beside the file and puts it in its place, so that there is the old one or the new one at any time. */
async function writeWhole(directory: string, path: string, text: string): Promise<void> {
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

/** The text of a file: the value with its name, or both encrypted, bound to the name. */
function sealed(name: string, value: JsonObject, key: Uint8Array | undefined): string {
  const plain = JSON.stringify({ name, value });
  if (key === undefined) return plain;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(name));
  const data = Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return JSON.stringify({ sealed: data.toString('base64') });
}

/** The value in a file, when it was written under `name` and in the same way; otherwise it is not there. */
function opened(text: string, name: string, key: Uint8Array | undefined): JsonObject | undefined {
  try {
    let read: unknown = JSON.parse(text);
    if (key !== undefined) {
      const data = Buffer.from((read as { sealed: string }).sealed, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(name)).setAuthTag(data.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      read = JSON.parse(plain.toString('utf8'));
    }
    return isObject(read) && read['name'] === name && isObject(read['value']) ? read['value'] : undefined;
  } catch {
    // Damaged, plain where it should be encrypted, or with another key: as good as nothing.
    return undefined;
  }
}

/** True when somebody else owns it or can get at it. */
function isForeign({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  // Elsewhere modes and owners say nothing.
  if (process.platform === 'win32') return false;
  return uid !== process.getuid?.() || (mode & OWNER_ONLY) !== 0;
}

function foreign(path: string, cause?: unknown): ParleyError {
  const message = `${path} is not a credential file of yours alone (mode 600, no link). Nothing in it was used; remove it and sign in again.`;
  return new ParleyError('config-invalid', message, { cause });
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
