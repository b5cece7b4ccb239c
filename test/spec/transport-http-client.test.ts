// The client on Streamable HTTP (2026-07-28, basic/transports/streamable-http), over real sockets.
import { expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { beginStream, event, reply } from '../../src/transport/http/fixtures/fake-server.ts';
import { closing, complete, failure, modernHttp, type HttpServer } from './fixtures/servers.ts';

const open = closing();

async function begin(server: HttpServer) {
  open(server);
  return open(await connect(httpTransport({ url: server.url }), { inputs: { listRoots: async () => ({ roots: [] }) } }));
}

const tool = (name: string, properties: object = {}) => ({ name, inputSchema: { type: 'object', properties } });
const content = [{ type: 'text', text: 'ok' }];
const progress = (token: unknown, value: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: token, progress: value },
});

test('every POST accepts both media types, names the revision of its body and no session (“Sending Messages”, “Protocol Version Header”)', async () => {
  const server = await modernHttp(
    {
      'tools/list': () => complete({ tools: [tool('a')] }),
      'tools/call': () => complete({ content }),
      'resources/read': () => complete({ contents: [] }),
    },
    { 'mcp-session-id': 'minted' },
  );
  const session = await begin(server);
  await session.listTools();
  await session.callTool('a');
  await session.readResource('a:b');
  await session.ping();
  expect(server.seen).toHaveLength(5);
  for (const [index, { method, headers }] of server.seen.entries()) {
    const meta = server.messages[index]?.params?.['_meta'] as Record<string, unknown>;
    expect(method).toBe('POST');
    expect(headers.accept?.split(/, */).sort()).toEqual(['application/json', 'text/event-stream']);
    expect(headers['mcp-protocol-version']).toBe('2026-07-28');
    expect(meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28');
    expect(headers).not.toHaveProperty('mcp-session-id');
  }
});

test('a request of the server on a stream is not answered, and every body is one message (“Sending Messages”)', async () => {
  const server = await modernHttp({
    'tools/call'({ id }, _seen, response) {
      beginStream(response, event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' }));
      response.end(event(reply(id, { resultType: 'complete', content })));
      return undefined;
    },
  });
  const session = await begin(server);
  await expect(session.callTool('a')).resolves.toMatchObject({ content });
  await session.ping();
  expect(server.methods).toEqual(['server/discover', 'tools/call', 'server/discover']);
  for (const { body } of server.seen)
    expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', method: expect.any(String) as string });
});

test('one method may be answered by JSON and by a stream, however it is cut (“Sending Messages”, “Receiving Messages”)', async () => {
  let calls = 0;
  const server = await modernHttp({
    'tools/call'({ id, params }, _seen, response) {
      if (++calls === 1) return complete({ content });
      const token = (params?.['_meta'] as Record<string, unknown>)['progressToken'];
      const pretty = JSON.stringify(
        reply(id, { resultType: 'complete', content: [{ type: 'text', text: 'grüße 世界' }] }),
        null,
        1,
      );
      const text = [
        '\ufeff: hello',
        ...[1, 2].flatMap((value) => [`data: ${JSON.stringify(progress(token, value))}`, ': still here', '']),
        ': before the answer',
        ...pretty.split('\n').map((line) => `data: ${line}`),
        '',
        '',
      ].join('\r\n');
      beginStream(response);
      const bytes = Buffer.from(text);
      const next = (from: number): void => {
        if (from >= bytes.length) return void response.end();
        response.write(bytes.subarray(from, from + 3));
        setImmediate(next, from + 3);
      };
      next(0);
      return undefined;
    },
  });
  const session = await begin(server);
  expect(await session.callTool('a')).toMatchObject({ content });
  const order: unknown[] = [];
  const answered = await session.callTool('a', {}, { onProgress: ({ progress: value }) => order.push(value) });
  expect(answered).toMatchObject({ content: [{ text: 'grüße 世界' }] });
  expect(order).toEqual([1, 2]);
});

test('a stream that is cut fails its request: no GET, no second POST, no Last-Event-ID (“Receiving Messages”)', async () => {
  const server = await modernHttp({
    'tools/call'(_message, _seen, response) {
      beginStream(response, event(progress('nobody', 1), 'event-1'));
      response.destroy();
      return undefined;
    },
  });
  const session = await begin(server);
  await expect(session.callTool('pay')).rejects.toMatchObject({ code: 'server-stopped' });
  await session.ping();
  expect(server.methods).toEqual(['server/discover', 'tools/call', 'server/discover']);
  for (const { method, headers } of server.seen) {
    expect(method).toBe('POST');
    expect(headers).not.toHaveProperty('last-event-id');
  }
});

test('a call is given up by closing its stream, and by no notification (“Cancellation”)', async () => {
  const server = await modernHttp({
    'tools/call'(_message, _seen, response) {
      beginStream(response, ': waiting\n\n');
      return undefined;
    },
  });
  const session = await begin(server);
  const stop = new AbortController();
  const call = session.callTool('slow', {}, { signal: stop.signal });
  await server.until(() => server.methods.length === 2);
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: 'aborted' });
  await server.seen[1]?.over;
  await session.ping();
  expect(server.methods).toEqual(['server/discover', 'tools/call', 'server/discover']);
});

