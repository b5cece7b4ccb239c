// Sessions as their clients meet them: life cycle, streams, resumption, batches and what is kept from whom.
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject, Message, Request } from '../../jsonrpc/index.ts';
import { createFakeClock } from '../../testing/index.ts';
import {
  ask,
  dataOf,
  echo,
  eventually,
  http,
  openSession,
  post,
  serve,
  tell,
  type Answer,
  type Harness,
  type Reading,
} from './fixtures/wire.ts';
import type { SessionChannel } from './profile.ts';
import type { HttpListenerOptions } from './server.ts';

const open: Harness[] = [];

async function start(answer?: Answer, options?: Partial<HttpListenerOptions>): Promise<Harness> {
  const harness = await serve(answer, options);
  open.push(harness);
  return harness;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ listener }) => listener.close()));
});

/** A server whose requests other than the opening wait until the test replies. */
async function startManual(options?: Partial<HttpListenerOptions>) {
  const harness = await start(
    (message, channel) => (message.method.startsWith('legacy/open') ? {} : echoLater(message, channel)),
    options,
  );
  const session = await openSession(harness.url);
  const channel = harness.served[0]?.channel as SessionChannel;
  const got = () => harness.served[0]?.messages.length ?? 0;
  return { ...harness, session, channel, got };
}
const echoLater: Answer = () => undefined;

const get = (url: string, headers: Record<string, string>): Promise<Reading> => http(url, { method: 'GET', headers });
const reply = (id: string | number, result: JsonObject = {}): Message => ({ jsonrpc: '2.0', id, result });

