import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject, Request } from '../jsonrpc/index.ts';
import { createFakeClock, type FakeClock } from '../testing/index.ts';
import { connect, type ConnectOptions } from './connect.ts';
import { complete, discovery, legacyServer, script, settle, unknownMethod, type Reply, type Script } from './fixtures/script.ts';
import type { News, Session } from './session.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const seed = (extra: JsonObject = {}): Reply => ({
  result: {
    resultType: 'task',
    taskId: 't1',
    status: 'working',
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
    ttlMs: 3_600_000,
    pollIntervalMs: 5_000,
    ...extra,
  },
});
/** An answer to tasks/get. */
const state = (status: string, extra: JsonObject = {}): Reply => complete({ taskId: 't1', status, ttlMs: null, ...extra });
const done = (text: string) => state('completed', { result: { content: [{ type: 'text', text }] } });
const question = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
};
const asking = (...keys: string[]) =>
  state('input_required', { inputRequests: Object.fromEntries(keys.map((key) => [key, question])) });

type Answers = Record<string, Reply | ((request: Request) => Reply)>;

/** A server with tasks. */
function taskServer(answers: Answers, options: { kind?: Script['kind']; declared?: JsonObject } = {}): Script {
  const { kind, declared = { extensions: { [TASKS]: {} } } } = options;
  return script((request) => {
    if (request.method === 'server/discover') return discovery(declared);
    const answer = answers[request.method] ?? unknownMethod;
    return typeof answer === 'function' ? answer(request) : answer;
  }, kind);
}

/** Gives one answer after the other, the last one again and again. */
const inTurn = (...replies: Reply[]) => {
  let index = 0;
  return () => replies[Math.min(index++, replies.length - 1)] as Reply;
};

let sessions: Session[] = [];
afterEach(async () => {
  for (const session of sessions) await session.close();
  sessions = [];
});

async function open(server: Script, options: ConnectOptions = {}): Promise<{ session: Session; clock: FakeClock }> {
  const clock = createFakeClock();
  const session = await connect(server, { clock, ...options });
  sessions.push(session);
  return { session, clock };
}

/** Moves time on in small steps, letting things happen in between. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await settle();
    clock.advance(Math.min(500, left));
  }
  await settle();
}

/** Of timers only that which looks after answers may be left, and it ends by itself. */
function expectNothingLeft(clock: FakeClock): void {
  clock.advance(600_000);
  expect(clock.waiting).toBe(0);
}

const of = (server: Script, method: string) => server.requests.filter((request) => request.method === method);

