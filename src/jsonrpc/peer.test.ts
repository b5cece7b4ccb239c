// What a peer asks: replies, time, giving up, progress, and how a line that ends or a far end that is wrong is met.
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import { createFakeClock, createScriptedLine, type ScriptedLineOptions } from '../testing/index.ts';
import type { Problem } from './channel.ts';
import { conventions, progress, result } from './fixtures/conventions.ts';
import type { Notification } from './message.ts';
import { createPeer, type PeerOptions } from './peer.ts';

function setUp(options: Partial<PeerOptions> & { line?: ScriptedLineOptions } = {}) {
  const clock = createFakeClock();
  const line = createScriptedLine(options.line);
  const problems: Problem[] = [];
  const notifications: Notification[] = [];
  const peer = createPeer(line.channel, {
    conventions,
    clock,
    onProblem: (problem) => problems.push(problem),
    onNotification: (notification) => notifications.push(notification),
    ...options,
  });
  return { clock, line, peer, problems, notifications };
}

const none = { stale: 0, duplicate: 0, unknown: 0, invalid: 0, progress: 0, flooded: 0 };

describe('a request', () => {
  test('is sent with a number of its own, its method and its params, and without params when there are none', async () => {
    const { line, peer } = setUp();
    const both = Promise.all([peer.request('a', { x: 1 }), peer.request('b')]);
    expect(line.sent).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1 } },
      { jsonrpc: '2.0', id: 2, method: 'b' },
    ]);
    line.deliver(result(1));
    line.deliver(result(2));
    await both;
  });

  test('that overlaps another gets its own reply when they come in reverse order', async () => {
    const { line, peer } = setUp();
    const first = peer.request('a');
    const second = peer.request('b');
    expect(peer.inFlight).toBe(2);
    line.deliver(result(2, 'second'));
    line.deliver(result(1, 'first'));
    expect(await first).toEqual({ value: 'first' });
    expect(await second).toEqual({ value: 'second' });
    expect(peer.inFlight).toBe(0);
    expect(peer.stats).toEqual(none);
  });

  test('that is answered by an error rejects with it, code, text and data', async () => {
    const { line, peer } = setUp();
    const asked = peer.request('a');
    line.deliver({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Bad', data: { at: 1 } } });
    await expect(asked).rejects.toMatchObject({ name: 'RpcError', code: -32602, message: 'Bad', data: { at: 1 } });
  });

  test('tells its id before the message goes out, and hands headers and relation on', async () => {
    const order: unknown[] = [];
    const { line, peer } = setUp({
      line: { onSend: (message, options) => void order.push(message, options?.headers, options?.relatedTo) },
    });
    const asked = peer.request('a', undefined, { onId: (id) => order.push(id), headers: { 'x-name': 'v' }, relatedTo: 'r' });
    expect(order).toEqual([1, { jsonrpc: '2.0', id: 1, method: 'a' }, { 'x-name': 'v' }, 'r']);
    line.deliver(result(1));
    await asked;
  });

  test('that cannot be sent rejects with the channel’s report, and waits no longer', async () => {
    const lost = new ParleyError('session-lost', 'Gone.');
    const { clock, line, peer } = setUp({ line: { onSend: () => Promise.reject(lost) } });
    await expect(peer.request('a')).rejects.toBe(lost);
    expect(peer.inFlight).toBe(0);
    line.deliver(result(1));
    expect(peer.stats).toEqual({ ...none, stale: 1 });
    clock.advance(60_000);
    expect(clock.waiting).toBe(0);
  });

  test('that a channel cannot send for a reason of its own rejects with an internal fault', async () => {
    const { peer } = setUp({ line: { onSend: () => Promise.reject(new TypeError('x is not a function')) } });
    await expect(peer.request('a')).rejects.toMatchObject({ code: 'internal', cause: expect.any(TypeError) });
  });

  test('past the cap on requests in flight is refused unsent, and has its turn when one is answered', async () => {
    const { line, peer } = setUp({ maxInFlight: 2 });
    const held = [peer.request('a'), peer.request('b')];
    await expect(peer.request('c')).rejects.toMatchObject({
      code: 'limit',
      retryable: true,
      details: { limit: 'maxInFlight', allowed: 2, observed: 3, unsent: true },
    });
    expect(line.sent).toHaveLength(2);
    line.deliver(result(1));
    const next = peer.request('d');
    line.deliver(result(2));
    line.deliver(result(3));
    await Promise.all([...held, next]);
  });
});

