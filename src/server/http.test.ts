import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { createFullServer } from './fixtures/full-server.ts';
import { deferred, modernParams, type ModernOptions } from './fixtures/raw-client.ts';
import { serveHttp, type HttpServing, type Server } from './index.ts';

let server: Server;
let serving: HttpServing;
const answers: IncomingMessage[] = [];

beforeEach(async () => {
  server = createFullServer({ principal: (headers) => headers['x-user'] as string | undefined, stateKey: '0123456789abcdef' });
  server.tool(
    {
      name: 'héllo wörld',
      input: {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          priority: { type: 'integer', 'x-mcp-header': 'Priority' },
          verbose: { type: 'boolean', 'x-mcp-header': 'Verbose' },
          deep: { type: 'object', properties: { name: { type: 'string', 'x-mcp-header': 'Name' } } },
        },
      },
    },
    (args) => JSON.stringify(args),
  );
  serving = await serveHttp(server);
});

afterEach(async () => {
  for (const answer of answers.splice(0)) answer.destroy();
  await serving.close();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: { result?: JsonObject; error?: { code: number; data?: unknown; message: string }; id?: unknown };
  readonly text: string;
}

/** POSTs text with these headers; undefined takes one away. */
async function start(text: string, headers: Record<string, string | undefined>, method = 'POST'): Promise<IncomingMessage> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const sent = request(serving.url, {
    method,
    headers: Object.fromEntries(Object.entries<string | undefined>(all).filter(([, value]) => value !== undefined)),
    agent: false,
  });
  sent.end(text);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answers.push(answer);
  return answer;
}

async function post(body: unknown, headers: Record<string, string | undefined> = {}, method = 'POST'): Promise<Answer> {
  const answer = await start(method === 'POST' ? JSON.stringify(body) : '', headers, method);
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
  const isJson = answer.headers['content-type'] === 'application/json';
  return {
    status: answer.statusCode as number,
    headers: answer.headers,
    body: isJson ? (JSON.parse(text) as Answer['body']) : {},
    text,
  };
}

const standard = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
});

const message = (method: string, params?: JsonObject, options?: ModernOptions) => ({
  jsonrpc: '2.0',
  id: 'id-1',
  method,
  params: modernParams(params, options),
});