describe('the life of a session', () => {
  it('begins with an id that cannot be guessed, on the answer of the request that opens it', async () => {
    const { url, served, listener } = await start();
    const response = await post(url, ask('legacy/open', 1, { a: 1 }));
    expect(response.status).toBe(200);
    expect(response.headers['mcp-session-id']).toMatch(/^[\da-f]{64}$/);
    expect(await response.json()).toEqual(reply(1, { echo: { a: 1 } }));
    expect(served[0]?.context.era).toBe('session');
    expect(listener.sessions).toBe(1);
    expect((await openSession(url))['mcp-session-id']).not.toBe(response.headers['mcp-session-id']);
  });

  it('goes on over many posts, all on one channel', async () => {
    const { url, served } = await start();
    const session = await openSession(url);
    const note = await post(url, tell('legacy/ready'), session);
    expect(note.status).toBe(202);
    expect(await note.text()).toBe('');
    const answer = await post(url, ask('legacy/tool', 2), { ...session, 'x-mine': 'two' });
    expect(answer.status).toBe(200);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(await answer.json()).toEqual(reply(2, { echo: {} }));
    expect((await post(url, reply('theirs'), session)).status).toBe(202);
    expect(served).toHaveLength(1);
    expect(served[0]?.messages).toEqual([
      ask('legacy/open', 'open'),
      tell('legacy/ready'),
      ask('legacy/tool', 2),
      reply('theirs'),
    ]);
    expect(served[0]?.origins[2]?.headers?.['x-mine']).toBe('two');
  });

  it('has 200 for error replies, whatever the profile says', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool'), session);
    await eventually(() => got() === 2);
    await channel.send({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } });
    expect((await pending).status).toBe(200);
  });

  it('ends by DELETE, for its channel and for every later request', async () => {
    const clock = createFakeClock();
    const { url, channel, session, served, listener, got } = await startManual({ clock });
    const standing = await get(url, session);
    const waiting = post(url, ask('legacy/tool', 5), session);
    await eventually(() => got() === 2);
    expect((await http(url, { method: 'DELETE', headers: session })).status).toBe(204);
    expect((await waiting).status).toBe(404);
    await standing.closed;
    expect(served[0]?.ending?.by).toBe('lost');
    expect(listener.sessions).toBe(0);
    expect(clock.waiting).toBe(0);
    await expect(channel.send(tell('late'))).rejects.toMatchObject({ code: 'closed' });
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await http(url, { method, headers: session, ...(method === 'POST' && { body: ask('legacy/tool') }) });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    }
  });

  it('ends by the server, and the client hears of it', async () => {
    const { url, channel, session, served } = await startManual();
    const standing = await get(url, session);
    await channel.close();
    await channel.close();
    await standing.closed;
    expect(served[0]?.ending?.by).toBe('closed');
    expect((await post(url, ask('legacy/tool'), session)).status).toBe(404);
  });

  it('ends when its client does not come for long, but not while a stream is open', async () => {
    const clock = createFakeClock();
    const { url, session, served, listener } = await startManual({ clock, sessionIdleMs: 1_000 });
    const standing = await get(url, session);
    clock.advance(5_000);
    expect(listener.sessions).toBe(1);
    standing.cut();
    await standing.closed;
    await eventually(() => {
      clock.advance(500);
      return served[0]?.ending !== undefined;
    });
    expect(served[0]?.ending?.by).toBe('closed');
    expect(listener.sessions).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  it('is not begun by a request that is refused', async () => {
    const { url, served, listener } = await start((message, channel) => {
      void channel.send({ jsonrpc: '2.0', id: message.id, error: { code: -32602, message: 'no' } });
      return undefined;
    });
    const response = await post(url, ask('legacy/open'));
    expect(response.status).toBe(200);
    expect(response.headers['mcp-session-id']).toBeUndefined();
    expect(listener.sessions).toBe(0);
    expect(served[0]?.ending?.by).toBe('closed');
  });

  it('is not begun by a client that leaves before the answer, nor by what is no request', async () => {
    const { url, served, listener } = await start(() => undefined);
    const leaving = new AbortController();
    const body = JSON.stringify(ask('legacy/open'));
    const headers = { 'content-type': 'application/json' };
    const left = fetch(url, { method: 'POST', body, headers, signal: leaving.signal }).catch(() => 'left');
    await eventually(() => served.length === 1);
    leaving.abort();
    expect(await left).toBe('left');
    await eventually(() => listener.sessions === 0);
    expect(served[0]?.ending?.by).toBe('lost');
    expect((await post(url, tell('legacy/open'))).status).toBe(400);
    expect(served).toHaveLength(1);
  });

  it('needs its id: 400 without one, 404 with an unknown one', async () => {
    const { url } = await start();
    expect((await post(url, ask('legacy/tool'))).status).toBe(400);
    expect((await post(url, ask('legacy/tool'), { 'mcp-session-id': 'x' })).status).toBe(404);
  });

  it('belongs to who opened it', async () => {
    const { url } = await start(echo, { principal: (request) => String(request.headers['x-user']) });
    const opened = await post(url, ask('legacy/open'), { 'x-user': 'ann' });
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    expect((await post(url, ask('legacy/tool'), { ...session, 'x-user': 'bob' })).status).toBe(404);
    expect((await http(url, { method: 'DELETE', headers: { ...session, 'x-user': 'bob' } })).status).toBe(404);
    expect((await post(url, ask('legacy/tool'), { ...session, 'x-user': 'ann' })).status).toBe(200);
  });

  it('is one of a bounded number', async () => {
    const { url, listener } = await start(echo, { maxSessions: 2 });
    const first = await openSession(url);
    await openSession(url);
    expect((await post(url, ask('legacy/open'))).status).toBe(503);
    await http(url, { method: 'DELETE', headers: first });
    expect((await post(url, ask('legacy/open'))).status).toBe(200);
    expect(listener.sessions).toBe(2);
  });

  it('may be refused a GET or DELETE by the profile', async () => {
    const refusal = { status: 400, reply: { jsonrpc: '2.0', error: { code: -32000, message: 'bad version' } } } as const;
    const { profile } = await import('./fixtures/wire.ts');
    const { url } = await start(echo, {
      profile: { ...profile, check: (headers) => (headers['x-bad'] === undefined ? undefined : refusal) },
    });
    const session = await openSession(url);
    expect((await get(url, { ...session, 'x-bad': '1' })).status).toBe(400);
    expect((await http(url, { method: 'DELETE', headers: session })).status).toBe(204);
  });
});

