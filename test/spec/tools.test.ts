// Tools as a client sees them (2026-07-28, server/tools and basic/index).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { complete, modernServer } from '../../src/client/fixtures/script.ts';
import { forWire, loadConfig, openHost, type Host } from '../../src/host/index.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { closing, complete as completed, failure, modernHttp, type Method } from './fixtures/servers.ts';

const open = closing();
const directory = mkdtempSync(join(tmpdir(), 'parley-tools-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A host of modern servers, each with its tools, whose calls are answered by `call`. */
async function hostOf(servers: Record<string, { tools: JsonObject[]; call: Method }>): Promise<Host> {
  const mcpServers: Record<string, JsonObject> = {};
  for (const [name, { tools, call }] of Object.entries(servers)) {
    const server = open(
      await modernHttp(
        {
          'server/discover': () =>
            completed({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }),
          'tools/list': () => completed({ tools }),
          'tools/call': call,
        },
        { connection: 'close' },
      ),
    );
    mcpServers[name] = { type: 'http', url: server.url };
  }
  const { config, diagnostics } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers, permissions: { allow: ['*/*'] } },
  });
  expect(diagnostics).toEqual([]);
  const host = open(
    openHost({
      config,
      surroundings: { env: {}, home: directory, workspaceFolder: directory },
      // With what one server gave at hand, each call of another is asked about.
      approver: { ask: async () => ({ type: 'allow', scope: 'once' }) },
    }),
  );
  await host.settled();
  return host;
}

const plain = { type: 'object' };
const named =
  (name: string): Method =>
  () =>
    completed({ content: [{ type: 'text', text: name }] });

test('what a server says of its tools, prompts and resources stays whole, with members nobody knows (server/tools “Tool”, basic/index “General fields”)', async () => {
  const extra = {
    title: 'T',
    description: 'D',
    icons: [{ src: 'https://a.test/i.png', theme: 'dark', later: 1 }],
    _meta: { 'a.test/x': { y: [null] } },
    later: { a: [1, 'b', null] },
  };
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { $ref: '#/$defs/a', 'x-later': true } },
    $defs: { a: { anyOf: [{ type: 'string' }, { const: null }] } },
    unevaluatedProperties: false,
  };
  const annotations = { readOnlyHint: true, title: 'A', later: 2 };
  const lists: Record<string, [string, JsonObject[]]> = {
    'tools/list': [
      'tools',
      [
        {
          name: 't',
          inputSchema: schema,
          outputSchema: { ...schema, type: 'array' },
          annotations,
          execution: { later: 1 },
          ...extra,
        },
      ],
    ],
    'prompts/list': ['prompts', [{ name: 'p', arguments: [{ name: 'a', title: 'A', required: true, later: 1 }], ...extra }]],
    'resources/list': [
      'resources',
      [{ uri: 'a:b', name: 'r', mimeType: 'x/y', size: 3, annotations: { priority: 1, later: 1 }, ...extra }],
    ],
    'resources/templates/list': [
      'resourceTemplates',
      [{ uriTemplate: 'a:{b}', name: 'r', mimeType: 'x/y', annotations, ...extra }],
    ],
  };
  const session = open(
    await connect(
      modernServer(
        Object.fromEntries(
          Object.entries(lists).map(([method, [member, items]]) => [method, () => complete({ [member]: items })]),
        ),
      ),
    ),
  );
  const listings = [session.listTools(), session.listPrompts(), session.listResources(), session.listResourceTemplates()];
  for (const [index, { items, rejected }] of (
    await Promise.all(listings as Promise<{ items: readonly unknown[]; rejected: readonly unknown[] }>[])
  ).entries()) {
    expect(items).toEqual(Object.values(lists)[index]?.[1]);
    expect(rejected).toEqual([]);
  }
});

test('names are taken as they are: case counts, 128 characters and odd ones can be called (“Tool Names”)', async () => {
  const names = ['a', 'A', 'x'.repeat(128), 'with.dots/and-dashes_1', 'ünï code', '__proto__', 'constructor', ' '];
  const server = modernServer({
    'tools/list': () => complete({ tools: names.map((name) => ({ name, inputSchema: plain })) }),
    'tools/call': ({ params }) => complete({ content: [{ type: 'text', text: params?.['name'] }] }),
  });
  const session = open(await connect(server));
  expect((await session.listTools()).items.map(({ name }) => name)).toEqual(names);
  for (const name of names) expect((await session.callTool(name)).content).toEqual([{ type: 'text', text: name }]);
});

