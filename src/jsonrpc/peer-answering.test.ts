// What a peer is asked: requests and notifications of the far end, and their answers.
import { describe, expect, test } from 'vitest';
import { ParleyError, RpcError } from '../errors.ts';
import { createScriptedLine, type ScriptedLineOptions } from '../testing/index.ts';
import type { Problem } from './channel.ts';
import { conventions } from './fixtures/conventions.ts';
import type { JsonObject, Notification } from './message.ts';
import { createPeer, type PeerOptions, type RequestHandler } from './peer.ts';

function setUp(onRequest?: RequestHandler, options: Partial<PeerOptions> & { line?: ScriptedLineOptions } = {}) {
  const line = createScriptedLine(options.line);
  const problems: Problem[] = [];
  const faults: unknown[] = [];
  const notifications: Notification[] = [];
  const peer = createPeer(line.channel, {
    conventions,
    ...(onRequest && { onRequest }),
    onProblem: (problem) => problems.push(problem),
    onFault: (error) => faults.push(error),
    onNotification: (notification) => notifications.push(notification),
    ...options,
  });
  return { line, peer, problems, faults, notifications };
}

const ask = (id: unknown, method = 'm', params: unknown = {}) => ({ jsonrpc: '2.0', id, method, params });
const stop = (id: unknown) => ({ jsonrpc: '2.0', method: 'stop', params: { id } });
const refused = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } });

/** A handler whose answers the test gives by hand, and the signals it was given. */
function held() {
  const signals: AbortSignal[] = [];
  const answers: ((answer: JsonObject) => void)[] = [];
  const handler: RequestHandler = (_, { signal }) => {
    signals.push(signal);
    return new Promise((resolve) => void answers.push(resolve));
  };
  return { handler, signals, answers };
}

describe('a request of the far end', () => {
  test.each([[1], ['1'], [0], ['']])('with id %j is answered with the same id', async (id) => {
    const { line } = setUp(({ method, params }) => ({ method, params }));
    line.deliver(ask(id, 'add', { x: 1 }));
    expect(await line.next()).toEqual({ jsonrpc: '2.0', id, result: { method: 'add', params: { x: 1 } } });
  });

  test('may be answered later than the next one', async () => {
    const { handler, answers } = held();
    const { line } = setUp(handler);
    line.deliver(ask('a'));
    line.deliver(ask('b'));
    answers[1]?.({ nr: 2 });
    expect(await line.next()).toMatchObject({ id: 'b', result: { nr: 2 } });
    answers[0]?.({ nr: 1 });
    expect(await line.next()).toMatchObject({ id: 'a', result: { nr: 1 } });
  });

  test('is refused as an unknown method when nobody answers requests', () => {
    const { line } = setUp();
    line.deliver(ask(1, 'anything'));
    expect(line.sent).toEqual([refused(1, -32601, 'Method not found')]);
  });

  test('is dropped when its handler returns nothing', async () => {
    const { line } = setUp(({ method }) => (method === 'drop' ? undefined : {}));
    line.deliver(ask(1, 'drop'));
    line.deliver(ask(2));
    expect(await line.next()).toMatchObject({ id: 2 });
    expect(line.sent).toHaveLength(1);
  });

  test('whose handler throws an RpcError is answered with it', async () => {
    const { line, faults } = setUp(({ method }) => {
      throw method === 'plain' ? new RpcError(-32601, 'No such method') : new RpcError(-32002, 'Not there', { uri: 'x:y' });
    });
    line.deliver(ask(1, 'plain'));
    line.deliver(ask(2));
    expect(await line.next()).toEqual(refused(1, -32601, 'No such method'));
    expect(await line.next()).toEqual({
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32002, message: 'Not there', data: { uri: 'x:y' } },
    });
    expect(faults).toEqual([]);
  });

  test('whose handler throws anything else is answered without its text, which stays here', async () => {
    const fault = new Error('password is hunter2');
    const { line, faults } = setUp(async () => {
      throw fault;
    });
    line.deliver(ask(1));
    expect(await line.next()).toEqual(refused(1, -32603, 'Internal error'));
    expect(faults).toEqual([fault]);
  });

  test('under an id that is still being answered is refused, under one that was answered it is not', async () => {
    const { handler, answers } = held();
    const { line } = setUp(handler);
    line.deliver(ask(1));
    line.deliver(ask(1));
    expect(await line.next()).toEqual(refused(1, -32600, 'A request with this id is still being answered'));
    answers[0]?.({ nr: 1 });
    expect(await line.next()).toMatchObject({ id: 1, result: { nr: 1 } });
    line.deliver(ask(1));
    answers[1]?.({ nr: 2 });
    expect(await line.next()).toMatchObject({ id: 1, result: { nr: 2 } });
  });

  test('past the cap on requests being answered is refused', async () => {
    const { handler, answers } = held();
    const { line } = setUp(handler, { maxAnswering: 2 });
    for (const id of [1, 2, 3]) line.deliver(ask(id));
    expect(await line.next()).toEqual(refused(3, -32603, 'Too many requests at once'));
    expect(answers).toHaveLength(2);
  });

  test('whose answer cannot be delivered is a problem and no more', async () => {
    const reported = new Promise<Problem>((resolve) => {
      const { line } = setUp(() => ({}), {
        line: { onSend: () => Promise.reject(new ParleyError('unreachable', 'Nobody listens.')) },
        onProblem: resolve,
      });
      line.deliver(ask(1));
    });
    expect(await reported).toEqual({
      kind: 'undelivered',
      message: 'An answer could not be delivered: Nobody listens.',
    });
  });
});

