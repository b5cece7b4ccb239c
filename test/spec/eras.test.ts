// How the eras are told apart (2026-07-28, basic/versioning, and “Backward Compatibility” of both transports): every answer a
// server may give to the first request, over real sockets and real processes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { loadConfig, openHost } from '../../src/host/index.ts';
import { httpTransport, stdioTransport } from '../../src/transport/index.ts';
import { sendJson } from '../../src/transport/http/fixtures/fake-server.ts';
import { closing, discovery, failure, httpServer, legacyHttp, result, type Method } from './fixtures/servers.ts';

const open = closing();
const directory = mkdtempSync(join(tmpdir(), 'parley-eras-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Answers the first request with this status and body. */
const answers =
  (status: number, body: unknown, type = 'application/json'): Method =>
  ({ id }, _seen, response) => {
    sendJson(response, typeof body === 'object' ? { jsonrpc: '2.0', id, ...body } : body, status, { 'content-type': type });
    return undefined;
  };

describe('over HTTP (basic/transports/streamable-http, “Backward Compatibility”)', () => {
  test.each<[string, Method, string?]>([
    ['400 with a legacy error', answers(400, failure(-32000))],
    ['400 with invalid params', answers(400, failure(-32602))],
    ['400 with an error that belongs to no request', answers(400, { ...failure(-32600), id: null })],
    ['400 without a body', answers(400, '')],
    ['400 with a web page', answers(400, '<html>Bad Request</html>', 'text/html')],
    ['404 with an unknown method', answers(404, failure(-32601))],
    ['404 with a text', answers(404, 'Not Found', 'text/plain')],
    ['405', answers(405, '')],
    ['406', answers(406, failure(-32000))],
    ['200 with an unknown method', answers(200, failure(-32601))],
    ['200 with something that is no discovery', answers(200, result({ tools: [] }))],
    [
      'an unsupported revision, and an older one by name',
      answers(400, failure(-32022, { supported: ['2025-06-18'] })),
      '2025-06-18',
    ],
  ])('%s leads to the handshake', async (_name, discover, version = '2025-11-25') => {
    const server = open(await legacyHttp({ 'server/discover': discover }, version));
    const session = open(await connect(httpTransport({ url: server.url })));
    expect(session).toMatchObject({ era: 'legacy', revision: version });
    expect(server.methods).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
    expect(server.messages[1]?.params).toMatchObject({ protocolVersion: version });
  });

  test.each<[string, Method, object]>([
    ['a missing capability', answers(400, failure(-32021)), { name: 'RpcError', code: -32021 }],
    ['headers that differ', answers(400, failure(-32020)), { name: 'RpcError', code: -32020 }],
    ['only later revisions', answers(400, failure(-32022, { supported: ['2027-01-01'] })), { code: 'version-unsupported' }],
    ['no sign-in', answers(401, ''), { code: 'auth-required' }],
    ['no permission', answers(403, failure(-32601)), { code: 'auth-required' }],
    ['too many requests', answers(429, ''), { code: 'http-status' }],
    ['an outage', answers(503, ''), { code: 'http-status' }],
    ['an outage that speaks JSON', answers(500, { ...failure(-32603), id: 'other' }), { code: 'http-status' }],
  ])('%s does not, and is reported', async (_name, discover, error) => {
    const server = open(await legacyHttp({ 'server/discover': discover }));
    await expect(connect(httpTransport({ url: server.url }))).rejects.toMatchObject(error);
    expect(server.methods).toEqual(['server/discover']);
  });

  test('a connection that breaks is an outage and no sign of an era', async () => {
    const server = open(
      await legacyHttp({
        'server/discover'(_message, _seen, response) {
          response.destroy();
          return undefined;
        },
      }),
    );
    await expect(connect(httpTransport({ url: server.url }))).rejects.toMatchObject({ code: 'server-stopped' });
    expect(server.methods).toEqual(['server/discover']);
  });
});

describe('over stdio (basic/transports/stdio, “Backward Compatibility”)', () => {
  const program = join(import.meta.dirname, 'fixtures/stdio-server.mjs');
  const start = (mode: string) =>
    connect(stdioTransport({ command: process.execPath, args: [program, mode] }), {
      probeTimeoutMs: mode === 'silent' ? 500 : 10_000,
    });

  test.each(['unknown-method', 'invalid-params', 'server-error', 'own-code', 'wrong-result', 'says-more', 'silent', 'crash'])(
    'a server that answers as "%s" is greeted by a handshake',
    async (mode) => {
      expect(open(await start(mode))).toMatchObject({
        era: 'legacy',
        revision: '2025-11-25',
        server: { info: { name: 'fixture' } },
      });
    },
  );

  test('a server that names earlier revisions is greeted in one of them', async () => {
    expect(open(await start('names-legacy'))).toMatchObject({ revision: '2025-06-18' });
  });

  test('a server that shows that it is modern is never greeted by a handshake', async () => {
    await expect(start('names-later')).rejects.toMatchObject({
      code: 'version-unsupported',
      details: { theirs: ['2027-01-01'] },
    });
    await expect(start('missing-capability')).rejects.toMatchObject({ code: -32021 });
  });
});

test('the era is remembered for a server, and found out again when it proves wrong (basic/versioning, “Backward Compatibility”)', async () => {
  let era: 'legacy' | 'modern' = 'legacy';
  let sessions = 0;
  const server = open(
    await httpServer({
      'server/discover': () => (era === 'modern' ? discovery() : failure(-32601)),
      initialize(message, _seen, response) {
        if (era === 'modern') return failure(-32601);
        const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
        sendJson(response, { jsonrpc: '2.0', id: message.id, result: greeting }, 200, {
          'mcp-session-id': `s${String(++sessions)}`,
        });
        return undefined;
      },
      // The session is lost with its first use.
      ping(_message, _seen, response) {
        sendJson(response, '', 404);
        return undefined;
      },
    }),
  );
  const { config } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers: { s: { type: 'http', url: server.url } } },
  });
  const host = open(openHost({ config, surroundings: { env: {}, home: directory, workspaceFolder: directory } }));
  const greetings = () => server.methods.filter((method) => ['server/discover', 'initialize'].includes(method));
  const next = async () => {
    const session = await host.session('s');
    if (session.era === 'legacy') {
      await expect(session.ping()).rejects.toMatchObject({ code: 'session-lost' });
      await session.ended;
    }
    return session.era;
  };
  expect([await next(), await next(), greetings()]).toEqual([
    'legacy',
    'legacy',
    ['server/discover', 'initialize', 'initialize'],
  ]);
  era = 'modern';
  expect(await next()).toBe('modern');
  expect(greetings().slice(3)).toEqual(['initialize', 'server/discover']);
  // A new session begins without the id of the lost one (2025-11-25, basic/transports, “Session Management”).
  for (const [index, { method }] of server.messages.entries()) {
    if (method === 'initialize')
      expect(server.seen.filter((seen) => seen.method === 'POST')[index]?.headers).not.toHaveProperty('mcp-session-id');
  }
});

test('an extension is declared under a name with a prefix, and the core works without the server’s (basic/versioning, “Extension Negotiation”)', async () => {
  const server = open(await httpServer({ 'server/discover': () => discovery({ extensions: { 'com.example/other': {} } }) }));
  const transport = httpTransport({ url: server.url });
  const session = open(await connect(transport, { extensions: { 'com.example/ours': { a: 1 } } }));
  await session.ping();
  expect(server.messages.at(-1)?.params?.['_meta']).toMatchObject({
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'com.example/ours': { a: 1 } } },
  });
  await expect(session.request('example/do')).rejects.toMatchObject({ name: 'RpcError', code: -32601 });
  for (const name of ['ours', '/ours', '1com/ours', 'com.-x/ours', 'com.example/-a', 'com example/ours']) {
    await expect(connect(transport, { extensions: { [name]: {} } })).rejects.toMatchObject({ code: 'usage' });
  }
  expect(server.methods).toHaveLength(3);
});
