// Our server on Streamable HTTP (2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports), and several of
// them behind one address.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { createServer, httpListener, serveHttp, type Server } from '../../src/server/index.ts';
import { modernParams } from '../../src/server/fixtures/raw-client.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { http } from '../../src/transport/http/fixtures/wire.ts';
import { closing } from './fixtures/servers.ts';

const open = closing();

function contentServer(): Server {
  const server = createServer({ name: 'one of several', version: '1', pageSize: 2, stateKey: 'the same in every process' });
  for (const name of ['a', 'b', 'c', 'd', 'e']) server.tool({ name }, () => name);
  server.tool({ name: 'asks' }, async (_args, { elicit }) => {
    const answers: unknown[] = [];
    for (const message of ['first', 'second', 'third']) {
      const { content } = await elicit({
        message,
        requestedSchema: { type: 'object', properties: { said: { type: 'string' } } },
      });
      answers.push(content?.['said']);
    }
    return answers.join();
  });
  return server;
}

const standard = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
});
const message = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params: modernParams(params) });

test('any of several processes serves any request: lists in pages and calls in rounds go on elsewhere (basic/index “Statelessness”, patterns/mrtr “Server Requirements”)', async () => {
  const servers = [contentServer(), contentServer(), contentServer()];
  const listeners = await Promise.all(servers.map((server) => httpListener(server)));
  const served = [0, 0, 0];
  let turn = 0;
  const front = createHttpServer((request, response) => {
    const at = turn++ % listeners.length;
    served[at] = (served[at] ?? 0) + 1;
    listeners[at]?.handle(request, response);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  open({ close: () => new Promise((resolve) => front.close(resolve)) });
  for (const [index, server] of servers.entries()) {
    open({ close: () => server.close({ graceMs: 0 }).then(() => listeners[index]?.close()) });
  }
  const url = `http://127.0.0.1:${String((front.address() as AddressInfo).port)}/mcp`;
  const session = open(
    await connect(httpTransport({ url }), {
      cache: 'none',
      inputs: { elicitForm: async ({ message: said }) => ({ action: 'accept', content: { said } }) },
    }),
  );
  const names = (await session.listTools()).items.map(({ name }) => name);
  expect(names).toEqual(['a', 'b', 'c', 'd', 'e', 'asks']);
  expect(await session.callTool('asks')).toMatchObject({ content: [{ text: 'first,second,third' }] });
  // Discovery, three pages, four attempts.
  expect(served).toEqual([3, 3, 2]);
});

describe('what belongs to earlier revisions (“Earlier Streamable HTTP Revisions”)', () => {
  test('means nothing on a modern request: a session id and the id of an event', async () => {
    const { url } = open(await serveHttp(contentServer()));
    const headers = { ...standard('tools/list'), 'mcp-session-id': 'unknown', 'last-event-id': '7' };
    const answer = await http(url, { body: message('tools/list'), headers });
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty('mcp-session-id');
    expect(await answer.json()).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  });

  test.each(['GET', 'DELETE'])('%s opens and ends nothing where there is no session', async (method) => {
    const serving = open(await serveHttp(contentServer()));
    for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28' }, { 'mcp-session-id': 'unknown' }]) {
      const { status } = await http(serving.url, { method, headers: { ...headers, accept: 'text/event-stream' } });
      expect([400, 404, 405]).toContain(status);
    }
    expect(serving.sessions).toBe(0);
  });

  test('a batch is refused, whatever is in it', async () => {
    const { url } = open(await serveHttp(contentServer()));
    for (const batch of [[], [message('tools/list')], [message('tools/list'), message('server/discover')]]) {
      expect((await http(url, { body: batch, headers: standard('tools/list') })).status).toBe(400);
    }
  });
});

test('in a session a ping is answered while a call is under way (2025-11-25, basic/utilities/ping)', async () => {
  const server = contentServer();
  let finish = (_text: string) => {};
  let began = () => {};
  const begun = new Promise<void>((resolve) => (began = resolve));
  server.tool({ name: 'slow' }, () => {
    began();
    return new Promise<string>((resolve) => (finish = resolve));
  });
  const { url } = open(await serveHttp(server));
  const session = open(await connect(httpTransport({ url }), { revisions: ['2025-11-25'] }));
  const call = session.callTool('slow');
  await begun;
  await session.ping();
  finish('done');
  await expect(call).resolves.toMatchObject({ content: [{ text: 'done' }] });
});