describe('a cancellation of the far end', () => {
  test('aborts the handler’s signal, and no answer is sent', async () => {
    const { handler, signals, answers } = held();
    const { line, notifications } = setUp(handler);
    line.deliver(ask('a'));
    line.deliver(ask('b'));
    line.deliver(stop('a'));
    line.deliver(stop('a'));
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(signals[0]?.reason).toMatchObject({ code: 'aborted' });
    answers[0]?.({});
    answers[1]?.({});
    expect(await line.next()).toMatchObject({ id: 'b' });
    expect(line.sent).toHaveLength(1);
    expect(notifications).toEqual([]);
  });

  test('of a request that is not being answered, or of the other type of id, is a notification like any other', () => {
    const { handler, signals } = held();
    const { line, notifications } = setUp(handler);
    line.deliver(ask(1));
    for (const id of ['1', 7, null]) line.deliver(stop(id));
    expect(signals[0]?.aborted).toBe(false);
    expect(notifications).toHaveLength(3);
  });
});

test('a request that gets no reply is dismissed where it has a response of its own', async () => {
  const { handler, answers } = held();
  const { line } = setUp((request, context) => (request.method === 'drop' ? undefined : handler(request, context)), {
    line: { kind: 'http' },
  });
  line.deliver(ask('a'));
  line.deliver(ask('b'));
  line.deliver(ask('c', 'drop'));
  line.deliver(stop('a'));
  answers[0]?.({});
  answers[1]?.({});
  expect(await line.next()).toMatchObject({ id: 'b' });
  expect([...line.dismissed].sort()).toEqual(['a', 'c']);
});

describe('a notification', () => {
  test('is heard with its origin, and never answered', () => {
    const heard: unknown[] = [];
    const { line } = setUp(undefined, { onNotification: (...news) => heard.push(news) });
    const note = { jsonrpc: '2.0', method: 'note', params: { a: 1 } };
    line.deliver(note, { requestId: 3 });
    expect(heard).toEqual([[note, { requestId: 3 }]]);
    expect(line.sent).toEqual([]);
  });

  test('of ours is sent as it is', async () => {
    const { line, peer } = setUp();
    await peer.notify('note', { a: 1 });
    await peer.notify('bare');
    expect(line.sent).toEqual([
      { jsonrpc: '2.0', method: 'note', params: { a: 1 } },
      { jsonrpc: '2.0', method: 'bare' },
    ]);
  });
});

describe('a question that is not formed as it should be', () => {
  test('is refused under its id', () => {
    const { line, peer } = setUp(() => ({}));
    line.deliver(ask(7, 'm', [1]));
    expect(line.sent).toEqual([refused(7, -32600, 'Invalid request: "params" is not an object')]);
    expect(peer.stats.invalid).toBe(1);
  });

  test.each([
    ['null', ask(null)],
    ['none', { jsonrpc: '2.0', method: 'm', params: 'x' }],
  ])('with the id %s is dropped, and never answered under the id of the request on whose stream it came', async (_, value) => {
    const { line, peer, problems } = setUp(() => ({}), { line: { kind: 'http' } });
    const asked = peer.request('a');
    line.deliver(value, { requestId: 1 });
    expect(line.sent).toHaveLength(1);
    expect(problems).toHaveLength(1);
    line.deliver({ jsonrpc: '2.0', id: 1, result: {} });
    await asked;
  });
});

test('the end of the line aborts what is being answered, and nothing is sent any more', async () => {
  const { handler, signals, answers } = held();
  const { line, peer } = setUp(handler);
  line.deliver(ask(1));
  const gone = new ParleyError('server-stopped', 'It went away.');
  line.end(gone);
  expect(signals[0]?.reason).toBe(gone);
  answers[0]?.({});
  await peer.ended;
  expect(line.sent).toEqual([]);
});
