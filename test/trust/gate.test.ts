// What stands between a decision and a server: tickets, the journal, the audit, and the last look before anything is sent.
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answerTicket,
  forWire,
  parkApprover,
  type ApprovalRequest,
  type Approver,
  type CallRecord,
  type HostEvent,
  type ToolOutcome,
  type Verdict,
} from '../../src/host/index.ts';
import { createMemoryStore, type Approval, type AuditRecord, type Store } from '../../src/store/index.ts';
import { createScene, SERVER, type Scene } from './fixtures/scene.ts';

let scene: Scene;
let store: Store;
beforeEach(() => {
  scene = createScene();
  store = createMemoryStore();
});
afterEach(async () => {
  await scene.close();
  await store.close();
});

const ONCE: Approver = { ask: async () => ({ type: 'allow', scope: 'once' }) };
const park = (waitMs = 0) => parkApprover({ store, waitMs });
const calls = () => scene.reached().filter(({ kind }) => kind === 'tool');
const kinds = async () => (await store.audit.read()).map(({ kind }) => kind);

/** The ticket that waits. */
async function waiting(): Promise<Approval> {
  await expect.poll(() => store.approvals.list({ states: ['pending'] })).toHaveLength(1);
  const [ticket] = await store.approvals.list({ states: ['pending'] });
  return ticket as Approval;
}

function textOf(outcome: ToolOutcome): string {
  if (outcome.type !== 'ok') throw new Error(JSON.stringify(outcome));
  const [block] = forWire(outcome.result.value).content;
  return block?.type === 'text' ? block.text : '';
}

/** The store with one of its functions failing. */
function failing(part: 'begin' | 'end' | 'append'): Store {
  const fail = () => Promise.reject(new Error('the disk is full'));
  const { journal, audit } = store;
  return {
    ...store,
    journal: { ...journal, ...(part === 'begin' && { begin: fail }), ...(part === 'end' && { end: fail }) },
    audit: { ...audit, ...(part === 'append' && { append: fail }) },
  };
}

