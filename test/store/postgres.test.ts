// What only PostgreSQL can do to a store: lose its connections, its server, or one of them in the middle.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPostgresStore, openStore, verifyAudit, type Store, type StoreChange } from '../../src/store/index.ts';
import { openPostgres } from '../../src/store/sql/postgres.ts';
import { createSqlStore } from '../../src/store/sql/store.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { postgresPrograms, startPostgres, type Postgres } from '../support/postgres.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const KEY = Buffer.alloc(32, 7);
const note = { at: 1, kind: 'note', body: {} };
const programs = postgresPrograms();
if (programs === undefined) process.stdout.write('PostgreSQL is not tested: its programs (initdb, postgres) cannot be found.\n');

describe.skipIf(programs === undefined)('a store in PostgreSQL', () => {
  let server: Postgres;
  let schema: string;
  const opened: Store[] = [];

  beforeAll(async () => {
    server = await startPostgres(programs!);
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    schema = `test_${randomUUID().replaceAll('-', '_')}`;
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });

  async function open(): Promise<Store> {
    const store = await openPostgresStore({ connectionString: server.connectionString, schema, auditKey: KEY });
    opened.push(store);
    return store;
  }

  /** Does something behind the stores' back. */
  async function behind(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: server.connectionString });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }

  const OTHERS = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename is not null';

  test('goes on when its connections were ended, and hears of others again', async () => {
    const [here, there] = [await open(), await open()];
    const heard: StoreChange[] = [];
    there.changes.subscribe((change) => heard.push(change));
    await here.pins.put([]);
    await expect.poll(() => heard).toContain('pins');
    await behind(OTHERS);
    await here.audit.append(note);
    await there.audit.append(note);
    await here.grants.revoke({}, { why: 'nothing' });
    await here.pins.put([]);
    await expect.poll(() => heard.length).toBeGreaterThanOrEqual(2);
    expect(await verifyAudit(there.audit, KEY)).toEqual({ ok: true, count: 2 });
  });

  test('hears the bell of others, also when it never looks by itself', async () => {
    const here = await open();
    const engine = await openPostgres({ connectionString: server.connectionString, schema });
    // Its time stands still.
    const there = await createSqlStore(engine, { auditKey: KEY, clock: createFakeClock() });
    opened.push(there);
    const heard: StoreChange[] = [];
    there.changes.subscribe((change) => heard.push(change));
    // It looks when it begins to follow and when it begins to listen; more than that it is told.
    await expect.poll(async () => (await here.pins.put([]), heard.length)).toBeGreaterThan(4);
  });

  test('does a transaction whose connection broke in the middle again, whole', async () => {
    const store = await open();
    const writing = Array.from({ length: 40 }, () => store.audit.append(note));
    // Waited for from the beginning, since one may fail at any time.
    const settled = Promise.allSettled(writing);
    for (let round = 0; round < 3; round++) await behind(OTHERS);
    const results = await settled;
    const done = results.filter(({ status }) => status === 'fulfilled').length;
    const { count } = (await verifyAudit(store.audit, KEY)) as { count: number };
    // A commit that got no answer may have been done; nothing else may differ.
    expect(count).toBeGreaterThanOrEqual(done);
    expect(count).toBeLessThanOrEqual(writing.length);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'store-unavailable', retryable: true });
    }
  });

  test('waits for a server that is started again', async () => {
    const store = await open();
    await store.audit.append(note);
    const restarted = server.restart();
    await expect
      .poll(() =>
        store.audit.append(note).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await restarted;
    expect(await verifyAudit(store.audit, KEY)).toMatchObject({ ok: true });
  });

  test('is refused at once where nobody answers, without its password in the message', async () => {
    const refused = openStore('postgres://ann:hunter2@127.0.0.1:1/none', { auditKey: KEY });
    await expect(refused).rejects.toMatchObject({ code: 'store-unavailable', retryable: true });
    await expect(refused).rejects.toThrow(expect.not.stringContaining('hunter2') as string);
  });

  test('stands in its own schema', async () => {
    const [one, other] = [await open(), await openStore(`${server.connectionString}&schema=${schema}_2`, { auditKey: KEY })];
    opened.push(other);
    await one.audit.append(note);
    expect(await other.audit.head()).toBeUndefined();
    await expect(behind(`select * from "${schema}".audit`)).resolves.toBeUndefined();
  });
});