describe('the stream of a POST', () => {
  it('opens with a priming event when something goes ahead of the reply, and ends with the reply', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    await channel.send(ask('sampling', 's1'), { relatedTo: 1 });
    await channel.send(tell('progress'), { relatedTo: 1 });
    await channel.send(reply(1));
    const response = await pending;
    expect(response.headers['content-type']).toBe('text/event-stream');
    await response.closed;
    expect(response.events[0]).toMatchObject({ data: '' });
    expect(dataOf(response.events)).toEqual([ask('sampling', 's1'), tell('progress'), reply(1)]);
    expect(new Set(response.events.map(({ id }) => id)).size).toBe(4);
  });

  it('has no priming event for clients that would not understand it', async () => {
    const { url, served } = await start();
    await openSession(url, 'legacy/open-old');
    const channel = served[0]?.channel as SessionChannel;
    const pending = post(url, ask('legacy/open-old', 2));
    await eventually(() => served.length === 2);
    await pending;
    // The standing stream follows what the session said last.
    const session = await openSession(url, 'legacy/open-old');
    const standing = await get(url, session);
    await served[2]?.channel.send(tell('news'));
    expect((await standing.until(1))[0]?.data).toBe(JSON.stringify(tell('news')));
    channel.detach?.('none', 1);
  });

  it('ends without a reply when the request is dismissed', async () => {
    const { url, channel, session, got } = await startManual();
    const silent = post(url, ask('legacy/tool', 1), session);
    const spoken = post(url, ask('legacy/tool', 2), session);
    await eventually(() => got() === 3);
    await channel.send(tell('progress'), { relatedTo: 2 });
    channel.dismiss?.(1);
    channel.dismiss?.(2);
    channel.dismiss?.(3);
    const response = await silent;
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
    await (
      await spoken
    ).closed;
    expect(dataOf((await spoken).events)).toEqual([tell('progress')]);
    await expect(channel.send(reply(1))).rejects.toMatchObject({ code: 'closed' });
    // The id is free again.
    const again = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 4);
    await channel.send(reply(1, { again: true }));
    expect(await (await again).json()).toEqual(reply(1, { again: true }));
  });

  it('refuses a second request with an id that is still being answered', async () => {
    const { url, channel, session, got } = await startManual();
    const first = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    const second = await post(url, ask('legacy/tool', 1), session);
    expect(second.status).toBe(400);
    expect(await second.json()).toMatchObject({ id: 1, error: { code: -32600 } });
    // "1" is another id than 1.
    const other = post(url, ask('legacy/tool', '1'), session);
    await eventually(() => got() === 3);
    await channel.send(reply('1', { text: true }));
    await channel.send(reply(1, { text: false }));
    expect(await (await first).json()).toEqual(reply(1, { text: false }));
    expect(await (await other).json()).toEqual(reply('1', { text: true }));
  });

  it('is not there for a client that accepts JSON alone: what would go ahead goes to the standing stream', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), { ...session, accept: 'application/json' });
    await eventually(() => got() === 2);
    await channel.send(tell('progress'), { relatedTo: 1 });
    await channel.send(reply(1));
    expect(await (await pending).json()).toEqual(reply(1));
    const standing = await get(url, session);
    expect(dataOf(await standing.until(1))).toEqual([tell('progress')]);
  });

  it('carries the reply too for a client that accepts streams alone', async () => {
    const { url } = await start();
    const session = await openSession(url);
    const response = await post(url, ask('legacy/tool', 1), { ...session, accept: 'text/event-stream' });
    await response.closed;
    expect(dataOf(response.events)).toEqual([reply(1, { echo: {} })]);
  });
});