describe('a call', () => {
  it('is written down with about as many bytes as its result took, and told of with its digest', async () => {
    const host = await scene.host('2026-07-28', { store, permissions: { allow: ['s/act'] } });
    const told: CallRecord[] = [];
    host.events.subscribe((event) => event.type === 'call' && told.push(event.record));
    const sizes = ['x', 'x'.repeat(10_000)].map(async (text) => {
      const outcome = await host.call('s/act', { text });
      return textOf(outcome).length;
    });
    const [short = 0, long = 0] = await Promise.all(sizes);
    const bytes = (await store.journal.list()).map((call) => call.bytes ?? 0).sort((a, b) => a - b);
    expect(bytes[0]).toBeGreaterThan(short);
    expect((bytes[1] ?? 0) - (bytes[0] ?? 0)).toBe(long - short);
    const written = (await store.journal.list()).map(({ id, intentDigest }) => ({ call: id, digest: intentDigest }));
    expect(told.map((record) => ({ call: record.call, digest: record.digest }))).toEqual(expect.arrayContaining(written));
    expect(JSON.parse(JSON.stringify(told[0]))).toMatchObject({ name: 's/act', server: 's', digest: told[0]?.digest });
  });

  it('is in the journal and the audit before it is sent, and its end after', async () => {
    const gate = join(scene.directory, 'go');
    const host = await scene.host('2026-07-28', { store, permissions: { allow: ['s/act'] }, flags: ['--slow', gate] });
    const call = host.call('s/act', { text: 'x' }, { route: 'run' });
    await expect.poll(calls).toHaveLength(1);
    expect(await store.journal.list()).toMatchObject([
      { serverName: 's', tool: 'act', state: 'begun', args: { text: 'x' }, route: 'run', run: host.run },
    ]);
    expect(await kinds()).toEqual(['call']);
    writeFileSync(gate, '');
    await call;
    expect(await store.journal.list()).toMatchObject([{ state: 'done', outcome: 'ok', bytes: expect.any(Number) as number }]);
    expect(await kinds()).toEqual(['call', 'outcome']);
  });

  it('that is under way when its host is closed has its end written down', async () => {
    const host = await scene.host('2026-07-28', { store, permissions: { allow: ['s/act'] }, flags: ['--slow', '/never'] });
    const call = host.call('s/act', {});
    await expect.poll(calls).toHaveLength(1);
    await host.close();
    expect(await store.journal.list()).toMatchObject([{ state: 'unknown' }]);
    expect(await call).toMatchObject({ type: 'lost', sent: 'perhaps' });
  });

  it("that names one of Parley's own files is denied, whatever a rule or a person allows", async () => {
    const ownFolders = [join(scene.directory, 'own')];
    for (const more of [{ permissions: { allow: ['s/act'] } }, { approver: ONCE }]) {
      const host = await scene.host('2026-07-28', { store, ownFolders, ...more });
      const outcome = await host.call('s/act', { text: join(scene.directory, 'own', 'key') });
      expect(outcome).toMatchObject({ type: 'denied', by: 'policy', because: expect.stringContaining("Parley's own") as string });
      expect((await host.call('s/act', { text: join(scene.directory, 'other') })).type).toBe('ok');
    }
    expect(calls()).toHaveLength(2);
  });

  it("that names one of Parley's own files is denied where nobody said which folders are its own", async () => {
    const surroundings = {
      env: { ...process.env, XDG_STATE_HOME: join(scene.directory, 'state'), XDG_CONFIG_HOME: undefined },
      home: scene.directory,
      workspaceFolder: scene.directory,
    };
    const host = await scene.host('2026-07-28', { store, surroundings, permissions: { allow: ['s/act'] } });
    for (const path of ['.config/parley/parley.jsonc', 'state/parley/store/key', '.cache/parley'])
      expect(await host.call('s/act', { text: join(scene.directory, path) })).toMatchObject({ type: 'denied', by: 'policy' });
    const free = await scene.host('2026-07-28', { store, surroundings, ownFolders: [], permissions: { allow: ['s/act'] } });
    expect((await free.call('s/act', { text: join(scene.directory, '.cache/parley') })).type).toBe('ok');
    expect(calls()).toHaveLength(1);
  });

  it('that cannot be written down is not sent', async () => {
    for (const [part, name] of [
      ['begin', 'call'],
      ['append', 'readResource'],
      ['append', 'getPrompt'],
    ] as const) {
      const host = await scene.host('2026-07-28', { store: failing(part), permissions: { allow: ['s/act'] } });
      const outcome =
        name === 'call'
          ? await host.call('s/act', {})
          : name === 'readResource'
            ? await host.readResource('note://x')
            : await host.getPrompt('s/say');
      expect(outcome).toMatchObject({ type: 'fault', sent: 'no', error: { code: 'not-recorded' } });
    }
    expect(scene.reached()).toEqual([]);
  });

  it('whose end cannot be written down is told of, and its result is not lost', async () => {
    const host = await scene.host('2026-07-28', { store: failing('end'), permissions: { allow: ['s/act'] } });
    const troubles: HostEvent[] = [];
    host.events.subscribe((event) => event.type === 'trouble' && troubles.push(event));
    expect(textOf(await host.call('s/act', { text: 'x' }))).toContain('did');
    expect(troubles).toMatchObject([
      { error: { code: 'not-recorded', message: expect.stringMatching(/stands, and is missing in the record\.$/) as string } },
    ]);
  });

  it('is written down without secrets, refused or not', async () => {
    const host = await scene.host('2026-07-28', { store, approver: ONCE });
    await host.call('s/act', { text: 'sk-abcdefghijklmnop1234', token: 'hunter2' });
    const denied = await scene.host('2026-07-28', { store });
    await denied.call('s/act', { text: 'x', token: 'hunter2' });
    expect(calls()[0]?.args).toEqual({ text: 'sk-abcdefghijklmnop1234', token: 'hunter2' });
    const written = JSON.stringify([await store.audit.read(), await store.journal.list()]);
    expect(written).not.toMatch(/hunter2|sk-abcdef/);
    expect(written).toContain('redacted');
    expect(await kinds()).toEqual(['approval', 'approval', 'call', 'outcome', 'refusal']);
  });

  it('says who it was for, what it was, and why it was made', async () => {
    const host = await scene.host('2026-07-28', { store, approver: ONCE, principal: 'ann', run: 'r-1', route: 'chat' });
    await host.call('s/act', { text: 'x' });
    const [record] = (await store.audit.read()).filter(({ kind }) => kind === 'call') as [AuditRecord];
    expect(record.body).toMatchObject({
      principal: 'ann',
      run: 'r-1',
      route: 'chat',
      server: 's',
      tool: 'act',
      args: { text: 'x' },
      because: 'It was approved by ann.',
      by: { type: 'approval', by: 'ann', channel: 'approver' },
    });
    for (const member of ['identity', 'definition', 'digest', 'policy']) expect(record.body[member]).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['a trusted server that says nothing of it', { trusted: true }, {}, 1],
    ['a trusted server that says that it may be repeated', { trusted: true }, { idempotentHint: true }, 2],
    ['a server that is not trusted', {}, { idempotentHint: true }, 1],
  ])('of %s is made as often as that allows when the server ends in it', async (_, settings, annotations, times) => {
    const host = await scene.host('2026-07-28', {
      store,
      settings,
      permissions: { allow: ['s/act'] },
      flags: ['--dies', '--annotate', JSON.stringify(annotations)],
    });
    expect(await host.call('s/act', {})).toMatchObject({ type: 'lost', sent: 'perhaps' });
    expect(calls()).toHaveLength(times);
    expect(await store.journal.list()).toMatchObject([{ state: 'unknown', outcome: 'lost' }]);
  });
});

