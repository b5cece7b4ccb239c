import { chmodSync, linkSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock } from '../../testing/index.ts';
import { journalEntry } from '../fixtures/entries.ts';
import { openSqliteStore, openStore } from '../open.ts';
import type { Store } from '../store.ts';
import { verifyAudit } from '../verify.ts';
import { openSqlite } from './sqlite.ts';
import { createSqlStore } from './store.ts';

const KEY = new Uint8Array(32).fill(7);
let folder: string;
let file: string;
const opened: Store[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-sqlite-'));
  file = join(folder, 'state', 'parley.db');
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function open(): Promise<Store> {
  const store = await openSqliteStore({ file, auditKey: KEY });
  opened.push(store);
  return store;
}

/** Does something to the file behind the stores' back. */
function behind<T>(act: (database: Database.Database) => T): T {
  const database = new Database(file);
  try {
    return act(database);
  } finally {
    database.close();
  }
}

const note = { at: 1, kind: 'note', body: {} };

const call = (id: string) => journalEntry({ id });

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

test('the file and what SQLite puts beside it are their owner’s alone, and so is a folder that was not there', async () => {
  const store = await open();
  await store.audit.append(note);
  expect(modeOf(join(folder, 'state'))).toBe('700');
  expect(['', '-wal', '-shm'].map((end) => modeOf(`${file}${end}`))).toEqual(['600', '600', '600']);
});

test.each([
  ['a link', () => symlinkSync(join(folder, 'elsewhere'), file)],
  ['a link to nothing beside it', () => symlinkSync(join(folder, 'elsewhere'), `${file}-wal`)],
  ['a file that others can read', () => writeFileSync(file, '', { mode: 0o644 })],
  ['a file with another name elsewhere', () => linkTo(join(folder, 'elsewhere'))],
  ['a folder', () => mkdirSync(file)],
  ['a folder around it that others can write to', () => chmodSync(join(folder, 'state'), 0o777)],
])('%s is refused, and nothing is written there', async (_what, put) => {
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeFileSync(join(folder, 'elsewhere'), '', { mode: 0o600 });
  put();
  await expect(openSqliteStore({ file, auditKey: KEY })).rejects.toMatchObject({ code: 'config-invalid' });
  expect(lstatSync(join(folder, 'elsewhere')).size).toBe(0);
});

function linkTo(path: string): void {
  linkSync(path, file);
}

test('what is no database is left as it is', async () => {
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeFileSync(file, 'dear diary, '.repeat(1_000), { mode: 0o600 });
  await expect(openSqliteStore({ file, auditKey: KEY })).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(lstatSync(file).size).toBe(12_000);
});

test('a store of a newer version is left alone', async () => {
  await (await open()).close();
  behind((database) => database.exec('update parley_schema set version = 99'));
  const opening = openSqliteStore({ file, auditKey: KEY });
  await expect(opening).rejects.toMatchObject({ code: 'store-unavailable', message: expect.stringContaining('newer') as string });
});

test.each([
  ['a byte that was flipped', `update audit set body = replace(body, '3', '4') where seq = 3`, { seq: 3, fault: 'altered' }],
  [
    'a name that was written twice',
    `update audit set body = replace(body, '{', '{"n":9,') where seq = 3`,
    { seq: 3, fault: 'altered' },
  ],
  ['text that is no JSON any more', `update audit set body = '{' where seq = 3`, { seq: 3, fault: 'altered' }],
  ['a record that was taken out', 'delete from audit where seq = 3', { seq: 3, fault: 'missing' }],
  ['a record that was copied over another', copyOver(3, 2), { seq: 3, fault: 'altered' }],
  ['an end that was cut', 'delete from audit where seq > 3', { seq: 4, fault: 'cut' }],
  [
    'an end that was cut, and the head moved there',
    `delete from audit where seq > 3; update audit_head set seq = 3, hash = (select hash from audit where seq = 3)`,
    { seq: 3, fault: 'unsealed' },
  ],
  ['a head that was set back', 'update audit_head set seq = 0', { seq: 1, fault: 'added' }],
])('the audit names the place of %s', async (_what, sql, found) => {
  const store = await open();
  for (let n = 1; n <= 5; n++) await store.audit.append({ ...note, body: { n } });
  expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 5 });
  behind((database) => database.exec(sql));
  expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: false, ...found });
});

function copyOver(to: number, from: number): string {
  const members = ['previous', 'hash', 'at', 'kind', 'body'];
  return `update audit set ${members.map((name) => `${name} = (select ${name} from audit where seq = ${from})`).join(', ')} where seq = ${to}`;
}

