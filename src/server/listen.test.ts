import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject, RequestId } from '../jsonrpc/index.ts';
import { deferred, openLine, type RawClient } from './fixtures/raw-client.ts';
import { createServer, type Server } from './index.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function make(): Server {
  const server = createServer({ name: 'test', version: '1' });
  open.push(server);
  server.tool({ name: 'a' }, () => '');
  server.prompt({ name: 'b' }, () => '');
  server.resource({ uri: 'c:1', name: 'c' }, () => '');
  return server;
}

const listen = (client: RawClient, notifications: unknown, id: RequestId = 'sub') =>
  client.modern('subscriptions/listen', { notifications }, { id });

/** Resolves when all that was to be told has been told. */
async function settled(client: RawClient): Promise<void> {
  await client.modern('server/discover');
  await client.modern('server/discover');
}

const told = (client: RawClient) =>
  client.news.map(({ method, params }) => [method, (params['_meta'] as JsonObject | undefined)?.[SUBSCRIPTION]]);

describe('a subscription', () => {
  test('is acknowledged first, also when something changes at the same moment', async () => {
    const server = make();
    const client = openLine(server);
    server.tool({ name: 'before' }, () => '');
    void listen(client, { toolsListChanged: true });
    server.tool({ name: 'with' }, () => '');
    await client.next('notifications/subscriptions/acknowledged');
    server.tool({ name: 'after' }, () => '');
    await client.next('notifications/tools/list_changed');
    await settled(client);
    expect(told(client)[0]).toEqual(['notifications/subscriptions/acknowledged', 'sub']);
    expect(
      new Set(
        told(client)
          .slice(1)
          .map(([method]) => method),
      ),
    ).toEqual(new Set(['notifications/tools/list_changed']));
  });

  test('brings what was asked for and nothing else, each under the id of its own', async () => {
    const server = make();
    const client = openLine(server);
    void listen(client, { promptsListChanged: true }, 1);
    void listen(client, { toolsListChanged: false, resourceSubscriptions: ['c:1'] }, '1');
    await client.next('notifications/subscriptions/acknowledged');
    await client.next('notifications/subscriptions/acknowledged');
    server.tool({ name: 'more' }, () => '');
    server.removePrompt('b');
    server.removeResource('c:1');
    server.resourceUpdated('c:1');
    server.resourceUpdated('c:2');
    await client.next('notifications/resources/updated');
    await settled(client);
    expect(told(client).slice(2)).toEqual([
      ['notifications/prompts/list_changed', 1],
      ['notifications/resources/updated', '1'],
    ]);
    expect(client.news.at(-1)?.params).toMatchObject({ uri: 'c:1' });
  });

  test('is granted what the server has', async () => {
    const server = createServer({ name: 'test', version: '1', capabilities: { tools: { listChanged: true }, resources: {} } });
    open.push(server);
    const client = openLine(server);
    void listen(client, {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['c:1'],
    });
    const { params } = await client.next('notifications/subscriptions/acknowledged');
    expect(params['notifications']).toEqual({ toolsListChanged: true });
  });

  test('ends when it is cancelled, without an answer', async () => {
    const server = make();
    const client = openLine(server);
    void listen(client, { toolsListChanged: true });
    await client.next('notifications/subscriptions/acknowledged');
    client.send({ method: 'notifications/cancelled', params: { requestId: 'sub' } });
    await settled(client);
    server.removeTool('a');
    await settled(client);
    expect(told(client)).toHaveLength(1);
    expect(client.received.some(({ id, method }) => id === 'sub' && method === undefined)).toBe(false);
  });

  test('is answered in good order when the server closes, after the last news', async () => {
    const server = make();
    const client = openLine(server);
    const over = listen(client, { toolsListChanged: true });
    await client.next('notifications/subscriptions/acknowledged');
    server.removeTool('a');
    await server.close();
    expect((await over).result).toMatchObject({ resultType: 'complete', _meta: { [SUBSCRIPTION]: 'sub' } });
    await client.ended;
    expect(client.received.map(({ id, method }) => method ?? id)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'sub',
    ]);
  });

  test.each([
    ['no filter', undefined],
    ['a filter that is none', []],
    ['a flag that is none', { toolsListChanged: 'yes' }],
    ['URIs that are none', { resourceSubscriptions: [7] }],
    ['too many URIs', { resourceSubscriptions: Array.from({ length: 1_025 }, (_, index) => `c:${index}`) }],
  ])('with %s is refused', async (_what, notifications) => {
    const client = openLine(make());
    expect((await listen(client, notifications)).error?.code).toBe(-32602);
    expect(client.news).toEqual([]);
  });

  test('beyond the 64th on one line is refused', async () => {
    const client = openLine(make());
    for (let index = 0; index < 64; index++) void listen(client, {}, `s${index}`);
    const { error } = await listen(client, {}, 'one more');
    expect(error).toMatchObject({ code: -32603, data: { allowed: 64 } });
  });
});

describe('changes', () => {
  test('of one moment are told once', async () => {
    const server = make();
    const client = openLine(server);
    void listen(client, { toolsListChanged: true, resourceSubscriptions: ['c:1'] });
    await client.next('notifications/subscriptions/acknowledged');
    const registration = server.tool({ name: 'x' }, () => '');
    registration.update({ description: 'y' });
    registration.remove();
    server.resourceUpdated('c:1');
    server.resourceUpdated('c:1');
    await client.next('notifications/resources/updated');
    await settled(client);
    expect(told(client).map(([method]) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'notifications/resources/updated',
    ]);
  });

  test('reach a session by themselves, and updates of resources those that follow them', async () => {
    const server = make();
    const client = openLine(server);
    await client.greet('2024-11-05');
    await client.ask('resources/subscribe', { uri: 'c:1' });
    server.removeTool('a');
    server.resourceUpdated('c:1');
    server.resourceUpdated('c:2');
    await client.next('notifications/resources/updated');
    await client.ask('resources/unsubscribe', { uri: 'c:1' });
    server.resourceUpdated('c:1');
    await client.ask('ping');
    await client.ask('ping');
    expect(client.news.map(({ method, params }) => [method, params])).toEqual([
      ['notifications/tools/list_changed', {}],
      ['notifications/resources/updated', { uri: 'c:1' }],
    ]);
  });
});

describe('closing', () => {
  test('waits for requests that are being answered, and takes no new ones', async () => {
    const server = make();
    const gate = deferred<string>();
    const started = deferred<undefined>();
    server.tool({ name: 'wait' }, () => {
      started.resolve(undefined);
      return gate.promise;
    });
    const client = openLine(server);
    const reply = client.modern('tools/call', { name: 'wait' });
    await started.promise;
    const closed = server.close();
    expect((await client.modern('server/discover')).error?.code).toBe(-32603);
    gate.resolve('done');
    expect((await reply).result).toMatchObject({ content: [{ text: 'done' }] });
    await closed;
    await client.ended;
    expect(() => openLine(server)).toThrow(expect.objectContaining({ code: 'closed' }));
  });

  test('does not wait for ever', async () => {
    const server = make();
    const started = deferred<undefined>();
    server.tool({ name: 'hang' }, async (_args, { signal }) => {
      started.resolve(undefined);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return '';
    });
    const client = openLine(server);
    void client.modern('tools/call', { name: 'hang' });
    await started.promise;
    await server.close({ graceMs: 10 });
    await client.ended;
    await server.close();
  });
});