describe('a parked call', () => {
  it('leaves one ticket however often it is made, and is made once when that was approved', async () => {
    const host = await scene.host('2026-07-28', { store, approver: park() });
    const args = { text: 'x' };
    const first = await host.call('s/act', args);
    expect(first).toMatchObject({
      type: 'denied',
      by: 'parked',
      because: expect.stringContaining('parley approvals approve ap_') as string,
    });
    await host.call('s/act', { text: 'x' });
    const ticket = await waiting();
    expect(first).toMatchObject({ ticket: ticket.id });
    expect(await answerTicket(store, ticket.id, { type: 'allow', scope: 'once', who: 'bob' })).toMatchObject({ won: true });
    const other = await scene.host('2026-07-28', { store, approver: park() });
    const both = await Promise.all([other.call('s/act', args), host.call('s/act', args)]);
    expect(both.map(({ type }) => type).sort()).toEqual(['denied', 'ok']);
    expect(calls()).toHaveLength(1);
    expect(await store.approvals.get(ticket.id)).toMatchObject({ state: 'done', outcome: 'ok', decidedBy: 'bob' });
    expect(await store.journal.list()).toMatchObject([{ approval: ticket.id }]);
  });

  it('that waits is made when somebody else approves, and not when he denies', async () => {
    const host = await scene.host('2026-07-28', { store, approver: park(600_000) });
    const allowed = host.call('s/act', { text: 'yes' });
    await answerTicket(store, (await waiting()).id, { type: 'allow', scope: 'once' });
    expect((await allowed).type).toBe('ok');
    const denied = host.call('s/act', { text: 'no' });
    await answerTicket(store, (await waiting()).id, { type: 'deny', by: 'person', message: 'Not today.' });
    expect(await denied).toMatchObject({ type: 'denied', by: 'person', because: 'Not today.' });
    expect(calls()).toHaveLength(1);
  });

  it('takes its ticket back when the caller gives up', async () => {
    const host = await scene.host('2026-07-28', { store, approver: park(600_000) });
    const stop = new AbortController();
    const call = host.call('s/act', {}, { signal: stop.signal });
    const { id } = await waiting();
    stop.abort();
    expect(await call).toEqual({ type: 'cancelled' });
    expect(await store.approvals.get(id)).toMatchObject({ state: 'cancelled' });
    expect(await answerTicket(store, id, { type: 'allow', scope: 'once' })).toMatchObject({ won: false });
  });

  it('with other arguments is decided anew: made as edited, and not when a rule denies that', async () => {
    const host = await scene.host('2026-07-28', {
      store,
      approver: park(600_000),
      permissions: { deny: ['s/act(text: "never")'] },
    });
    const edited = host.call('s/act', { text: 'a' });
    const first = await waiting();
    await answerTicket(store, first.id, { type: 'allow', scope: 'once', args: { text: 'b' } });
    expect(textOf(await edited)).toBe('did {"text":"b"}');
    const [record] = (await store.audit.read()).filter(({ kind }) => kind === 'call') as [AuditRecord];
    expect(record.body).toMatchObject({ args: { text: 'b' }, editedFrom: first.intentDigest });
    expect(record.body['digest']).not.toBe(first.intentDigest);
    for (const [args, type] of [
      [{ text: 'never' }, 'denied'],
      [{ text: 7 }, 'invalid'],
    ] as const) {
      const call = host.call('s/act', { text: 'c' });
      const { id } = await waiting();
      await answerTicket(store, id, { type: 'allow', scope: 'once', args });
      expect(await call).toMatchObject({ type });
      expect(await store.approvals.get(id)).toMatchObject({ state: 'failed' });
    }
    expect(calls()).toHaveLength(1);
  });

  it.each<[string, (ticket: Approval) => Partial<Approval>]>([
    ['its arguments', () => ({ args: { text: 'harmless' } })],
    ['its tool', ({ shown }) => ({ shown: { ...shown, definition: { name: 'look', inputSchema: {} } } })],
    ['its server', () => ({ serverName: 'good' })],
  ])('can only be denied when %s were changed in the store', async (_, change) => {
    const host = await scene.host('2026-07-28', { store, approver: park() });
    await host.call('s/act', { text: 'x' });
    const ticket = await waiting();
    const changed = { approvals: { ...store.approvals, get: async () => ({ ...ticket, ...change(ticket) }) } };
    await expect(answerTicket(changed, ticket.id, { type: 'allow', scope: 'once' })).rejects.toMatchObject({ code: 'denied' });
    expect(await answerTicket(changed, ticket.id, { type: 'deny', by: 'person' })).toMatchObject({ won: true });
  });

  it('is denied at once when too many wait', async () => {
    const host = await scene.host('2026-07-28', { store, approver: park() });
    for (let count = 1; count <= 8; count++)
      expect(await host.call('s/act', { text: String(count) })).toMatchObject({ by: 'parked' });
    expect(await host.call('s/act', { text: '9' })).toMatchObject({ type: 'denied', by: 'policy' });
    expect(await host.call('s/act', { text: '1' })).toMatchObject({ by: 'parked' });
    expect(await store.approvals.list()).toHaveLength(8);
  });

  it('that was approved and not made in time is asked for anew', async () => {
    let now = Date.now();
    await store.close();
    store = createMemoryStore({ now: () => now });
    const approver = parkApprover({ store, waitMs: 0, expiresAfterMs: 1_000, now: () => now });
    const host = await scene.host('2026-07-28', { store, approver });
    await host.call('s/act', {});
    const { id } = await waiting();
    await answerTicket(store, id, { type: 'allow', scope: 'once' }, () => now);
    now += 1_001;
    expect(await host.call('s/act', {})).toMatchObject({ by: 'parked' });
    expect(await store.approvals.get(id)).toMatchObject({ state: 'failed', outcome: 'expired' });
    expect(calls()).toEqual([]);
  });
});