describe('a batch', () => {
  it('is delivered message by message and answered with one array', async () => {
    const { url, served } = await start();
    const session = await openSession(url);
    const response = await post(url, [ask('legacy/a', 1), tell('legacy/note'), ask('legacy/b', 2, { b: 2 })], session);
    expect(response.headers['content-type']).toBe('application/json');
    expect(await response.json()).toEqual([reply(1, { echo: {} }), reply(2, { echo: { b: 2 } })]);
    expect(served[0]?.messages.slice(1)).toEqual([ask('legacy/a', 1), tell('legacy/note'), ask('legacy/b', 2, { b: 2 })]);
  });

  it('of one request is answered with an array of one, and one without requests with 202', async () => {
    const { url } = await start();
    const session = await openSession(url);
    expect(await (await post(url, [ask('legacy/a', 1)], session)).json()).toEqual([reply(1, { echo: {} })]);
    expect((await post(url, [tell('legacy/a'), reply('b')], session)).status).toBe(202);
  });

  it('is answered on a stream when something goes ahead, with the replies that were ready', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, [ask('legacy/a', 1), ask('legacy/b', 2)], session);
    await eventually(() => got() === 3);
    await channel.send(reply(2));
    await channel.send(tell('progress'), { relatedTo: 1 });
    await channel.send(reply(1));
    const response = await pending;
    await response.closed;
    expect(dataOf(response.events)).toEqual([reply(2), tell('progress'), reply(1)]);
  });

  it('is not delivered further than to the message at which the session ends', async () => {
    const { url, served } = await start((message, channel) => {
      if (message.method !== 'legacy/quit') return {};
      void channel.close();
      return undefined;
    });
    const session = await openSession(url);
    expect((await post(url, [ask('legacy/quit', 1), ask('legacy/b', 2)], session)).status).toBe(404);
    expect(served[0]?.messages).toHaveLength(2);
  });

  it('is refused whole when it is empty, too long, repeats an id or holds what is no message', async () => {
    const { url, served } = await start();
    const session = await openSession(url);
    const long = Array.from({ length: 101 }, (_, id) => ask('legacy/a', id));
    for (const batch of [[], long, [ask('legacy/a', 1), ask('legacy/b', 1)], [ask('legacy/a', 1), 42], [[ask('legacy/a', 1)]]]) {
      expect((await post(url, batch, session)).status).toBe(400);
    }
    expect(served[0]?.messages).toHaveLength(1);
  });
});

describe('the standing stream', () => {
  it('carries what belongs to no request, in order, with what was sent before it opened', async () => {
    const { url, channel, session } = await startManual();
    await channel.send(tell('one'));
    await channel.send(ask('roots', 'r1'));
    const standing = await get(url, session);
    expect(standing.status).toBe(200);
    await channel.send(tell('three'));
    await eventually(() => dataOf(standing.events).length === 3);
    expect(dataOf(standing.events)).toEqual([tell('one'), ask('roots', 'r1'), tell('three')]);
  });

  it('keeps the last 100 messages while it is not open', async () => {
    const { url, channel, session } = await startManual();
    for (let n = 1; n <= 150; n++) await channel.send(tell('news', { n }));
    const standing = await get(url, session);
    await channel.send(tell('last'));
    await eventually(() => dataOf(standing.events).length === 101);
    const numbers = dataOf(standing.events).map((message) => (message as Request).params?.['n']);
    expect(numbers).toEqual([...Array.from({ length: 100 }, (_, at) => at + 51), undefined]);
  });

  it('is one: a second is refused while it is open, and may come after it', async () => {
    const { url, channel, session } = await startManual();
    const first = await get(url, session);
    expect((await get(url, session)).status).toBe(409);
    first.cut();
    let second = await get(url, session);
    while (second.status === 409) second = await get(url, session);
    await channel.send(tell('news'));
    await eventually(() => dataOf(second.events).length === 1);
  });

  it('is a stream: 406 for who does not accept one', async () => {
    const { url, session } = await startManual();
    expect((await get(url, { ...session, accept: 'application/json' })).status).toBe(406);
    const response = await fetch(url, { headers: session });
    // fetch accepts anything.
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  it('is cut when its client does not read, and goes on where it was', async () => {
    const { url, channel, session } = await startManual({ maxBufferedBytes: 100_000 });
    const standing = await get(url, session);
    await standing.until(1);
    standing.pause();
    const text = 'x'.repeat(50_000);
    let n = 0;
    let again: Reading | undefined;
    while (again === undefined && n < 10_000) {
      for (let times = 0; times < 20; times++) await channel.send(tell('news', { n: n++, text }));
      const attempt = await get(url, session);
      if (attempt.status === 200) again = attempt;
    }
    // What was under way to the first is lost for who does not say how far it got; the rest is not.
    await eventually(() => numbersOf(again as Reading).at(-1) === n - 1);
    await channel.send(tell('news', { n }));
    await eventually(() => numbersOf(again as Reading).at(-1) === n);
    const numbers = numbersOf(again as Reading);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => n - numbers.length + 1 + at));
    standing.cut();
  });
});