describe('a call that becomes a task', () => {
  it('is asked about until it is complete, and gives its result', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': inTurn(state('working'), done('at last')) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await pass(clock, 20_000);
    await expect(called).resolves.toMatchObject({ content: [{ text: 'at last' }] });
    expect(of(server, 'tasks/get').map(({ params }) => params?.['taskId'])).toEqual(['t1', 't1']);
    expectNothingLeft(clock);
  });

  it.each([
    ['0', 0, 1_000],
    ['a trillion', 1e12, 60_000],
    ['5,000', 5_000, 5_000],
    ['nothing', undefined, 2_000],
  ])('is asked about no sooner than is kind and no later than is useful, when the server wants %s', async (_, wanted, atMs) => {
    const server = taskServer({ 'tools/call': seed({ pollIntervalMs: wanted }), 'tasks/get': state('working') });
    const { session, clock } = await open(server);
    const stop = new AbortController();
    const called = session.callTool('slow', {}, { signal: stop.signal });
    await settle();
    clock.advance(atMs - 1);
    await settle();
    expect(of(server, 'tasks/get')).toHaveLength(0);
    // A tenth of the interval spreads the clients.
    clock.advance(atMs / 10 + 1);
    await settle();
    expect(of(server, 'tasks/get')).toHaveLength(1);
    stop.abort();
    await expect(called).rejects.toMatchObject({ code: 'aborted' });
  });

  it('after a round of input is followed as well', async () => {
    const round = { result: { resultType: 'input_required', inputRequests: { a: question }, requestState: 's' } };
    const server = taskServer({ 'tools/call': inTurn(round, seed()), 'tasks/get': done('both') });
    const { session, clock } = await open(server, { inputs: { elicitForm: async () => ({ action: 'accept' }) } });
    const called = session.callTool('slow');
    await pass(clock, 10_000);
    await expect(called).resolves.toMatchObject({ content: [{ text: 'both' }] });
  });

  it('that failed rejects with the error of the server, and one that was cancelled says so', async () => {
    const error = { code: -32000, message: 'no more disk', data: { free: 0 } };
    const server = taskServer({
      'tools/call': inTurn(seed(), seed({ taskId: 't1' })),
      'tasks/get': inTurn(state('failed', { error }), state('cancelled')),
    });
    const { session, clock } = await open(server);
    const failed = session.callTool('slow');
    await Promise.all([pass(clock, 6_000), expect(failed).rejects.toMatchObject({ name: 'RpcError', ...error })]);
    const cancelled = session.callTool('slow');
    await Promise.all([
      pass(clock, 6_000),
      expect(cancelled).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining('was cancelled') as string }),
    ]);
    expect(of(server, 'tasks/cancel')).toHaveLength(0);
  });

  it('is not made again, whatever error it fails with', async () => {
    const error = { code: -32020, message: 'Header mismatch' };
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('failed', { error }) }, { kind: 'http' });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 6_000), expect(called).rejects.toMatchObject({ code: -32020 })]);
    expect(of(server, 'tools/call')).toHaveLength(1);
  });

  it('that the server no longer knows has an unknown outcome', async () => {
    const gone: Reply = { error: { code: -32602, message: 'Task has expired' } };
    const { session, clock } = await open(taskServer({ 'tools/call': seed(), 'tasks/get': gone }));
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 6_000), expect(called).rejects.toMatchObject({ code: 'outcome-unknown' })]);
  });

  it('that outlives its time to live has an unknown outcome', async () => {
    const server = taskServer({ 'tools/call': seed({ ttlMs: 1 }), 'tasks/get': state('working', { ttlMs: 1_000 }) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 70_000), expect(called).rejects.toMatchObject({ code: 'outcome-unknown' })]);
  });

  it('bears failures that may pass, but not without end', async () => {
    const busy: Reply = { error: { code: -32603, message: 'Internal error' } };
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': inTurn(busy, busy, done('anyway')) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await pass(clock, 20_000);
    await expect(called).resolves.toMatchObject({ content: [{ text: 'anyway' }] });

    const other = await open(taskServer({ 'tools/call': seed(), 'tasks/get': busy }));
    const lost = other.session.callTool('slow');
    await Promise.all([pass(other.clock, 60_000), expect(lost).rejects.toMatchObject({ code: 'outcome-unknown' })]);
  });

  it('that works for ever is given up after its maximum, and the server is told', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('working'), 'tasks/cancel': complete({}) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow', {}, { maxMs: 12_000 });
    await Promise.all([
      pass(clock, 13_000),
      expect(called).rejects.toMatchObject({ code: 'timeout', details: { afterMs: 12_000 } }),
    ]);
    expect(of(server, 'tasks/cancel')).toHaveLength(1);
  });

  it('is cancelled when its caller gives up, and its cancellation is not a notification', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('working'), 'tasks/cancel': complete({}) });
    const { session, clock } = await open(server);
    const stop = new AbortController();
    const called = session.callTool('slow', {}, { signal: stop.signal });
    await pass(clock, 6_000);
    stop.abort();
    await expect(called).rejects.toMatchObject({ code: 'aborted' });
    expect(of(server, 'tasks/cancel').map(({ params }) => params?.['taskId'])).toEqual(['t1']);
    expect(server.told).toEqual([]);
    await pass(clock, 60_000);
    expect(of(server, 'tasks/get')).toHaveLength(1);
  });

  it('ends with its session', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('working') });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await pass(clock, 6_000);
    server.line.end();
    await expect(called).rejects.toMatchObject({ code: 'server-stopped' });
    expectNothingLeft(clock);
  });

  it('tells its status as progress', async () => {
    const server = taskServer({
      'tools/call': seed({ statusMessage: 'begun' }),
      'tasks/get': inTurn(
        state('working', { statusMessage: 'half' }),
        state('working', { statusMessage: 'half' }),
        state('working', { statusMessage: 'almost' }),
        done('x'),
      ),
    });
    const { session, clock } = await open(server);
    const told: unknown[] = [];
    const called = session.callTool('slow', {}, { onProgress: (progress) => told.push(progress) });
    await pass(clock, 30_000);
    await called;
    expect(told).toEqual([
      { progress: 1, message: 'begun' },
      { progress: 2, message: 'half' },
      { progress: 3, message: 'almost' },
    ]);
  });
});

