// Cancellation, progress and subscriptions (2026-07-28, basic/patterns), seen from a client.
import { describe, expect, test } from 'vitest';
import { connect, type News, type Session } from '../../src/client/index.ts';
import { complete, modernServer, settle } from '../../src/client/fixtures/script.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { beginStream, event, reply } from '../../src/transport/http/fixtures/fake-server.ts';
import { closing, modernHttp } from './fixtures/servers.ts';

const open = closing();
const subscription = 'io.modelcontextprotocol/subscriptionId';

/** All news of a session from now on. */
function newsOf(session: Session): News[] {
  const news: News[] = [];
  session.news.subscribe((item) => news.push(item));
  return news;
}

describe('cancellation (patterns/cancellation)', () => {
  test('every call has a time-out of its own, progress extends it, and there is an end all the same (“Timeouts”)', async () => {
    const clock = createFakeClock();
    const server = modernServer({ 'tools/call': () => 'silence' });
    const session = open(await connect(server, { clock, callTimeoutMs: 1_000, maxCallMs: 2_500 }));
    const outcomes: Record<string, unknown> = {};
    const call = (name: string, options = {}) =>
      session
        .callTool(name, {}, options)
        .catch((error: unknown) => (outcomes[name] = [(error as { code: string }).code, clock.now()]));
    const calls = [call('default'), call('own', { timeoutMs: 200 }), call('progressing', { onProgress: () => {} })];
    await settle();
    const token = (server.requests.at(-1)?.params?.['_meta'] as JsonObject)['progressToken'];
    for (let progress = 1; progress <= 50; progress++) {
      clock.advance(100);
      server.line.deliver({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress } });
      await settle();
    }
    await Promise.all(calls);
    expect(outcomes).toEqual({ own: ['timeout', 200], default: ['timeout', 1_000], progressing: ['timeout', 2_500] });
    // On a shared line each is cancelled by name.
    const cancelled = server.line.sent.filter((message) => 'method' in message && message.method === 'notifications/cancelled');
    expect(cancelled).toMatchObject([3, 2, 4].map((requestId) => ({ params: { requestId } })));
  });

  test('an answer that crosses the cancellation is dropped, and harms nothing (“Timing Considerations”)', async () => {
    const server = modernServer({
      'tools/call': ({ params }) => (params?.['name'] === 'slow' ? 'silence' : complete({ content: [] })),
    });
    const session = open(await connect(server));
    const news = newsOf(session);
    const stop = new AbortController();
    const call = session.callTool('slow', {}, { signal: stop.signal });
    await settle();
    stop.abort();
    const { id } = server.requests.at(-1) ?? {};
    server.line.deliver({ jsonrpc: '2.0', id, result: { content: [] } });
    server.line.deliver({ jsonrpc: '2.0', id, error: { code: -32603, message: 'late' } });
    server.line.deliver({ jsonrpc: '2.0', id: 'never used', result: {} });
    server.line.deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await expect(call).rejects.toMatchObject({ code: 'aborted' });
    await expect(session.callTool('next')).resolves.toEqual({ content: [], resultType: 'complete' });
    expect(session.stats).toMatchObject({ stale: 1, duplicate: 1, unknown: 1 });
    expect(news.filter(({ type }) => type === 'problem').length).toBeLessThanOrEqual(3);
  });

  test('nothing is cancelled that was answered (“Behavior Requirements”)', async () => {
    const server = modernServer({ 'tools/call': () => complete({ content: [] }) });
    const session = open(await connect(server));
    const stop = new AbortController();
    await session.callTool('x', {}, { signal: stop.signal });
    stop.abort();
    await settle();
    expect(server.told).toEqual([]);
  });
});

describe('progress (patterns/progress)', () => {
  test('each active request has a token of its own, hears its own alone, and nothing after its answer', async () => {
    const server = modernServer({ 'tools/call': () => 'silence' });
    const session = open(await connect(server));
    const heard: Record<string, number[]> = { a: [], b: [], c: [] };
    const calls = Object.keys(heard).map((name) =>
      session.callTool(name, {}, { onProgress: ({ progress }) => heard[name]?.push(progress) }),
    );
    await settle();
    const requests = server.requests.slice(1);
    const tokens = requests.map(({ params }) => (params?.['_meta'] as JsonObject)['progressToken']);
    expect(new Set(tokens).size).toBe(3);
    expect(tokens.every((token) => typeof token === 'string' || Number.isSafeInteger(token))).toBe(true);
    const tell = (progressToken: unknown, progress: number) =>
      server.line.deliver({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } });
    tell(tokens[1], 1);
    tell(tokens[0], 5);
    tell('unknown', 9);
    tell(null, 9);
    tell(tokens[1], 2);
    for (const { id } of requests) server.line.deliver({ jsonrpc: '2.0', id, result: { content: [] } });
    await Promise.all(calls);
    tell(tokens[0], 6);
    await settle();
    expect(heard).toEqual({ a: [5], b: [1, 2], c: [] });
  });

  test('a request whose caller does not ask for it has no token', async () => {
    const server = modernServer({ 'tools/call': () => complete({ content: [] }) });
    const session = open(await connect(server));
    await session.callTool('x');
    expect(server.requests.at(-1)?.params?.['_meta']).not.toHaveProperty('progressToken');
  });
});