test('a call is not written down, and so not sent, when the audit was tampered with at its end', async () => {
  const store = await open();
  await store.journal.begin(call('one'), note);
  await store.journal.begin(call('two'), note);
  behind((database) =>
    database.exec(
      'delete from audit where seq = 2; update audit_head set seq = 1, hash = (select hash from audit where seq = 1)',
    ),
  );
  await expect(store.journal.begin(call('three'), note)).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(await store.journal.list()).toHaveLength(2);
});

test('an older copy that was put back is found by a head that was kept', async () => {
  const store = await open();
  await store.audit.append(note);
  await store.close();
  const copy = join(folder, 'copy.db');
  behind((database) => database.exec(`vacuum into '${copy}'`));
  const later = await open();
  await later.audit.append(note);
  const anchor = (await later.audit.head())!;
  await later.close();
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  chmodSync(copy, 0o600);
  linkSync(copy, file);
  rmSync(copy);
  const back = await open();
  expect(await verifyAudit(back.audit, KEY)).toEqual({ ok: true, count: 1 });
  expect(await verifyAudit(back.audit, KEY, { anchor })).toEqual({ ok: false, seq: 2, fault: 'cut' });
});

test('a write waits for another process without standing still', async () => {
  const store = await open();
  const other = new Database(file);
  other.exec('begin immediate');
  let written = false;
  const writing = store.audit.append(note).then(() => (written = true));
  // Timers of this process go on while it waits.
  for (let count = 0; count < 20; count++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(written).toBe(false);
  other.exec('rollback');
  other.close();
  await writing;
  expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 1 });
});

test('a process elsewhere is believed to live until its lease ends', async () => {
  const [left, store] = [await open(), await open()];
  await left.journal.begin(call('one'), note);
  behind((database) => database.exec(`update leases set place = 'elsewhere'`));
  expect(await store.journal.recover()).toEqual([]);
  behind((database) => database.exec('update leases set expires_at = 1'));
  expect(await store.journal.recover()).toMatchObject([{ id: 'one', state: 'unknown' }]);
});

test('a lease is renewed at a third of its time, and taken again when it was lost', async () => {
  const clock = createFakeClock();
  const store = await createSqlStore(await openSqlite(file, { durability: 'process' }), {
    auditKey: KEY,
    clock,
    leaseMs: 30_000,
  });
  opened.push(store);
  await store.journal.begin(call('one'), note);
  const ends = () =>
    behind((database) => database.prepare('select expires_at from leases').all([]) as readonly { expires_at: number }[]);
  const [first] = ends();
  behind((database) => database.exec('update leases set expires_at = 1'));
  clock.advance(10_000);
  await expect.poll(() => ends()[0]?.expires_at).toBeGreaterThanOrEqual(first!.expires_at);
  behind((database) => database.exec('delete from leases'));
  clock.advance(10_000);
  await expect.poll(() => ends()).toHaveLength(1);
  await store.close();
  expect(ends()).toEqual([]);
});

test('an address names what is opened', async () => {
  const memory = await openStore('memory:', { auditKey: KEY });
  expect(await memory.audit.head()).toBeUndefined();
  for (const address of ['state/parley.db', `sqlite:${file}`, file]) {
    const store = await openStore(address, { auditKey: KEY, base: folder });
    await store.audit.append(note);
    await store.close();
  }
  expect((await (await open()).audit.head())?.seq).toBe(3);
});

test.each(['', 'sqlite:', 'mysql://host/x', 'http://host', 'postgres://%'])('%j is no address of a store', async (address) => {
  await expect(openStore(address, { auditKey: KEY })).rejects.toMatchObject({ code: 'config-invalid' });
});

test('a key that is too short is refused', async () => {
  await expect(openStore(file, { auditKey: new Uint8Array(31) })).rejects.toMatchObject({ code: 'config-invalid' });
});

test.each([
  ['was removed with its folder', () => rmSync(join(folder, 'state'), { recursive: true })],
  ['was moved away', () => renameSync(file, `${file}.old`)],
  ['was exchanged', () => (renameSync(file, `${file}.old`), writeFileSync(file, '', { mode: 0o600 }))],
])('nothing passes for written when the file %s', async (_, act) => {
  const store = await open();
  await store.audit.append(note);
  act();
  await expect(store.audit.append(note)).rejects.toMatchObject({ code: 'store-unavailable' });
  await expect(store.journal.begin(call('c1'), note)).rejects.toMatchObject({ code: 'store-unavailable' });
});
