import { afterEach, describe, expect, test } from 'vitest';
import { createFullServer } from './fixtures/full-server.ts';
import { deferred, modernParams, openLine } from './fixtures/raw-client.ts';
import { createServer, type Server, type ServerOptions } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function full(): Server {
  const server = createFullServer();
  open.push(server);
  return server;
}

function empty(options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'test', version: '1', ...options });
  open.push(server);
  return server;
}

describe('eras on one line', () => {
  test('a modern and a legacy client are served in turns, each in its own words', async () => {
    const client = openLine(full());
    const before = await client.modern('tools/call', { name: 'list' });
    expect(before.result).toMatchObject({ resultType: 'complete', structuredContent: [1, 2] });

    const greeting = await client.greet('2025-06-18');
    expect(greeting).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'full', title: 'Full' } });
    const legacy = await client.ask('tools/call', { name: 'list' });
    expect(legacy.result).toEqual({ content: [{ type: 'text', text: '[1,2]' }] });

    const after = await client.modern('tools/call', { name: 'list' });
    expect(after.result).toMatchObject({ resultType: 'complete', structuredContent: [1, 2] });
    expect((await client.modern('ping')).error?.code).toBe(-32601);
    expect((await client.ask('ping')).result).toEqual({});
    expect((await client.ask('server/discover')).error?.code).toBe(-32601);
    expect((await client.modern('server/discover')).result).toMatchObject({ supportedVersions: ['2026-07-28'] });
  });

  test('a modern request has nothing of the session: neither its log level nor its capabilities', async () => {
    const client = openLine(full());
    await client.greet('2025-11-25', { sampling: {} });
    await client.ask('logging/setLevel', { level: 'debug' });
    await client.modern('tools/call', { name: 'telling' });
    expect(client.news).toEqual([]);
    expect((await client.modern('tools/call', { name: 'sample' })).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  test('who greets again starts again', async () => {
    const client = openLine(full());
    await client.greet('2025-11-25');
    await client.ask('resources/subscribe', { uri: 'test://text' });
    expect(await client.greet('2024-11-05')).toMatchObject({ protocolVersion: '2024-11-05' });
    open[0]?.resourceUpdated('test://text');
    open[0]?.removeTool('list');
    await client.next('notifications/tools/list_changed');
    expect(client.news.map(({ method }) => method)).toEqual(['notifications/tools/list_changed']);
  });
});

describe('the handshake', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'settles on %s when the client speaks it',
    async (version) => {
      expect(await openLine(full()).greet(version)).toMatchObject({ protocolVersion: version });
    },
  );

  test('offers the newest of its era for a revision nobody knows, and for a modern one', async () => {
    expect(await openLine(full()).greet('1999-01-01')).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(await openLine(full()).greet('2026-07-28')).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  test('without a version is refused', async () => {
    expect((await openLine(full()).ask('initialize', {})).error?.code).toBe(-32602);
  });

  test('comes before everything but a ping; what is asked too early is told what to do', async () => {
    const client = openLine(full());
    expect((await client.ask('ping')).result).toEqual({});
    const early = await client.ask('tools/list');
    expect(early.error?.code).toBe(-32600);
    expect(early.error?.message).toContain('initialize');
    expect((await client.ask('server/discover')).error?.code).toBe(-32602);
    expect((await client.ask('subscriptions/listen', {})).error?.code).toBe(-32602);
    expect((await client.ask('never/heard')).error?.code).toBe(-32601);
    expect(
      (await client.modern('tools/list', {}, { meta: { 'io.modelcontextprotocol/protocolVersion': undefined } })).error?.code,
    ).toBe(-32602);
  });

  test('is over with its answer: a late `initialized` stops nobody', async () => {
    const client = openLine(full());
    await client.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } });
    expect((await client.ask('tools/list')).result).toHaveProperty('tools');
  });
});

