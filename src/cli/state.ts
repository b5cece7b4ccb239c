// What this user's Parley remembers: where its store is, and the key that is not in it. Opened when it is needed, and not before: most
// commands never do.
import { randomBytes, randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { isForeign, OTHERS } from '../base/system.ts';
import { ParleyError } from '../errors.ts';
import { hideInUrl, type HostConfig } from '../host/index.ts';
import { openStore, storeFiles, type Store } from '../store/index.ts';

export interface State {
  /** Opens the store; who opened it closes it. */
  open(): Promise<Store>;
  /** Seals the audit, and makes the digests of secrets. @throws ParleyError `config-invalid` when it cannot be kept */
  key(): Uint8Array;
  /** Where it is, without secrets. */
  readonly where: string;
  /** The files of this machine that it is kept in. */
  readonly files: readonly string[];
  /** For whom calls are made, and who answers: the name of this user. */
  readonly user: string;
}

const KEY_BYTES = 32;

/** The state that is kept below `stateDir`, or in the store that the user's settings name. */
export function openState(stateDir: string, { records, limits = {} }: Pick<HostConfig, 'records' | 'limits'>): State {
  const folder = join(stateDir, 'store');
  const address = records?.store ?? join(folder, 'parley.db');
  let read: Uint8Array | undefined;
  const key = () => (read ??= ownKey(folder));
  return {
    key,
    open: () => openStore(address, { auditKey: key(), base: stateDir, limits }),
    where: hideInUrl(address),
    files: storeFiles(address, stateDir),
    user: userName(),
  };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // There are processes without an entry in the list of users.
    return 'user';
  }
}

/** The key in its file, which is the user's alone; a new one where there is none. */
function ownKey(folder: string): Uint8Array {
  const file = join(folder, 'key');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    if (!existsSync(file)) makeKey(file);
    return readKey(file);
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('config-invalid', `The key of what Parley remembers cannot be kept in ${file}.`, { cause: error });
  }
}

/** Puts a new key there as a whole, unless somebody else was first. */
function makeKey(file: string): void {
  const made = `${file}.${randomUUID()}`;
  writeFileSync(made, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(made, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(made);
  }
}

function readKey(file: string): Uint8Array {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const foreign = isForeign(fstatSync(handle), OTHERS.any);
    const key = Buffer.from(readFileSync(handle, 'utf8').trim(), 'hex');
    if (!foreign && key.length === KEY_BYTES) return key;
    const why = foreign ? 'is not yours alone (mode 600)' : 'is broken';
    throw new ParleyError('config-invalid', `The key in ${file} ${why}. Without it the audit cannot be checked; correct that.`);
  } finally {
    closeSync(handle);
  }
}
