// What every store promises, asked of each: in memory, in SQLite and in PostgreSQL; and what only those promise that outlive the
// process and are shared by several.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Limits } from '../../src/base/index.ts';
import { journalEntry } from '../../src/store/fixtures/entries.ts';
import {
  openStore,
  verifyAudit,
  type ApprovalTicket,
  type AuditEntry,
  type Grant,
  type Pin,
  type Store,
  type StoreChange,
  type TrustedLaunch,
} from '../../src/store/index.ts';
import { postgresPrograms, startPostgres, type Postgres } from '../support/postgres.ts';
import { startStoreProcess, type StoreProcess } from '../support/store-process.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const KEY = Buffer.alloc(32, 7);
const FUTURE = Date.now() + 3_600_000;
/** No database takes all of these as they are. */
const ODD_TEXTS = [
  '',
  'a\0b',
  '\ud800',
  '\\',
  '\\#',
  '"',
  "'; drop table pins --",
  'é',
  'e\u0301',
  'x'.repeat(5_000),
  '__proto__',
];

const note = (kind = 'note', body = {}): AuditEntry => ({ at: 1_000, kind, body });

const ticket = (more: Partial<ApprovalTicket> = {}): ApprovalTicket => ({
  id: randomUUID(),
  principal: 'ann',
  run: 'run-1',
  serverName: 'shop',
  server: 'digest-of-shop',
  tool: 'buy',
  intentDigest: randomUUID(),
  definitionDigest: 'definition-1',
  policyVersion: 'policy-1',
  args: { item: 'tea', count: 2 },
  shown: { description: 'Buys\u0000 it.' },
  because: 'rule 3',
  createdAt: Date.now(),
  expiresAt: FUTURE,
  ...more,
});

const grant = (more: Partial<Grant> = {}): Grant => ({
  id: randomUUID(),
  principal: 'ann',
  serverName: 'shop',
  server: 'digest-of-shop',
  tool: 'buy',
  definitionDigest: 'definition-1',
  policyVersion: 'policy-1',
  by: 'ann',
  channel: 'cli',
  at: 1_000,
  ...more,
});

const launch = (more: Partial<TrustedLaunch> = {}): TrustedLaunch => ({
  digest: randomUUID(),
  server: 'shop',
  file: '/home/ann/.mcp.json',
  launch: { command: 'shop' },
  by: 'ann',
  at: 1_000,
  ...more,
});

const pin = (more: Partial<Pin> = {}): Pin => ({
  server: 'digest-of-shop',
  kind: 'tool',
  name: 'buy',
  digest: 'definition-1',
  canonical: '{"name":"buy"}',
  reviewedBy: 'ann',
  at: 1_000,
  ...more,
});

const approve = { verdict: 'approve', by: 'ann', channel: 'cli' } as const;
const deny = { verdict: 'deny', by: 'ann', channel: 'cli' } as const;

let postgres: Postgres | undefined;
const programs = postgresPrograms();
if (programs === undefined) {
  process.stdout.write('A store in PostgreSQL is not tested: its programs (initdb, postgres) cannot be found.\n');
}

let folder: string;
let address: string;
const opened: Store[] = [];
const processes: StoreProcess[] = [];

/** One more store at the same place. */
async function open(options: { readonly limits?: Limits } = {}): Promise<Store> {
  const store = await openStore(address, { auditKey: KEY, ...options });
  opened.push(store);
  return store;
}

async function run(...args: readonly string[]): Promise<StoreProcess> {
  const child = await startStoreProcess(address, args);
  processes.push(child);
  return child;
}

afterEach(async () => {
  await Promise.all(processes.splice(0).map((child) => child.kill()));
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

/** A place where nothing was kept yet. */
const PLACES = [
  { name: 'memory', lasts: false, place: () => 'memory:' },
  { name: 'SQLite', lasts: true, place: () => join(mkdtempSync(join(folder, 'store-')), 'parley.db') },
  {
    name: 'PostgreSQL',
    lasts: true,
    place: () => `${postgres!.connectionString}&schema=test_${randomUUID().replaceAll('-', '_')}`,
  },
].filter(({ name }) => name !== 'PostgreSQL' || programs !== undefined);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-store-'));
  if (programs !== undefined) postgres = await startPostgres(programs);
});

afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(PLACES)('a store in $name', ({ place, lasts }) => {
  let store: Store;

  beforeEach(async () => {
    address = place();
    store = await open();
  });

  const kinds = async () => (await store.audit.read()).map(({ kind }) => kind);

  describe('trust', () => {
    test('is found by the digest of the launch, with the record of it', async () => {
      const trusted = launch({ launch: { command: 'shop', args: ['\0', '\ud800'] } });
      await store.trust.add(trusted, note('trust', { digest: trusted.digest }));
      expect(await store.trust.find(trusted.digest)).toEqual(trusted);
      expect(await store.trust.find('another')).toBeUndefined();
      expect(await store.audit.read()).toMatchObject([{ kind: 'trust', body: { digest: trusted.digest } }]);
    });

    test('is listed newest first, all or of one name and file', async () => {
      const older = launch({ at: 1 });
      const newer = launch({ at: 2 });
      const others = [launch({ at: 3, server: 'mail' }), launch({ at: 4, file: '/other' })];
      for (const each of [newer, older, ...others]) await store.trust.add(each, note());
      expect(await store.trust.list(older)).toEqual([newer, older]);
      expect(await store.trust.list()).toEqual([others[1], others[0], newer, older]);
    });

    test('of a launch that is agreed to again is the later one', async () => {
      const trusted = launch();
      await store.trust.add(trusted, note());
      await store.trust.add({ ...trusted, by: 'bob' }, note());
      expect(await store.trust.list()).toEqual([{ ...trusted, by: 'bob' }]);
    });

    test('ends once', async () => {
      const trusted = launch();
      await store.trust.add(trusted, note('trust'));
      expect(await store.trust.remove(trusted.digest, note('gone'))).toBe(true);
      expect(await store.trust.remove(trusted.digest, note('gone'))).toBe(false);
      expect(await store.trust.find(trusted.digest)).toBeUndefined();
      expect(await kinds()).toEqual(['trust', 'gone']);
    });
  });

  describe('pins', () => {
    test('stand in the place of those with the same server, kind and name', async () => {
      await store.pins.put([pin({ digest: 'old' }), pin({ kind: 'prompt' }), pin({ server: 'other' })]);
      await store.pins.put([pin({ digest: 'new' })]);
      expect(await store.pins.of('digest-of-shop')).toEqual(
        expect.arrayContaining([pin({ digest: 'new' }), pin({ kind: 'prompt' })]),
      );
      expect(await store.pins.of('digest-of-shop')).toHaveLength(2);
      expect(await store.pins.of('other')).toHaveLength(1);
    });

    test('are taken off one by one, or all of a server', async () => {
      await store.pins.put([pin(), pin({ kind: 'prompt' }), pin({ name: 'sell' }), pin({ server: 'other' })]);
      await store.pins.remove('digest-of-shop', { kind: 'tool', name: 'buy' });
      expect(await store.pins.of('digest-of-shop')).toHaveLength(2);
      await store.pins.remove('digest-of-shop');
      expect(await store.pins.of('digest-of-shop')).toEqual([]);
      expect(await store.pins.of('other')).toHaveLength(1);
    });

    test('keep whatever a server calls its tools, and tell them apart', async () => {
      const pins = [...ODD_TEXTS, 'x'.repeat(5_001)].map((name) => pin({ name, canonical: JSON.stringify(name) + name }));
      await store.pins.put(pins);
      const found = await store.pins.of('digest-of-shop');
      expect(found).toHaveLength(pins.length);
      expect(found).toEqual(expect.arrayContaining(pins));
      await store.pins.remove('digest-of-shop', { kind: 'tool', name: 'a\0b' });
      expect(await store.pins.of('digest-of-shop')).toHaveLength(pins.length - 1);
    });
  });

  describe('grants', () => {
    test('in force are found by every member, oldest first', async () => {
      const first = grant({ at: 1, pattern: { item: { exact: 'tea' } } });
      const second = grant({ at: 2, principal: 'bob', run: 'run-1', tool: 'sell' });
      const third = grant({ at: 3, server: 'other', serverName: 'mail' });
      for (const each of [third, first, second]) await store.grants.add(each, note('grant'));
      expect(await store.grants.active()).toEqual([first, second, third]);
      expect(await store.grants.active({ principal: 'ann' })).toEqual([first, third]);
      expect(await store.grants.active({ server: 'digest-of-shop', tool: 'buy' })).toEqual([first]);
      expect(await store.grants.active({ run: 'run-1' })).toEqual([second]);
      expect(await store.grants.active({ serverName: 'mail', id: third.id })).toEqual([third]);
      expect(await store.grants.active({ serverName: 'mail', id: first.id })).toEqual([]);
      expect(await kinds()).toEqual(['grant', 'grant', 'grant']);
    });

    test('are used up', async () => {
      const twice = grant({ usesLeft: 2 });
      const always = grant();
      await store.grants.add(twice, note());
      await store.grants.add(always, note());
      expect(await store.grants.use(twice.id)).toBe(true);
      expect(await store.grants.active({ id: twice.id })).toEqual([{ ...twice, usesLeft: 1 }]);
      const more = await Promise.all([1, 2, 3].map(() => store.grants.use(twice.id)));
      expect(more.filter(Boolean)).toHaveLength(1);
      expect(await store.grants.active()).toEqual([always]);
      for (let count = 0; count < 3; count++) expect(await store.grants.use(always.id)).toBe(true);
      expect(await store.grants.use('none')).toBe(false);
    });

    test('are not in force after their time, or without a use', async () => {
      const over = grant({ expiresAt: Date.now() - 1 });
      const now = grant({ expiresAt: FUTURE });
      const none = grant({ usesLeft: 0 });
      for (const each of [now, none, over]) await store.grants.add(each, note());
      expect(await store.grants.active()).toEqual([now]);
      for (const { id } of [over, none]) expect(await store.grants.use(id)).toBe(false);
      expect(await store.grants.revoke({}, { why: 'asked' })).toBe(1);
    });

    test('are taken back, except those of the definition that is kept, each with a record that says why', async () => {
      const old = [grant(), grant()];
      const current = grant({ definitionDigest: 'definition-2' });
      const other = grant({ tool: 'sell' });
      for (const each of [...old, current, other]) await store.grants.add(each, note());
      const changed = { server: 'digest-of-shop', tool: 'buy' };
      expect(await store.grants.revoke(changed, { why: 'definition changed', keep: 'definition-2' })).toBe(2);
      expect(await store.grants.revoke(changed, { why: 'definition changed', keep: 'definition-2' })).toBe(0);
      const left = await store.grants.active();
      expect(left).toHaveLength(2);
      expect(left).toEqual(expect.arrayContaining([current, other]));
      for (const each of old) expect(await store.grants.use(each.id)).toBe(false);
      const records = (await store.audit.read()).slice(4);
      expect(records.map(({ kind, body }) => [kind, body['why']])).toEqual([
        ['grant', 'definition changed'],
        ['grant', 'definition changed'],
      ]);
      expect(records.map(({ body }) => body['revoked']).sort()).toEqual(old.map(({ id }) => id).sort());
    });

    test('that are taken back take the tickets along that they were given with, where those were not made use of', async () => {
      const [unused, begun, refused] = [ticket(), ticket(), ticket()];
      for (const each of [unused, begun, refused]) {
        const { id } = each;
        await store.approvals.open(each, note('asked'));
        const given = grant({ approval: { id, argsDigest: 'digest' } });
        await store.approvals.decide(id, { ...approve, grant: given, expiresAt: FUTURE - 5 }, note('yes'));
      }
      await store.approvals.claim(begun.id);
      expect(await store.approvals.get(unused.id)).toMatchObject({ state: 'approved', expiresAt: FUTURE - 5 });
      expect(await store.grants.revoke({}, { why: 'asked' })).toBe(3);
      expect(await store.approvals.get(unused.id)).toMatchObject({ state: 'cancelled' });
      expect(await store.approvals.get(begun.id)).toMatchObject({ state: 'dispatching' });
      expect(await store.approvals.claim(unused.id)).toBe(false);
      const withdrawn = (await store.audit.read()).filter(({ body }) => body['state'] === 'cancelled');
      expect(withdrawn.map(({ kind, body }) => [kind, body['why'], body['approval']])).toEqual(
        expect.arrayContaining([unused, refused].map(({ id }) => ['approval', 'asked', id])),
      );
      expect(withdrawn).toHaveLength(2);
    });

    test('have ids of their own', async () => {
      const one = grant();
      await store.grants.add(one, note());
      await expect(store.grants.add({ ...one, tool: 'sell' }, note())).rejects.toMatchObject({ code: 'usage' });
      expect(await store.grants.active()).toEqual([one]);
      expect(await kinds()).toHaveLength(1);
    });
  });

  describe('approvals', () => {
    test('wait as they were written, until somebody decides', async () => {
      const asked = ticket();
      expect(await store.approvals.open(asked, note('asked'))).toEqual({ ...asked, state: 'pending' });
      expect(await store.approvals.get(asked.id)).toEqual({ ...asked, state: 'pending' });
      expect(await store.approvals.get('none')).toBeUndefined();
      const decided = await store.approvals.decide(asked.id, { ...approve, editedArgs: { item: 'tea', count: 1 } }, note('yes'));
      expect(decided).toEqual({
        won: true,
        approval: {
          ...asked,
          state: 'approved',
          decidedBy: 'ann',
          channel: 'cli',
          decidedAt: expect.any(Number) as number,
          editedArgs: { item: 'tea', count: 1 },
        },
      });
      expect(await store.approvals.get(asked.id)).toEqual(decided?.approval);
      expect(await kinds()).toEqual(['asked', 'yes']);
    });

    test('are one ticket while the same call of the same principal is open', async () => {
      const asked = ticket();
      const again = (more: Partial<ApprovalTicket> = {}) =>
        store.approvals.open(ticket({ intentDigest: asked.intentDigest, ...more }), note());
      const opening = await Promise.all([store.approvals.open(asked, note()), again(), again()]);
      const { id } = opening[0];
      expect(opening.map((each) => each.id)).toEqual([id, id, id]);
      expect((await again({ principal: 'bob' })).id).not.toBe(id);
      await store.approvals.decide(id, approve, note());
      expect(await again()).toMatchObject({ id, state: 'approved' });
      await store.approvals.claim(id);
      expect(await again()).toMatchObject({ id, state: 'dispatching' });
      await store.approvals.finish(id, { state: 'done', outcome: 'ok' });
      expect(await again()).toMatchObject({ state: 'pending' });
      expect((await again()).id).not.toBe(id);
      expect(await kinds()).toHaveLength(4);
    });

    test('have one decider; the others get what was decided', async () => {
      const asked = ticket();
      await store.approvals.open(asked, note('asked'));
      const verdicts = await Promise.all([
        store.approvals.decide(asked.id, { ...deny, message: 'Too dear.' }, note('no')),
        store.approvals.decide(asked.id, approve, note('yes')),
        store.approvals.decide(asked.id, { ...approve, by: 'bob', grant: grant() }, note('yes')),
      ]);
      expect(verdicts.filter((verdict) => verdict?.won)).toHaveLength(1);
      const [first] = verdicts;
      expect(first).toMatchObject({ approval: { state: 'denied', message: 'Too dear.' } });
      for (const verdict of verdicts) expect(verdict?.approval).toEqual(first?.approval);
      expect(await store.approvals.decide(asked.id, approve, note('yes'))).toEqual({ won: false, approval: first?.approval });
      expect(await store.approvals.decide('none', approve, note('yes'))).toBeUndefined();
      expect(await kinds()).toEqual(['asked', 'no']);
      expect(await store.grants.active()).toEqual([]);
      expect(await store.approvals.claim(asked.id)).toBe(false);
    });

    test('come with the grant that was given, all of it or nothing', async () => {
      const [asked, other] = [ticket(), ticket()];
      const given = grant();
      for (const each of [asked, other]) await store.approvals.open(each, note('asked'));
      await store.approvals.decide(asked.id, { ...approve, grant: given }, note('yes'));
      expect(await store.grants.active()).toEqual([given]);
      expect((await store.approvals.get(asked.id))?.expiresAt).toBe(FUTURE);
      // Its id is taken.
      const twice = store.approvals.decide(other.id, { ...approve, grant: given }, note('yes'));
      await expect(twice).rejects.toMatchObject({ code: 'usage' });
      expect(await store.approvals.get(other.id)).toMatchObject({ state: 'pending' });
      expect(await kinds()).toEqual(['asked', 'asked', 'yes']);
    });

    test('that nobody decides in time are denied, with a record, and cannot be approved any more', async () => {
      const [late, missed, listed] = [1, 2, 3].map(() => ticket({ expiresAt: Date.now() - 1 })) as [
        ApprovalTicket,
        ApprovalTicket,
        ApprovalTicket,
      ];
      await store.approvals.open(late, note('asked'));
      expect(await store.approvals.decide(late.id, approve, note('yes'))).toMatchObject({
        won: false,
        approval: { state: 'expired', decidedAt: expect.any(Number) as number },
      });
      await store.approvals.open(missed, note('asked'));
      expect(await store.approvals.get(missed.id)).toMatchObject({ state: 'expired' });
      await store.approvals.open(listed, note('asked'));
      expect(await store.approvals.list({ states: ['expired'] })).toHaveLength(3);
      expect(await store.approvals.claim(late.id)).toBe(false);
      const expired = (await store.audit.read()).filter(({ body }) => body['state'] === 'expired');
      expect(expired.map(({ kind, body }) => [kind, body['approval']])).toEqual(
        [late, missed, listed].map(({ id }) => ['approval', id]),
      );
    });

    test('can be taken back until they are decided', async () => {
      const [asked, decided] = [ticket(), ticket()];
      for (const each of [asked, decided]) await store.approvals.open(each, note('asked'));
      await store.approvals.decide(decided.id, approve, note('yes'));
      for (const { id } of [asked, decided, { id: 'none' }]) await store.approvals.cancel(id, note('back'));
      expect(await store.approvals.get(asked.id)).toMatchObject({ state: 'cancelled' });
      expect(await store.approvals.get(decided.id)).toMatchObject({ state: 'approved' });
      expect(await kinds()).toEqual(['asked', 'asked', 'yes', 'back']);
    });

    test('are sent once', async () => {
      const asked = ticket();
      await store.approvals.open(asked, note());
      expect(await store.approvals.claim(asked.id)).toBe(false);
      await store.approvals.decide(asked.id, approve, note());
      const claims = await Promise.all([1, 2, 3].map(() => store.approvals.claim(asked.id)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await store.approvals.get(asked.id)).toMatchObject({
        state: 'dispatching',
        dispatchedAt: expect.any(Number) as number,
      });
      await store.approvals.finish(asked.id, { state: 'failed', outcome: 'unreachable' });
      await store.approvals.finish(asked.id, { state: 'done', outcome: 'ok' });
      expect(await store.approvals.get(asked.id)).toMatchObject({ state: 'failed', outcome: 'unreachable' });
      expect(await store.approvals.claim(asked.id)).toBe(false);
    });

    test('are listed newest first, by state, up to a limit', async () => {
      const tickets = [1, 2, 3, 4].map((createdAt) => ticket({ createdAt }));
      for (const each of tickets) await store.approvals.open(each, note());
      await store.approvals.decide(tickets[1]!.id, deny, note());
      const listed = async (filter?: Parameters<Store['approvals']['list']>[0]) =>
        (await store.approvals.list(filter)).map(({ createdAt }) => createdAt);
      expect(await listed()).toEqual([4, 3, 2, 1]);
      expect(await listed({ states: ['pending'], limit: 2 })).toEqual([4, 3]);
      expect(await listed({ states: ['denied', 'expired'] })).toEqual([2]);
      expect(await listed({ states: [] })).toEqual([]);
    });

    test('are not more than may wait', async () => {
      const small = await open({ limits: { maxPendingApprovals: 2 } });
      for (let count = 0; count < 2; count++) await small.approvals.open(ticket(), note());
      const refused = small.approvals.open(ticket(), note());
      await expect(refused).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxPendingApprovals', observed: 3 } });
      expect(await small.approvals.list()).toHaveLength(2);
      expect(await small.audit.read()).toHaveLength(2);
    });

    test('never leave an end, whatever is asked of them', async () => {
      const act = fc.constantFrom('approve', 'deny', 'cancel', 'claim', 'done', 'failed', 'outcome-unknown', 'recover', 'open');
      const ends = ['denied', 'expired', 'cancelled', 'done', 'failed', 'outcome-unknown'];
      const next: Readonly<Record<string, readonly string[]>> = {
        pending: ['approved', 'denied', 'cancelled'],
        approved: ['dispatching'],
        dispatching: ['done', 'failed', 'outcome-unknown'],
      };
      await fc.assert(
        fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
          const asked = ticket();
          let { state } = await store.approvals.open(asked, note());
          for (const each of acts) {
            if (each === 'approve') await store.approvals.decide(asked.id, approve, note());
            else if (each === 'deny') await store.approvals.decide(asked.id, deny, note());
            else if (each === 'cancel') await store.approvals.cancel(asked.id, note());
            else if (each === 'claim') await store.approvals.claim(asked.id);
            else if (each === 'recover') await store.journal.recover();
            else if (each === 'open' && !ends.includes(state)) await store.approvals.open({ ...asked, id: randomUUID() }, note());
            else if (each !== 'open') await store.approvals.finish(asked.id, { state: each, outcome: each });
            const after = (await store.approvals.get(asked.id))!.state;
            if (after !== state) expect(next[state] ?? []).toContain(after);
            state = after;
          }
        }),
        { numRuns: 25 },
      );
    });
  });

  describe('the journal', () => {
    test('has a call before it is sent, and how it ended', async () => {
      const begun = journalEntry({ approval: 'ticket-1', args: { text: 'a\0b\ud800' } });
      await store.journal.begin(begun, note('call'));
      expect(await store.journal.list()).toEqual([{ ...begun, state: 'begun' }]);
      await store.journal.end(begun.id, { state: 'done', outcome: 'ok', at: 2_000, bytes: 17 }, note('outcome'));
      const ended = { ...begun, state: 'done', outcome: 'ok', endedAt: 2_000, bytes: 17 };
      expect(await store.journal.list()).toEqual([ended]);
      expect(await kinds()).toEqual(['call', 'outcome']);
    });

    test('is listed newest first, by state, up to a limit', async () => {
      const calls = [1, 2, 3].map((at) => journalEntry({ at }));
      for (const each of calls) await store.journal.begin(each, note());
      await store.journal.end(calls[1]!.id, { state: 'unsent', outcome: 'unreachable', at: 9 }, note());
      const listed = async (filter?: Parameters<Store['journal']['list']>[0]) =>
        (await store.journal.list(filter)).map(({ at }) => at);
      expect(await listed()).toEqual([3, 2, 1]);
      expect(await listed({ state: 'begun' })).toEqual([3, 1]);
      expect(await listed({ state: 'unsent' })).toEqual([2]);
      expect(await listed({ limit: 1 })).toEqual([3]);
      expect(await listed({ limit: Infinity })).toEqual([3, 2, 1]);
    });

    test('takes an end once; a later one is in the audit only', async () => {
      const begun = journalEntry();
      await store.journal.begin(begun, note('call'));
      await store.journal.end(begun.id, { state: 'unknown', outcome: 'timeout', at: 2 }, note('outcome'));
      await store.journal.end(begun.id, { state: 'done', outcome: 'ok', at: 3 }, note('late'));
      expect(await store.journal.list()).toEqual([{ ...begun, state: 'unknown', outcome: 'timeout', endedAt: 2 }]);
      expect(await kinds()).toEqual(['call', 'outcome', 'late']);
    });

    test('refuses what it cannot keep, and then nothing is written at all', async () => {
      const begun = journalEntry();
      await store.journal.begin(begun, note());
      await expect(store.journal.begin(begun, note())).rejects.toMatchObject({ code: 'usage' });
      const small = await open({ limits: { maxFactBytes: 2_000 } });
      const before = await small.audit.read();
      const large = journalEntry({ args: { text: 'é'.repeat(1_000) } });
      await expect(small.journal.begin(large, note())).rejects.toMatchObject({ code: 'limit' });
      const unwritable = { ...note(), body: { value: 1n } };
      await expect(small.journal.begin(journalEntry(), unwritable)).rejects.toThrow();
      expect(await small.journal.list()).toHaveLength(lasts ? 1 : 0);
      expect(await small.audit.read()).toEqual(before);
    });

    test('does not recover a call of an owner that lives', async () => {
      await store.journal.begin(journalEntry(), note());
      expect(await store.journal.recover()).toEqual([]);
      expect(await store.journal.list({ state: 'begun' })).toHaveLength(1);
    });
  });

  describe('the audit', () => {
    test('is one chain without a gap, whoever writes at the same time', async () => {
      expect(await store.audit.head()).toBeUndefined();
      expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 0 });
      const bodies = Array.from({ length: 30 }, (_, index) => ({ index, text: ODD_TEXTS[index % ODD_TEXTS.length] }));
      await Promise.all([
        ...bodies.map((body) => store.audit.append({ at: body.index + 0.5, kind: `k${body.index}\0`, body })),
        ...Array.from({ length: 10 }, () => store.journal.begin(journalEntry(), note())),
      ]);
      const records = await store.audit.read();
      expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      const found = records.filter(({ kind }) => kind !== 'note').sort((a, b) => a.at - b.at);
      expect(found.map(({ kind, body }) => ({ kind, body }))).toEqual(bodies.map((body) => ({ kind: `k${body.index}\0`, body })));
      expect(await store.audit.head()).toMatchObject({ seq: 40, hash: records.at(-1)?.hash });
      expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 40 });
      expect(await verifyAudit(store.audit, Buffer.alloc(32))).toEqual({ ok: false, seq: 40, fault: 'unsealed' });
    });

    test('is read in pages, and from its end', async () => {
      const records = [];
      for (let index = 0; index < 5; index++) records.push(await store.audit.append(note(`k${index}`)));
      expect(await store.audit.read({ limit: 2 })).toEqual(records.slice(0, 2));
      expect(await store.audit.read({ after: 2, limit: 2 })).toEqual(records.slice(2, 4));
      expect(await store.audit.read({ after: 5 })).toEqual([]);
      expect(await store.audit.tail(2)).toEqual(records.slice(3));
      expect(await store.audit.tail(0)).toEqual([]);
      expect(await store.audit.tail(9)).toEqual(records);
    });
  });

  describe('what may be forgotten', () => {
    test('the revision of a server is kept for each principal', async () => {
      await store.eras.set('shop', 'ann', 'one', 1);
      await store.eras.set('shop', 'bob', 'two', 1);
      await store.eras.set('shop', 'ann', 'three', 2);
      expect(await store.eras.get('shop', 'ann')).toBe('three');
      expect(await store.eras.get('shop', 'bob')).toBe('two');
      expect(await store.eras.get('shop', 'eve')).toBeUndefined();
      expect(await store.eras.get('mail', 'ann')).toBeUndefined();
    });

    test('a listing is there while it is fresh, and for its principal alone', async () => {
      const of = { server: 'shop', principal: 'ann', method: 'tools/list', argument: '' };
      await store.listings.set(of, { tools: ['a\0'] }, FUTURE);
      expect(await store.listings.get(of, Date.now())).toEqual({ tools: ['a\0'] });
      expect(await store.listings.get(of, FUTURE)).toBeUndefined();
      for (const other of [{ principal: 'bob' }, { server: 'mail' }, { method: 'prompts/list' }, { argument: 'x' }]) {
        expect(await store.listings.get({ ...of, ...other }, Date.now())).toBeUndefined();
      }
      await store.listings.set(of, { tools: [] }, FUTURE);
      expect(await store.listings.get(of, Date.now())).toEqual({ tools: [] });
    });

    test('listings are dropped by server and method', async () => {
      const of = { server: 'shop', principal: 'ann', method: 'tools/list', argument: '' };
      const all = [of, { ...of, method: 'prompts/list' }, { ...of, principal: 'bob' }, { ...of, server: 'mail' }];
      for (const each of all) await store.listings.set(each, {}, FUTURE);
      const left = async () =>
        (await Promise.all(all.map((each) => store.listings.get(each, Date.now())))).map((body) => body !== undefined);
      await store.listings.drop('shop', 'tools/list');
      expect(await left()).toEqual([false, true, false, true]);
      await store.listings.drop('shop');
      expect(await left()).toEqual([false, false, false, true]);
    });

    test('a listing that is too large is not kept, nor the one before it', async () => {
      const small = await open({ limits: { maxFactBytes: 100 } });
      const of = { server: 'shop', principal: 'ann', method: 'tools/list', argument: '' };
      await small.listings.set(of, { tools: [] }, FUTURE);
      await small.listings.set(of, { tools: ['x'.repeat(100)] }, FUTURE);
      expect(await small.listings.get(of, Date.now())).toBeUndefined();
    });
  });

  describe('changes', () => {
    test('are told by kind, once what was written is there to be read', async () => {
      const heard: StoreChange[] = [];
      const seen: Promise<number>[] = [];
      store.changes.subscribe((change) => {
        heard.push(change);
        if (change === 'trust') seen.push(store.trust.list().then(({ length }) => length));
      });
      const asked = ticket();
      await store.trust.add(launch(), note());
      await store.pins.put([pin()]);
      await store.approvals.open(asked, note());
      await store.approvals.decide(asked.id, { ...approve, grant: grant() }, note());
      await store.journal.begin(journalEntry(), note());
      expect(new Set(heard)).toEqual(new Set(['trust', 'pins', 'approvals', 'grants', 'journal']));
      expect(await Promise.all(seen)).toEqual([1]);
    });

    test('are not told of what was not changed', async () => {
      const heard: StoreChange[] = [];
      store.changes.subscribe((change) => heard.push(change));
      await store.trust.remove('none', note());
      await store.approvals.decide('none', approve, note());
      await store.approvals.claim('none');
      await store.grants.use('none');
      await store.grants.revoke({}, { why: 'asked' });
      await store.audit.append(note());
      expect(heard).toEqual([]);
    });
  });

  test('forgets calls and tickets that ended long ago, and nothing that is under way or in the audit', async () => {
    const [old, recent, begun] = [journalEntry(), journalEntry(), journalEntry()];
    for (const each of [old, recent, begun]) await store.journal.begin(each, note());
    await store.journal.end(old.id, { state: 'done', outcome: 'ok', at: 5 }, note());
    await store.journal.end(recent.id, { state: 'done', outcome: 'ok', at: 10 }, note());
    const [denied, pending] = [ticket(), ticket()];
    for (const each of [denied, pending]) await store.approvals.open(each, note());
    await store.approvals.decide(denied.id, deny, note());
    await store.prune(10, note('prune'));
    expect((await store.journal.list()).map(({ id }) => id).sort()).toEqual([recent.id, begun.id].sort());
    expect(await store.approvals.list()).toHaveLength(2);
    await store.prune(FUTURE, note('prune'));
    expect(await store.journal.list()).toMatchObject([{ id: begun.id }]);
    expect(await store.approvals.list()).toMatchObject([{ id: pending.id }]);
    expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 10 });
  });

  test('says that it was closed, and closes any number of times', async () => {
    const ends: string[] = [];
    const following = (async () => {
      for await (const change of store.changes) ends.push(change);
    })();
    await Promise.all([store.close(), store.close()]);
    await store.close();
    await following;
    await expect(store.journal.begin(journalEntry(), note())).rejects.toMatchObject({ code: 'closed' });
    await expect(store.audit.read()).rejects.toMatchObject({ code: 'closed' });
  });
});