describe('a reply', () => {
  test.each([
    ['"1"', '1'],
    ['""', ''],
    ['0', 0],
    ['"0"', '0'],
    ['99', 99],
  ])('with id %s, which was never used, is counted as unknown', async (_, id) => {
    const { line, peer } = setUp();
    const asked = peer.request('a');
    line.deliver(result(id));
    expect(peer.stats).toEqual({ ...none, unknown: 1 });
    line.deliver(result(1));
    await asked;
  });

  test.each([
    ['null', null],
    ['missing', undefined],
    ['true', true],
    ['1.5', 1.5],
  ])('whose id is %s answers nobody and is reported', async (_, id) => {
    const { line, peer, problems } = setUp();
    const asked = peer.request('a');
    line.deliver(result(id));
    expect(peer.stats).toEqual({ ...none, invalid: 1 });
    expect(problems).toMatchObject([{ kind: 'malformed' }]);
    line.deliver(result(1));
    await asked;
  });

  test('that comes twice is counted as duplicate, and the first one stands', async () => {
    const { line, peer } = setUp();
    const asked = peer.request('a');
    line.deliver(result(1, 'first'));
    line.deliver(result(1, 'second'));
    line.deliver({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'third' } });
    expect(await asked).toEqual({ value: 'first' });
    expect(peer.stats).toEqual({ ...none, duplicate: 2 });
  });

  test('that comes after its caller gave up, by cancelling or by time-out, is counted as stale', async () => {
    const { clock, line, peer } = setUp();
    const controller = new AbortController();
    const cancelled = peer.request('a', undefined, { signal: controller.signal });
    const late = peer.request('b', undefined, { timeoutMs: 10 });
    controller.abort();
    clock.advance(10);
    line.deliver(result(1));
    line.deliver({ jsonrpc: '2.0', id: 2, error: { code: 1, message: 'late' } });
    expect(peer.stats).toEqual({ ...none, stale: 2 });
    line.deliver(result(1));
    expect(peer.stats).toEqual({ ...none, stale: 2, duplicate: 1 });
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    await expect(late).rejects.toMatchObject({ code: 'timeout' });
  });

  test.each([
    ['both result and error', { result: {}, error: { code: 1, message: 'no' } }],
    ['neither', {}],
    ['a result that is no object', { result: 'ok' }],
    ['an error without a code', { error: { message: 'no' } }],
    ['no version', { jsonrpc: undefined, result: {} }],
  ])('with %s fails the request it names at once', async (_, members) => {
    const { line, peer, problems } = setUp();
    const asked = peer.request('a');
    line.deliver({ jsonrpc: '2.0', id: 1, ...members });
    await expect(asked).rejects.toMatchObject({ code: 'protocol-violation', message: expect.stringContaining('a ') });
    expect(peer.stats).toEqual({ ...none, invalid: 1 });
    expect(problems).toHaveLength(1);
  });

  test('that is not JSON-RPC fails the request on whose stream it came', async () => {
    const { line, peer } = setUp({ line: { kind: 'http' } });
    const asked = peer.request('a');
    const other = peer.request('b');
    line.deliver({ error: 'invalid_token' }, { requestId: 1 });
    await expect(asked).rejects.toMatchObject({ code: 'protocol-violation' });
    line.deliver(result(2));
    await other;
  });
});