describe('input that a task asks for', () => {
  it('is given once each, however often it is asked for', async () => {
    const server = taskServer({
      'tools/call': seed(),
      'tasks/get': inTurn(asking('a'), asking('a'), asking('a', 'b'), asking('b'), done('thanks')),
      'tasks/update': complete({}),
    });
    let asked = 0;
    const elicitForm = async () => ({ action: 'accept', content: { n: ++asked } }) as const;
    const { session, clock } = await open(server, { inputs: { elicitForm } });
    const called = session.callTool('slow');
    await pass(clock, 40_000);
    await called;
    expect(asked).toBe(2);
    expect(of(server, 'tasks/update').map(({ params }) => [params?.['taskId'], params?.['inputResponses']])).toEqual([
      ['t1', { a: { action: 'accept', content: { n: 1 } } }],
      ['t1', { b: { action: 'accept', content: { n: 2 } } }],
    ]);
  });

  it('does not stop the asking, and is let go when the task wants it no longer', async () => {
    const server = taskServer({
      'tools/call': seed(),
      'tasks/get': inTurn(asking('a'), asking('a'), state('working'), done('without')),
    });
    const seen: boolean[] = [];
    const elicitForm = (_: unknown, { signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => seen.push(true));
      return new Promise<never>(() => {});
    };
    const { session, clock } = await open(server, { inputs: { elicitForm } });
    const called = session.callTool('slow');
    await pass(clock, 30_000);
    await expect(called).resolves.toMatchObject({ content: [{ text: 'without' }] });
    expect(seen).toEqual([true]);
    expect(of(server, 'tasks/update')).toHaveLength(0);
  });

  it('that nobody answers gives the task up', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': asking('a'), 'tasks/cancel': complete({}) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 12_000), expect(called).rejects.toMatchObject({ code: 'input-unanswered' })]);
    expect(of(server, 'tasks/cancel')).toHaveLength(1);
  });

  it('is not given for ever', async () => {
    let key = 0;
    const server = taskServer({
      'tools/call': seed(),
      'tasks/get': () => asking(`k${key++}`),
      'tasks/update': complete({}),
      'tasks/cancel': complete({}),
    });
    const { session, clock } = await open(server, {
      inputs: { elicitForm: async () => ({ action: 'decline' }) },
      limits: { maxRounds: 3 },
    });
    const called = session.callTool('slow');
    await Promise.all([
      pass(clock, 60_000),
      expect(called).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxRounds', allowed: 3 } }),
    ]);
    expect(of(server, 'tasks/update')).toHaveLength(3);
  });
});

describe('a task that may not be', () => {
  const task = { 'tools/call': seed(), 'prompts/get': seed(), 'tasks/get': done('x') };

  it('is refused from a server that did not say that it has tasks', async () => {
    const { session } = await open(taskServer(task, { declared: {} }));
    await expect(session.callTool('slow')).rejects.toMatchObject({ code: 'protocol-violation' });
  });

  it('is refused when this client did not say that it can follow one', async () => {
    const server = taskServer(task);
    const { session } = await open(server, { extensions: {} });
    await expect(session.callTool('slow')).rejects.toMatchObject({ code: 'protocol-violation' });
    expect(JSON.stringify(server.requests)).not.toContain(TASKS);
  });

  it('is refused as the answer to anything but a call of a tool', async () => {
    const { session } = await open(taskServer(task));
    await expect(session.getPrompt('p')).rejects.toMatchObject({ code: 'protocol-violation' });
  });

  it.each([
    ['without an id', { taskId: undefined }, 'protocol-violation'],
    ['with a status of its own', { status: 'sleeping' }, 'protocol-violation'],
    ['with an id without end', { taskId: 'x'.repeat(257) }, 'limit'],
  ])('%s is refused', async (_, extra, code) => {
    const { session } = await open(taskServer({ 'tools/call': seed(extra) }));
    await expect(session.callTool('slow')).rejects.toMatchObject({ code });
  });

  it.each([
    ['of another', state('working', { taskId: 't2' })],
    ['completed without a result', state('completed')],
    ['completed with a task', state('completed', { result: { resultType: 'task', content: [] } })],
    ['failed without an error', state('failed')],
    ['that answers with a task', seed()],
  ])('later, %s, is refused', async (_, reply) => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': reply, 'tasks/cancel': complete({}) });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 6_000), expect(called).rejects.toMatchObject({ code: 'protocol-violation' })]);
  });

  it('is unknown to sessions of the handshake era, which do not declare it', async () => {
    const server = legacyServer({ 'tools/call': () => ({ result: { content: [], taskId: 't1', resultType: 'task' } }) });
    const { session } = await open(server);
    expect(JSON.stringify(server.requests.filter(({ method }) => method === 'initialize'))).not.toContain(TASKS);
    await expect(session.callTool('slow')).resolves.toMatchObject({ content: [] });
    await expect(session.resumeTask('t1')).rejects.toMatchObject({ code: 'unsupported' });
  });

  it('is one more than are followed at once, and is cancelled', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('working'), 'tasks/cancel': complete({}) });
    const { session } = await open(server);
    for (let count = 0; count < 64; count++) await session.startTool('slow');
    await expect(session.startTool('slow')).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxTasks', allowed: 64 } });
    expect(of(server, 'tasks/cancel')).toHaveLength(1);
  });
});