describe('a parked call that is allowed for longer', () => {
  /** Parks the call, and answers its ticket. */
  async function allowed(scope: 'run' | 'always' | 'until', now?: () => number): Promise<Approval> {
    const host = await scene.host('2026-07-28', { store, approver: park(), run: 'run-1' });
    await host.call('s/act', { text: 'x' });
    const ticket = await waiting();
    const pattern = { args: { '/text': { exact: 'x' } } };
    const terms = { run: {}, always: { pattern }, until: { pattern, at: (now?.() ?? 0) + 1_000 } }[scope];
    await answerTicket(store, ticket.id, { type: 'allow', scope, ...terms } as Verdict, now);
    return ticket;
  }

  it.each(['run', 'always'] as const)(
    '(%s) may be made no more when that is revoked, before its first call or after',
    async (scope) => {
      for (const made of [0, 1]) {
        const { id } = await allowed(scope);
        const host = await scene.host('2026-07-28', { store, approver: park(), run: 'run-1' });
        for (let count = 0; count < made; count++) expect((await host.call('s/act', { text: 'x' })).type).toBe('ok');
        expect(await store.approvals.get(id)).toMatchObject({ state: made === 0 ? 'approved' : 'failed' });
        expect(await store.grants.revoke({}, { why: 'a test' })).toBe(1);
        expect(await host.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'parked' });
        expect(calls()).toHaveLength(made);
        await answerTicket(store, (await waiting()).id, { type: 'deny', by: 'person' });
      }
    },
  );

  it('is not free once more in another run than it was allowed for', async () => {
    await allowed('run');
    const same = await scene.host('2026-07-28', { store, approver: park(), run: 'run-1' });
    for (const text of ['y', 'x', 'x']) expect((await same.call('s/act', { text })).type).toBe('ok');
    const other = await scene.host('2026-07-28', { store, approver: park(), run: 'run-2' });
    expect(await other.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'parked' });
    expect(calls()).toHaveLength(3);
  });

  it('can be made once in another run where nobody made it in its own', async () => {
    const { id } = await allowed('run');
    const other = await scene.host('2026-07-28', { store, approver: park(), run: 'run-2' });
    expect((await other.call('s/act', { text: 'x' })).type).toBe('ok');
    expect(await store.approvals.get(id)).toMatchObject({ state: 'done' });
    expect(await other.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'parked' });
  });

  it('may be made no more when the time of that is over', async () => {
    let now = Date.now();
    await store.close();
    store = createMemoryStore({ now: () => now });
    const { id } = await allowed('until', () => now);
    now += 1_001;
    const approver = parkApprover({ store, waitMs: 0, now: () => now });
    const host = await scene.host('2026-07-28', { store, approver });
    expect(await host.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'parked' });
    expect(await store.approvals.get(id)).toMatchObject({ state: 'failed', outcome: 'expired' });
    expect(calls()).toEqual([]);
  });

  it('cannot have its arguments changed: what would be allowed is the call that was not', async () => {
    const host = await scene.host('2026-07-28', { store, approver: park() });
    await host.call('s/act', { text: 'rm' });
    const { id } = await waiting();
    const answer = { type: 'allow', args: { text: 'ls' } } as const;
    const pattern = { args: { '/text': { exact: 'rm' } } };
    for (const scope of [{ scope: 'run' }, { scope: 'always', pattern }] as const)
      await expect(answerTicket(store, id, { ...answer, ...scope })).rejects.toMatchObject({ code: 'usage' });
    const approver: Approver = { ask: async () => ({ ...answer, scope: 'always', pattern }) };
    const other = await scene.host('2026-07-28', { store, approver, principal: 'bob' });
    expect(textOf(await other.call('s/act', { text: 'rm' }))).toBe('did {"text":"ls"}');
    expect(await store.grants.active()).toEqual([]);
  });
});

