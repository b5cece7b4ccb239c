import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { createFakeClock } from '../testing/index.ts';
import { createCache } from './cache.ts';
import { connect } from './connect.ts';
import { complete, discovery, legacyServer, modernServer, script, settle, unknownMethod } from './fixtures/script.ts';
import type { News } from './session.ts';

const tool = (name: string, inputSchema: JsonObject = { type: 'object' }) => ({ name, inputSchema });
const text = (value: string) => complete({ content: [{ type: 'text', text: value }] });
const elicitation = {
  method: 'elicitation/create',
  params: { message: 'Name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
};
const wants = (inputRequests: JsonObject | undefined, requestState?: string) => ({
  result: {
    resultType: 'input_required',
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  },
});

describe('lists', () => {
  it('are followed to the last page, and an empty string is a cursor', async () => {
    const pages: Record<string, JsonObject> = {
      first: { tools: [tool('a')], nextCursor: '' },
      '': { tools: [tool('b'), { name: 7 }], nextCursor: 'z' },
      z: { tools: [tool('c')], nextCursor: null },
    };
    const server = modernServer({
      'tools/list': ({ params }) => complete(pages[(params?.['cursor'] as string | undefined) ?? 'first'] as JsonObject),
    });
    const session = await connect(server);
    const listing = await session.listTools();
    expect(listing.items.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(listing.rejected).toHaveLength(1);
    await session.close();
  });

  it('are refused when a cursor repeats', async () => {
    const session = await connect(modernServer({ 'tools/list': () => complete({ tools: [tool('a')], nextCursor: 'again' }) }));
    await expect(session.listTools()).rejects.toMatchObject({
      code: 'protocol-violation',
      message: expect.stringContaining('cursor') as string,
    });
    await session.close();
  });

  it('are refused past their limits', async () => {
    let page = 0;
    const endless = modernServer({ 'tools/list': () => complete({ tools: [tool('a')], nextCursor: String(page++) }) });
    const session = await connect(endless, { limits: { maxPages: 5, maxItems: 100 } });
    await expect(session.listTools()).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxPages', allowed: 5 } });
    expect(page).toBe(5);
    await session.close();
  });

  it('are empty for a server that does not have the method', async () => {
    const session = await connect(modernServer({}));
    await expect(session.listPrompts()).resolves.toEqual({ items: [], rejected: [] });
    await session.close();
  });
});

describe('the cache', () => {
  const listing = (ttlMs: number, cacheScope = 'private') => {
    let asked = 0;
    const server = script((request) => {
      if (request.method === 'server/discover') return discovery({ tools: { listChanged: true } });
      if (request.method === 'tools/list') return complete({ tools: [tool(`t${String(++asked)}`)], ttlMs, cacheScope });
      return 'silence';
    });
    return { server, asked: () => asked };
  };

  it('answers while a list is fresh, and asks again after', async () => {
    const clock = createFakeClock();
    const { server, asked } = listing(1_000);
    const session = await connect(server, { clock });
    await session.listTools();
    clock.advance(999);
    await session.listTools();
    expect(asked()).toBe(1);
    clock.advance(1);
    await session.listTools();
    expect(asked()).toBe(2);
    await session.listTools({ cache: 'fresh' });
    expect(asked()).toBe(3);
    await session.close();
  });

  it('never gives a private result to another principal, nor a public one unless told to', async () => {
    for (const [scope, publicResults, expected] of [
      ['private', 'shared', 2],
      ['public', 'separate', 2],
      ['public', 'shared', 1],
    ] as const) {
      const { server, asked } = listing(60_000, scope);
      const cache = createCache({ publicResults });
      for (const principal of ['ann', 'bob']) {
        const session = await connect(server, { cache, principal });
        await session.listTools();
        await session.listTools();
        await session.close();
      }
      expect([scope, publicResults, asked()]).toEqual([scope, publicResults, expected]);
    }
  });

  it('forgets a list that its server says has changed, also while it is being fetched', async () => {
    const { server, asked } = listing(60_000);
    const session = await connect(server);
    session.watch({ toolsListChanged: true });
    await settle();
    const listen = server.requests.at(-1);
    const tell = (method: string, params: JsonObject = {}) =>
      server.line.deliver({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': listen?.id } },
      });
    tell('notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
    await session.listTools();
    tell('notifications/tools/list_changed');
    await session.listTools();
    expect(asked()).toBe(2);
    const underway = session.listTools({ cache: 'fresh' });
    tell('notifications/tools/list_changed');
    await underway;
    await session.listTools();
    expect(asked()).toBe(4);
    await session.close();
  });

  it('keeps resources by URI, and none that needed input', async () => {
    let reads = 0;
    const server = modernServer({
      'resources/read': ({ params }) => {
        reads++;
        if (params?.['uri'] === 'ask:me' && params['inputResponses'] === undefined) return wants({ q: elicitation });
        return complete({ contents: [{ uri: params?.['uri'], text: String(reads) }], ttlMs: 60_000, cacheScope: 'private' });
      },
    });
    const session = await connect(server, { inputs: { elicitForm: async () => ({ action: 'decline' }) } });
    await session.readResource('a:1');
    await session.readResource('a:1');
    await session.readResource('a:2');
    expect(reads).toBe(2);
    await session.readResource('ask:me');
    await session.readResource('ask:me');
    expect(reads).toBe(6);
    await session.close();
  });
});

describe('rounds of input', () => {
  it('repeat the request under a new id, with the answers and the state byte for byte', async () => {
    const state = 'ünï"code\\ \u2028 =';
    const server = modernServer({
      'tools/call': ({ params }) =>
        params?.['inputResponses'] === undefined ? wants({ who: elicitation, __proto__key: elicitation }, state) : text('done'),
    });
    const session = await connect(server, {
      inputs: { elicitForm: async () => ({ action: 'accept', content: { name: 'Ann' } }) },
    });
    await session.callTool('greet', { loud: true });
    const [first, second] = server.requests.slice(1);
    expect(second?.id).not.toBe(first?.id);
    expect(second?.params).toMatchObject({
      name: 'greet',
      arguments: { loud: true },
      requestState: state,
      inputResponses: { who: { action: 'accept', content: { name: 'Ann' } }, __proto__key: { action: 'accept' } },
    });
    expect(first?.params).not.toHaveProperty('requestState');
    await session.close();
  });

  it('send no state that was not given, and retry a state without questions', async () => {
    const clock = createFakeClock();
    const server = modernServer({
      'tools/call': ({ params }) => (params?.['requestState'] === 'again' ? text('done') : wants(undefined, 'again')),
    });
    const session = await connect(server, { clock });
    const calling = session.callTool('poll');
    await settle();
    clock.advance(250);
    await calling;
    expect(server.requests.at(-1)?.params).toEqual(expect.not.objectContaining({ inputResponses: expect.anything() as unknown }));
    await session.close();
  });

  it('end after their limit', async () => {
    const server = modernServer({ 'tools/call': () => wants({ q: elicitation }) });
    const session = await connect(server, {
      limits: { maxRounds: 3 },
      inputs: { elicitForm: async () => ({ action: 'decline' }) },
    });
    await expect(session.callTool('endless')).rejects.toMatchObject({
      code: 'limit',
      details: { limit: 'maxRounds', allowed: 3 },
    });
    expect(server.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(4);
    await session.close();
  });

  it('refuse a kind that is not handled, and then ask nobody else', async () => {
    const server = modernServer({
      'tools/call': () =>
        wants({ a: elicitation, b: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } }),
    });
    let aborted = false;
    const session = await connect(server, {
      inputs: {
        elicitForm: (_params, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => ((aborted = true), reject(new Error('stopped')))),
          ),
      },
    });
    await expect(session.callTool('x')).rejects.toMatchObject({ code: 'input-unanswered' });
    expect(aborted).toBe(true);
    await session.close();
  });

  it('do not mix two calls that run at the same time', async () => {
    const server = modernServer({
      'tools/call': ({ params }) =>
        params?.['inputResponses'] === undefined
          ? wants({ q: elicitation }, `state of ${String(params?.['name'])}`)
          : text(String(params['requestState'])),
    });
    const session = await connect(server, { inputs: { elicitForm: async () => ({ action: 'accept', content: { name: 'x' } }) } });
    const results = await Promise.all(['a', 'b', 'c'].map((name) => session.callTool(name)));
    expect(results.map(({ content }) => content)).toEqual(
      ['a', 'b', 'c'].map((name) => [{ type: 'text', text: `state of ${name}` }]),
    );
    await session.close();
  });

  it.each([
    ['an unknown resultType', 'tools/call', { resultType: 'later' }],
    ['a resultType that is no string', 'tools/call', { resultType: 7 }],
    ['input_required that asks for nothing', 'tools/call', { resultType: 'input_required' }],
    ['input_required to a list', 'tools/list', { resultType: 'input_required', requestState: 'x' }],
  ])('treat %s as invalid', async (_what, name, result) => {
    const session = await connect(modernServer({ [name]: () => ({ result }) }));
    await expect(session.request(name, name === 'tools/call' ? { name: 'x' } : {})).rejects.toMatchObject({
      code: 'protocol-violation',
    });
    await session.close();
  });

  it('take a result without resultType as complete', async () => {
    const session = await connect(modernServer({ 'tools/call': () => ({ result: { content: [] } }) }));
    await expect(session.callTool('x')).resolves.toEqual({ content: [] });
    await session.close();
  });

  it('visit the URLs of error -32042 and call again (2025-11-25)', async () => {
    let calls = 0;
    const visit = { mode: 'url', message: 'Sign in', url: 'https://example.test/in', elicitationId: 'e' };
    const server = legacyServer({
      'tools/call': () =>
        ++calls === 1
          ? { error: { code: -32042, message: 'visit', data: { elicitations: [visit] } } }
          : { result: { content: [] } },
    });
    const seen: string[] = [];
    const session = await connect(server, { inputs: { elicitUrl: async ({ url }) => (seen.push(url), { action: 'accept' }) } });
    await session.callTool('x');
    expect([calls, seen]).toEqual([2, ['https://example.test/in']]);
    await session.close();
  });
});

describe('requests from the server', () => {
  const ask = async (session: { channel: unknown }, line: ReturnType<typeof script>['line'], request: JsonObject) => {
    line.deliver({ jsonrpc: '2.0', id: 'q', ...request });
    for (let turn = 0; turn < 5; turn++) await settle();
    return line.sent.find((message) => 'id' in message && message.id === 'q' && !('method' in message));
  };

  it('are answered in the legacy era: ping, roots, forms, sampling; the rest is -32601', async () => {
    const server = legacyServer({});
    const session = await connect(server, {
      inputs: {
        listRoots: async () => ({ roots: [{ uri: 'file:///work' }] }),
        elicitForm: async () => ({ action: 'accept', content: {} }),
      },
    });
    const { line } = server;
    expect(await ask(session, line, { method: 'ping' })).toMatchObject({ result: {} });
    line.deliver({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    line.deliver({ jsonrpc: '2.0', id: 's', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
    line.deliver({ jsonrpc: '2.0', id: 'u', method: 'unknown/method' });
    line.deliver({
      jsonrpc: '2.0',
      id: 'url',
      method: 'elicitation/create',
      params: { mode: 'url', message: 'm', url: 'https://a.test' },
    });
    line.deliver({
      jsonrpc: '2.0',
      id: 'form',
      method: 'elicitation/create',
      params: { message: 'm', requestedSchema: { type: 'object', properties: { age: { type: 'integer', default: 30 } } } },
    });
    for (let turn = 0; turn < 5; turn++) await settle();
    const reply = (id: string) => line.sent.find((message) => 'id' in message && message.id === id);
    expect(reply('r')).toMatchObject({ result: { roots: [{ uri: 'file:///work' }] } });
    expect(reply('s')).toMatchObject({ error: { code: -32601 } });
    expect(reply('u')).toMatchObject({ error: { code: -32601 } });
    expect(reply('url')).toMatchObject({ error: { code: -32602 } });
    expect(reply('form')).toMatchObject({ result: { action: 'accept', content: { age: 30 } } });
    await session.close();
  });

  it('are dropped unanswered in 2026-07-28, and reported', async () => {
    const server = modernServer({});
    const session = await connect(server, { inputs: { listRoots: async () => ({ roots: [] }) } });
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    expect(await ask(session, server.line, { method: 'roots/list' })).toBeUndefined();
    expect(news).toMatchObject([{ type: 'problem' }]);
    await session.close();
  });
});

describe('calls', () => {
  it('carry argument headers on HTTP, leave invalid tools out, and learn a schema anew when its headers are refused', async () => {
    let version = 1;
    const schema = () => ({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': `Region${String(version)}` } },
    });
    const server = modernServer(
      {
        'tools/list': () =>
          complete({
            tools: [
              tool('query', schema()),
              tool('bad', { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }),
            ],
          }),
        'tools/call': (request) =>
          server.requests.find(({ id }) => id === request.id)?.headers?.['Mcp-Param-Region2'] === 'eu'
            ? text('ok')
            : { error: { code: -32020, message: 'HeaderMismatch' } },
      },
      'http',
    );
    const session = await connect(server);
    const listing = await session.listTools();
    expect(listing.items.map(({ name }) => name)).toEqual(['query']);
    expect(listing.rejected).toMatchObject([{ name: 'bad' }]);
    version = 2;
    await expect(session.callTool('query', { region: 'eu' })).resolves.toMatchObject({ content: [{ text: 'ok' }] });
    version = 3;
    await expect(session.callTool('query', { region: 'us' })).rejects.toMatchObject({ code: -32020 });
    expect(server.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(4);
    await session.close();
  });

  it('omit arguments that were not given', async () => {
    const server = modernServer({ 'tools/call': () => text('ok') });
    const session = await connect(server);
    await session.callTool('x');
    expect(server.requests.at(-1)?.params).not.toHaveProperty('arguments');
    await session.close();
  });

  it('are cancelled by a notification on a shared line and by dropping the exchange where there is one', async () => {
    for (const [kind, era, expected] of [
      ['memory', 'modern', { told: 1, abandoned: 0 }],
      ['http', 'modern', { told: 0, abandoned: 1 }],
      ['http', 'legacy', { told: 1, abandoned: 1 }],
    ] as const) {
      const methods = { 'tools/call': () => 'silence' as const };
      const server = era === 'modern' ? modernServer(methods, kind) : legacyServer(methods, { kind });
      const session = await connect(server);
      const stop = new AbortController();
      const call = session.callTool('slow', {}, { signal: stop.signal });
      await settle();
      stop.abort();
      await expect(call).rejects.toMatchObject({ code: 'aborted' });
      const told = server.told.filter((method) => method === 'notifications/cancelled').length;
      expect([kind, era, { told, abandoned: server.line.abandoned.length }]).toEqual([kind, era, expected]);
      await session.close();
    }
  });

  it('refuse methods that the negotiated revision does not have, before anything is sent', async () => {
    const server = modernServer({});
    const session = await connect(server);
    await expect(session.request('resources/subscribe', { uri: 'a:b' })).rejects.toMatchObject({ code: 'unsupported' });
    expect(server.requests).toHaveLength(1);
    await session.close();
  });

  it('set the log level once in the legacy era and with each request in the modern', async () => {
    const modern = modernServer({ 'tools/call': () => text('ok') });
    const session = await connect(modern);
    await session.setLogLevel('warning');
    await session.callTool('x');
    expect(modern.requests.at(-1)?.params?.['_meta']).toMatchObject({ 'io.modelcontextprotocol/logLevel': 'warning' });
    await session.close();
    const legacy = legacyServer({ 'logging/setLevel': () => ({ result: {} }) });
    const old = await connect(legacy);
    await old.setLogLevel('warning');
    expect(legacy.requests.at(-1)).toMatchObject({ method: 'logging/setLevel', params: { level: 'warning' } });
    await old.close();
  });

  it('ping a server by its own means, and any answer shows life', async () => {
    const modern = await connect(modernServer({}));
    await modern.ping();
    await modern.close();
    for (const reply of [unknownMethod, { result: [] as unknown as JsonObject }, { result: null as unknown as JsonObject }]) {
      const legacy = legacyServer({ ping: () => reply });
      const session = await connect(legacy);
      await session.ping();
      expect(legacy.requests.at(-1)?.method).toBe('ping');
      await session.close();
    }
  });

  it('end with the conversation, at once and all of them', async () => {
    const server = modernServer({ 'tools/call': () => 'silence' });
    const session = await connect(server);
    const calls = ['a', 'b'].map((name) => session.callTool(name));
    await settle();
    server.line.end();
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'server-stopped' });
    await expect(session.ended).resolves.toMatchObject({ by: 'lost' });
    await expect(session.callTool('c')).rejects.toMatchObject({ code: 'server-stopped' });
  });
});

describe('watching', () => {
  const tell = (server: ReturnType<typeof script>, id: unknown, method: string, params: JsonObject = {}) =>
    server.line.deliver({
      jsonrpc: '2.0',
      method,
      params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
    });

  it('hears on a listen stream only what was asked for and acknowledged there', async () => {
    const server = modernServer({ 'subscriptions/listen': () => 'silence' });
    const session = await connect(server);
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    const watch = session.watch({ toolsListChanged: true, resourceSubscriptions: ['a:b'] });
    await settle();
    const id = server.requests.at(-1)?.id;
    tell(server, id, 'notifications/tools/list_changed');
    expect(news).toEqual([]);
    tell(server, id, 'notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
    await expect(watch.acknowledged).resolves.toEqual({ toolsListChanged: true });
    tell(server, id, 'notifications/tools/list_changed');
    tell(server, id, 'notifications/prompts/list_changed');
    tell(server, 'other', 'notifications/tools/list_changed');
    tell(server, id, 'notifications/resources/updated', { uri: 'a:b' });
    expect(news).toEqual([{ type: 'tools-changed' }, { type: 'resource-updated', uri: 'a:b' }]);
    await watch.close();
    expect(server.told).toContain('notifications/cancelled');
    await session.close();
  });

  it('listens again after a loss with back-off, and then takes everything as changed', async () => {
    const clock = createFakeClock();
    const server = modernServer({ 'subscriptions/listen': () => 'silence' });
    const session = await connect(server, { clock });
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    const watch = session.watch({ toolsListChanged: true });
    await settle();
    const listens = () => server.requests.filter(({ method }) => method === 'subscriptions/listen');
    tell(server, listens()[0]?.id, 'notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
    server.line.deliver({ jsonrpc: '2.0', id: listens()[0]?.id, result: {} });
    await settle();
    expect(listens()).toHaveLength(1);
    clock.advance(1_000);
    await settle();
    expect(listens()).toHaveLength(2);
    expect(news).toEqual([]);
    tell(server, listens()[1]?.id, 'notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
    expect(news).toEqual([{ type: 'tools-changed' }]);
    await watch.close();
    await session.close();
  });

  it('goes on listening, slower and slower, to a server that acknowledges a stream and ends it each time', async () => {
    const clock = createFakeClock();
    const server = modernServer({
      'subscriptions/listen': ({ id }) => {
        server.line.deliver({
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: { toolsListChanged: true } },
        });
        return { result: {} };
      },
    });
    const session = await connect(server, { clock });
    const problems: unknown[] = [];
    session.news.subscribe((item) => item.type === 'problem' && problems.push(item));
    session.watch({ toolsListChanged: true });
    const opened = () => server.requests.filter(({ method }) => method === 'subscriptions/listen').length;
    for (let second = 0; second < 600; second++) {
      await settle();
      clock.advance(1_000);
    }
    expect(opened()).toBeGreaterThan(10);
    expect(opened()).toBeLessThan(30);
    expect(problems).toEqual([]);
    await session.close();
  });

  it('gives up after losses without end, and when the server refuses', async () => {
    const clock = createFakeClock();
    const server = modernServer({ 'subscriptions/listen': () => ({ result: {} }) });
    const session = await connect(server, { clock });
    const problem = new Promise((resolve) => session.news.subscribe((item) => item.type === 'problem' && resolve(item)));
    session.watch({ toolsListChanged: true });
    for (let second = 0; second < 100; second++) {
      await settle();
      clock.advance(1_000);
    }
    await problem;
    expect(server.requests.filter(({ method }) => method === 'subscriptions/listen')).toHaveLength(6);
    await session.close();
    const refusing = await connect(modernServer({}));
    await expect(refusing.watch({ toolsListChanged: true }).acknowledged).resolves.toEqual({});
    await refusing.close();
  });

  it('subscribes to single resources in the legacy era', async () => {
    const server = legacyServer(
      { 'resources/subscribe': () => ({ result: {} }), 'resources/unsubscribe': () => ({ result: {} }) },
      { capabilities: { resources: { subscribe: true }, tools: { listChanged: true } } },
    );
    const session = await connect(server);
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    const watch = session.watch({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:b'] });
    await expect(watch.acknowledged).resolves.toEqual({ toolsListChanged: true, resourceSubscriptions: ['a:b'] });
    server.line.deliver({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:b' } });
    await settle();
    expect(news).toEqual([{ type: 'resource-updated', uri: 'a:b' }]);
    await watch.close();
    expect(server.requests.at(-1)).toMatchObject({ method: 'resources/unsubscribe', params: { uri: 'a:b' } });
    await session.close();
  });
});