describe('a modern request', () => {
  test.each([
    ['no version', { 'io.modelcontextprotocol/protocolVersion': undefined }, -32602],
    ['a version that is no string', { 'io.modelcontextprotocol/protocolVersion': 7 }, -32602],
    ['an unknown version', { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }, -32022],
    ['a version of the other era', { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' }, -32022],
    ['no capabilities', { 'io.modelcontextprotocol/clientCapabilities': undefined }, -32602],
    ['capabilities that are no object', { 'io.modelcontextprotocol/clientCapabilities': [] }, -32602],
    ['a log level nobody knows', { 'io.modelcontextprotocol/logLevel': 'loud' }, -32602],
  ])('with %s is refused', async (_what, meta, code) => {
    const reply = await openLine(full()).modern('server/discover', {}, { id: 'same', meta });
    expect(reply).toMatchObject({ id: 'same', error: { code } });
  });

  test('need not say who the client is', async () => {
    const meta = { 'io.modelcontextprotocol/clientInfo': undefined };
    expect((await openLine(full()).modern('server/discover', {}, { meta })).result).toHaveProperty('capabilities');
  });

  test.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'unknown/method',
    'toString',
  ])('for %s finds no such method', async (method) => {
    expect((await openLine(full()).modern(method, { level: 'debug', uri: 'test://text' })).error?.code).toBe(-32601);
  });
});

describe('capabilities', () => {
  const declared = async (server: Server) => (await openLine(server).modern('server/discover')).result?.['capabilities'];

  test('follow from what is registered, and stay when it goes', async () => {
    const server = empty();
    expect(await declared(server)).toEqual({ logging: {} });
    server.tool({ name: 'a' }, () => '').remove();
    server.prompt({ name: 'b' }, () => '');
    server.template({ uriTemplate: 'x:{y}', name: 'c', complete: { y: () => [] } }, () => '');
    expect(await declared(server)).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      completions: {},
      logging: {},
    });
  });

  test('may be given instead; then what is not among them is not there', async () => {
    const server = empty({ capabilities: { tools: {} } });
    server.tool({ name: 'a' }, () => '');
    server.prompt({ name: 'b' }, () => '');
    expect(await declared(server)).toEqual({ tools: {} });
    const client = openLine(server);
    expect((await client.modern('tools/list')).result).toHaveProperty('tools');
    expect((await client.modern('prompts/list')).error?.code).toBe(-32601);
    expect((await client.modern('completion/complete')).error?.code).toBe(-32601);
    await client.greet();
    expect((await client.ask('logging/setLevel', { level: 'info' })).error?.code).toBe(-32601);
    expect((await client.ask('resources/subscribe', { uri: 'a:b' })).error?.code).toBe(-32601);
    server.tool({ name: 'c' }, () => '');
    await client.ask('ping');
    await client.ask('ping');
    expect(client.news).toEqual([]);
  });
});

describe('a request that is cancelled', () => {
  test('aborts its handler, gets no answer, and nothing else is sent for it', async () => {
    const server = empty();
    let finish = () => {};
    const aborted = new Promise<void>((resolve) => {
      server.tool({ name: 'slow' }, async (_args, { signal, progress, log }) => {
        progress(1);
        await new Promise<void>((wake) => signal.addEventListener('abort', () => wake(), { once: true }));
        resolve();
        progress(2);
        log('error', 'too late');
        await new Promise<void>((wake) => (finish = wake));
        return 'late';
      });
    });
    const client = openLine(server);
    void client.modern(
      'tools/call',
      { name: 'slow' },
      { id: 9, meta: { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' } },
    );
    await client.next('notifications/progress');
    client.send({ method: 'notifications/cancelled', params: { requestId: 9 } });
    await aborted;
    finish();
    await client.modern('server/discover', {}, { id: 'fence' });
    expect(client.received.map(({ id, method }) => id ?? method)).toEqual(['notifications/progress', 'fence']);
  });

  test('with the whole line aborts as well', async () => {
    const server = empty();
    const started = deferred<undefined>();
    const aborted = deferred<unknown>();
    server.tool({ name: 'slow' }, async (_args, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason), { once: true });
      started.resolve(undefined);
      await aborted.promise;
      return '';
    });
    const client = openLine(server);
    void client.modern('tools/call', { name: 'slow' });
    await started.promise;
    await client.close();
    expect(await aborted.promise).toMatchObject({ code: 'closed' });
  });
});