describe('a question at a terminal', () => {
  it('is a ticket too: the first answer counts, wherever it comes from', async () => {
    let answer = (_: 'allow' | 'deny') => {};
    let aborted = false;
    const approver: Approver = {
      ask: (_request, { signal } = {}) =>
        new Promise((resolve, reject) => {
          answer = (type) => resolve(type === 'allow' ? { type, scope: 'once' } : { type, by: 'person' });
          signal?.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          });
        }),
    };
    const host = await scene.host('2026-07-28', { store, approver });
    const elsewhere = host.call('s/act', { text: 'a' });
    await answerTicket(store, (await waiting()).id, { type: 'allow', scope: 'once', who: 'bob', channel: 'cli' });
    expect((await elsewhere).type).toBe('ok');
    expect(aborted).toBe(true);
    const here = host.call('s/act', { text: 'b' });
    const { id } = await waiting();
    answer('deny');
    expect(await here).toMatchObject({ type: 'denied', by: 'person' });
    expect(await answerTicket(store, id, { type: 'allow', scope: 'once' })).toMatchObject({
      won: false,
      approval: { state: 'denied' },
    });
    expect(calls()).toHaveLength(1);
  });

  it('that is given up in the moment it is answered allows nothing the next time', async () => {
    const stop = new AbortController();
    const { approvals } = store;
    const decide: typeof approvals.decide = async (...decision) => {
      const decided = await approvals.decide(...decision);
      stop.abort();
      return decided;
    };
    const watched = { ...store, approvals: { ...approvals, decide } };
    const host = await scene.host('2026-07-28', { store: watched, approver: ONCE });
    expect(await host.call('s/act', { text: 'x' }, { signal: stop.signal })).toEqual({ type: 'cancelled' });
    await expect.poll(() => store.approvals.list()).toMatchObject([{ state: 'failed' }]);
    const other = await scene.host('2026-07-28', { store, approver: park() });
    expect(await other.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'parked' });
    expect(calls()).toEqual([]);
  });

  it.each([
    ['the definition of the tool', (script: string, hints: string) => (writeFileSync(hints, '{"title":"new"}'), script)],
    ['the program of the server', (script: string) => appendFileSync(script, '// another one\n')],
  ])('lets no call through when %s changed before the answer', async (_, change) => {
    const script = join(scene.directory, 'server.mjs');
    const hints = join(scene.directory, 'hints.json');
    writeFileSync(script, `await import(${JSON.stringify(SERVER)});\n`);
    writeFileSync(hints, '{}');
    let during = async () => {};
    const approver: Approver = { ask: async () => (await during(), { type: 'allow', scope: 'run' }) };
    const host = await scene.host('2026-07-28', { store, approver, script, flags: ['--annotate', `@${hints}`] });
    during = async () => {
      await host.restart('s');
      await host.settled();
    };
    // A restart alone changes nothing.
    expect((await host.call('s/act', { text: 'a' })).type).toBe('ok');
    await store.grants.revoke({ tool: 'act' }, { why: 'a test' });
    during = async () => {
      change(script, hints);
      await host.restart('s');
      await host.settled();
    };
    const before = calls().length;
    expect(await host.call('s/act', { text: 'b' })).toMatchObject({
      type: 'denied',
      by: 'policy',
      because: expect.stringContaining('not what is there now') as string,
    });
    expect(calls()).toHaveLength(before);
    expect(await store.approvals.list({ states: ['failed'] })).toHaveLength(1);
  });
});