describe.each(PLACES.filter(({ lasts }) => lasts))('a store in $name that several share', ({ place }) => {
  beforeEach(() => {
    address = place();
  });

  test('has everything when it is opened again', async () => {
    const first = await open();
    const kept = { trust: launch(), grant: grant(), ticket: ticket(), call: journalEntry() };
    await first.trust.add(kept.trust, note());
    await first.grants.add(kept.grant, note());
    await first.approvals.open(kept.ticket, note());
    await first.journal.begin(kept.call, note());
    await first.journal.end(kept.call.id, { state: 'done', outcome: 'ok', at: 2 }, note());
    await first.pins.put([pin()]);
    await first.eras.set('shop', 'ann', 'one', 1);
    await first.close();
    const again = await open();
    expect(await again.trust.list()).toEqual([kept.trust]);
    expect(await again.grants.active()).toEqual([kept.grant]);
    expect(await again.approvals.list()).toEqual([{ ...kept.ticket, state: 'pending' }]);
    expect(await again.journal.list()).toMatchObject([{ ...kept.call, state: 'done' }]);
    expect(await again.pins.of('digest-of-shop')).toEqual([pin()]);
    expect(await again.eras.get('shop', 'ann')).toBe('one');
    expect(await verifyAudit(again.audit, KEY)).toEqual({ ok: true, count: 5 });
    expect(again.owner).not.toBe(first.owner);
  });

  test('tells each of what the other wrote', async () => {
    const [here, there] = [await open(), await open()];
    const heard: StoreChange[] = [];
    there.changes.subscribe((change) => heard.push(change));
    await here.grants.add(grant(), note());
    await expect.poll(() => heard).toContain('grants');
    await here.pins.put([pin()]);
    await expect.poll(() => heard).toContain('pins');
    expect(heard).not.toContain('trust');
  });

  test('has one decider and one sender of each ticket, and one chain, also between two', async () => {
    const [here, there] = [await open(), await open()];
    for (let round = 0; round < 10; round++) {
      const asked = ticket();
      const both = await Promise.all([here, there].map((store) => store.approvals.open(asked, note())));
      expect(new Set(both.map(({ id }) => id)).size).toBe(1);
      const decisions = await Promise.all([
        here.approvals.decide(asked.id, { ...approve, grant: grant() }, note('yes')),
        there.approvals.decide(asked.id, { ...approve, grant: grant() }, note('yes')),
      ]);
      expect(decisions.filter((decision) => decision?.won)).toHaveLength(1);
      expect(decisions[0]?.approval).toEqual(decisions[1]?.approval);
      const claims = await Promise.all([here, there].map((store) => store.approvals.claim(asked.id)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      const [owner, other] = claims[0] ? [here, there] : [there, here];
      await other.approvals.finish(asked.id, { state: 'failed', outcome: 'not mine' });
      expect(await here.approvals.get(asked.id)).toMatchObject({ state: 'dispatching' });
      await owner.approvals.finish(asked.id, { state: 'done', outcome: 'ok' });
      expect(await here.approvals.get(asked.id)).toMatchObject({ state: 'done' });
    }
    expect(await here.grants.active()).toHaveLength(10);
    expect(await verifyAudit(there.audit, KEY)).toEqual({ ok: true, count: 20 });
  });

  test('gives a use of a grant to one only', async () => {
    const [here, there] = [await open(), await open()];
    const few = grant({ usesLeft: 3 });
    await here.grants.add(few, note());
    const uses = await Promise.all([here, there, here, there, here, there].map((store) => store.grants.use(few.id)));
    expect(uses.filter(Boolean)).toHaveLength(3);
  });

  test('reports what a closed store left behind, once', async () => {
    const [left, here, there] = [await open(), await open(), await open()];
    const [begun, ended, asked] = [journalEntry(), journalEntry(), ticket()];
    for (const each of [begun, ended]) await left.journal.begin(each, note());
    await left.journal.end(ended.id, { state: 'done', outcome: 'ok', at: 2 }, note());
    await left.approvals.open(asked, note());
    await left.approvals.decide(asked.id, approve, note());
    await left.approvals.claim(asked.id);
    // Its owner lives.
    expect(await here.journal.recover()).toEqual([]);
    await left.close();
    const reports = await Promise.all([here.journal.recover(), there.journal.recover()]);
    expect(reports.flat()).toMatchObject([{ ...begun, state: 'unknown', outcome: 'owner-gone' }]);
    expect(await here.journal.recover()).toEqual([]);
    expect(await here.approvals.get(asked.id)).toMatchObject({ state: 'outcome-unknown', outcome: 'owner-gone' });
    expect(await there.approvals.claim(asked.id)).toBe(false);
    const written = (await here.audit.read()).slice(5).map(({ kind, body }) => [kind, body['state']]);
    expect(written).toEqual([
      ['approval', 'outcome-unknown'],
      ['outcome', 'unknown'],
    ]);
  });

  test('refuses to go on from an end of the audit that it did not seal', async () => {
    const other = await openStore(address, { auditKey: Buffer.alloc(32, 1) });
    opened.push(other);
    await other.audit.append(note());
    const store = await open();
    await expect(store.journal.begin(journalEntry(), note())).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(await store.journal.list()).toEqual([]);
  });

  test('has its schema made once, by however many open it first', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => open()));
    await Promise.all(stores.map((store) => store.audit.append(note())));
    expect(await verifyAudit(stores[0]!.audit, KEY)).toEqual({ ok: true, count: 6 });
  });

  test('has its schema made once, by however many processes open it first', async () => {
    const children = await Promise.all([1, 2, 3].map(() => run('open')));
    const results = await Promise.all(children.map((child) => child.go()));
    expect(results).toEqual([null, null, null]);
    expect(await (await open()).audit.read()).toEqual([]);
  });

  test('has one decider and one sender of each ticket between two processes', async () => {
    const store = await open();
    const tickets = Array.from({ length: 25 }, () => ticket());
    for (const each of tickets) await store.approvals.open(each, note());
    const ids = tickets.map(({ id }) => id);
    const children = await Promise.all([run('race', ...ids), run('race', ...ids)]);
    const won = (await Promise.all(children.map((child) => child.go()))) as {
      readonly decided: readonly string[];
      readonly claimed: readonly string[];
    }[];
    expect(won.flatMap(({ decided }) => decided).sort()).toEqual([...ids].sort());
    expect(won.flatMap(({ claimed }) => claimed).sort()).toEqual([...ids].sort());
    expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 50 });
  });

  test('has one chain, whichever processes write to it', async () => {
    const store = await open();
    const children = await Promise.all([1, 2, 3].map(() => run('append', '40')));
    await Promise.all(children.map((child) => child.go()));
    expect(await verifyAudit(store.audit, KEY)).toEqual({ ok: true, count: 120 });
    const writers = new Set((await store.audit.read()).map(({ body }) => body['pid']));
    expect(writers).toEqual(new Set(children.map(({ pid }) => pid)));
  });

  test('reports at once what was under way in a process that was killed', async () => {
    const store = await open();
    const asked = ticket();
    await store.approvals.open(asked, note());
    await store.approvals.decide(asked.id, approve, note());
    const id = randomUUID();
    const child = await run('begin', id, asked.id);
    expect(await child.go()).toBe(true);
    expect(await store.journal.recover()).toEqual([]);
    await child.kill();
    expect(await store.journal.recover()).toMatchObject([{ id, state: 'unknown' }]);
    expect(await store.journal.recover()).toEqual([]);
    expect(await store.approvals.get(asked.id)).toMatchObject({ state: 'outcome-unknown' });
    expect(await store.approvals.claim(asked.id)).toBe(false);
  });
});
