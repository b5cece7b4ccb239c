// What our server offers (2026-07-28, server/* and basic/patterns), over a line in memory.
import { describe, expect, test } from 'vitest';
import { createFullServer, form } from '../../src/server/fixtures/full-server.ts';
import { openLine } from '../../src/server/fixtures/raw-client.ts';
import { createServer, type Server } from '../../src/server/index.ts';
import { closing } from './fixtures/servers.ts';

const open = closing();
const own = (server: Server) => {
  open({ close: () => server.close({ graceMs: 0 }) });
  return server;
};

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];

test('every page of every list has the same scope and freshness (server/utilities/caching, “Interaction with Pagination”)', async () => {
  for (const cache of [
    { ttlMs: 5_000, scope: 'public' },
    { ttlMs: 0, scope: 'private' },
  ] as const) {
    const server = own(createServer({ name: 's', version: '1', pageSize: 1, cache }));
    for (const name of ['a', 'b', 'c']) {
      server.tool({ name }, () => '');
      server.prompt({ name }, () => '');
      server.resource({ uri: `${name}:1`, name }, () => '');
      server.template({ uriTemplate: `${name}:{x}`, name }, () => '');
    }
    const client = openLine(server);
    for (const list of LISTS) {
      let pages = 0;
      let cursor: unknown;
      do {
        const { result } = await client.modern(list, cursor === undefined ? {} : { cursor });
        expect(result).toMatchObject({ ttlMs: cache.ttlMs, cacheScope: cache.scope });
        cursor = result?.['nextCursor'];
        pages++;
      } while (cursor !== undefined);
      expect([list, pages]).toEqual([list, 3]);
    }
  }
});

test('lists are the same on every line, whatever happened on it before (server/tools, “Capabilities”)', async () => {
  const server = own(createFullServer());
  const busy = openLine(server);
  await busy.modern('tools/call', { name: 'echo' }, { capabilities: { sampling: {}, elicitation: {} } });
  await busy.modern('prompts/get', { name: 'ask' });
  void busy.modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  await busy.greet('2024-11-05', { roots: {} });
  const fresh = openLine(server);
  for (const list of LISTS) {
    const { result } = await fresh.modern(list);
    expect((await busy.modern(list, {}, { capabilities: { roots: {} } })).result).toEqual(result);
  }
});

describe('a question that is declined or left (client/elicitation, patterns/mrtr “Server Requirements”)', () => {
  const CALLS: [string, object][] = [
    ['tools/call', { name: 'asks' }],
    ['prompts/get', { name: 'asks' }],
    ['resources/read', { uri: 'asks:1' }],
  ];

  test.each(
    CALLS.flatMap(([method, params]) => (['decline', 'cancel'] as const).map((action) => [method, action, params] as const)),
  )('%s goes on after "%s", without contents', async (method, action, params) => {
    const server = own(createServer({ name: 's', version: '1' }));
    const ask = async (_first: unknown, context?: { elicit: (question: typeof form) => Promise<object> }) =>
      JSON.stringify(await (context ?? (_first as NonNullable<typeof context>)).elicit(form));
    server.tool({ name: 'asks' }, ask);
    server.prompt({ name: 'asks' }, ask);
    server.resource({ uri: 'asks:1', name: 'asks' }, ask);
    const client = openLine(server);
    const options = { capabilities: { elicitation: {} } };
    const { result } = await client.modern(method, { ...params }, options);
    expect(result).toMatchObject({ resultType: 'input_required' });
    const [key] = Object.keys(result?.['inputRequests'] as object);
    const inputResponses = { [key as string]: { action, content: { name: 'kept' } } };
    const last = await client.modern(method, { ...params, inputResponses, requestState: result?.['requestState'] }, options);
    expect(last.result).toMatchObject({ resultType: 'complete' });
    expect(JSON.stringify(last.result)).toContain(action);
    expect(JSON.stringify(last.result)).not.toContain('kept');
  });

  test('a client that declared nothing is not asked, and is told what is missing', async () => {
    const client = openLine(own(createFullServer()));
    for (const [method, params] of [
      ['tools/call', { name: 'elicit' }],
      ['tools/call', { name: 'sample' }],
      ['tools/call', { name: 'roots' }],
      ['prompts/get', { name: 'ask' }],
    ] as const) {
      const { error } = await client.modern(method, { ...params });
      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: expect.any(Object) as object } });
    }
  });
});