describe('what is allowed beyond one call', () => {
  it('is nothing where a rule wants every call asked for, whatever the approver says', async () => {
    let asked = 0;
    const approver: Approver = { ask: async () => (asked++, { type: 'allow', scope: 'run' }) };
    const host = await scene.host('2026-07-28', { store, approver, permissions: { ask: ['s/act'] } });
    for (const text of ['a', 'b']) expect((await host.call('s/act', { text })).type).toBe('ok');
    expect(asked).toBe(2);
    expect(await store.grants.active()).toEqual([]);
  });

  const always = (choice: number): Approver => ({
    ask: async ({ proposals = [] }) => {
      const pattern = proposals[choice]?.pattern;
      return pattern === undefined ? { type: 'deny', by: 'person' } : { type: 'allow', scope: 'always', pattern };
    },
  });

  it('holds in another host on the same store, for these arguments and for nothing else', async () => {
    const first = await scene.host('2026-07-28', { store, approver: always(0), principal: 'ann' });
    await first.call('s/act', { text: 'x' });
    const second = await scene.host('2026-07-28', { store, principal: 'ann' });
    expect((await second.call('s/act', { text: 'x' })).type).toBe('ok');
    expect(await second.call('s/act', { text: 'y' })).toMatchObject({ type: 'denied', by: 'no-terminal' });
    const bob = await scene.host('2026-07-28', { store, principal: 'bob' });
    expect((await bob.call('s/act', { text: 'x' })).type).toBe('denied');
    const [record] = (await store.audit.read()).filter(
      ({ kind, body }) => kind === 'call' && (body['by'] as { type?: string }).type === 'grant',
    ) as [AuditRecord];
    expect(record.body['because']).toContain('allowed by ann, from then on');
  });

  it.each<[string, Parameters<Scene['host']>[1]]>([
    ['another definition of the tool', { flags: ['--annotate', '{"title":"new"}'] }],
    ['another launch of the server', { flags: ['--slow', '/dev/null'] }],
    ['another policy', { permissions: { deny: ['s/other'] } }],
    ['what else the user says of the server', { settings: { reviewedTools: ['other'] } }],
  ])('is void under %s', async (_, changed) => {
    const first = await scene.host('2026-07-28', { store, approver: always(0) });
    await first.call('s/act', { text: 'x' });
    const same = await scene.host('2026-07-28', { store });
    expect((await same.call('s/act', { text: 'x' })).type).toBe('ok');
    const other = await scene.host('2026-07-28', { store, ...changed });
    expect(await other.call('s/act', { text: 'x' })).toMatchObject({ type: 'denied', by: 'no-terminal' });
  });

  it('is not offered for what destroys or reaches out, nor for a server that fetches what it runs', async () => {
    const offers = async (options: Parameters<Scene['host']>[1]) => {
      let offered: readonly unknown[] | undefined;
      const approver: Approver = {
        ask: async (request: ApprovalRequest) => ((offered = request.proposals), { type: 'deny', by: 'person' }),
      };
      const host = await scene.host('2026-07-28', { store, approver, ...options });
      await host.call('s/act', { text: 'x' });
      return offered;
    };
    const annotated = (hints: object) => ({ flags: ['--annotate', JSON.stringify(hints)] });
    expect(await offers({})).toHaveLength(1);
    expect(await offers(annotated({ destructiveHint: true }))).toEqual([]);
    expect(await offers(annotated({ openWorldHint: true }))).toEqual([]);
    expect(await offers(annotated({ readOnlyHint: true }))).toHaveLength(2);
  });
});