describe('progress and log', () => {
  test('progress only increases, and ends with the answer', async () => {
    const server = empty();
    let late = () => {};
    server.tool({ name: 'work' }, (_args, { progress }) => {
      for (const value of [0, 50, 50, 20, NaN, Infinity, 100]) progress(value, 100);
      late = () => progress(200);
      return 'done';
    });
    const client = openLine(server);
    await client.modern('tools/call', { name: 'work' }, { meta: { progressToken: 7 } });
    late();
    await client.modern('server/discover');
    expect(client.news.map(({ params }) => [params['progressToken'], params['progress']])).toEqual([
      [7, 0],
      [7, 50],
      [7, 100],
    ]);
    await client.modern('tools/call', { name: 'work' });
    expect(client.news).toHaveLength(3);
  });

  test('log messages come from the level on that the request names, and not without one', async () => {
    const server = empty();
    server.tool({ name: 'log' }, (_args, { log }) => {
      log('debug', 'a');
      log('warning', { b: 1 }, 'part');
      log('emergency', undefined);
      return '';
    });
    const client = openLine(server);
    await client.modern('tools/call', { name: 'log' });
    expect(client.news).toEqual([]);
    await client.modern('tools/call', { name: 'log' }, { meta: { 'io.modelcontextprotocol/logLevel': 'warning' } });
    expect(client.news.map(({ params }) => params)).toEqual([
      { level: 'warning', logger: 'part', data: { b: 1 } },
      { level: 'emergency', data: null },
    ]);
  });

  test('in a session the level is the session’s, `info` until the client sets another', async () => {
    const server = empty();
    server.tool({ name: 'log' }, (_args, { log }) => {
      log('debug', 'd');
      log('info', 'i');
      return '';
    });
    const client = openLine(server);
    await client.greet();
    await client.ask('tools/call', { name: 'log' });
    await client.ask('logging/setLevel', { level: 'debug' });
    await client.ask('tools/call', { name: 'log' });
    expect(client.news.map(({ params }) => params['data'])).toEqual(['i', 'd', 'i']);
    expect((await client.ask('logging/setLevel', { level: 'loud' })).error?.code).toBe(-32602);
  });
});

describe('what a handler knows of its request', () => {
  test('in both eras', async () => {
    const server = empty({ principal: () => 'nobody' });
    server.tool({ name: 'who' }, (_args, { request }) => JSON.stringify(request));
    const client = openLine(server);
    const who = (reply: { result?: unknown }) =>
      JSON.parse((reply.result as { content: { text: string }[] }).content[0]?.text ?? '') as unknown;
    expect(
      who(await client.modern('tools/call', { name: 'who' }, { capabilities: { roots: {} }, meta: { 'example.com/a': 1 } })),
    ).toMatchObject({
      era: 'modern',
      revision: '2026-07-28',
      client: { name: 'raw' },
      capabilities: { roots: {} },
      meta: { 'example.com/a': 1 },
    });
    await client.greet('2025-03-26', { sampling: {} });
    expect(who(await client.ask('tools/call', { name: 'who' }))).toEqual({
      era: 'legacy',
      revision: '2025-03-26',
      client: { name: 'raw', version: '1' },
      capabilities: { sampling: {} },
      meta: {},
    });
  });
});

describe('limits', () => {
  test('one request id is answered once at a time', async () => {
    const server = empty();
    const gate = deferred<string>();
    server.tool({ name: 'wait' }, () => gate.promise);
    const client = openLine(server);
    client.send({ id: 1, method: 'tools/call', params: modernParams({ name: 'wait' }) });
    client.send({ id: 1, method: 'tools/call', params: modernParams({ name: 'wait' }) });
    await client.modern('server/discover', {}, { id: 'fence' });
    expect(client.received[0]).toMatchObject({ id: 1, error: { code: -32600 } });
    gate.resolve('done');
    await client.modern('server/discover', {}, { id: 'fence 2' });
    expect(client.received[2]).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
  });

  test('more requests at once than 256 are refused', async () => {
    const server = empty();
    const gate = deferred<string>();
    server.tool({ name: 'wait' }, () => gate.promise);
    const client = openLine(server);
    const replies = Array.from({ length: 257 }, () => client.modern('tools/call', { name: 'wait' }));
    expect((await (replies.at(-1) as Promise<{ error?: unknown }>)).error).toMatchObject({ code: -32603 });
    gate.resolve('done');
    expect((await Promise.all(replies.slice(0, 256))).every(({ result }) => result !== undefined)).toBe(true);
  });
});
