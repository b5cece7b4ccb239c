// The handshake era as a client lives in it (2025-11-25, basic/lifecycle, basic/transports and client/*), over real sockets
// where it is about HTTP.
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { connect, type ConnectOptions, type InputHandlers, type News } from '../../src/client/index.ts';
import { legacyServer, script, settle, unknownMethod } from '../../src/client/fixtures/script.ts';
import { RpcError } from '../../src/errors.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { eitherTransport, httpTransport } from '../../src/transport/index.ts';
import {
  beginStream,
  event,
  fakeServer,
  reply,
  sendJson,
  type FakeServer,
  type Seen,
} from '../../src/transport/http/fixtures/fake-server.ts';
import { closing } from './fixtures/servers.ts';

const open = closing();
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

interface SessionServer extends FakeServer {
  /** The GET streams, in the order of their opening. */
  readonly streams: { readonly seen: Seen; readonly response: ServerResponse }[];
  readonly named: (method: string) => Seen[];
}

type Handle = (
  message: { id?: unknown; method?: string; params?: JsonObject; result?: JsonObject },
  response: ServerResponse,
) => unknown;

/** A server of the handshake era with sessions; `handle` answers what it knows and returns whether it did. */
async function sessionServer(handle: Handle = () => false, { version = '2025-11-25', get = true } = {}): Promise<SessionServer> {
  const streams: SessionServer['streams'] = [];
  let sessions = 0;
  const server = await fakeServer((seen, response) => {
    if (seen.method === 'DELETE') return sendJson(response, '', 405);
    if (seen.method === 'GET') {
      if (!get) return sendJson(response, '', 405);
      beginStream(response, event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'here' } }));
      streams.push({ seen, response });
      return undefined;
    }
    const message = JSON.parse(seen.body) as Parameters<Handle>[0];
    if (message.method === 'server/discover') return sendJson(response, '', 400);
    if (message.method === 'initialize') {
      const result = { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
      return sendJson(response, reply(message.id, result), 200, { 'mcp-session-id': `session-${String(++sessions)}` });
    }
    if (handle(message, response) !== false) return undefined;
    if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
    return sendJson(response, reply(message.id, { content: [] }));
  });
  open(server);
  const named = (method: string) => server.seen.filter(({ body }) => body.includes(`"method":"${method}"`));
  return Object.assign(Object.create(server, Object.getOwnPropertyDescriptors(server)) as FakeServer, { streams, named });
}

const begin = async (server: FakeServer, options: ConnectOptions = {}) =>
  open(await connect(httpTransport({ url: server.url }), options));

describe('the handshake (basic/lifecycle, “Initialization”)', () => {
  test('initialize goes first and alone, then initialized, then everything else', async () => {
    const server = await sessionServer();
    const session = await begin(server);
    await Promise.all([session.callTool('a'), session.callTool('b')]);
    const posts = server.seen
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => (JSON.parse(body) as { method: string }).method);
    expect(posts).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'tools/call', 'tools/call']);
    const [, initialize, initialized] = server.seen.filter(({ method }) => method === 'POST');
    expect(JSON.parse(initialize?.body ?? '')).toMatchObject({
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'parley' } },
    });
    await initialized?.over;
    expect(JSON.parse(initialized?.body ?? '')).toEqual({ jsonrpc: '2.0', method: 'notifications/initialized' });
  });

  test.each(['2023-01-01', '2026-07-28', 'DRAFT', ''])(
    'a server that answers with the version "%s" is left at once (“Version Negotiation”)',
    async (version) => {
      const server = legacyServer({}, { version });
      await expect(connect(server)).rejects.toMatchObject({ code: 'version-unsupported' });
      expect(server.told).toEqual([]);
      await expect(server.line.channel.send({ jsonrpc: '2.0', method: 'x' })).rejects.toMatchObject({ code: 'closed' });
    },
  );

  test('is never cancelled, neither by its caller nor by time (basic/utilities/cancellation, “Behavior Requirements”)', async () => {
    const clock = createFakeClock();
    for (const how of ['caller', 'time']) {
      const server = script((request) => (request.method === 'initialize' ? 'silence' : unknownMethod));
      const stop = new AbortController();
      const connecting = connect(server, { clock, signal: stop.signal, connectTimeoutMs: 10_000 });
      const outcome = expect(connecting).rejects.toMatchObject({ code: how === 'caller' ? 'aborted' : 'timeout' });
      await expect.poll(() => server.requests.length).toBe(2);
      if (how === 'caller') stop.abort();
      else clock.advance(10_000);
      await outcome;
      expect(server.requests.map(({ method }) => method)).toEqual(['server/discover', 'initialize']);
      expect(server.told).toEqual([]);
    }
  });
});