describe('the id of a task', () => {
  it.each([
    ['a plain one', 'a-1', 'a-1'],
    ['a path', '../../admin', '../../admin'],
    ['line breaks', 'a\r\nX-Evil: 1', '=?base64?YQ0KWC1FdmlsOiAx?='],
    ['other letters', 'ü', '=?base64?w7w=?='],
  ])('travels in a header as it may: %s', async (_, taskId, header) => {
    const server = taskServer({ 'tools/call': seed({ taskId }), 'tasks/get': state('cancelled', { taskId }) }, { kind: 'http' });
    const { session, clock } = await open(server);
    const called = session.callTool('slow');
    await Promise.all([pass(clock, 6_000), expect(called).rejects.toMatchObject({ code: 'aborted' })]);
    expect(of(server, 'tasks/get')[0]?.headers).toMatchObject({ 'Mcp-Method': 'tasks/get', 'Mcp-Name': header });
  });
});

describe('a handle', () => {
  it('is given at once, tells each state, and keeps the first end', async () => {
    const server = taskServer({
      'tools/call': seed(),
      'tasks/get': inTurn(state('working', { statusMessage: 'half' }), done('first'), done('second')),
    });
    const { session, clock } = await open(server);
    const started = await session.startTool('slow', { a: 1 });
    if (started.type !== 'task') throw new Error('It is no task.');
    const { task } = started;
    expect([task.id, task.state.status]).toEqual(['t1', 'working']);
    const heard: string[] = [];
    const listening = (async () => {
      for await (const { status, statusMessage } of task.updates) heard.push(`${status} ${statusMessage ?? ''}`);
    })();
    await pass(clock, 30_000);
    await listening;
    expect(heard).toEqual(['working half', 'completed ']);
    await expect(task.result()).resolves.toMatchObject({ content: [{ text: 'first' }] });
    await expect(task.result()).resolves.toMatchObject({ content: [{ text: 'first' }] });
    expect(of(server, 'tasks/get')).toHaveLength(2);
  });

  it('is a result when the server has one already', async () => {
    const { session } = await open(taskServer({ 'tools/call': complete({ content: [{ type: 'text', text: 'now' }] }) }));
    await expect(session.startTool('quick')).resolves.toMatchObject({ type: 'result', result: { content: [{ text: 'now' }] } });
  });

  it('cancels, and then asks what came of it', async () => {
    const server = taskServer({ 'tools/call': seed(), 'tasks/get': state('cancelled'), 'tasks/cancel': complete({}) });
    const { session, clock } = await open(server);
    const started = await session.startTool('slow');
    if (started.type !== 'task') throw new Error('It is no task.');
    await started.task.cancel();
    await settle();
    await expect(started.task.result()).rejects.toMatchObject({ code: 'aborted' });
    expect(of(server, 'tasks/get')).toHaveLength(1);
    expectNothingLeft(clock);
  });

  it('is had again from the id, unless the server does not know it', async () => {
    const server = taskServer({
      'tasks/get': ({ params }) =>
        params?.['taskId'] === 't1' ? done('still there') : { error: { code: -32602, message: 'Task not found' } },
    });
    const { session, clock } = await open(server);
    const task = await session.resumeTask('t1');
    await pass(clock, 2_000);
    await expect(task.result()).resolves.toMatchObject({ content: [{ text: 'still there' }] });
    await expect(session.resumeTask('t2')).rejects.toMatchObject({ code: 'outcome-unknown' });
  });

  it('is asked about at once when the server tells news of it, but not without pause', async () => {
    const server = taskServer({
      'subscriptions/listen': 'silence',
      'tools/call': seed({ pollIntervalMs: 60_000 }),
      'tasks/get': inTurn(state('working'), done('told')),
    });
    const { session, clock } = await open(server);
    const news: News[] = [];
    session.news.subscribe((each) => news.push(each));
    const started = await session.startTool('slow');
    if (started.type !== 'task') throw new Error('It is no task.');
    const watch = session.watch({ taskIds: ['t1'] });
    await settle();
    const id = of(server, 'subscriptions/listen')[0]?.id;
    const tell = (method: string, params: JsonObject) =>
      server.line.deliver({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
      });
    tell('notifications/subscriptions/acknowledged', { notifications: { taskIds: ['t1'] } });
    await expect(watch.acknowledged).resolves.toEqual({ taskIds: ['t1'] });
    // The first before anything was asked, the second straight after.
    for (let count = 0; count < 2; count++) {
      tell('notifications/tasks', { taskId: 't1', status: 'working' });
      tell('notifications/tasks', { taskId: 'another', status: 'working' });
      await settle();
      expect(of(server, 'tasks/get')).toHaveLength(1);
    }
    clock.advance(1_000);
    await settle();
    await expect(started.task.result()).resolves.toMatchObject({ content: [{ text: 'told' }] });
    expect(news).toEqual([
      { type: 'task-changed', taskId: 't1' },
      { type: 'task-changed', taskId: 't1' },
    ]);
    await watch.close();
  });
});