const numbersOf = (reading: Reading) => dataOf(reading.events).map((message) => (message as Request).params?.['n']);

describe('a stream that was cut', () => {
  it('is resumed on a GET without loss and without a duplicate, and the request goes on meanwhile', async () => {
    const { url, channel, session, got, served } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    for (let n = 1; n <= 3; n++) await channel.send(tell('progress', { n }), { relatedTo: 1 });
    const first = await pending;
    const seen = await first.until(4);
    first.cut();
    await first.closed;
    for (let n = 4; n <= 6; n++) await channel.send(tell('progress', { n }), { relatedTo: 1 });
    expect(served[0]?.ending).toBeUndefined();
    // The client lost the third of what it got: it asks from the second on.
    const second = await get(url, { ...session, 'last-event-id': String(seen[2]?.id) });
    expect(second.status).toBe(200);
    await eventually(() => numbersOf(second).length === 4);
    await channel.send(tell('progress', { n: 7 }), { relatedTo: 1 });
    await channel.send(tell('unrelated'));
    await channel.send(reply(1));
    await second.closed;
    expect(numbersOf(second).slice(0, -1)).toEqual([3, 4, 5, 6, 7]);
    expect(dataOf(second.events).at(-1)).toEqual(reply(1));
  });

  it('can be resumed after its end, and from its priming event', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    await channel.send(tell('progress', { n: 1 }), { relatedTo: 1 });
    await channel.send(reply(1));
    const first = await pending;
    const [priming] = await first.until(1);
    await first.closed;
    const second = await get(url, { ...session, 'last-event-id': String(priming?.id) });
    await second.closed;
    expect(dataOf(second.events)).toEqual([tell('progress', { n: 1 }), reply(1)]);
    const third = await get(url, { ...session, 'last-event-id': String(second.events.at(-1)?.id) });
    expect(third.status).toBe(200);
    expect(await third.text()).toBe('');
  });

  it('is taken over from a connection that only seems to be open', async () => {
    const { url, channel, session } = await startManual();
    const first = await get(url, session);
    const [priming] = await first.until(1);
    await channel.send(tell('news', { n: 1 }));
    await first.until(2);
    const second = await get(url, { ...session, 'last-event-id': String(priming?.id) });
    await first.closed;
    await channel.send(tell('news', { n: 2 }));
    await second.until(2);
    expect(numbersOf(second)).toEqual([1, 2]);
    expect(numbersOf(first)).toEqual([1]);
  });

  it('is refused when what came after the id is no longer held, or the id is none of ours', async () => {
    const { url, channel, session, got } = await startManual({ maxHeldEvents: 3 });
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    for (let n = 1; n <= 5; n++) await channel.send(tell('progress', { n }), { relatedTo: 1 });
    const first = await pending;
    const ids = (await first.until(6)).map(({ id }) => String(id));
    first.cut();
    const from = (id: string) => get(url, { ...session, 'last-event-id': id });
    for (const id of [ids[0], ids[1], '1-99', '9-1', 'x', '-1', '1-1e1']) expect((await from(String(id))).status).toBe(400);
    const second = await from(String(ids[2]));
    await second.until(3);
    expect(numbersOf(second)).toEqual([3, 4, 5]);
  });

  it('holds no more bytes than it may, and the newest event whatever its size', async () => {
    const { url, channel, session, got } = await startManual({ maxHeldBytes: 1_000 });
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    for (let n = 1; n <= 2; n++) await channel.send(tell('progress', { n, text: 'ü'.repeat(600) }), { relatedTo: 1 });
    const first = await pending;
    const ids = (await first.until(3)).map(({ id }) => String(id));
    first.cut();
    expect((await get(url, { ...session, 'last-event-id': String(ids[0]) })).status).toBe(400);
    const second = await get(url, { ...session, 'last-event-id': String(ids[1]) });
    await second.until(1);
    expect(numbersOf(second)).toEqual([2]);
  });

  it('cannot be resumed by another session', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    await channel.send(tell('secret'), { relatedTo: 1 });
    const [, event] = await (await pending).until(2);
    const other = await openSession(url);
    expect((await get(url, { ...other, 'last-event-id': String(event?.id) })).status).toBe(400);
    const headers = { ...other, 'last-event-id': '0-0' };
    const standing = await get(url, headers);
    await channel.send(tell('secret'));
    await http(url, { method: 'DELETE', headers: other });
    expect(await standing.text()).not.toContain('secret');
  });
});

