// PostgreSQL: a pool of connections that are made again when they are lost, and one more that hears the bell of others while somebody
// listens. Everything stands in a schema of its own.
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql, type Compilable } from 'kysely';
import pg from 'pg';
import { backoff, sleep } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { taken } from '../rules.ts';
import type { Engine, Session, WriteOptions } from './engine.ts';
import { isCurrent, migrate } from './migrations.ts';
import type { Tables } from './tables.ts';

const CHANNEL = 'parley_store';
const LOOK_MS = 2_000;
/** Changes within this time are one ring. */
const RING_MS = 20;
const CONNECT_MS = 10_000;
/** For one statement; waiting for another transaction's lock included. */
const STATEMENT_MS = 15_000;
const IDLE_IN_TRANSACTION_MS = 30_000;
const MAX_CONNECTIONS = 4;
/** About five seconds: a server that is started again is back by then. */
const ATTEMPTS = 10;
/** Whoever migrates holds this lock of the database. */
const MIGRATION_LOCK = 7_220_160_001n;

/** A serialization failure, a deadlock, or a lock that was waited for too long: nothing was done, and it may be done again. */
const AGAIN = ['40001', '40P01', '55P03'];

export interface PostgresOptions {
  readonly connectionString: string;
  readonly schema: string;
}

/**
 * Connects, makes the schema where there is none, and brings it up to date.
 * @throws ParleyError `config-invalid` when the address is none; `store-unavailable` when the database cannot be used
 */
export async function openPostgres(options: PostgresOptions): Promise<Engine> {
  try {
    // Reads the address, and does nothing yet.
    new pg.Client({ connectionString: options.connectionString });
  } catch (error) {
    const message = 'The address of the PostgreSQL store cannot be read. It is like postgres://user@host:5432/database.';
    throw new ParleyError('config-invalid', message, { cause: error });
  }
  const engine = new Postgres(options);
  try {
    await engine.prepare();
  } catch (error) {
    await engine.close();
    throw error;
  }
  return engine;
}