describe('subscriptions (patterns/subscriptions)', () => {
  test('two on one line hear what is theirs, whichever the other asked for (“Receiving Notifications”)', async () => {
    const server = modernServer({ 'subscriptions/listen': () => 'silence' });
    const session = open(await connect(server));
    const news = newsOf(session);
    const tools = session.watch({ toolsListChanged: true });
    const prompts = session.watch({ promptsListChanged: true });
    await settle();
    const [first, second] = server.requests.slice(1).map(({ id }) => id);
    const tell = (id: unknown, method: string, params: JsonObject = {}) =>
      server.line.deliver({
        jsonrpc: '2.0',
        method,
        params: { ...params, ...(id !== undefined && { _meta: { [subscription]: id } }) },
      });
    tell(second, 'notifications/subscriptions/acknowledged', { notifications: { promptsListChanged: true } });
    tell(first, 'notifications/subscriptions/acknowledged', { notifications: {} });
    // “Acknowledgment”: what was agreed to is there to be compared with what was asked for.
    await expect(tools.acknowledged).resolves.toEqual({});
    await expect(prompts.acknowledged).resolves.toEqual({ promptsListChanged: true });
    tell(second, 'notifications/prompts/list_changed');
    tell(first, 'notifications/prompts/list_changed');
    tell(second, 'notifications/tools/list_changed');
    tell(undefined, 'notifications/prompts/list_changed');
    tell(String(second), 'notifications/prompts/list_changed');
    expect(news).toEqual([{ type: 'prompts-changed' }]);
    await tools.close();
    tell(second, 'notifications/prompts/list_changed');
    expect(news).toHaveLength(2);
    const cancelled = server.line.sent.filter((message) => 'method' in message && message.method === 'notifications/cancelled');
    expect(cancelled).toMatchObject([{ params: { requestId: first } }]);
  });

  test('a server may end one by its cancellation, and it is asked for again', async () => {
    const clock = createFakeClock();
    const server = modernServer({ 'subscriptions/listen': () => 'silence' });
    const session = open(await connect(server, { clock }));
    session.watch({ toolsListChanged: true });
    await settle();
    const listens = () => server.requests.filter(({ method }) => method === 'subscriptions/listen');
    server.line.deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: listens()[0]?.id } });
    await settle();
    clock.advance(1_000);
    await settle();
    expect(listens()).toHaveLength(2);
  });

  test.each([
    ['a stream that is cut', false],
    ['a stream that the server ended in good order', true],
  ])(
    '%s is opened again after a while, and what may have changed counts as changed (“Graceful Closure”)',
    async (_name, graceful) => {
      const clock = createFakeClock();
      let end = () => {};
      const server = open(
        await modernHttp({
          'subscriptions/listen'({ id, params }, _seen, response) {
            const tag = { _meta: { [subscription]: id } };
            const news = { ...tag, notifications: params?.['notifications'] };
            beginStream(response, event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: news }));
            end = () => {
              if (graceful) response.end(event(reply(id, { resultType: 'complete', ...tag })));
              else response.destroy();
            };
            return undefined;
          },
        }),
      );
      const session = open(await connect(httpTransport({ url: server.url }), { clock }));
      const news = newsOf(session);
      const changed = new Promise<void>((resolve) => session.news.subscribe(({ type }) => type === 'tools-changed' && resolve()));
      await session.watch({ toolsListChanged: true }).acknowledged;
      end();
      await server.seen[1]?.over;
      await expect.poll(() => (clock.advance(1_000), server.methods.length)).toBe(3);
      await changed;
      expect(news).toEqual([{ type: 'tools-changed' }]);
      for (const { headers } of server.seen) expect(headers).not.toHaveProperty('last-event-id');
    },
  );
});
