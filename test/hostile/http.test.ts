// Servers behind HTTP that never end, lie about sizes, lead elsewhere, or answer with something else.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { event, fakeHttp, reply, type Act, type Exchange, type FakeHttp } from './fixtures/fake-http.ts';
import { eventually, textOf, withOracle, type Scene, type SceneOptions } from './fixtures/scene.ts';

const KIB = 1_024;
const LIMITS = { maxMessageBytes: 64 * KIB, maxStreamBytes: 512 * KIB, maxStreamEvents: 500 };

let open: FakeHttp[] = [];
afterEach(async () => {
  for (const server of open) await server.close();
  open = [];
});

/** A scene whose bad server answers calls of tools with `misbehave`, and everything else as it should. */
async function withCalls(
  misbehave: (exchange: Exchange) => undefined | Promise<void>,
  act: (scene: Scene, server: FakeHttp) => Promise<void>,
  options: SceneOptions & { readonly era?: 'modern' | 'legacy' } = {},
): Promise<void> {
  await withServer((exchange) => (exchange.rpc === 'tools/call' ? misbehave(exchange) : 'well'), act, options);
}

async function withServer(
  answer: Act,
  act: (scene: Scene, server: FakeHttp) => Promise<void>,
  { era = 'modern', ...options }: SceneOptions & { readonly era?: 'modern' | 'legacy' } = {},
): Promise<void> {
  const server = await fakeHttp(answer, era);
  open.push(server);
  await withOracle(
    { url: server.url, type: 'http' },
    async (scene) => {
      await scene.host.settled();
      await act(scene, server);
    },
    { limits: LIMITS, ...options },
  );
  await eventually(() => server.connections === 0);
  expect(server.connections).toBe(0);
}

const fails = (code: string, limit?: string) => ({
  type: 'fault',
  error: {
    code,
    ...(limit && { details: { limit, allowed: expect.any(Number) as number, observed: expect.any(Number) as number } }),
  },
});
const json = ({ response }: Exchange, headers: Record<string, string | number> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers });

describe('a body', () => {
  it('without an end is cut at its cap, and the next call is answered', async () => {
    let times = 0;
    await withCalls(
      (exchange) => {
        if (times++ > 0) return void exchange.json(reply(exchange.id));
        json(exchange);
        return exchange.flood(`{"a":"${'x'.repeat(16 * KIB)}"`);
      },
      async ({ call }) => {
        expect(await call()).toMatchObject(fails('limit', 'maxMessageBytes'));
        expect(textOf(await call())).toBe('done');
      },
    );
  });

  it('that is compressed counts by what it becomes', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1_048_576, 0x20));
    await withCalls(
      (exchange) => void json(exchange, { 'content-encoding': 'gzip' }).end(bomb),
      async ({ call }) => expect(await call()).toMatchObject(fails('limit', 'maxMessageBytes')),
    );
  });

  it.each([
    ['much shorter', 5],
    ['much longer', 1_000_000],
  ])('that is announced as %s than it is fails its own call', async (_how, length) => {
    await withCalls(
      ({ id, socket }) => {
        const text = JSON.stringify(reply(id));
        socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${String(length)}\r\n\r\n${text}`);
        return undefined;
      },
      async ({ call }) => {
        const outcome = await call();
        expect(['fault', 'lost']).toContain(outcome.type);
      },
    );
  });

  it('of an error is read no further than it is needed, however long it is', async () => {
    await withCalls(
      (exchange) => {
        exchange.response.writeHead(500, { 'content-type': 'text/html' });
        return exchange.flood('x'.repeat(16 * KIB));
      },
      async ({ call }) => expect(await call()).toMatchObject(fails('http-status')),
    );
  });

  it('of an error that is compressed counts by what it becomes as well', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1_048_576, 0x20));
    await withCalls(
      ({ response }) => void response.writeHead(500, { 'content-encoding': 'gzip' }).end(bomb),
      async ({ call }) => expect(await call()).toMatchObject(fails('http-status')),
    );
  });

  it('that is too deep, or has too many values, fails its own call', async () => {
    const bodies = [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, `[${'0,'.repeat(250_000)}0]`];
    await withCalls(
      (exchange) => void json(exchange).end(`{"jsonrpc":"2.0","id":1,"result":{"a":${bodies.shift() ?? '1'}}}`),
      async ({ call }) => {
        expect(await call()).toMatchObject(fails('limit', 'maxJsonDepth'));
        expect(await call()).toMatchObject(fails('limit', 'maxJsonValues'));
      },
      { limits: {} },
    );
  });

  it.each<[string, number, string, string]>([
    ['nothing', 200, 'application/json', ''],
    ['no content', 204, 'application/json', ''],
    ['accepted', 202, 'application/json', ''],
    ['a page', 200, 'text/html', '<html></html>'],
    ['text', 200, 'text/plain', 'hello'],
    ['half of it', 200, 'application/json', '{"jsonrpc":'],
    ['null', 200, 'application/json', 'null'],
    ['an empty batch', 200, 'application/json', '[]'],
    ['somebody else’s', 200, 'application/json', '{"jsonrpc":"2.0","id":987654,"result":{}}'],
    ['an image', 200, 'image/png', 'PNG'],
  ])('that is not the reply (%s) fails its call at once', async (_what, status, type, body) => {
    await withCalls(
      ({ response }) => void response.writeHead(status, { 'content-type': type }).end(body),
      async ({ call }) => expect((await call()).type).toBe('fault'),
    );
  });
});

describe('an event stream', () => {
  it.each<[string, string, string]>([
    ['one line without end', 'x'.repeat(16 * KIB), 'maxMessageBytes'],
    ['one event without end', `data: ${'x'.repeat(1_000)}\n`, 'maxMessageBytes'],
    ['comments without end', `: ${'x'.repeat(1_000)}\n`, 'maxStreamBytes'],
    ['an endless id', `id: ${'x'.repeat(2_000)}\n\n`, 'maxEventId'],
    ['an endless name', `event: ${'x'.repeat(2_000)}\n\n`, 'maxEventName'],
    ['events without end', 'data: {}\n\n', 'maxStreamEvents'],
  ])('of %s is cut, and the next call is answered', async (_what, piece, limit) => {
    let times = 0;
    await withCalls(
      (exchange) => {
        if (times++ > 0) return void exchange.json(reply(exchange.id));
        exchange.stream();
        if (limit === 'maxMessageBytes') exchange.response.write('data: ');
        return exchange.flood(piece);
      },
      async ({ call }) => {
        expect(await call()).toMatchObject(fails('limit', limit));
        expect(textOf(await call())).toBe('done');
      },
    );
  });

  it('that brings a reply which is too deep fails its call', async () => {
    await withCalls(
      (exchange) => {
        exchange.stream();
        exchange.response.end(
          `data: {"jsonrpc":"2.0","id":${String(exchange.id)},"result":{"a":${'['.repeat(500)}${']'.repeat(500)}}}\n\n`,
        );
        return undefined;
      },
      async ({ call }) => expect(await call()).toMatchObject(fails('limit', 'maxJsonDepth')),
    );
  });

  it('that is reset before the reply loses its call at once', async () => {
    await withCalls(
      (exchange) => {
        exchange.stream();
        exchange.response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }));
        setImmediate(() => exchange.socket.resetAndDestroy());
        return undefined;
      },
      async ({ call }) => expect(await call()).toMatchObject({ type: 'lost', sent: 'perhaps' }),
    );
  });

  it('that is silent for ever ends with the time of its call, and its socket is gone', async () => {
    await withCalls(
      (exchange) => void exchange.stream(),
      async ({ host }, server) => {
        expect(await host.call('bad/work', {}, { timeoutMs: 300 })).toMatchObject({ type: 'timeout', afterMs: 300 });
        await eventually(() => server.connections <= 1);
        expect(server.connections).toBeLessThanOrEqual(1);
      },
    );
  });

  it('that drips, byte for byte, ends with the time of its call', async () => {
    await withCalls(
      async (exchange) => {
        exchange.stream();
        while (exchange.open()) {
          exchange.response.write(':\n');
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
      async ({ host }) =>
        expect(await host.call('bad/work', {}, { timeoutMs: 300 })).toMatchObject({ type: 'timeout', afterMs: 300 }),
    );
  });

  it('brings progress and the reply in one piece, and all of it is heard in order', async () => {
    await withServer(
      (exchange) => {
        if (exchange.rpc !== 'tools/call') return 'well';
        exchange.stream();
        const token = (exchange.params['_meta'] as { progressToken: unknown }).progressToken;
        const tell = (progress: number) =>
          event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress } });
        exchange.response.end(tell(1) + tell(2) + tell(3) + event(reply(exchange.id)));
        return undefined;
      },
      async ({ host }) => {
        const heard: number[] = [];
        const outcome = await host.call('bad/work', {}, { onProgress: ({ progress }) => heard.push(progress) });
        expect(textOf(outcome)).toBe('done');
        expect(heard).toEqual([1, 2, 3]);
      },
    );
  });

  it('of changes that is never acknowledged keeps nobody waiting', async () => {
    await withServer(
      (exchange) => {
        if (exchange.rpc === 'server/discover') {
          const capabilities = { tools: { listChanged: true } };
          exchange.json(reply(exchange.id, { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 0, cacheScope: 'private' }));
          return undefined;
        }
        if (exchange.rpc !== 'subscriptions/listen') return 'well';
        exchange.stream();
        return undefined;
      },
      async ({ call }, server) => {
        expect(textOf(await call())).toBe('done');
        expect(server.seen.filter(({ rpc }) => rpc === 'subscriptions/listen')).toHaveLength(1);
      },
    );
  });

  it('of the handshake era that is cut again and again is opened six times at most', async () => {
    let opened = 0;
    await withServer(
      (exchange) => {
        if (exchange.rpc !== 'tools/call' && exchange.method !== 'GET') return 'well';
        if (exchange.method === 'GET' && exchange.headers['last-event-id'] === undefined) return 'well';
        opened++;
        exchange.stream();
        exchange.response.end(`id: ${String(opened)}\nretry: 0\ndata:\n\n`);
        return undefined;
      },
      async ({ call }) => {
        expect(await call()).toMatchObject({
          type: 'lost',
          error: { message: expect.stringContaining('again and again') as string },
        });
        expect(opened).toBe(6);
      },
      { era: 'legacy' },
    );
  }, 60_000);
});

describe('a redirect', () => {
  let canary: ReturnType<typeof createServer>;
  let hits = 0;
  beforeEach(async () => {
    hits = 0;
    canary = createServer((_request, response) => void response.end()).on('connection', () => hits++);
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => canary.close(resolve)));

  it.each([301, 302, 303, 307, 308])('with status %i to anywhere else is not followed', async (status) => {
    const port = (canary.address() as AddressInfo).port;
    const places = [
      `http://127.0.0.1:${String(port)}/`,
      `//127.0.0.1:${String(port)}/`,
      'file:///etc/passwd',
      'javascript:alert(1)',
      `http://user:secret@127.0.0.1:${String(port)}/`,
      'https://127.0.0.1/mcp',
    ];
    let at = 0;
    await withCalls(
      ({ response }) => void response.writeHead(status, { location: places[at++] as string }).end(),
      async ({ call }) => {
        for (const place of places) expect([place, await call()]).toMatchObject([place, fails('http-status')]);
        expect(hits).toBe(0);
      },
    );
  });

  it('to itself is followed three times and no more', async () => {
    let hops = 0;
    await withCalls(
      ({ response }) => {
        hops++;
        return void response.writeHead(307, { location: '/mcp' }).end();
      },
      async ({ call }) => {
        expect(await call()).toMatchObject(fails('http-status'));
        expect(hops).toBe(4);
      },
    );
  });
});