test('a call that runs out of time is given up the same way (basic/patterns/cancellation, “Timeouts”)', async () => {
  const server = await modernHttp({ 'tools/call': () => undefined });
  const session = await begin(server);
  await expect(session.callTool('slow', {}, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'timeout' });
  await server.seen[1]?.over;
  await session.ping();
  expect(server.methods).not.toContain('notifications/cancelled');
});

test('names that no header can carry travel in Base64 (“Standard Request Headers”, “Value Encoding”)', async () => {
  const server = await modernHttp({
    'tools/call': () => complete({ content }),
    'resources/read': () => complete({ contents: [] }),
    'prompts/get': () => complete({ messages: [] }),
  });
  const session = await begin(server);
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
  const names = ['héllo', 'a\tb', ' edge ', '=?base64?literal?=', 'plain name'];
  for (const name of names) await session.callTool(name);
  await session.readResource('note://世界');
  await session.getPrompt(' edge');
  expect(server.seen.slice(1).map(({ headers }) => headers['mcp-name'])).toEqual([
    base64('héllo'),
    base64('a\tb'),
    base64(' edge '),
    '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=',
    'plain name',
    base64('note://世界'),
    base64(' edge'),
  ]);
});

test('arguments are mirrored from their exact path, and not when they are absent or too large (“Schema Extension”)', async () => {
  const properties = {
    text: { type: 'string', 'x-mcp-header': 'Text' },
    deep: {
      type: 'object',
      properties: { er: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } } },
    },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
  };
  const server = await modernHttp({
    'tools/list': () => complete({ tools: [tool('mirror', properties)] }),
    'tools/call': () => complete({ content }),
  });
  const session = await begin(server);
  await session.listTools();
  const calls = [
    { text: '=?base64?literal?=', deep: { er: { flag: false } }, count: 2 ** 53 - 1 },
    { text: '', flag: true, count: 2 ** 53 },
    { text: null, deep: {}, count: -(2 ** 53) + 1 },
  ];
  for (const args of calls) await session.callTool('mirror', args);
  const sent = server.seen.slice(2).map(({ headers }) => ['text', 'flag', 'count'].map((name) => headers[`mcp-param-${name}`]));
  expect(sent).toEqual([
    ['=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=', 'false', '9007199254740991'],
    ['', undefined, undefined],
    [undefined, undefined, '-9007199254740991'],
  ]);
});

test('a tool whose annotation stands anywhere else is left out by name, and the others stay (“Schema Extension”)', async () => {
  const marked = { type: 'string', 'x-mcp-header': 'X' };
  const schemas: Record<string, object> = {
    items: { properties: { a: { type: 'array', items: marked } } },
    oneOf: { oneOf: [{ properties: { a: marked } }] },
    anyOf: { anyOf: [{ properties: { a: marked } }] },
    ref: { $defs: { a: marked }, properties: { a: { $ref: '#/$defs/a' } } },
    if: { if: { properties: { a: marked } } },
    then: { then: { properties: { a: marked } } },
    additional: { additionalProperties: marked },
    pattern: { patternProperties: { '^a': marked } },
    number: { properties: { a: { type: 'number', 'x-mcp-header': 'X' } } },
    twice: { properties: { a: marked, b: { type: 'string', 'x-mcp-header': 'x' } } },
    control: { properties: { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } } },
  };
  const tools = Object.entries(schemas).map(([name, rest]) => ({ name, inputSchema: { type: 'object', ...rest } }));
  const server = await modernHttp({ 'tools/list': () => complete({ tools: [...tools, tool('good', { a: marked })] }) });
  const { items, rejected } = await (await begin(server)).listTools();
  expect(items.map(({ name }) => name)).toEqual(['good']);
  expect(rejected.map(({ name }) => name)).toEqual(Object.keys(schemas));
  for (const { why } of rejected) expect(why).toContain('x-mcp-header');
});

test('headers that the server refuses are learned anew once, and then the refusal stands (“Client Behavior”)', async () => {
  let version = 0;
  const server = await modernHttp({
    'tools/list': () =>
      complete({ tools: [tool('a', { region: { type: 'string', 'x-mcp-header': `Region${String(++version)}` } })] }),
    'tools/call': () => failure(-32020),
  });
  const session = await begin(server);
  await session.listTools();
  await expect(session.callTool('a', { region: 'eu' })).rejects.toMatchObject({ code: -32020 });
  expect(server.methods.slice(1)).toEqual(['tools/list', 'tools/call', 'tools/list', 'tools/call']);
  expect(server.seen.at(-1)?.headers).toMatchObject({ 'mcp-param-region2': 'eu' });
});