describe('detaching', () => {
  it('closes the connection with a time to wait, and the client comes back for the rest', async () => {
    const { url, channel, session, got } = await startManual();
    const pending = post(url, ask('legacy/tool', 1), session);
    await eventually(() => got() === 2);
    channel.detach?.(1, 250);
    const first = await pending;
    await first.closed;
    expect(first.events).toHaveLength(2);
    expect(first.retry()).toBe(250);
    expect(dataOf(first.events)).toEqual([]);
    await channel.send(tell('progress', { n: 1 }), { relatedTo: 1 });
    const second = await get(url, { ...session, 'last-event-id': String(first.events.at(-1)?.id) });
    await second.until(1);
    channel.detach?.(1, 10);
    await second.closed;
    await channel.send(reply(1));
    const third = await get(url, { ...session, 'last-event-id': String(second.events.at(-1)?.id) });
    await third.closed;
    expect(numbersOf(second)).toEqual([1]);
    expect(dataOf(third.events)).toEqual([reply(1)]);
    const ids = [first, second, third].flatMap(({ events }) => events.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is not done to a client that would not come back', async () => {
    const harness = await start((message) => (message.method === 'legacy/open-old' ? undefined : {}));
    const pending = post(harness.url, ask('legacy/open-old', 1));
    await eventually(() => harness.served.length === 1);
    const channel = harness.served[0]?.channel;
    channel?.detach?.(1, 10);
    await channel?.send(reply(1));
    expect(await (await pending).json()).toEqual(reply(1));
  });
});

describe('many sessions at once', () => {
  it('with equal ids never get what belongs to another', async () => {
    const { url, served } = await start(async (message, channel) => {
      if (message.method === 'legacy/open') return {};
      const { who } = message.params as { who: number };
      await channel.send(tell('progress', { who }), { relatedTo: message.id });
      await channel.send(tell('news', { who }));
      await new Promise((resolve) => setImmediate(resolve));
      return { who };
    });
    const whoOf = (message: Message) =>
      'method' in message ? message.params?.['who'] : 'result' in message ? message.result['who'] : 'error';
    await Promise.all(
      Array.from({ length: 50 }, async (_, who) => {
        const session = await openSession(url);
        const standing = await get(url, session);
        const answers = await Promise.all([1, 2, 3].map((id) => post(url, ask('legacy/tool', id, { who }), session)));
        for (const answer of answers) {
          await answer.closed;
          expect(dataOf(answer.events).map(whoOf)).toEqual([who, who]);
        }
        // The priming event and three messages.
        await standing.until(4);
        expect(dataOf(standing.events).map(whoOf)).toEqual([who, who, who]);
        await http(url, { method: 'DELETE', headers: session });
        await standing.closed;
      }),
    );
    expect(served).toHaveLength(50);
  });
});
