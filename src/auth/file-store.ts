// Credentials in files of their owner alone: each written whole or not at all, bound to its name, and encrypted when there is a
// key. What somebody else could have put there is refused.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ParleyError } from '../errors.ts';
import { digest, systemClock, type Clock } from '../base/index.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { withFileLock } from './file-lock.ts';
import { ownDirectory, readOwn, removeFile, writeWhole } from './own-file.ts';
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

/** The file in which `directory` has what is kept under `name`. */
export function fileOf(directory: string, name: StoreName): string {
  return join(directory, `${digest(storeKey(name))}.json`);
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Returns a store of files in one directory.
 * @throws ParleyError `config-invalid` when the key has the wrong length
 */
export function createFileStore(options: FileStoreOptions): AuthStore {
  const { directory, key, lockWaitMs = 10_000, clock = systemClock, now = Date.now } = options;
  if (key !== undefined && key.length !== 32)
    throw new ParleyError('config-invalid', 'The key of a credential store has 32 bytes.');
  const turns = createTurns();
  const pathOf = (name: StoreName) => fileOf(directory, name);
  let ready: Promise<void> | undefined;
  const prepare = () =>
    (ready ??= ownDirectory(directory).catch((error: unknown) => {
      ready = undefined;
      throw error;
    }));

  return {
    async get(name) {
      await prepare();
      const text = await readOwn(pathOf(name));
      return text === undefined ? undefined : opened(text, storeKey(name), key);
    },
    async set(name, value) {
      await prepare();
      await writeWhole(directory, pathOf(name), sealed(storeKey(name), value, key));
    },
    async delete(name) {
      await prepare();
      await removeFile(pathOf(name));
    },
    exclusively: (name, act, { signal }) =>
      turns(
        storeKey(name),
        async () => {
          await prepare();
          return withFileLock(`${pathOf(name).slice(0, -'.json'.length)}.lock`, act, { waitMs: lockWaitMs, clock, now, signal });
        },
        signal,
      ),
  };
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