describe('an error without an id', () => {
  const refusal = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };

  test('fails the only request in flight', async () => {
    const { line, peer } = setUp();
    const asked = peer.request('a');
    line.deliver(refusal);
    await expect(asked).rejects.toMatchObject({ name: 'RpcError', code: -32700 });
    expect(peer.stats).toEqual(none);
  });

  test('belongs to nobody when two are in flight, and is reported', async () => {
    const { line, peer, problems } = setUp();
    const both = Promise.all([peer.request('a'), peer.request('b')]);
    line.deliver(refusal);
    expect(peer.stats).toEqual({ ...none, unknown: 1 });
    expect(problems).toMatchObject([{ kind: 'malformed', excerpt: 'Parse error' }]);
    line.deliver(result(1));
    line.deliver(result(2));
    await both;
  });

  test('belongs to the request on whose stream it came', async () => {
    const { line, peer } = setUp({ line: { kind: 'http' } });
    const first = peer.request('a');
    const second = peer.request('b');
    line.deliver(refusal, { requestId: 2 });
    await expect(second).rejects.toMatchObject({ code: -32700 });
    line.deliver(result(1));
    await first;
  });
});

describe('a batch', () => {
  test('of replies answers each request', async () => {
    const { line, peer } = setUp();
    const both = Promise.all([peer.request('a'), peer.request('b')]);
    line.deliver([result(2, 'b'), result(1, 'a')]);
    expect(await both).toEqual([{ value: 'a' }, { value: 'b' }]);
    expect(peer.stats).toEqual(none);
  });

  test('with one bad reply among good ones answers the good ones and fails the bad one', async () => {
    const { line, peer } = setUp();
    const good = peer.request('a');
    const bad = peer.request('b');
    line.deliver([result(1), { jsonrpc: '2.0', id: 2 }, 42, [result(1)]]);
    expect(await good).toEqual({ value: 'done' });
    await expect(bad).rejects.toMatchObject({ code: 'protocol-violation' });
    expect(peer.stats).toEqual({ ...none, invalid: 3 });
  });

  test('that is empty is no message, and of more than 100 the rest is dropped with a report', () => {
    const { line, peer, problems, notifications } = setUp();
    line.deliver([]);
    expect(peer.stats.invalid).toBe(1);
    line.deliver(Array.from({ length: 101 }, () => ({ jsonrpc: '2.0', method: 'note' })));
    expect(notifications).toHaveLength(100);
    expect(problems.map(({ kind }) => kind)).toEqual(['malformed', 'oversized']);
  });
});

describe('time', () => {
  test('runs out after the time-out, tells the far end and then the caller', async () => {
    const { clock, line, peer } = setUp({ timeoutMs: 500 });
    const asked = peer.request('slow');
    clock.advance(499);
    expect(line.sent).toHaveLength(1);
    clock.advance(1);
    expect(line.sent[1]).toEqual({
      jsonrpc: '2.0',
      method: 'stop',
      params: { id: 1, reason: 'The time-out was reached.' },
    });
    await expect(asked).rejects.toMatchObject({ code: 'timeout', details: { afterMs: 500 } });
  });

  test('is 60 seconds when nobody says otherwise, and what the request says comes first', async () => {
    const { clock, peer } = setUp();
    const usual = peer.request('a');
    const longer = peer.request('b', undefined, { timeoutMs: 3_600_000 });
    clock.advance(60_000);
    await expect(usual).rejects.toMatchObject({ details: { afterMs: 60_000 } });
    clock.advance(3_539_999);
    expect(peer.inFlight).toBe(1);
    clock.advance(1);
    await expect(longer).rejects.toMatchObject({ details: { afterMs: 3_600_000 } });
  });

  test('without end waits for ever', async () => {
    const { clock, line, peer } = setUp();
    const asked = peer.request('a', undefined, { timeoutMs: Infinity });
    clock.advance(1e12);
    line.deliver(result(1));
    await asked;
  });
});