describe('a session on HTTP (basic/transports)', () => {
  test.each(REVISIONS)(
    'carries its id, and from 2025-06-18 on the negotiated version, on all that follows: %s (“Session Management”, “Protocol Version Header”)',
    async (version) => {
      const server = await sessionServer(
        ({ id, method }, response) => {
          if (method !== 'tools/call') return false;
          beginStream(response, event({ jsonrpc: '2.0', id: 'q', method: 'ping' }));
          response.end(event(reply(id, { content: [] })));
          return true;
        },
        { version },
      );
      const session = await begin(server, { inputs: { listRoots: async () => ({ roots: [] }) } });
      await session.callTool('x');
      await session.rootsChanged();
      await server.until(() => server.streams.length === 1 && server.seen.some(({ body }) => body.includes('"id":"q"')));
      await session.close();
      const [, initialize, ...rest] = server.seen;
      expect(initialize?.headers).not.toHaveProperty('mcp-session-id');
      const kinds = rest.map(({ method, body }) =>
        body === '' ? method : ((JSON.parse(body) as { method?: string }).method ?? 'answer'),
      );
      expect(kinds.sort()).toEqual([
        'DELETE',
        'GET',
        'answer',
        'notifications/initialized',
        'notifications/roots/list_changed',
        'tools/call',
      ]);
      for (const { headers } of rest) {
        expect(headers['mcp-session-id']).toBe('session-1');
        expect(headers['mcp-protocol-version']).toBe(version >= '2025-06-18' ? version : undefined);
      }
      for (const seen of rest.filter(({ method }) => method === 'GET'))
        expect(seen.headers.accept).toContain('text/event-stream');
    },
  );

  test('without a standing stream is one all the same; the GET is made once (“Listening for Messages from the Server”)', async () => {
    const server = await sessionServer(undefined, { get: false });
    const session = await begin(server);
    const problems: News[] = [];
    session.news.subscribe((news) => news.type === 'problem' && problems.push(news));
    for (let count = 0; count < 5; count++) await session.callTool('x');
    await server.until(() => server.seen.some(({ method }) => method === 'GET'));
    await session.callTool('x');
    expect(server.seen.filter(({ method }) => method === 'GET')).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  test('that the server forgot fails what is under way and what follows; the next begins without an id (“Session Management”)', async () => {
    let forgotten = false;
    const server = await sessionServer(({ method, params }, response) => {
      if (method !== 'tools/call') return false;
      if (forgotten) sendJson(response, '', 404);
      else if (params?.['name'] !== 'slow') return false;
      return true;
    });
    const session = await begin(server);
    const slow = session.callTool('slow');
    const lost = expect(slow).rejects.toMatchObject({ name: 'ParleyError' });
    await server.until(() => server.named('tools/call').length === 1);
    forgotten = true;
    await expect(session.callTool('x')).rejects.toMatchObject({ code: 'session-lost' });
    await lost;
    await session.ended;
    await expect(session.callTool('y')).rejects.toMatchObject({ name: 'ParleyError' });
    // Nothing was sent twice.
    expect(server.named('tools/call')).toHaveLength(2);
    forgotten = false;
    const next = await begin(server);
    await next.callTool('y');
    expect(server.named('initialize').map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, undefined]);
    expect(server.named('tools/call').at(-1)?.headers['mcp-session-id']).toBe('session-2');
  });

  test('is given up a call by a notification, since a closed stream says nothing (“Sending Messages to the Server”)', async () => {
    const server = await sessionServer(({ method }, response) => {
      if (method !== 'tools/call') return false;
      beginStream(response, ': waiting\n\n');
      return true;
    });
    const session = await begin(server);
    const stop = new AbortController();
    const call = session.callTool('slow', {}, { signal: stop.signal });
    await server.until(() => server.named('tools/call').length === 1);
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: 'aborted' });
    await server.until(() => server.named('notifications/cancelled').length === 1);
    const [cancelled] = server.named('notifications/cancelled');
    expect(JSON.parse(cancelled?.body ?? '')).toMatchObject({ params: { requestId: server.named('tools/call')[0]?.id } });
    expect(cancelled?.headers['mcp-session-id']).toBe('session-1');
  });

  test('may answer one method by JSON, by a stream, or on the standing stream (“Sending Messages to the Server”)', async () => {
    const content = (text: string) => ({ content: [{ type: 'text', text }] });
    const server = await sessionServer(({ id, method, params }, response) => {
      if (method !== 'tools/call') return false;
      const how = params?.['name'] as string;
      if (how === 'json') sendJson(response, reply(id, content(how)));
      else if (how === 'stream') {
        beginStream(response);
        response.end(event(reply(id, content(how))));
      } else {
        response.writeHead(202).end();
        server.streams[0]?.response.write(event(reply(id, content(how))));
      }
      return true;
    });
    const session = await begin(server);
    await server.until(() => server.streams.length === 1);
    for (const how of ['json', 'stream', 'standing']) expect(await session.callTool(how)).toMatchObject(content(how));
  });
});