describe('a modern request', () => {
  test('is answered as JSON, with its id', async () => {
    const { status, headers, body } = await post(message('server/discover'), standard('server/discover'));
    expect([status, headers['content-type'], headers['mcp-session-id']]).toEqual([200, 'application/json', undefined]);
    expect(body).toMatchObject({ id: 'id-1', result: { supportedVersions: ['2026-07-28'] } });
  });

  test.each<[string, object, Record<string, string | undefined>, number, number]>([
    ['no such method', message('unknown/method'), standard('unknown/method'), 404, -32601],
    [
      'initialize in a modern revision',
      { jsonrpc: '2.0', id: 'id-1', method: 'initialize', params: {} },
      standard('initialize'),
      404,
      -32601,
    ],
    ['a ping', message('ping'), standard('ping'), 404, -32601],
    ['no _meta', { jsonrpc: '2.0', id: 'id-1', method: 'server/discover', params: {} }, standard('server/discover'), 400, -32602],
    ['no params', { jsonrpc: '2.0', id: 'id-1', method: 'server/discover' }, {}, 400, -32602],
    [
      'no capabilities',
      message('server/discover', {}, { meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } }),
      standard('server/discover'),
      400,
      -32602,
    ],
    [
      'an unknown version in header and body',
      message('server/discover', {}, { meta: { 'io.modelcontextprotocol/protocolVersion': 'v999.0.0' } }),
      { ...standard('server/discover'), 'mcp-protocol-version': 'v999.0.0' },
      400,
      -32022,
    ],
    [
      'another version in the body than in the header',
      message('server/discover', {}, { meta: { 'io.modelcontextprotocol/protocolVersion': 'v999.0.0' } }),
      standard('server/discover'),
      400,
      -32020,
    ],
    [
      'a legacy version in the header',
      message('tools/list'),
      { ...standard('tools/list'), 'mcp-protocol-version': '2025-11-25' },
      400,
      -32020,
    ],
    ['no version header', message('tools/list'), { ...standard('tools/list'), 'mcp-protocol-version': undefined }, 400, -32020],
    ['no Mcp-Method', message('tools/list'), { ...standard('tools/list'), 'mcp-method': undefined }, 400, -32020],
    ['another Mcp-Method', message('tools/list'), standard('prompts/list'), 400, -32020],
    ['Mcp-Method in other letters', message('tools/list'), standard('TOOLS/LIST'), 400, -32020],
    ['no Mcp-Name on tools/call', message('tools/call', { name: 'echo' }), standard('tools/call'), 400, -32020],
    ['another Mcp-Name on tools/call', message('tools/call', { name: 'echo' }), standard('tools/call', 'blocks'), 400, -32020],
    ['another Mcp-Name on prompts/get', message('prompts/get', { name: 'ask' }), standard('prompts/get', 'Ask'), 400, -32020],
    [
      'another Mcp-Name on resources/read',
      message('resources/read', { uri: 'test://text' }),
      standard('resources/read', 'test://b'),
      400,
      -32020,
    ],
    [
      'an Mcp-Name that is no Base64',
      message('tools/call', { name: 'echo' }),
      standard('tools/call', '=?base64?ZWNo!!?='),
      400,
      -32020,
    ],
    ['a missing capability', message('tools/call', { name: 'sample' }), standard('tools/call', 'sample'), 400, -32021],
    ['an unknown tool', message('tools/call', { name: 'lost' }), standard('tools/call', 'lost'), 400, -32602],
  ])('with %s is refused', async (_what, body, headers, status, code) => {
    const answer = await post(body, headers);
    expect([answer.status, answer.body]).toMatchObject([status, { id: 'id-1', error: { code } }]);
  });

  test.each([
    ['with blanks around', '  echo\t', 'echo'],
    ['in Base64', '=?base64?ZWNobw==?=', 'echo'],
    ['that only Base64 can carry', '=?base64?aMOpbGxvIHfDtnJsZA==?=', 'héllo wörld'],
  ])('takes an Mcp-Name %s', async (_what, header, name) => {
    const { status } = await post(message('tools/call', { name }), standard('tools/call', header));
    expect(status).toBe(200);
  });

  test('that is a notification is accepted and means nothing', async () => {
    const { status, text } = await post(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: modernParams({ requestId: 1 }) },
      standard('notifications/cancelled'),
    );
    expect([status, text]).toEqual([202, '']);
  });

  test('is a stream once something goes ahead of its answer', async () => {
    const params = { name: 'telling' };
    const meta = { progressToken: 1, 'io.modelcontextprotocol/logLevel': 'error' };
    const { headers, text } = await post(message('tools/call', params, { meta }), standard('tools/call', 'telling'));
    expect(headers['content-type']).toBe('text/event-stream');
    const methods = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => {
      const { method, id } = JSON.parse(data as string) as { method?: string; id?: string };
      return method ?? id;
    });
    expect(methods).toEqual(['notifications/progress', 'notifications/message', 'id-1']);
  });

  test('that is left aborts its handler', async () => {
    const aborted = deferred<boolean>();
    server.tool({ name: 'hang' }, async ({ ..._none }, { signal, progress }) => {
      progress(1);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted.resolve(signal.aborted);
      return '';
    });
    const answer = await start(
      JSON.stringify(message('tools/call', { name: 'hang' }, { meta: { progressToken: 1 } })),
      standard('tools/call', 'hang'),
    );
    await once(answer, 'data');
    answer.destroy();
    expect(await aborted.promise).toBe(true);
  });
});

describe('headers for arguments', () => {
  const name = '=?base64?aMOpbGxvIHfDtnJsZA==?=';
  const call = (args: JsonObject, headers: Record<string, string>) =>
    post(message('tools/call', { name: 'héllo wörld', arguments: args }), { ...standard('tools/call', name), ...headers });

  test.each<[string, JsonObject, Record<string, string>]>([
    [
      'that say the same',
      { region: 'us west 1', priority: 42, verbose: false },
      { 'mcp-param-region': 'us west 1', 'mcp-param-priority': '42', 'Mcp-Param-Verbose': 'false' },
    ],
    ['in Base64', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8=?=' }],
    ['with a marker at one end only', { region: '=?base64?SGVsbG8=' }, { 'mcp-param-region': '=?base64?SGVsbG8=' }],
    ['with the same number written otherwise', { priority: 42 }, { 'mcp-param-priority': '42.0' }],
    ['that are empty like the argument', { region: '' }, { 'mcp-param-region': '' }],
    ['that are absent, as the arguments are, or null', { region: null, other: 1 }, {}],
    ['of a member further in', { deep: { name: 'x' } }, { 'mcp-param-name': 'x' }],
    ['that nobody asked for', {}, { 'mcp-param-unknown': 'x' }],
  ])('are accepted %s', async (_what, args, headers) => {
    expect((await call(args, headers)).status).toBe(200);
  });

  test.each<[string, JsonObject, Record<string, string>]>([
    ['that are missing', { region: 'a' }, {}],
    ['that are missing further in', { deep: { name: 'x' } }, {}],
    ['that differ', { region: 'a' }, { 'mcp-param-region': 'A' }],
    ['that are there without the argument', {}, { 'mcp-param-region': 'a' }],
    ['that are there for null', { region: null }, { 'mcp-param-region': 'null' }],
    ['with broken padding', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }],
    ['with characters that are not Base64', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }],
    ['with raw bytes', { region: 'é' }, { 'mcp-param-region': 'é' }],
    ['with another number', { priority: 42 }, { 'mcp-param-priority': '42.5' }],
    ['with a number in another notation', { priority: 42 }, { 'mcp-param-priority': '0x2a' }],
    ['with a boolean in other letters', { verbose: true }, { 'mcp-param-verbose': 'True' }],
  ])('are refused %s', async (_what, args, headers) => {
    const { status, body } = await call(args, headers);
    expect([status, body.error?.code]).toEqual([400, -32020]);
  });
});

