// Opens a store that lasts. What an engine needs is loaded when it is opened, and not before: most commands never do.
import { resolve } from 'node:path';
import { ParleyError } from '../errors.ts';
import type { Limits } from '../base/index.ts';
import { createMemoryStore } from './memory.ts';
import type { Store } from './store.ts';

export interface StoreOptions {
  /** What the end of the audit is sealed with: 32 bytes or more, the same for all that use the store, and kept outside it. */
  readonly auditKey: Uint8Array;
  /** `maxFactBytes`, `maxPendingApprovals`. */
  readonly limits?: Limits;
}

export interface SqliteStoreOptions extends StoreOptions {
  /** On a disk of this machine. It is made when it is not there, for its owner alone, as is its folder. */
  readonly file: string;
  /**
   * What the record of a call outlives: the end of this process by any means, or the loss of power too, which costs each call two
   * waits for the disk. Decisions, grants, trust and claims always outlive both. Default `process`.
   */
  readonly durability?: 'process' | 'power';
}

export interface PostgresStoreOptions extends StoreOptions {
  /** `postgres://user:password@host:port/database`, of a server of version 15 or later. */
  readonly connectionString: string;
  /** The schema that everything stands in; it is made when it is not there. Default `parley`. */
  readonly schema?: string;
}

/**
 * Opens a store in a SQLite file, for any number of processes on this machine.
 * @throws ParleyError `config-invalid` when the file or its folder is not the user's alone; `store-unavailable` when it cannot be used
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  checkKey(options.auditKey);
  const [{ openSqlite }, { createSqlStore }] = await Promise.all([import('./sql/sqlite.ts'), import('./sql/store.ts')]);
  return createSqlStore(await openSqlite(options.file, { durability: options.durability ?? 'process' }), options);
}

/**
 * Opens a store in a PostgreSQL database, for any number of processes anywhere.
 * @throws ParleyError `store-unavailable` when it cannot be reached or used
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  checkKey(options.auditKey);
  const [{ openPostgres }, { createSqlStore }] = await Promise.all([import('./sql/postgres.ts'), import('./sql/store.ts')]);
  const { connectionString, schema = 'parley' } = options;
  return createSqlStore(await openPostgres({ connectionString, schema }), options);
}

export interface OpenStoreOptions extends StoreOptions {
  /** What a relative file is relative to. Default: the working directory. */
  readonly base?: string;
}

/**
 * Opens the store that an address names: `memory:`, `postgres://…` (also with `?schema=NAME`), `sqlite:FILE`, or a file.
 * @throws ParleyError `config-invalid` when it is none of these; otherwise as the others do
 */
export async function openStore(address: string, options: OpenStoreOptions): Promise<Store> {
  const { base = process.cwd(), ...rest } = options;
  if (address === 'memory:') return createMemoryStore(rest);
  if (/^postgres(ql)?:\/\//.test(address)) return openPostgresStore({ ...rest, ...schemaOf(address) });
  const [file] = storeFiles(address, base);
  if (file !== undefined) return openSqliteStore({ ...rest, file });
  const message = 'A store is memory:, sqlite:FILE, a file, or postgres://user@host/database; the one given is none of these.';
  throw new ParleyError('config-invalid', message);
}

/** The files of this machine that the store at an address is kept in, its database first; none of another kind of store. */
export function storeFiles(address: string, base: string): readonly string[] {
  const file = address.replace(/^sqlite:/, '');
  // One letter is a drive.
  if (file === '' || /^[a-z][a-z0-9+.-]+:/i.test(file)) return [];
  const database = resolve(base, file);
  return [database, ...['-wal', '-shm', '-journal'].map((end) => database + end)];
}

/** Takes the schema out of the address, where it is not the driver's. */
function schemaOf(address: string): Pick<PostgresStoreOptions, 'connectionString' | 'schema'> {
  if (!URL.canParse(address)) throw new ParleyError('config-invalid', 'The address of the PostgreSQL store is not a URL.');
  const url = new URL(address);
  const schema = url.searchParams.get('schema');
  if (schema === null) return { connectionString: address };
  url.searchParams.delete('schema');
  return { connectionString: url.href, schema };
}

function checkKey(key: Uint8Array): void {
  if (key.length < 32) throw new ParleyError('config-invalid', 'The key of the audit has 32 bytes or more.');
}
