import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { openLine, type RawClient } from './fixtures/raw-client.ts';
import { createServer, type Server } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function make(pageSize?: number): Server {
  const server = createServer({ name: 'test', version: '1', ...(pageSize !== undefined && { pageSize }) });
  open.push(server);
  return server;
}

const names = (page: JsonObject | undefined) => (page?.['tools'] as { name: string }[]).map(({ name }) => name);

async function page(client: RawClient, cursor?: unknown, method = 'tools/list') {
  const { result, error } = await client.modern(method, cursor === undefined ? {} : { cursor });
  return { result, error };
}

test('a list is cut into pages, the last of which has no cursor', async () => {
  const server = make(2);
  for (const name of ['a', 'b', 'c', 'd']) server.tool({ name }, () => '');
  const client = openLine(server);
  const { result: first } = await page(client);
  expect(names(first)).toEqual(['a', 'b']);
  const { result: second } = await page(client, first?.['nextCursor']);
  expect(names(second)).toEqual(['c', 'd']);
  expect(second).not.toHaveProperty('nextCursor');
  expect(second).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
});

test('a page holds 100 entries unless told otherwise', async () => {
  const server = make();
  for (let index = 0; index < 101; index++) server.tool({ name: `t${index}` }, () => '');
  const { result } = await page(openLine(server));
  expect(names(result)).toHaveLength(100);
  expect(() => make(0)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('a cursor stays good while entries come and go, and on another process', async () => {
  const build = () => {
    const server = make(2);
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.tool({ name }, () => '');
    return server;
  };
  const server = build();
  const client = openLine(server);
  const cursor = (await page(client)).result?.['nextCursor'];
  server.removeTool('a');
  server.removeTool('b');
  server.tool({ name: 'f' }, () => '');
  expect(names((await page(client, cursor)).result)).toEqual(['c', 'd']);
  expect(names((await page(openLine(build()), cursor)).result)).toEqual(['c', 'd']);
});

test('what is no cursor of this list is refused, null counts as none', async () => {
  const server = make(1);
  for (const name of ['a', 'b']) server.tool({ name }, () => '');
  for (const name of ['p', 'q']) server.prompt({ name }, () => '');
  const client = openLine(server);
  const cursor = String((await page(client)).result?.['nextCursor']);
  const ofPrompts = (await page(client, undefined, 'prompts/list')).result?.['nextCursor'];
  for (const bad of ['', 'x', `${cursor}x`, Buffer.from('tool:99').toString('base64url'), ofPrompts, 7, {}]) {
    expect((await page(client, bad)).error?.code).toBe(-32602);
  }
  expect(names((await page(client, null)).result)).toEqual(['a']);
});

test('the order is that of registration, and every entry is on one page, whatever was removed or changed before', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.tuple(fc.constantFrom('add', 'remove', 'update'), fc.nat(9)), { maxLength: 40 }),
      async (pageSize, acts) => {
        const server = make(pageSize);
        let expected: string[] = [];
        const registrations = new Map<string, { remove(): boolean; update(changes: object): boolean }>();
        server.tool({ name: 'first' }, () => '').remove();
        for (const [act, index] of acts) {
          const name = `t${index}`;
          if (act === 'add' && !expected.includes(name)) {
            registrations.set(
              name,
              server.tool({ name }, () => ''),
            );
            expected.push(name);
          }
          if (act === 'remove' && registrations.get(name)?.remove() === true) expected = expected.filter((one) => one !== name);
          if (act === 'update') registrations.get(name)?.update({ description: 'x' });
        }
        const client = openLine(server);
        const found: string[] = [];
        let cursor: unknown;
        do {
          const { result } = await page(client, cursor);
          found.push(...names(result));
          cursor = result?.['nextCursor'];
        } while (cursor !== undefined);
        expect(found).toEqual(expected);
        await server.close({ graceMs: 0 });
      },
    ),
    { numRuns: 50 },
  );
});