describe('requests of the server', () => {
  /** Lets the server ask, and resolves with what was answered. */
  async function answered(inputs: InputHandlers, method: string, params?: JsonObject): Promise<unknown> {
    const server = legacyServer({});
    open(await connect(server, { inputs }));
    server.line.deliver({ jsonrpc: '2.0', id: 'q', method, ...(params && { params }) });
    const own = () => server.line.sent.find((message) => 'id' in message && message.id === 'q');
    await expect.poll(own).toBeDefined();
    const { jsonrpc: _version, id: _id, ...rest } = own() as unknown as JsonObject;
    return rest;
  }

  const form = {
    message: 'm',
    requestedSchema: {
      type: 'object',
      properties: { name: { type: 'string', default: 'Ada' }, age: { type: 'integer', default: 36 } },
    },
  };
  const visit = { mode: 'url', message: 'm', url: 'https://a.test/', elicitationId: 'e' };
  const message = { role: 'assistant' as const, content: { type: 'text' as const, text: 'hi' }, model: 'm' };

  test.each<[string, InputHandlers, string, JsonObject | undefined, JsonObject]>([
    ['ping, whatever the client can (basic/utilities/ping)', {}, 'ping', undefined, { result: {} }],
    ['ping with a token', {}, 'ping', { _meta: { progressToken: 1 } }, { result: {} }],
    ['an unknown method', {}, 'tools/list', {}, { error: { code: -32601 } }],
    ['roots that were not declared (client/roots)', {}, 'roots/list', undefined, { error: { code: -32601 } }],
    [
      'sampling that was not declared (client/sampling)',
      {},
      'sampling/createMessage',
      { messages: [], maxTokens: 1 },
      { error: { code: -32601 } },
    ],
    ['sampling', { sample: async () => message }, 'sampling/createMessage', { messages: [], maxTokens: 1 }, { result: message }],
    [
      'sampling without a limit',
      { sample: async () => message },
      'sampling/createMessage',
      { messages: [] },
      { error: { code: -32602 } },
    ],
    [
      'sampling with tools',
      { sample: async () => message },
      'sampling/createMessage',
      { messages: [], maxTokens: 1, tools: [] },
      { error: { code: -32602 } },
    ],
    [
      'sampling that a person rejects',
      { sample: () => Promise.reject(new RpcError(-1, 'User rejected')) },
      'sampling/createMessage',
      { messages: [], maxTokens: 1 },
      { error: { code: -1, message: 'User rejected' } },
    ],
    [
      'a handler that throws, without its text',
      { listRoots: () => Promise.reject(new Error('secret')) },
      'roots/list',
      undefined,
      { error: { code: -32603, message: expect.not.stringContaining('secret') as string } },
    ],
    [
      'a form without a schema',
      { elicitForm: async () => ({ action: 'accept' }) },
      'elicitation/create',
      { message: 'm' },
      { error: { code: -32602 } },
    ],
    [
      'a mode that was not declared (client/elicitation, “Error Handling”)',
      { elicitForm: async () => ({ action: 'accept' }) },
      'elicitation/create',
      visit,
      { error: { code: -32602 } },
    ],
    [
      'a form where only URLs were declared',
      { elicitUrl: async () => ({ action: 'accept' }) },
      'elicitation/create',
      form,
      { error: { code: -32602 } },
    ],
    ['a URL', { elicitUrl: async () => ({ action: 'accept' }) }, 'elicitation/create', visit, { result: { action: 'accept' } }],
    [
      'a URL that nobody should open',
      { elicitUrl: async () => ({ action: 'accept' }) },
      'elicitation/create',
      { ...visit, url: 'javascript:x' },
      { error: { code: -32602 } },
    ],
    [
      'a form with its defaults, by value',
      { elicitForm: async () => ({ action: 'accept', content: { name: 'Bob' } }) },
      'elicitation/create',
      form,
      { result: { action: 'accept', content: { name: 'Bob', age: 36 } } },
    ],
  ])('%s', async (_name, inputs, method, params, expected) => {
    expect(await answered(inputs, method, params)).toMatchObject(expected);
  });

  test('a ping in the middle of a call is answered at once, and carries the session (basic/utilities/ping)', async () => {
    let finish = () => {};
    const server = await sessionServer(({ id, method, result }, response) => {
      if (result !== undefined) finish();
      if (method !== 'tools/call') return false;
      beginStream(response, event({ jsonrpc: '2.0', id: 'p', method: 'ping' }));
      // The call is answered only after the ping was.
      finish = () => response.end(event(reply(id, { content: [] })));
      return true;
    });
    const session = await begin(server);
    await session.callTool('x');
    const answer = server.seen.find(({ id }) => id === 'p');
    expect(JSON.parse(answer?.body ?? '')).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
    expect(answer?.headers['mcp-session-id']).toBe('session-1');
  });

  test('the end of an elicitation that nobody knows of harms nothing (client/elicitation, “Completion Notifications for URL Mode Elicitation”)', async () => {
    const server = legacyServer({ 'tools/call': () => ({ result: { content: [] } }) });
    const session = open(await connect(server));
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    for (const params of [{ elicitationId: 'unknown' }, { elicitationId: 7 }, {}]) {
      server.line.deliver({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params });
    }
    await expect(session.callTool('x')).resolves.toEqual({ content: [] });
    await settle();
    expect(news[0]).toEqual({ type: 'elicitation-complete', elicitationId: 'unknown' });
    expect(server.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  test('that roots changed is told, since it was declared (client/roots, “Root List Changes”)', async () => {
    const server = legacyServer({});
    const session = open(await connect(server, { inputs: { listRoots: async () => ({ roots: [] }) } }));
    expect(server.requests.at(-1)?.params).toMatchObject({ capabilities: { roots: { listChanged: true } } });
    await session.rootsChanged();
    expect(server.told).toEqual(['notifications/initialized', 'notifications/roots/list_changed']);
  });
});

test('ids are never used twice within a session, given up requests included (basic/index, “Requests”)', async () => {
  const server = legacyServer({
    'tools/call': ({ params }) => (params?.['name'] === 'slow' ? 'silence' : { result: { content: [] } }),
  });
  const session = open(await connect(server));
  for (let round = 0; round < 50; round++) {
    const stop = new AbortController();
    const slow = session.callTool('slow', {}, { signal: stop.signal });
    await settle();
    stop.abort();
    await expect(slow).rejects.toMatchObject({ code: 'aborted' });
    await session.callTool('x');
  }
  const ids = server.requests.map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([102, 102]);
});

describe('the transport of 2024-11-05 (basic/transports, “Backwards Compatibility”)', () => {
  /** A server that knows HTTP+SSE alone, and names `address` as the place to post to. */
  async function sseServer(address: (url: string) => string, status = 405) {
    let stream: ServerResponse | undefined;
    const server = open(
      await fakeServer((seen, response) => {
        if (seen.method === 'GET') {
          beginStream(response, `event: endpoint\ndata: ${address(server.url)}\n\n`);
          stream = response;
          return undefined;
        }
        if (seen.path === '/mcp') return sendJson(response, '', status);
        response.writeHead(202).end();
        const { id, method } = JSON.parse(seen.body) as { id?: number; method: string };
        if (id === undefined) return undefined;
        const result =
          method === 'initialize'
            ? { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'old', version: '1' } }
            : { content: [{ type: 'text', text: method }] };
        return stream?.write(`event: message\ndata: ${JSON.stringify(reply(id, result))}\n\n`);
      }),
    );
    return server;
  }

  test.each([400, 404, 405])('is taken when POST initialize is answered %i, with its relative address', async (status) => {
    const server = await sseServer(() => '/messages?sessionId=1', status);
    const session = open(await connect(eitherTransport({ url: server.url })));
    expect(session.revision).toBe('2024-11-05');
    expect((await session.callTool('x')).content).toEqual([{ type: 'text', text: 'tools/call' }]);
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /mcp',
      'POST /mcp',
      'GET /mcp',
      ...Array<string>(3).fill('POST /messages?sessionId=1'),
    ]);
  });

  test('an address of another origin is refused, and nothing is posted there', async () => {
    const other = open(await fakeServer((_seen, response) => sendJson(response, '', 202)));
    const server = await sseServer(() => new URL('/messages', other.url).href);
    await expect(connect(eitherTransport({ url: server.url }))).rejects.toMatchObject({ name: 'ParleyError' });
    expect(other.seen).toEqual([]);
  });
});