describe('state of questions', () => {
  test('is good for nobody else', async () => {
    const options = { capabilities: { elicitation: {} } };
    const headers = standard('tools/call', 'elicit');
    const first = await post(message('tools/call', { name: 'elicit' }, options), { ...headers, 'x-user': 'ada' });
    const retry = message(
      'tools/call',
      {
        name: 'elicit',
        requestState: first.body.result?.['requestState'],
        inputResponses: { 'input-1': { action: 'decline' } },
      },
      options,
    );
    expect((await post(retry, { ...headers, 'x-user': 'eve' })).body.error?.code).toBe(-32602);
    expect((await post(retry, { ...headers, 'x-user': 'ada' })).body.result).toMatchObject({ content: [{ text: 'decline' }] });
  });
});

describe('a subscription', () => {
  test('is a stream that begins with the acknowledgement and ends with an answer', async () => {
    const answer = await start(
      JSON.stringify(message('subscriptions/listen', { notifications: { toolsListChanged: true } })),
      standard('subscriptions/listen'),
    );
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(answer, 'data');
    expect(text).toContain('notifications/subscriptions/acknowledged');
    server.removeTool('list');
    await once(answer, 'data');
    expect(text).toContain('notifications/tools/list_changed');
    await Promise.all([once(answer, 'end'), serving.close()]);
    expect(text).toMatch(/"resultType":"complete".*\n\n$/);
  });

  test('is refused where the client takes no stream', async () => {
    const { status, body } = await post(message('subscriptions/listen', { notifications: {} }), {
      ...standard('subscriptions/listen'),
      accept: 'application/json',
    });
    expect([status, body.error?.code]).toEqual([400, -32602]);
  });
});

describe('a session', () => {
  const initialize = (protocolVersion: string) => ({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  const open = async (version: string) => {
    const { headers, body } = await post(initialize(version));
    expect(body.result).toMatchObject({ protocolVersion: version });
    return { 'mcp-session-id': headers['mcp-session-id'] as string };
  };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  test('is opened by initialize and named by every later request', async () => {
    const session = { ...(await open('2025-11-25')), 'mcp-protocol-version': '2025-11-25' };
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status).toBe(202);
    expect((await post(list, session)).body.result).toHaveProperty('tools');
    expect((await post(list, { 'mcp-protocol-version': '2025-11-25' })).status).toBe(400);
    expect((await post(list)).status).toBe(400);
    expect((await post(list, { ...session, 'mcp-session-id': 'other' })).status).toBe(404);
    expect((await post(list, { ...session, 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
    expect((await post('', { ...session, 'mcp-protocol-version': '2026-07-28' }, 'DELETE')).status).toBe(400);
    expect((await post('', session, 'DELETE')).status).toBe(204);
    expect((await post(list, session)).status).toBe(404);
  });

  test('and modern requests live side by side', async () => {
    const session = await open('2025-06-18');
    const { body } = await post(message('tools/list'), { ...standard('tools/list'), ...session });
    expect(body.result).toMatchObject({ resultType: 'complete' });
    expect((await post(list, session)).body.result).not.toHaveProperty('resultType');
  });

  test('asks its client on the stream of the request', async () => {
    const { headers } = await post({
      ...initialize('2025-11-25'),
      params: { ...initialize('2025-11-25').params, capabilities: { roots: {} } },
    });
    const session = { 'mcp-session-id': headers['mcp-session-id'] as string, 'mcp-protocol-version': '2025-11-25' };
    const answer = await start(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'roots' } }),
      session,
    );
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    while (!text.includes('roots/list')) await once(answer, 'data');
    const [, asked] = /"id":(\d+),"method":"roots\/list"/.exec(text) ?? [];
    await post({ jsonrpc: '2.0', id: Number(asked), result: { roots: [{ uri: 'file:///a' }] } }, session);
    await once(answer, 'end');
    expect(text).toContain('file:///a');
  });

  test('takes a batch in 2025-03-26 and in no other', async () => {
    const batch = [list, { jsonrpc: '2.0', id: 2, method: 'ping' }];
    const session = await open('2025-03-26');
    const { status, text } = await post(batch, session);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject([{ id: 1 }, { id: 2, result: {} }]);
    expect((await post(batch, { ...session, 'mcp-protocol-version': '2025-06-18' })).status).toBe(400);
    expect((await post(batch)).status).toBe(400);
    expect((await post([], session)).status).toBe(400);
    expect((await post([initialize('2025-03-26')], session)).status).toBe(400);
    expect((await post([message('tools/list')], standard('tools/list'))).status).toBe(400);
  });
});