describe('a server', () => {
  it.each([400, 404, 405])('that answers every call with %i is greeted once, and not asked in another era', async (status) => {
    await withCalls(
      (exchange) => void exchange.response.writeHead(status).end(),
      async ({ call }, server) => {
        for (let time = 0; time < 3; time++) expect((await call()).type).toBe('fault');
        expect(server.seen.filter(({ rpc }) => rpc === 'server/discover')).toHaveLength(1);
        expect(server.seen.filter(({ rpc, method }) => rpc === 'initialize' || method === 'GET')).toEqual([]);
      },
    );
  });

  it('of interim answers without end is cut off', async () => {
    await withCalls(
      async ({ socket }) => {
        while (!socket.destroyed) {
          socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(20));
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      async ({ call }) => expect(await call()).toMatchObject(fails('limit', 'maxInterimResponses')),
    );
  });

  it('of endless headers is cut off', async () => {
    await withCalls(
      async ({ socket }) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        while (!socket.destroyed) {
          socket.write(`x-${String(Math.random())}: ${'x'.repeat(1_000)}\r\n`);
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      async ({ call }) => expect(await call()).toMatchObject(fails('limit', 'maxHeaderBytes')),
    );
  });

  it('that has forgotten the session of a call is greeted anew, once', async () => {
    let sessions = 0;
    await withServer(
      (exchange) => {
        if (exchange.rpc === 'initialize') sessions++;
        if (exchange.rpc !== 'tools/call') return 'well';
        exchange.json(
          { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session' } },
          sessions === 1 ? 404 : 400,
        );
        return undefined;
      },
      async ({ call }) => {
        expect(await call()).toMatchObject({ type: 'lost', sent: 'no', error: { code: 'session-lost' } });
        expect(sessions).toBe(2);
      },
      { era: 'legacy' },
    );
  });

  it('that answers notifications with an open stream keeps nobody waiting', async () => {
    await withServer(
      (exchange) => {
        if (exchange.rpc !== 'notifications/initialized') return 'well';
        exchange.stream();
        return undefined;
      },
      async ({ call }) => expect(textOf(await call())).toBe('done'),
      { era: 'legacy' },
    );
  });
});