describe('a caller who gives up', () => {
  test('before the request is sent sends nothing', async () => {
    const { line, peer } = setUp();
    const reason = new Error('enough');
    await expect(peer.request('a', undefined, { signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
      code: 'aborted',
      cause: reason,
    });
    expect(line.sent).toEqual([]);
  });

  test('afterwards is let go at once, and the far end is told once', async () => {
    const { line, peer } = setUp();
    const controller = new AbortController();
    const asked = peer.request('a', undefined, { signal: controller.signal });
    controller.abort();
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: 'aborted' });
    expect(line.sent.slice(1)).toEqual([{ jsonrpc: '2.0', method: 'stop', params: { id: 1, reason: 'The caller cancelled.' } }]);
    expect(peer.inFlight).toBe(0);
  });

  test('after the answer changes nothing', async () => {
    const { line, peer } = setUp();
    const controller = new AbortController();
    const asked = peer.request('a', undefined, { signal: controller.signal });
    line.deliver(result(1));
    controller.abort();
    expect(await asked).toEqual({ value: 'done' });
    expect(line.sent).toHaveLength(1);
  });

  test('many times with one signal leaves no listener on it', async () => {
    const { clock, line, peer } = setUp();
    const { signal } = new AbortController();
    const all = ['a', 'b', 'c', 'd'].map((method) => peer.request(method, undefined, { signal, timeoutMs: 10 }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(4);
    line.deliver(result(1));
    line.deliver({ jsonrpc: '2.0', id: 2, error: { code: 1, message: 'no' } });
    clock.advance(10);
    await Promise.allSettled(all);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test.each([
    ['tell', 'memory', 1, []],
    ['abandon', 'memory', 1, []],
    ['silent', 'memory', 0, []],
    ['tell', 'http', 1, [1]],
    ['abandon', 'http', 0, [1]],
    ['silent', 'http', 0, []],
  ] as const)('by %s on a %s line sends %i notifications and drops the exchanges %j', async (onGiveUp, kind, told, dropped) => {
    const { line, peer } = setUp({ line: { kind } });
    const controller = new AbortController();
    const asked = peer.request('a', undefined, { signal: controller.signal, onGiveUp });
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: 'aborted' });
    expect(line.sent).toHaveLength(1 + told);
    expect(line.abandoned).toEqual(dropped);
  });
});

describe('progress', () => {
  test('is asked for under the id, and heard in order before the result', async () => {
    const { line, peer } = setUp();
    const heard: unknown[] = [];
    const asked = peer
      .request('a', { x: 1 }, { onProgress: (news) => heard.push(news.progress) })
      .then((reply) => heard.push(reply));
    expect(line.sent).toEqual([{ jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1, token: 1 } }]);
    for (const at of [1, 2, 3]) line.deliver(progress(1, at));
    line.deliver(result(1));
    await asked;
    expect(heard).toEqual([1, 2, 3, { value: 'done' }]);
  });

  test('that does not increase, comes late or names no request is counted and not heard', async () => {
    const { line, peer, notifications } = setUp();
    const heard: number[] = [];
    const asked = peer.request('a', undefined, { onProgress: (news) => heard.push(news.progress) });
    for (const at of [2, 2, 1, 'x']) line.deliver(progress(1, at));
    for (const token of ['1', 'abc', null, undefined, {}]) line.deliver(progress(token, 9));
    line.deliver(result(1));
    line.deliver(progress(1, 3));
    await asked;
    expect(heard).toEqual([2]);
    expect(peer.stats).toEqual({ ...none, progress: 9 });
    expect(notifications).toEqual([]);
  });

  test('starts the time-out again, but never extends the maximum', async () => {
    const { clock, line, peer } = setUp({ timeoutMs: 100, maxMs: 250 });
    const asked = peer.request('a', undefined, { onProgress: () => {} });
    clock.advance(90);
    line.deliver(progress(1, 1));
    clock.advance(90);
    line.deliver(progress(1, 2));
    clock.advance(69);
    expect(peer.inFlight).toBe(1);
    clock.advance(1);
    await expect(asked).rejects.toMatchObject({ code: 'timeout', details: { afterMs: 250 } });
  });

  test('whose listener throws fails that request alone, tells the far end, and leaves the line unharmed', async () => {
    const { line, peer } = setUp();
    const fault = new Error('cannot draw');
    const asked = peer.request('a', undefined, {
      onProgress: () => {
        throw fault;
      },
    });
    const other = peer.request('b');
    line.deliver(progress(1, 1));
    await expect(asked).rejects.toMatchObject({ code: 'internal', cause: fault });
    expect(line.sent[2]).toMatchObject({ method: 'stop', params: { id: 1 } });
    line.deliver(result(2));
    await other;
  });
});

