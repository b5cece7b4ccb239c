// The listener as clients without sessions meet it: checks, exchanges, statuses, disconnects and closing.
import { once } from 'node:events';
import { createServer, request as startRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { isParleyError, ParleyError } from '../../errors.ts';
import { createFakeClock } from '../../testing/index.ts';
import { ask, dataOf, eventually, http, post, profile, serve, tell, type Answer, type Harness } from './fixtures/wire.ts';
import { createHttpListener, type HttpListenerOptions } from './server.ts';

const open: Harness[] = [];

async function start(answer?: Answer, options?: Partial<HttpListenerOptions>): Promise<Harness> {
  const harness = await serve(answer, options);
  open.push(harness);
  return harness;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ listener }) => listener.close()));
});

describe('a request that stands alone', () => {
  it('is answered in plain JSON when the reply is the first thing sent', async () => {
    const { url, served, listener } = await start();
    const response = await post(url, ask('tool', 7, { text: 'grüße 🐎' }), { 'x-mine': 'yes' });
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json');
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 7, result: { echo: { text: 'grüße 🐎' } } });
    expect(served[0]?.context.era).toBe('single');
    expect(listener.exchanges).toBe(0);
    expect(served[0]?.origins[0]?.headers?.['x-mine']).toBe('yes');
    expect(served[0]?.ending?.by).toBe('closed');
  });

  it('is answered as a stream that the reply ends when a notification goes first', async () => {
    const { url } = await start(async (message, channel) => {
      await channel.send(tell('progress', { step: 1 }), { relatedTo: message.id });
      await channel.send(tell('progress', { step: 2 }));
      return {};
    });
    const response = await post(url, ask('tool', 'a'));
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/event-stream');
    expect(response.headers['cache-control']).toBe('no-cache, no-transform');
    expect(response.headers['x-accel-buffering']).toBe('no');
    await response.closed;
    expect(dataOf(response.events)).toEqual([
      tell('progress', { step: 1 }),
      tell('progress', { step: 2 }),
      { jsonrpc: '2.0', id: 'a', result: {} },
    ]);
    expect(response.events.every((event) => event.id === undefined)).toBe(true);
  });

  it('gets the status of the profile with an error reply', async () => {
    const { url } = await start((message, channel) => {
      const code = message.method === 'unknown' ? -32601 : -32602;
      void channel.send({ jsonrpc: '2.0', id: message.id, error: { code, message: 'no' } });
      return undefined;
    });
    const unknown = await post(url, ask('unknown', 3));
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({ jsonrpc: '2.0', id: 3, error: { code: -32601, message: 'no' } });
    expect((await post(url, ask('known', 3))).status).toBe(400);
  });

  it('keeps the status 200 for an error that comes after a notification', async () => {
    const { url } = await start(async (message, channel) => {
      await channel.send(tell('progress'));
      await channel.send({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } });
      return undefined;
    });
    const response = await post(url, ask('tool'));
    expect(response.status).toBe(200);
    expect(dataOf(await response.until(2))[1]).toMatchObject({ error: { code: -32601 } });
  });

  it('reads as a stream for a client that accepts nothing else, but errors stay JSON with their status', async () => {
    const { url } = await start((message, channel) => {
      if (message.method === 'good') return {};
      void channel.send({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } });
      return undefined;
    });
    const good = await post(url, ask('good'), { accept: 'text/event-stream' });
    expect(dataOf(await good.until(1))).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    const bad = await post(url, ask('bad'), { accept: 'text/event-stream' });
    expect(bad.status).toBe(404);
    expect(await bad.json()).toMatchObject({ error: { code: -32601 } });
  });

  it('stays JSON for a client that accepts nothing else, and says so to who sends a notification', async () => {
    const problems: unknown[] = [];
    const { url } = await start(async (_, channel) => {
      await channel.send(tell('progress')).catch((error: unknown) => problems.push(error));
      return {};
    });
    const response = await post(url, ask('tool'), { accept: 'application/json' });
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(problems.map((problem) => isParleyError(problem, 'unsupported'))).toEqual([true]);
  });

  it('carries no request to the client, no foreign reply and nothing after the reply', async () => {
    const codes: unknown[] = [];
    const note = (error: unknown) => codes.push(error instanceof ParleyError ? error.code : error);
    const { url, served } = await start(async (message, channel) => {
      await channel.send(ask('sampling', 1)).catch(note);
      await channel.send({ jsonrpc: '2.0', id: '1', result: {} }).catch(note);
      await channel.send(tell('progress'), { relatedTo: 'other' }).catch(note);
      return { id: message.id };
    });
    const response = await post(url, ask('tool', 1));
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { id: 1 } });
    await served[0]?.channel.send(tell('late')).catch(note);
    expect(codes).toEqual(['unsupported', 'usage', 'usage', 'closed']);
  });

  it('is lost for its server when the client disconnects before the answer', async () => {
    const { url, served } = await start(() => undefined);
    const sent = startRequest(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
    sent.on('error', () => {});
    sent.end(JSON.stringify(ask('slow')));
    await eventually(() => served.length === 1);
    sent.destroy();
    await eventually(() => served[0]?.ending !== undefined);
    expect(served[0]?.ending).toMatchObject({ by: 'lost', error: { code: 'aborted' } });
    await expect(served[0]?.channel.send({ jsonrpc: '2.0', id: 1, result: {} })).rejects.toMatchObject({ code: 'aborted' });
  });

  it('is lost for its server when the client disconnects from the stream', async () => {
    const { url, served } = await start((_, channel) => void channel.send(tell('progress')));
    const response = await post(url, ask('slow'));
    await response.until(1);
    response.cut();
    await eventually(() => served[0]?.ending !== undefined);
    expect(served[0]?.ending?.by).toBe('lost');
    await expect(served[0]?.channel.send(tell('progress'))).rejects.toMatchObject({ code: 'aborted' });
  });

  it('has a stream that is kept warm by comments, and by none after its end', async () => {
    const clock = createFakeClock();
    const { url, served } = await start((_, channel) => void channel.send(tell('progress')), { clock });
    const response = await post(url, ask('slow'));
    await response.until(1);
    clock.advance(15_000);
    clock.advance(15_000);
    await eventually(() => response.comments() === 2);
    await served[0]?.channel.send({ jsonrpc: '2.0', id: 1, result: {} });
    await response.closed;
    expect(clock.waiting).toBe(0);
  });

  it('costs a client its stream when it does not read, and the server no more than the cap', async () => {
    const { url, served } = await start((_, channel) => void channel.send(tell('progress')), { maxBufferedBytes: 100_000 });
    const response = await post(url, ask('flood'));
    await response.until(1);
    response.pause();
    const channel = served[0]?.channel;
    const text = 'x'.repeat(50_000);
    let sent = 0;
    let failure: unknown;
    while (failure === undefined && sent < 10_000) {
      await channel?.send(tell('progress', { text })).catch((error: unknown) => (failure = error));
      sent++;
      if (sent % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(failure).toMatchObject({ code: 'limit', details: { limit: 'maxBufferedBytes', allowed: 100_000 } });
    expect(served[0]?.ending?.by).toBe('lost');
    response.cut();
  });
});

describe('a client that reads', () => {
  it('gets all of a flood that is awaited, however much it is', async () => {
    const text = 'x'.repeat(10_000);
    const { url } = await start(
      async (_, channel) => {
        for (let n = 0; n < 300; n++) await channel.send(tell('progress', { text }));
        return {};
      },
      { maxBufferedBytes: 300_000 },
    );
    const response = await post(url, ask('flood'));
    await response.closed;
    expect(response.events).toHaveLength(301);
  });

  it('gets an event that is larger than the cap, and what follows at once', async () => {
    const { url } = await start(
      (message, channel) => {
        void channel.send(tell('progress', { text: 'x'.repeat(500_000) }));
        return { id: message.id };
      },
      { maxBufferedBytes: 1_000 },
    );
    const response = await post(url, ask('large'));
    await response.closed;
    expect(dataOf(response.events).at(-1)).toEqual({ jsonrpc: '2.0', id: 1, result: { id: 1 } });
  });
});

describe('a notification that stands alone', () => {
  it('is delivered and answered 202 without a body', async () => {
    const { url, served } = await start();
    const response = await post(url, tell('hello'));
    expect(response.status).toBe(202);
    expect(response.headers['content-length']).toBe('0');
    expect(await response.text()).toBe('');
    expect(served[0]?.messages).toEqual([tell('hello')]);
    expect(served[0]?.ending?.by).toBe('closed');
  });
});

describe('the checks before a message is looked at', () => {
  it.each([
    ['a foreign Host', { host: 'evil.example.com' }, 403],
    ['a foreign Host with our name in it', { host: '127.0.0.1.evil.example.com' }, 403],
    ['a Host that is no host', { host: '127.0.0.1:80@evil' }, 403],
    ['a foreign Origin alone', { origin: 'http://evil.example.com' }, 403],
    ['an opaque Origin', { origin: 'null' }, 403],
    ['an Origin that begins like ours', { origin: 'http://localhost.evil.example.com' }, 403],
    ['a request across sites without an Origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another name of loopback', { host: 'LOCALHOST:1' }, 200],
    ['the IPv6 name of loopback', { host: '[::1]:8080' }, 200],
    ['a loopback Origin', { origin: 'http://localhost:5173' }, 200],
    ['a request the user made', { 'sec-fetch-site': 'none' }, 200],
  ])('%s: %j gives %i', async (_, headers: Record<string, string>, status) => {
    const { url, served } = await start();
    const response = await post(url, ask('tool'), headers);
    expect(response.status).toBe(status);
    if (status === 403) {
      expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) as string } });
      expect(served).toEqual([]);
    }
  });

  it.each(['GET', 'DELETE', 'OPTIONS', 'PUT'])('hold for %s too, and on every path', async (method) => {
    const { url } = await start(undefined, { sse: true });
    const origin = new URL(url).origin;
    for (const path of ['/mcp', '/sse', '/messages', '/else']) {
      expect((await http(origin + path, { method, headers: { origin: 'https://evil.example.com' } })).status).toBe(403);
      expect((await http(origin + path, { method, headers: { host: 'evil.example.com' } })).status).toBe(403);
    }
  });

  it('refuse two Host headers, whichever is right', async () => {
    const { port } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nhost: evil.example.com\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    );
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });

  it('come before the body is there', async () => {
    const { url } = await start();
    const sent = startRequest(url, {
      method: 'POST',
      agent: false,
      headers: { origin: 'https://evil.example.com', 'content-length': 1_000 },
    });
    sent.on('error', () => {});
    sent.flushHeaders();
    const [response] = (await once(sent, 'response')) as [{ statusCode: number }];
    expect(response.statusCode).toBe(403);
    sent.destroy();
  });

  it('take the hosts and origins that were configured instead of the defaults', async () => {
    const { url } = await start(undefined, {
      allowedHosts: ['mcp.example.com', 'other.example.com:8443'],
      allowedOrigins: ['https://app.example.com'],
    });
    const status = async (headers: Record<string, string>) => (await post(url, ask('tool'), headers)).status;
    expect(await status({ host: 'MCP.example.com:99' })).toBe(200);
    expect(await status({ host: 'other.example.com:8443' })).toBe(200);
    expect(await status({ host: 'other.example.com' })).toBe(403);
    expect(await status({ host: 'localhost' })).toBe(403);
    expect(await status({ host: 'mcp.example.com', origin: 'https://app.example.com' })).toBe(200);
    expect(await status({ host: 'mcp.example.com', origin: 'https://app.example.com:444' })).toBe(403);
    expect(await status({ host: 'mcp.example.com', origin: 'http://localhost' })).toBe(403);
  });

  it('give CORS headers to pages that were configured, and to no others', async () => {
    const plain = await start();
    const allowed = { origin: 'http://localhost:5173', 'access-control-request-headers': 'mcp-param-region' };
    const without = await http(plain.url, { method: 'OPTIONS', headers: allowed });
    expect(without.status).toBe(405);
    expect(Object.keys(without.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);

    const { url } = await start(undefined, { allowedOrigins: ['https://app.example.com'] });
    const page = { ...allowed, origin: 'https://app.example.com' };
    const preflight = await http(url, { method: 'OPTIONS', headers: page });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example.com',
      'access-control-allow-headers': 'mcp-param-region',
      vary: 'Origin',
    });
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
    const answer = await post(url, ask('tool'), page);
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example.com');
    expect(answer.headers['access-control-expose-headers']).toBe('Mcp-Session-Id, WWW-Authenticate');
  });

  it.each([
    [{ allowedHosts: ['*'] }],
    [{ allowedHosts: ['https://name'] }],
    [{ allowedOrigins: ['*'] }],
    [{ allowedOrigins: ['null'] }],
    [{ allowedOrigins: ['app.example.com'] }],
    [{ allowedOrigins: ['https://app.example.com/'] }],
  ])('refuse to be configured with what could never match: %j', (options) => {
    expect(() => createHttpListener({ profile, accept: () => {}, ...options })).toThrow(ParleyError);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json; charset=latin1', 415],
    ['application/jsonp', 415],
    ['application/json; charset=UTF-8', 200],
    ['Application/JSON', 200],
  ])('Content-Type %s gives %i', async (type, status) => {
    const { url } = await start();
    expect((await post(url, ask('tool'), { 'content-type': type })).status).toBe(status);
  });

  it.each([
    ['text/html', 406],
    ['application/json;q=0, image/png', 406],
    ['application/*;q=0.5', 200],
    ['*/*', 200],
  ])('Accept %s gives %i', async (accept, status) => {
    const { url } = await start();
    expect((await post(url, ask('tool'), { accept })).status).toBe(status);
  });

  it('tolerate a missing Accept', async () => {
    const { url } = await start();
    const sent = startRequest(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
    sent.end(JSON.stringify(ask('tool')));
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it('refuse an encoded body', async () => {
    const { url } = await start();
    expect((await post(url, ask('tool'), { 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('refuse a body that is too large, announced or not', async () => {
    const { url, served } = await start(undefined, { maxBodyBytes: 1_000 });
    const large = ask('tool', 1, { text: 'x'.repeat(1_000) });
    expect((await http(url, { body: large })).status).toBe(413);
    const chunked = await http(url, { body: large, headers: { 'transfer-encoding': 'chunked' } });
    expect(chunked.status).toBe(413);
    expect(served).toEqual([]);
    expect((await post(url, ask('tool', 1, { text: 'x'.repeat(800) }))).status).toBe(200);
  });

  it.each([['{"jsonrpc":'], ['hello'], [''], ['{"a":"\\u00"}']])(
    'answer what is not JSON with a parse error: %s',
    async (body) => {
      const { url } = await start();
      const response = await http(url, { body });
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) as string } });
    },
  );

  it('answer a body that is not UTF-8 with a parse error', async () => {
    const { port } = await start();
    const body = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 400 [^]*-32700/);
    socket.destroy();
  });

  it('refuse a body that is nested too deep, and count no brackets in strings', async () => {
    const { url } = await start();
    const nested = (levels: number) =>
      JSON.stringify(ask('tool', 1, { a: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown }));
    expect((await http(url, { body: nested(62) })).status).toBe(200);
    expect((await http(url, { body: nested(63) })).status).toBe(400);
    expect((await post(url, ask('tool', 1, { a: '\\"' + '['.repeat(100) }))).status).toBe(200);
  });

  it.each([
    [42, undefined],
    [null, undefined],
    [{ id: 5, method: 'x' }, 5],
    [{ jsonrpc: '2.0', id: null, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 6, result: {} }, undefined],
  ])('answer what is no request with an invalid request: %j', async (body, id) => {
    const { url, served } = await start();
    const response = await post(url, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    expect(((await response.json()) as { id?: unknown }).id).toBe(id);
    expect(served).toEqual([]);
  });

  it('send the refusal of the profile as it is', async () => {
    const { url } = await start();
    const response = await post(url, ask('tool'), { 'x-refuse': '1' });
    expect(response.status).toBe(418);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32020, message: 'refused' } });
  });

  it('know one path, and the methods of it', async () => {
    const { url } = await start();
    expect((await post(`${url}/else`, ask('tool'))).status).toBe(404);
    expect((await post(`${url}?key=1`, ask('tool'))).status).toBe(200);
    expect((await http(url, { method: 'PUT' })).status).toBe(405);
    for (const method of ['GET', 'DELETE']) {
      const response = await http(url, { method });
      expect(response.status).toBe(405);
      expect(response.headers.allow).toBe('POST');
    }
  });
});