class Postgres implements Engine {
  readonly db: Kysely<Tables>;
  readonly locksRows = true;
  readonly lookMs = LOOK_MS;
  readonly #schema: string;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  /** Connections that broke while somebody had them. */
  readonly #broken = new WeakSet<pg.ClientBase>();
  #attempts = 1;
  #ringing: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor({ connectionString, schema }: PostgresOptions) {
    this.#schema = schema;
    this.db = new Kysely<Tables>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    }).withSchema(schema);
    this.#config = {
      connectionString,
      application_name: 'parley',
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      // A server that is gone without a word does not answer a time-out either.
      query_timeout: STATEMENT_MS + 5_000,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      keepAlive: true,
      // Times and counts: whole numbers that JavaScript can hold.
      types: {
        getTypeParser: (type, format) =>
          (type === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(type, format)) as never,
      },
    };
    this.#pool = new pg.Pool({ ...this.#config, max: MAX_CONNECTIONS, allowExitOnIdle: true });
    // A connection that broke while nobody used it; the next one is made when it is needed.
    this.#pool.on('error', () => {});
    // From its first moment, since a connection may break in the very turn in which it is handed out.
    this.#pool.on('connect', (client) => client.on('error', () => this.#broken.add(client)));
  }

  async prepare(): Promise<void> {
    // The first line that cannot be had is an error at once.
    (await this.#pool.connect().catch((error: unknown) => Promise.reject(faultOf(error)))).release();
    this.#attempts = ATTEMPTS;
    if (await this.read((session) => isCurrent(session, this.db))) return;
    const lock = sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`;
    await this.write(
      async (session) => {
        await session.run({ compile: () => lock.compile(this.db) });
        await session.run(this.db.schema.createSchema(this.#schema).ifNotExists());
        await migrate(session, this.db);
      },
      { outlives: 'power' },
    );
  }

  read<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#using((client) => act(sessionOf(client)));
  }

  write<T>(act: (session: Session) => Promise<T>, _options: WriteOptions): Promise<T> {
    return this.#using(async (client) => {
      await client.query('begin isolation level read committed');
      try {
        const result = await act(sessionOf(client));
        await client.query('commit').catch((error: unknown) => {
          // Nobody knows whether a commit that got no answer was done, so it is not done again.
          throw isServers(error) ? error : faultOf(error);
        });
        return result;
      } catch (error) {
        // On a broken line the server does it by itself.
        await client.query('rollback').catch(() => {});
        throw error;
      }
    });
  }

  listen(heard: () => void): () => void {
    const over = new AbortController();
    void this.#hear(heard, over.signal);
    return () => over.abort();
  }

  ring(): void {
    // Outside the transaction, for commits that notify wait for each other in the whole database.
    this.#ringing ??= sleep(RING_MS)
      .then(() => {
        this.#ringing = undefined;
        return this.#pool.query(`notify ${CHANNEL}`);
      })
      .then(
        () => {},
        () => {},
      );
  }

  async mayHaveMoved(): Promise<boolean> {
    return true;
  }

  close(): Promise<void> {
    return (this.#closed ??= (async () => {
      await this.#ringing;
      await this.#pool.end().catch(() => {});
    })());
  }

  /** Does it with one connection; again, where surely nothing was done. */
  async #using<T>(act: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed !== undefined) throw new ParleyError('closed', 'The store was closed. Open it again.');
      let client: pg.PoolClient | undefined;
      let usable = true;
      try {
        client = await this.#pool.connect();
        return await act(client);
      } catch (error) {
        usable &&= isServers(error);
        if (error instanceof ParleyError) throw error;
        // A line that broke before the commit has undone all.
        const again = AGAIN.includes(codeOf(error)) || !isServers(error);
        if (!again || attempt >= this.#attempts) throw faultOf(error);
      } finally {
        client?.release(!usable || this.#broken.has(client));
      }
      await sleep(backoff(attempt, { firstMs: 50, maxMs: 1_000 }));
    }
  }

  /** Listens until it is over; on a line that was lost, again. */
  async #hear(heard: () => void, over: AbortSignal): Promise<void> {
    for (let attempt = 1; !over.aborted; attempt++) {
      const client = new pg.Client(this.#config);
      let stop!: () => void;
      const ended = new Promise<void>((resolve) => (stop = resolve));
      client.on('error', stop);
      client.on('end', stop);
      client.on('notification', heard);
      over.addEventListener('abort', stop, { once: true });
      try {
        await client.connect();
        await client.query(`listen ${CHANNEL}`);
        attempt = 1;
        // What rang before it listened.
        heard();
        await ended;
      } catch {
        // The next attempt comes after a while, and until then whoever follows looks by itself.
      } finally {
        over.removeEventListener('abort', stop);
        await client.end().catch(() => {});
      }
      await sleep(backoff(attempt, { firstMs: 500, maxMs: 30_000 }), { signal: over }).catch(() => {});
    }
  }
}

function sessionOf(client: pg.PoolClient): Session {
  return {
    async run<Row>(query: Compilable<Row>) {
      const { sql: text, parameters } = query.compile();
      const { rows } = await client.query(text, [...parameters]);
      return rows as readonly Row[];
    },
    async now() {
      const { rows } = await client.query<{ now: number }>(
        'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now',
      );
      return rows[0]!.now;
    },
  };
}

/** The server's or the system's word for what went wrong; '' when neither has one. */
function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

/** True for an answer of the server, after which the connection is as good as before. */
function isServers(error: unknown): boolean {
  // By its class: a code of the system, such as EPIPE, may look like one of the server.
  return error instanceof pg.DatabaseError && !/^(08|57P)/.test(codeOf(error));
}

function faultOf(error: unknown): ParleyError {
  const code = codeOf(error);
  if (code.startsWith('23')) return taken(error);
  const why = code === '' ? 'the connection failed' : code;
  const message = `What Parley remembers in PostgreSQL cannot be read or written (${why}). Look at the database and its address.`;
  return new ParleyError('store-unavailable', message, { cause: error, retryable: !isServers(error) });
}