describe('the end of the line', () => {
  test('rejects all that waits at once with its report, and all that is asked later', async () => {
    const { clock, line, peer } = setUp();
    const gone = new ParleyError('server-stopped', 'It went away.');
    const waiting = Promise.allSettled([peer.request('a'), peer.request('b'), peer.request('c')]);
    line.end(gone);
    for (const outcome of await waiting) expect(outcome).toEqual({ status: 'rejected', reason: gone });
    await expect(peer.request('d')).rejects.toMatchObject({ code: 'server-stopped', details: { unsent: true } });
    await expect(peer.notify('n')).rejects.toBe(gone);
    expect(await peer.ended).toEqual({ by: 'lost', error: gone });
    expect(line.sent).toHaveLength(3);
    expect(clock.waiting).toBe(0);
  });

  test('by our own closing is told as closed', async () => {
    const { peer } = setUp();
    const asked = peer.request('a');
    const closed = peer.close();
    await expect(asked).rejects.toMatchObject({ code: 'closed' });
    await closed;
    expect(await peer.ended).toMatchObject({ by: 'closed' });
    await peer.close();
  });

  test('comes after what had arrived before it', async () => {
    const { line, peer } = setUp();
    const asked = peer.request('a');
    line.deliver(result(1));
    line.end();
    expect(await asked).toEqual({ value: 'done' });
  });

  test('while a request gives up does not tell the far end in vain', async () => {
    const { line, peer } = setUp();
    const controller = new AbortController();
    const asked = peer.request('a', undefined, { signal: controller.signal });
    line.end();
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: 'server-stopped' });
    expect(line.sent).toHaveLength(1);
  });
});

describe('what arrives and is no message', () => {
  test.each([
    ['a number', 42],
    ['null', null],
    ['a text', 'x'],
    ['a log object', { level: 'info', message: 'up' }],
  ])('%s is dropped, counted and reported, and harms nothing', async (_, value) => {
    const { line, peer, problems } = setUp();
    const asked = peer.request('a');
    line.deliver(value);
    expect(peer.stats).toEqual({ ...none, invalid: 1 });
    expect(problems).toHaveLength(1);
    line.deliver(result(1));
    await asked;
  });

  test('fails the request it surely belonged to, for its size with limit', async () => {
    const { line, peer, problems } = setUp();
    const large = peer.request('a');
    const broken = peer.request('b');
    const other = peer.request('c');
    line.problem({ kind: 'noise', message: 'A line was not JSON; it was skipped.' });
    line.problem({ kind: 'oversized', message: 'A message was larger than 8 MiB.', requestId: 1 });
    line.problem({ kind: 'malformed', message: 'A message was cut short.', requestId: 2 });
    await expect(large).rejects.toMatchObject({ code: 'limit', message: 'A message was larger than 8 MiB.' });
    await expect(broken).rejects.toMatchObject({ code: 'protocol-violation' });
    expect(problems).toHaveLength(3);
    line.deliver(result(3));
    await other;
  });
});