describe('through a host', () => {
  const textOf = async (host: Host, name: string, args: JsonObject = {}) => {
    const outcome = await host.call(name, args);
    if (outcome.type !== 'ok') return outcome.type;
    return (forWire(outcome.result.value).content[0] as unknown as { text: string }).text;
  };

  test('the same name on two servers is two tools, and names that differ in case are two (“Tool Names”)', async () => {
    const tools = ['a', 'A'].map((name) => ({ name, inputSchema: plain }));
    const call =
      (server: string): Method =>
      (message) =>
        named(`${server} ${String(message.params?.['name'])}`)(message, undefined as never, undefined as never);
    const host = await hostOf({ one: { tools, call: call('one') }, two: { tools, call: call('two') } });
    expect(host.registry.snapshot.tools).toHaveLength(4);
    expect(new Set(host.registry.snapshot.tools.map(({ modelName }) => modelName)).size).toBe(4);
    for (const name of ['one/a', 'one/A', 'two/a', 'two/A']) expect(await textOf(host, name)).toBe(name.replace('/', ' '));
    expect(await textOf(host, 'a')).toBe('unknown');
  });

  test('structured content is held against the output schema, of any type; an error is exempt (“Output Schema”)', async () => {
    const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
    const text = [{ type: 'text', text: 'x' }];
    const cases: [string, JsonObject, JsonObject, string][] = [
      ['fits', sum, { structuredContent: { sum: 1 } }, 'valid'],
      ['wrong', sum, { structuredContent: { sum: 'one' } }, 'invalid'],
      ['nothing', sum, {}, 'missing'],
      ['error', sum, { isError: true }, 'unchecked'],
      ['array', { type: 'array', items: { type: 'number' } }, { structuredContent: [1, 2] }, 'valid'],
      ['wrong_array', { type: 'array', items: { type: 'number' } }, { structuredContent: ['1'] }, 'invalid'],
      ['number', { type: 'number' }, { structuredContent: 7 }, 'valid'],
      ['null', { type: 'null' }, { structuredContent: null }, 'valid'],
      ['unnamed_dialect', { $schema: 'https://example.com/mine', type: 'object' }, { structuredContent: {} }, 'unchecked'],
      ['reference', { $ref: 'https://example.com/schema' }, { structuredContent: {} }, 'unchecked'],
    ];
    const tools = cases.map(([name, outputSchema]) => ({ name, inputSchema: plain, outputSchema }));
    const call: Method = ({ params }) => completed({ content: text, ...cases.find(([name]) => name === params?.['name'])?.[2] });
    const host = await hostOf({ s: { tools, call } });
    for (const [name, , , verdict] of cases) {
      const outcome = await host.call(`s/${name}`, {});
      const isError = name === 'error';
      expect([name, outcome]).toMatchObject([name, { type: isError ? 'tool-error' : 'ok', result: { verdict } }]);
    }
  });

  test('each dialect of JSON Schema checks arguments its own way, and one that is not known is refused by name (basic/index, “JSON Schema Usage”)', async () => {
    const tuple = { properties: { a: { type: 'array', items: [{ type: 'string' }], additionalItems: false } } };
    const tools = [
      {
        name: 'default',
        inputSchema: { type: 'object', properties: { a: { prefixItems: [{ type: 'string' }], items: false } } },
      },
      { name: 'draft7', inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', ...tuple } },
      { name: 'other', inputSchema: { $schema: 'https://example.com/mine', type: 'object', ...tuple } },
      { name: 'outside', inputSchema: { type: 'object', properties: { a: { $ref: 'file:///etc/schema.json' } } } },
    ];
    const host = await hostOf({ s: { tools, call: named('called') } });
    for (const name of ['default', 'draft7']) {
      expect(await textOf(host, `s/${name}`, { a: ['x'] })).toBe('called');
      expect(await textOf(host, `s/${name}`, { a: ['x', 1] })).toBe('invalid');
    }
    for (const [name, why] of [
      ['other', 'https://example.com/mine'],
      ['outside', 'file:///etc/schema.json'],
    ] as const) {
      const outcome = await host.call(`s/${name}`, { a: ['x'] });
      expect(outcome.type).not.toBe('ok');
      expect(JSON.stringify(outcome, (_key, value: unknown) => (value instanceof Error ? value.message : value))).toContain(why);
    }
  });

  test('a result that is an error is a result, and an error of the protocol is none (“Error Handling”)', async () => {
    const tools = ['fails', 'breaks'].map((name) => ({ name, inputSchema: plain }));
    const call: Method = ({ params }) =>
      params?.['name'] === 'fails'
        ? completed({ isError: true, content: [{ type: 'text', text: 'Try a date in the future.' }] })
        : failure(-32602, { why: 'x' });
    const host = await hostOf({ s: { tools, call } });
    const outcome = await host.call('s/fails', {});
    if (outcome.type !== 'tool-error') throw new Error(`It ended as ${outcome.type}.`);
    expect(forWire(outcome.result.value)).toMatchObject({ isError: true, content: [{ text: 'Try a date in the future.' }] });
    expect(await host.call('s/breaks', {})).toMatchObject({ type: 'protocol-error', code: -32602, data: { why: 'x' } });
  });

  test('a schema made to be slow costs its own tool and nothing else (basic/index, “Composition-Keyword Resource Use”)', async () => {
    const doubling = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/0' } },
      $defs: {
        ...Object.fromEntries(
          Array.from({ length: 60 }, (_, n) => [
            String(n),
            { anyOf: Array<JsonObject>(2).fill({ $ref: `#/$defs/${String(n + 1)}` }) },
          ]),
        ),
        '60': { const: 'never' },
      },
    };
    const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const tools = Object.entries({ doubling, pattern, good: plain }).map(([name, inputSchema]) => ({
      name,
      inputSchema,
    }));
    const host = await hostOf({ s: { tools, call: named('called') } });
    expect(await textOf(host, 's/doubling', { a: 'x' })).not.toBe('called');
    expect(await textOf(host, 's/pattern', { a: `${'a'.repeat(50)}!` })).toBe('invalid');
    expect(await textOf(host, 's/good')).toBe('called');
  });
});
