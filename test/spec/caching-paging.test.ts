// Lists in pages and results that may be used again (2026-07-28, server/utilities/pagination and caching), seen from a client.
import { describe, expect, test } from 'vitest';
import { connect, createCache, type Session } from '../../src/client/index.ts';
import { complete, modernServer, settle } from '../../src/client/fixtures/script.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { closing, failure } from './fixtures/servers.ts';

const open = closing();
const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

describe('pages (pagination, “Implementation Guidelines”)', () => {
  test('cursors go back as they came, whatever they hold, and only a missing one ends the list', async () => {
    const cursors = ['', ' ', '0', 'ü"\\\u0000', 'x'.repeat(4_096), '{"page":2}'];
    const server = modernServer({
      'resources/list': ({ params }) => {
        const at = params?.['cursor'] === undefined ? 0 : cursors.indexOf(params['cursor'] as string) + 1;
        return complete({
          resources: [{ uri: `a:${String(at)}`, name: 'r' }],
          ...(at < cursors.length && { nextCursor: cursors[at] }),
        });
      },
    });
    const session = open(await connect(server));
    expect((await session.listResources()).items.map(({ uri }) => uri)).toEqual(
      cursors.concat('').map((_, at) => `a:${String(at)}`),
    );
    expect(server.requests.slice(1).map(({ params }) => params?.['cursor'])).toEqual([undefined, ...cursors]);
  });

  test('a cursor that the server refuses fails the list; nothing of it is used or kept', async () => {
    let refuses = true;
    const server = modernServer({
      'tools/list': ({ params }) => {
        if (params?.['cursor'] === undefined) return complete({ tools: [tool('a')], nextCursor: 'b', ttlMs: 60_000 });
        return refuses ? failure(-32602) : complete({ tools: [tool('b')], ttlMs: 60_000 });
      },
    });
    const session = open(await connect(server));
    await expect(session.listTools()).rejects.toMatchObject({ code: -32602 });
    refuses = false;
    // It begins anew, without the page that was good.
    expect((await session.listTools()).items.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(server.requests.slice(1).map(({ params }) => params?.['cursor'])).toEqual([undefined, 'b', undefined, 'b']);
  });
});

describe('freshness (caching, “Time-to-Live (TTL) Field”)', () => {
  /** Lists tools twice, `waitMs` apart, and says how often the server was asked. */
  async function asked(result: JsonObject, waitMs = 0): Promise<number> {
    const clock = createFakeClock();
    const server = modernServer({ 'tools/list': () => complete({ tools: [tool('a')], ...result }) });
    const session = open(await connect(server, { clock }));
    await session.listTools();
    clock.advance(waitMs);
    await session.listTools();
    return server.requests.length - 1;
  }

  test.each<[string, JsonObject, number, number]>([
    ['0 is stale at once', { ttlMs: 0 }, 0, 2],
    ['an absent one is 0', {}, 0, 2],
    ['a negative one is 0', { ttlMs: -1_000 }, 0, 2],
    ['one that is no number is 0', { ttlMs: '60000' }, 0, 2],
    ['a positive one counts', { ttlMs: 1_000 }, 999, 1],
    ['until it is over', { ttlMs: 1_000 }, 1_000, 2],
  ])('%s', async (_name, result, waitMs, expected) => {
    expect(await asked({ cacheScope: 'private', ...result }, waitMs)).toBe(expected);
  });

  test('a list is as fresh as its page that is stale first, counted from when that page came (“Interaction with Pagination”)', async () => {
    const clock = createFakeClock();
    const server = modernServer({
      'tools/list': ({ params }) => {
        const first = params?.['cursor'] === undefined;
        // The second page takes 600 ms, and would be fresh for longer.
        if (!first) clock.advance(600);
        return complete({ tools: [tool(first ? 'a' : 'b')], ttlMs: first ? 1_000 : 5_000, ...(first && { nextCursor: 'b' }) });
      },
    });
    const session = open(await connect(server, { clock }));
    await session.listTools();
    clock.advance(399);
    await session.listTools();
    expect(server.requests).toHaveLength(3);
    clock.advance(1);
    await session.listTools();
    expect(server.requests).toHaveLength(5);
  });

  test('it is no interval: nothing is asked again by itself', async () => {
    const clock = createFakeClock();
    const server = modernServer({ 'tools/list': () => complete({ tools: [], ttlMs: 1_000, cacheScope: 'public' }) });
    const session = open(await connect(server, { clock }));
    await session.listTools();
    clock.advance(100_000);
    await settle();
    expect(server.requests).toHaveLength(2);
  });
});

describe('what a kept result is for (caching, “Cache Key”, “Cache Scope Field”)', () => {
  const server = () => {
    const reads: string[] = [];
    const answer = modernServer({
      'resources/read': ({ params }) => {
        reads.push(params?.['uri'] as string);
        return complete({
          contents: [{ uri: params?.['uri'], text: String(reads.length) }],
          ttlMs: 60_000,
          cacheScope: 'public',
        });
      },
      'tools/list': () => complete({ tools: [], ttlMs: 60_000, cacheScope: 'public' }),
      'prompts/list': () => complete({ prompts: [], ttlMs: 60_000, cacheScope: 'public' }),
      'tools/call': () => complete({ content: [], ttlMs: 60_000, cacheScope: 'public' }),
      'prompts/get': () => complete({ messages: [], ttlMs: 60_000, cacheScope: 'public' }),
    });
    return { answer, reads };
  };

  test('a resource of another URI, another method, and what is never reused are asked for', async () => {
    const { answer, reads } = server();
    const session = open(await connect(answer));
    const twice = async (act: (session: Session) => Promise<unknown>) => {
      const before = answer.requests.length;
      await act(session);
      await act(session);
      return answer.requests.length - before;
    };
    expect(await twice((each) => each.readResource('a:b'))).toBe(1);
    expect(await twice((each) => each.readResource('a:B'))).toBe(1);
    expect(reads).toEqual(['a:b', 'a:B']);
    expect(await twice((each) => each.listTools())).toBe(1);
    expect(await twice((each) => each.listPrompts())).toBe(1);
    expect(await twice((each) => each.callTool('x'))).toBe(2);
    expect(await twice((each) => each.getPrompt('x'))).toBe(2);
  });

  test('a shared cache never answers for another server, nor privately for another principal', async () => {
    const cache = createCache({ publicResults: 'shared' });
    const answers: JsonObject[] = [];
    for (const [cacheServer, principal] of [
      ['one', 'ann'],
      ['two', 'ann'],
      ['one', 'bob'],
    ] as const) {
      const each = modernServer({
        'resources/read': () =>
          complete({ contents: [{ uri: 'a:b', text: `${cacheServer} for ${principal}` }], ttlMs: 60_000, cacheScope: 'private' }),
      });
      const session = open(await connect(each, { cache, cacheServer, principal }));
      answers.push((await session.readResource('a:b')).contents[0] as unknown as JsonObject);
    }
    expect(answers.map(({ text }) => text)).toEqual(['one for ann', 'two for ann', 'one for bob']);
  });

  test.each([
    ['public', 'private'],
    ['private', 'public'],
  ])('a list is private as soon as one of its pages is: %s, then %s', async (...scopes) => {
    const cache = createCache({ publicResults: 'shared' });
    let asked = 0;
    for (const principal of ['ann', 'bob']) {
      const each = modernServer({
        'tools/list': ({ params }) => {
          asked++;
          const first = params?.['cursor'] === undefined;
          return complete({ tools: [], ttlMs: 60_000, cacheScope: scopes[first ? 0 : 1], ...(first && { nextCursor: 'b' }) });
        },
      });
      await open(await connect(each, { cache, principal })).listTools();
    }
    expect(asked).toBe(4);
  });
});