describe('the listener', () => {
  it('survives a fault in what it was given', async () => {
    const errors: unknown[] = [];
    const { url } = await start(undefined, {
      accept: () => {
        throw new Error('secret');
      },
      log: (level) => errors.push(level),
    });
    for (const method of ['tool', 'legacy/open']) {
      const response = await post(url, ask(method));
      expect(response.status).toBe(500);
      expect(await response.text()).not.toContain('secret');
    }
    expect(errors).toEqual(['error', 'error']);
  });

  it('serves in a server that is somebody else’s', async () => {
    const harness = await start();
    const server = createServer((request, response) => harness.listener.handle(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const response = await post(`http://localhost:${(server.address() as AddressInfo).port}/mcp`, ask('tool'));
    expect(response.status).toBe(200);
    await response.closed;
    server.close();
    await once(server, 'close');
  });

  it('answers what still waits and ends what streams when it closes', async () => {
    const harness = await start((message, channel) =>
      message.method === 'stream' ? void channel.send(tell('progress')) : undefined,
    );
    const { url, served, listener } = harness;
    const streaming = await post(url, ask('stream'));
    await streaming.until(1);
    const waiting = post(url, ask('wait', 9));
    await eventually(() => served.length === 2);
    expect(listener.exchanges).toBe(2);
    await listener.close();
    await streaming.closed;
    const answer = await waiting;
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ id: 9, error: { code: -32603 } });
    expect(served.map(({ ending }) => ending?.by)).toEqual(['closed', 'closed']);
    expect(listener.exchanges).toBe(0);
    await expect(post(url, ask('tool'))).rejects.toThrow('ECONNREFUSED');
    await listener.close();
  });

  it('ends a stream whole when it closes, and the connection with it', async () => {
    const { port, listener } = await start((_, channel) => void channel.send(tell('progress')), { clock: createFakeClock() });
    const socket = connect(port, '127.0.0.1');
    const body = JSON.stringify(ask('stream'));
    const head = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await eventually(() => text.includes('data:'));
    await listener.close();
    await eventually(() => socket.readableEnded);
    expect(text).toMatch(/\r\n0\r\n\r\n$/);
    socket.destroy();
  });

  it('closes in bounded time with a client that does not read', async () => {
    const clock = createFakeClock();
    const { url, served, listener } = await start(
      (_, channel) => void channel.send(tell('big', { text: 'x'.repeat(12_000_000) })),
      {
        clock,
      },
    );
    const response = await post(url, ask('stream'));
    response.pause();
    const closing = listener.close();
    await eventually(() => served[0]?.ending !== undefined);
    clock.advance(2_000);
    await closing;
    response.cut();
  });

  it('cuts a client that takes nothing of its answer for too long', async () => {
    const { listener } = await start(() => ({ text: 'x'.repeat(12_000_000) }), { takeMs: 50 });
    let isClosed = false;
    const server = createServer((request, response) => {
      response.on('close', () => (isClosed = true));
      listener.handle(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const reading = await post(`http://localhost:${(server.address() as AddressInfo).port}/mcp`, ask('big'));
    reading.pause();
    await eventually(() => isClosed);
    reading.resume();
    expect((await reading.text()).length).toBeLessThan(12_000_000);
    server.close();
    await once(server, 'close');
  });

  it('refuses to listen beyond loopback without knowing its hosts, and where it cannot', async () => {
    const make = () => createHttpListener({ profile, accept: () => {} });
    await expect(make().listen({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'usage' });
    const { port, listener } = await start();
    const second = make();
    await expect(second.listen({ port })).rejects.toMatchObject({ code: 'usage' });
    await second.close();
    await expect(listener.listen()).rejects.toMatchObject({ code: 'usage' });
  });
});
