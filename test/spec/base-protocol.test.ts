// The base protocol as a client meets it (2026-07-28, basic/index).
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { complete, modernServer, script, settle, discovery } from '../../src/client/fixtures/script.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { closing, complete as completed, failure, modernHttp } from './fixtures/servers.ts';

const open = closing();
const text = (value: string) => complete({ content: [{ type: 'text', text: value }] });

test('ten thousand calls have ids of their own, integers, and each its own answer (“Requests”)', async () => {
  const server = script((request) => (request.method === 'server/discover' ? discovery() : 'silence'));
  const session = open(await connect(server));
  for (let wave = 0; wave < 10; wave++) {
    const names = Array.from({ length: 1_000 }, (_, index) => `${String(wave)}-${String(index)}`);
    const calls = names.map((name) => session.callTool(name));
    await settle();
    for (const { id, params } of server.requests.slice(-1_000).reverse()) {
      server.line.deliver({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: params?.['name'] }] } });
    }
    const results = await Promise.all(calls);
    expect(results.map(({ content }) => (content[0] as { text: string }).text)).toEqual(names);
  }
  const ids = server.requests.map(({ id }) => id);
  expect(new Set(ids).size).toBe(10_001);
  expect(ids.every(Number.isSafeInteger)).toBe(true);
});

test('a code in the range of implementations means nothing here; it is passed on as it is (“Error Codes”)', async () => {
  for (const code of [-32000, -32001, -32002, -32007, -32019, -32602]) {
    const session = open(await connect(modernServer({ 'resources/read': () => failure(code, { uri: 'a:b' }) })));
    await expect(session.readResource('a:b')).rejects.toMatchObject({
      name: 'RpcError',
      code,
      message: `error ${String(code)}`,
      data: { uri: 'a:b' },
    });
    await session.ping();
  }
});

test('`_meta` that nobody knows is kept in both directions, and our own keys cannot be taken over (“_meta”)', async () => {
  const meta = {
    'com.example/trace': { a: [1] },
    'io.modelcontextprotocol/later': 7,
    traceparent: '00-0-0-00',
    progressToken: null,
  };
  const server = modernServer({ 'tools/call': () => complete({ content: [], _meta: meta }) });
  const session = open(await connect(server));
  expect(await session.callTool('x')).toMatchObject({ _meta: meta });
  const own = { 'com.example/trace': 1, traceparent: '00-1-1-01', 'io.modelcontextprotocol/protocolVersion': 'other' };
  await session.request('tools/call', { name: 'x', _meta: own });
  expect(server.requests.at(-1)?.params?.['_meta']).toMatchObject({
    'com.example/trace': 1,
    traceparent: '00-1-1-01',
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  });
});

test('each request says who asks: two sessions over one transport have nothing in common (“Statelessness”)', async () => {
  const server = open(await modernHttp({ 'tools/call': () => completed({ content: [] }) }));
  const transport = httpTransport({ url: server.url });
  const ann = open(await connect(transport, { client: { name: 'ann', version: '1' } }));
  const bob = open(
    await connect(transport, { client: { name: 'bob', version: '1' }, inputs: { listRoots: async () => ({ roots: [] }) } }),
  );
  await ann.setLogLevel('debug');
  await Promise.all([ann.callTool('x'), bob.callTool('x')]);
  const metas = server.messages
    .filter(({ method }) => method === 'tools/call')
    .map(({ params }) => params?.['_meta'] as JsonObject);
  const of = (name: string) =>
    metas.find((meta) => (meta['io.modelcontextprotocol/clientInfo'] as { name: string }).name === name);
  expect(of('ann')).toMatchObject({
    'io.modelcontextprotocol/logLevel': 'debug',
    'io.modelcontextprotocol/clientCapabilities': {},
  });
  expect(of('bob')).not.toHaveProperty(['io.modelcontextprotocol/logLevel']);
  expect(of('bob')).toMatchObject({ 'io.modelcontextprotocol/clientCapabilities': { roots: {} } });
});

describe('what a server names is never fetched', () => {
  test('neither icons, nor the targets of $ref, nor linked resources, nor its web site (“icons”, “$ref Resolution”)', async () => {
    const visits: string[] = [];
    const canary = createServer((request, response) => {
      visits.push(request.url ?? '');
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(canary, 'listening');
    open({ close: () => new Promise((resolve) => canary.close(resolve)) });
    const there = `http://127.0.0.1:${String((canary.address() as AddressInfo).port)}`;
    const icons = ['/icon.png', '/icon.svg'].map((path) => ({ src: there + path }));
    const schema = { type: 'object', properties: { a: { $ref: `${there}/schema.json` } } };
    const link = { type: 'resource_link', uri: `${there}/linked`, name: 'l', icons };
    const server = modernServer({
      'tools/list': () => complete({ tools: [{ name: 'a', icons, inputSchema: schema, outputSchema: schema }] }),
      'resources/list': () => complete({ resources: [{ uri: `${there}/resource`, name: 'r', icons }] }),
      'prompts/list': () => complete({ prompts: [{ name: 'p', icons }] }),
      'tools/call': () => complete({ content: [link], structuredContent: { a: 1 } }),
    });
    const session = open(await connect(server));
    const [tools] = await Promise.all([
      session.listTools(),
      session.listResources(),
      session.listPrompts(),
      session.callTool('a', { a: 1 }),
    ]);
    // They are there for who shows them, as the server wrote them.
    expect(tools.items).toMatchObject([{ icons, inputSchema: schema }]);
    // Whatever was asked for before comes before this.
    await fetch(`${there}/fence`);
    expect(visits).toEqual(['/fence']);
  });
});

test('an answer that is no answer fails its own call, and the next one works (“Responses”)', async () => {
  const replies: JsonObject[] = [
    { result: {}, error: { code: 1, message: 'both' } },
    { error: { code: 'one', message: 'no integer' } },
    { error: { code: 1.5, message: 'no integer' } },
    { error: 'text' },
    { result: 'text' },
    { result: null },
    {},
  ];
  for (const reply of replies) {
    const server = modernServer({
      'tools/call': ({ id, params }, line) => {
        if (params?.['name'] === 'good') return text('ok');
        line.deliver({ jsonrpc: '2.0', id, ...reply });
        return 'silence';
      },
    });
    const session = open(await connect(server));
    const [bad, good] = await Promise.allSettled([session.callTool('bad'), session.callTool('good')]);
    expect([reply, bad.status, good.status]).toEqual([reply, 'rejected', 'fulfilled']);
  }
});
