// Credentials in encrypted files, with their key in the system's keychain, or in a file beside them where there is none. As long as
// nothing is kept, neither is touched; and where the key was once put it is looked for, nowhere else.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/index.ts';
import { isObject } from '../jsonrpc/index.ts';
import { ParleyError } from '../errors.ts';
import { withFileLock } from './file-lock.ts';
import { createFileStore, fileOf } from './file-store.ts';
import { REMEDY, systemKeychain, type Keychain } from './keychain.ts';
import { ownDirectory, readOwn, removeFile, writeWhole } from './own-file.ts';
import type { AuthStore } from './store.ts';

/** Where the key of the store is. */
export type KeyPlace = 'keychain' | 'file';

export interface SealedStoreOptions {
  /** A directory for this alone; it is made when the first value is kept. */
  readonly directory: string;
  /** Finds the keychain; called when a key is needed. Default: the operating system's. */
  readonly keychain?: () => Promise<Keychain | undefined>;
}

export interface SealedStore extends AuthStore {
  readonly directory: string;
  /** Where the key is; undefined as long as there is none. */
  keyPlace(): Promise<KeyPlace | undefined>;
  /**
   * Sees to it that there is a key: at `wanted`, or by default where it is already, or in the keychain where there is one. A key
   * that has to move takes nothing along: what was kept with the old one is forgotten.
   * @throws ParleyError `auth-required` when the keychain is locked or not to be had
   */
  prepare(wanted: KeyPlace | undefined, options: { readonly signal: AbortSignal }): Promise<KeyPlace>;
}

/** What the key file says: the key, or under what name the keychain has it. */
type Whereabouts = { readonly place: 'file'; readonly key: string } | { readonly place: 'keychain'; readonly name: string };

const KEY_BYTES = 32;
const LOCK_WAIT_MS = 60_000;

/** Returns a store of encrypted files in one directory. */
export function createSealedStore({ directory, keychain = systemKeychain }: SealedStoreOptions): SealedStore {
  const keyFile = join(directory, 'key.json');
  let opened: { readonly text: string; readonly store: AuthStore } | undefined;

  /** The store under the key of now, which another process may have made or replaced; undefined when there is none. */
  async function current(): Promise<AuthStore | undefined> {
    const text = await readOwn(keyFile);
    if (text === undefined) return undefined;
    if (opened?.text === text) return opened.store;
    const key = await keyIn(whereabouts(text));
    if (key === undefined) return undefined;
    opened = { text, store: createFileStore({ directory, key }) };
    return opened.store;
  }

  async function keyIn(found: Whereabouts | undefined): Promise<Buffer | undefined> {
    if (found === undefined) return undefined;
    const text = found.place === 'file' ? found.key : await (await theKeychain()).get(found.name);
    const key = Buffer.from(text ?? '', 'base64');
    return key.length === KEY_BYTES ? key : undefined;
  }

  async function theKeychain(): Promise<Keychain> {
    const chain = await keychain();
    if (chain !== undefined) return chain;
    const message = `The key of your sign-ins is in the system's keychain, which cannot be reached from here. ${REMEDY}`;
    throw new ParleyError('auth-required', message);
  }

  async function prepare(wanted: KeyPlace | undefined, { signal }: { readonly signal: AbortSignal }): Promise<KeyPlace> {
    await ownDirectory(directory);
    const make = async () => {
      const before = whereabouts(await readOwn(keyFile));
      const stays = before !== undefined && (wanted === undefined || wanted === before.place);
      if (stays && (await keyIn(before)) !== undefined) return before.place;
      const key = randomBytes(KEY_BYTES).toString('base64');
      const chain = (wanted ?? before?.place) === 'file' ? undefined : await keychain();
      if (wanted === 'keychain' && chain === undefined) {
        throw new ParleyError('auth-required', 'There is no keychain here that a key could be put into.');
      }
      const name = randomBytes(8).toString('hex');
      await chain?.set(name, key);
      const now: Whereabouts = chain === undefined ? { place: 'file', key } : { place: 'keychain', name };
      await forgetAll();
      await writeWhole(directory, keyFile, JSON.stringify(now));
      if (before?.place === 'keychain') await (await keychain())?.delete(before.name);
      return now.place;
    };
    const lock = { waitMs: LOCK_WAIT_MS, clock: systemClock, now: Date.now, signal };
    return withFileLock(join(directory, 'key.lock'), make, lock);
  }

  async function forgetAll(): Promise<void> {
    const values = (await readdir(directory)).filter((file) => /^[0-9a-f]{64}\.json$/.test(file));
    await Promise.all(values.map((file) => removeFile(join(directory, file))));
  }

  async function ready(signal: AbortSignal): Promise<AuthStore> {
    const store = await current();
    if (store !== undefined) return store;
    await prepare(undefined, { signal });
    return ready(signal);
  }

  return {
    directory,
    keyPlace: async () => whereabouts(await readOwn(keyFile))?.place,
    prepare,
    // What was never kept needs no key to be known: a locked keychain is in nobody's way who has not signed in.
    get: async (name) => (existsSync(fileOf(directory, name)) ? (await current())?.get(name) : undefined),
    set: async (name, value) => (await ready(new AbortController().signal)).set(name, value),
    delete: (name) => removeFile(fileOf(directory, name)),
    exclusively: async (name, act, options) => (await ready(options.signal)).exclusively(name, act, options),
  };
}

function whereabouts(text: string | undefined): Whereabouts | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  if (!isObject(read)) return undefined;
  const { place, key, name } = read;
  if (place === 'file' && typeof key === 'string') return { place, key };
  return place === 'keychain' && typeof name === 'string' ? { place, name } : undefined;
}
