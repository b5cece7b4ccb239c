// SQLite: one connection in this process, any number of processes at one file. A transaction takes the file's one write lock at its
// start; who does not get it waits without blocking this process.
import { statSync } from 'node:fs';
import Database from 'libsql';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Compilable } from 'kysely';
import { sleep, systemClock } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { taken } from '../rules.ts';
import type { Engine, Session, WriteOptions } from './engine.ts';
import { isCurrent, migrate } from './migrations.ts';
import { ownFile } from './own-file.ts';
import type { Tables } from './tables.ts';

/** How long SQLite itself waits for the lock, and blocks the process; most transactions are over by then. */
const BLOCKING_MS = 20;
const RETRY_MS = 15;
/** A lock that is held for longer is not going to be given back. */
const GIVE_UP_MS = 15_000;
const LOOK_MS = 1_000;
/** More different statements than there are. */
const MAX_PREPARED = 500;

/** Opens the file, makes it where there is none, and brings its schema up to date. */
export async function openSqlite(file: string, options: { readonly durability: WriteOptions['outlives'] }): Promise<Engine> {
  await ownFile(file);
  const connection = new Connection(file, options.durability);
  try {
    await connection.prepare();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}

class Connection implements Engine, Session {
  readonly db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  readonly locksRows = false;
  readonly lookMs = LOOK_MS;
  readonly #file: string;
  readonly #database: Database.Database;
  readonly #atLeast: WriteOptions['outlives'];
  /** Which file it was that was opened, whatever stands at its path later. */
  readonly #identity: string;
  readonly #prepared = new Map<string, { readonly statement: Database.Statement; readonly returns: boolean }>();
  #synchronous: WriteOptions['outlives'] | undefined;
  /** Ends when whoever has the connection gives it back. */
  #turn: Promise<unknown> = Promise.resolve();
  #moved: unknown;
  #closed = false;

  constructor(file: string, atLeast: WriteOptions['outlives']) {
    this.#file = file;
    this.#atLeast = atLeast;
    try {
      this.#database = new Database(file, { timeout: BLOCKING_MS });
      this.#identity = identityOf(file);
    } catch (error) {
      throw faultOf(error, file);
    }
  }

  async prepare(): Promise<void> {
    // Changing to WAL needs the file for itself, which another process may have for a moment.
    await this.#alone(() => this.#again(() => this.#database.pragma('journal_mode = wal')));
    if (await this.read((session) => isCurrent(session, this.db))) return;
    await this.write((session) => migrate(session, this.db), { outlives: 'power' });
  }

  async run<Row>(query: Compilable<Row>): Promise<readonly Row[]> {
    const { sql, parameters } = query.compile();
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      if (this.#prepared.size >= MAX_PREPARED) this.#prepared.clear();
      const statement = this.#database.prepare(sql);
      prepared = { statement, returns: statement.reader };
      this.#prepared.set(sql, prepared);
    }
    if (prepared.returns) return prepared.statement.all(parameters) as readonly Row[];
    prepared.statement.run(parameters);
    return [];
  }

  async now(): Promise<number> {
    return Date.now();
  }

  read<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#alone(() => this.#again(() => act(this)));
  }

  write<T>(act: (session: Session) => Promise<T>, { outlives }: WriteOptions): Promise<T> {
    return this.#alone(async () => {
      // SQLite would go on writing to a file that is nowhere any more.
      if (identityOf(this.#file) !== this.#identity) throw goneFrom(this.#file);
      this.#secure(this.#atLeast === 'power' ? 'power' : outlives);
      await this.#again(() => this.#database.exec('begin immediate'));
      try {
        const result = await act(this);
        this.#database.exec('commit');
        return result;
      } catch (error) {
        if (this.#database.inTransaction) this.#database.exec('rollback');
        throw error;
      }
    });
  }

  listen(): () => void {
    // Nobody rings between processes here; whoever follows looks often, for it costs next to nothing.
    return () => {};
  }

  ring(): void {}

  mayHaveMoved(): Promise<boolean> {
    return this.#alone(async () => {
      const [row] = this.#database.pragma('data_version') as readonly { readonly data_version: number }[];
      const moved = row?.data_version !== this.#moved;
      this.#moved = row?.data_version;
      return moved;
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#turn;
    this.#prepared.clear();
    this.#database.close();
  }

  /** Commits wait for the disk, or for the operating system only. */
  #secure(outlives: WriteOptions['outlives']): void {
    if (this.#synchronous === outlives) return;
    this.#database.pragma(`synchronous = ${outlives === 'power' ? 'full' : 'normal'}`);
    this.#synchronous = outlives;
  }

  /** One after the other: nobody sees what another has not finished. */
  async #alone<T>(act: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ParleyError('closed', 'The store was closed. Open it again.');
    const mine = this.#turn.then(async () => {
      try {
        return await act();
      } catch (error) {
        throw faultOf(error, this.#file);
      }
    });
    this.#turn = mine.catch(() => {});
    return mine;
  }

  /** Does it until no other process is in the way. */
  async #again<T>(act: () => T | Promise<T>): Promise<T> {
    const since = systemClock.now();
    while (true) {
      try {
        return await act();
      } catch (error) {
        if (!isBusy(error) || systemClock.now() - since > GIVE_UP_MS) throw error;
      }
      await sleep(RETRY_MS * (0.5 + Math.random()));
    }
  }
}

/** Which file stands there; '' for none. */
function identityOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

function goneFrom(file: string): ParleyError {
  const message = `What Parley remembers was taken away from ${file} while Parley ran, or something else was put there. Start it again.`;
  return new ParleyError('store-unavailable', message);
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

function faultOf(error: unknown, file: string): unknown {
  if (error instanceof ParleyError) return error;
  const code = codeOf(error);
  if (/^SQLITE_CONSTRAINT/.test(code)) return taken(error);
  const retryable = isBusy(error);
  const why = retryable ? 'another process does not let go of it' : code === '' ? 'SQLite cannot use it' : code;
  const message = `What Parley remembers in ${file} cannot be read or written (${why}). Look at the file and at the disk it is on.`;
  return new ParleyError('store-unavailable', message, { cause: error, retryable });
}
