// The deprecated transport as its clients meet it, beside the others on one server.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ask,
  dataOf,
  eventually,
  http,
  post,
  serve,
  tell,
  type Answer,
  type Harness,
  type Reading,
} from '../http/fixtures/wire.ts';
import type { HttpListenerOptions } from '../http/server.ts';
import { createSseEndpoints } from './server.ts';

const open: Harness[] = [];

async function start(answer?: Answer, options?: Partial<HttpListenerOptions>): Promise<Harness & { readonly origin: string }> {
  const harness = await serve(answer, { sse: true, ...options });
  open.push(harness);
  return { ...harness, origin: new URL(harness.url).origin };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ listener }) => listener.close()));
});

/** Opens a stream and returns it with the URL that its first event names. */
async function openStream(origin: string, headers: Record<string, string> = {}): Promise<{ stream: Reading; messages: string }> {
  const stream = await http(`${origin}/sse`, { method: 'GET', headers });
  const [endpoint] = await stream.until(1);
  expect(endpoint?.event).toBe('endpoint');
  return { stream, messages: origin + String(endpoint?.data) };
}

const messagesOf = (stream: Reading) => dataOf(stream.events.filter(({ event }) => event === 'message'));

describe('HTTP+SSE', () => {
  it('names the path to post to and answers on the stream', async () => {
    const { origin, served, listener } = await start();
    const { stream, messages } = await openStream(origin);
    expect(messages).toMatch(/\/messages\?sessionId=[\da-f]{64}$/);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    const taken = await post(messages, ask('tool', 7, { a: 1 }), { 'x-mine': 'yes' });
    expect(taken.status).toBe(202);
    expect(await taken.text()).toBe('');
    await stream.until(2);
    expect(messagesOf(stream)).toEqual([{ jsonrpc: '2.0', id: 7, result: { echo: { a: 1 } } }]);
    await served[0]?.channel.send(ask('roots', 1));
    await stream.until(3);
    expect(messagesOf(stream).at(-1)).toEqual(ask('roots', 1));
    expect(served[0]?.context.era).toBe('sse');
    expect(served[0]?.origins[0]?.headers?.['x-mine']).toBe('yes');
    expect(listener.sessions).toBe(1);
  });

  it('stands beside Streamable HTTP on one server', async () => {
    const { url, origin } = await start();
    expect((await post(url, ask('tool'))).status).toBe(200);
    // A client that tries the newer transport here first is told to go on with this one.
    const probe = await post(`${origin}/sse`, ask('tool'));
    expect(probe.status).toBe(405);
    expect(probe.headers.allow).toBe('GET');
    expect((await http(`${origin}/messages`, { method: 'GET' })).status).toBe(405);
    const { url: without } = await start(undefined, { sse: false });
    expect((await http(new URL('/sse', without).href, { method: 'GET' })).status).toBe(404);
  });

  it('ends the line when the client leaves, and its id is unknown from then on', async () => {
    const { origin, served, listener } = await start(() => undefined);
    const { stream, messages } = await openStream(origin);
    await post(messages, ask('slow'));
    stream.cut();
    await eventually(() => served[0]?.ending !== undefined);
    expect(served[0]?.ending?.by).toBe('lost');
    expect(listener.sessions).toBe(0);
    expect((await post(messages, ask('tool'))).status).toBe(404);
    await expect(served[0]?.channel.send(tell('late'))).rejects.toMatchObject({ code: 'closed' });
  });

  it('ends the stream when the server closes the line', async () => {
    const { origin, served, listener } = await start();
    const { stream, messages } = await openStream(origin);
    await served[0]?.channel.close();
    await stream.closed;
    expect(served[0]?.ending?.by).toBe('closed');
    expect(listener.sessions).toBe(0);
    expect((await post(messages, ask('tool'))).status).toBe(404);
  });

  it('ends all streams when the listener closes', async () => {
    const { origin, served, listener } = await start();
    const streams = await Promise.all([openStream(origin), openStream(origin)]);
    await listener.close();
    await Promise.all(streams.map(({ stream }) => stream.closed));
    expect(served.map(({ ending }) => ending?.by)).toEqual(['closed', 'closed']);
  });

  it('checks posts as Streamable HTTP does', async () => {
    const { origin, served } = await start(undefined, { maxBodyBytes: 1_000 });
    const { stream, messages } = await openStream(origin);
    expect((await post(`${origin}/messages`, ask('tool'))).status).toBe(400);
    expect((await post(`${origin}/messages?sessionId=x`, ask('tool'))).status).toBe(404);
    expect((await http(messages, { body: '{' })).status).toBe(400);
    expect((await post(messages, ask('tool'), { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(messages, ask('tool', 1, { text: 'x'.repeat(1_000) }))).status).toBe(413);
    expect((await http(`${origin}/sse`, { method: 'GET', headers: { accept: 'application/json' } })).status).toBe(406);
    expect(served[0]?.messages).toEqual([]);
    expect(stream.events).toHaveLength(1);
  });

  it('serves a session to nobody but who opened it', async () => {
    const { origin } = await start(undefined, { principal: (request) => String(request.headers['x-user']) });
    const { messages } = await openStream(origin, { 'x-user': 'ann' });
    expect((await post(messages, ask('tool'), { 'x-user': 'bob' })).status).toBe(404);
    expect((await post(messages, ask('tool'), { 'x-user': 'ann' })).status).toBe(202);
  });

  it('cuts a client that does not read', async () => {
    const { origin, served } = await start(undefined, { maxBufferedBytes: 100_000 });
    const { stream } = await openStream(origin);
    stream.pause();
    const text = 'x'.repeat(50_000);
    let failure: unknown;
    for (let sent = 0; failure === undefined && sent < 10_000; sent++) {
      await served[0]?.channel.send(tell('news', { text })).catch((error: unknown) => (failure = error));
    }
    expect(failure).toMatchObject({ code: 'limit' });
    expect(served[0]?.ending?.by).toBe('lost');
    stream.cut();
  });

  it('has a bounded number of sessions', async () => {
    const { origin } = await start(undefined, { maxSessions: 1 });
    const { stream } = await openStream(origin);
    expect((await http(`${origin}/sse`, { method: 'GET' })).status).toBe(503);
    stream.cut();
    await stream.closed;
  });

  it('survives a fault of who takes its lines, and ends that stream', async () => {
    const { origin } = await start(undefined, {
      accept: () => {
        throw new Error('no');
      },
    });
    const { stream } = await openStream(origin);
    await stream.closed;
    expect(stream.events).toHaveLength(1);
  });

  it('works in a server that is somebody else’s, under other paths', async () => {
    const endpoints = createSseEndpoints({
      path: '/old/stream',
      messagePath: '/old/post',
      accept: (channel) =>
        channel.start({
          message: (value) => void channel.send({ jsonrpc: '2.0', id: (value as { id: number }).id, result: {} }),
          problem() {},
          end() {},
        }),
    });
    const server = createServer((request, response) => {
      if (!endpoints.handle(request, response)) response.writeHead(418).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await http(`${origin}/else`, { method: 'GET' })).status).toBe(418);
    expect((await http(`${origin}/old/stream`, { method: 'GET', headers: { origin: 'http://evil' } })).status).toBe(403);
    const stream = await http(`${origin}/old/stream`, { method: 'GET' });
    const [endpoint] = await stream.until(1);
    expect(endpoint?.data).toMatch(/^\/old\/post\?sessionId=/);
    await post(origin + String(endpoint?.data), ask('tool', 4));
    await stream.until(2);
    expect(messagesOf(stream)).toEqual([{ jsonrpc: '2.0', id: 4, result: {} }]);
    await endpoints.close();
    await stream.closed;
    server.close();
    await once(server, 'close');
  });
});
