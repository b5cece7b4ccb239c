import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, type LegacyRevision } from '../protocol/index.ts';
import { createFullServer } from './fixtures/full-server.ts';
import { openLine, type RawClient } from './fixtures/raw-client.ts';
import type { Server } from './index.ts';

const SPEC = new URL('../../../shared/spec/', import.meta.url);

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function line(): RawClient {
  const server = createFullServer();
  open.push(server);
  return openLine(server);
}

interface Official {
  /** Says what is wrong with `value` as a definition of the revision's schema. */
  problems(definition: string, value: unknown): unknown;
  has(definition: string): boolean;
}

function official(revision: string): Official | undefined {
  const file = new URL(`${revision}/schema.json`, SPEC);
  if (!existsSync(file)) return undefined;
  const schema = JSON.parse(readFileSync(file, 'utf8')) as Record<string, JsonObject>;
  const root = '$defs' in schema ? '$defs' : 'definitions';
  const Engine = root === '$defs' ? Ajv2020 : Ajv;
  const ajv = new Engine({ strict: false, validateFormats: false }).addSchema(schema, 'mcp');
  return {
    problems(definition, value) {
      const validate = ajv.getSchema(`mcp#/${root}/${definition}`);
      if (validate === undefined) throw new Error(`${revision} has no ${definition}.`);
      return validate(value) === true ? [] : validate.errors;
    },
    has: (definition) => definition in (schema[root] as JsonObject),
  };
}

const REVISIONS = [...LEGACY_REVISIONS, ...MODERN_REVISIONS];
const schemas = new Map(REVISIONS.map((revision) => [revision, official(revision)]));
const missing = REVISIONS.filter((revision) => schemas.get(revision) === undefined);
if (missing.length > 0) {
  process.stdout.write(`Skipped: the official schemas of ${missing.join(', ')} are not beside this checkout.\n`);
}

/** Every request both eras have, with the definition of its result. */
const REQUESTS: readonly (readonly [method: string, params: JsonObject, result: string])[] = [
  ['tools/list', {}, 'ListToolsResult'],
  ['tools/call', { name: 'echo', arguments: { text: 'x' } }, 'CallToolResult'],
  ['tools/call', { name: 'echo', arguments: { text: 1 } }, 'CallToolResult'],
  ['tools/call', { name: 'blocks' }, 'CallToolResult'],
  ['tools/call', { name: 'structured' }, 'CallToolResult'],
  ['tools/call', { name: 'list' }, 'CallToolResult'],
  ['tools/call', { name: 'failing' }, 'CallToolResult'],
  ['resources/list', {}, 'ListResourcesResult'],
  ['resources/templates/list', {}, 'ListResourceTemplatesResult'],
  ['resources/read', { uri: 'test://text' }, 'ReadResourceResult'],
  ['resources/read', { uri: 'test://bytes' }, 'ReadResourceResult'],
  ['resources/read', { uri: 'test://cached' }, 'ReadResourceResult'],
  ['resources/read', { uri: 'test://items/1' }, 'ReadResourceResult'],
  ['prompts/list', {}, 'ListPromptsResult'],
  ['prompts/get', { name: 'review', arguments: { language: 'c' } }, 'GetPromptResult'],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'language', value: 'p' } },
    'CompleteResult',
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'test://items/{id}' }, argument: { name: 'id', value: '' } },
    'CompleteResult',
  ],
];

/** What came that is no reply, with its definition. */
const NEWS: Readonly<Record<string, string>> = {
  'notifications/progress': 'ProgressNotification',
  'notifications/message': 'LoggingMessageNotification',
  'notifications/tools/list_changed': 'ToolListChangedNotification',
  'notifications/resources/updated': 'ResourceUpdatedNotification',
  'notifications/subscriptions/acknowledged': 'SubscriptionsAcknowledgedNotification',
  'elicitation/create': 'ElicitRequest',
  'sampling/createMessage': 'CreateMessageRequest',
  'roots/list': 'ListRootsRequest',
};

/** Members that came with a later revision, anywhere in a message. */
const LATER: Readonly<Record<LegacyRevision, RegExp>> = {
  '2024-11-05':
    /"(title|icons|outputSchema|structuredContent|resultType|ttlMs|cacheScope|websiteUrl|readOnlyHint)":|"audio"|"resource_link"/,
  '2025-03-26': /"(icons|outputSchema|structuredContent|resultType|ttlMs|cacheScope|websiteUrl)":|"resource_link"/,
  '2025-06-18': /"(icons|resultType|ttlMs|cacheScope|websiteUrl)":/,
  '2025-11-25': /"(resultType|ttlMs|cacheScope)":/,
};

describe.each(LEGACY_REVISIONS.filter((revision) => schemas.get(revision) !== undefined))('in %s', (revision) => {
  const schema = schemas.get(revision) as Official;

  test('every result is what the official schema of the revision says, and has nothing of later ones', async () => {
    const client = line();
    const greeting = await client.greet(revision);
    expect(greeting['protocolVersion']).toBe(revision);
    expect(schema.problems('InitializeResult', greeting)).toEqual([]);
    for (const [method, params, definition] of REQUESTS) {
      const { result } = await client.ask(method, params);
      expect([method, params, schema.problems(definition, result)]).toEqual([method, params, []]);
      expect(JSON.stringify(result)).not.toMatch(LATER[revision]);
    }
    for (const [method, params] of [
      ['ping', {}],
      ['logging/setLevel', { level: 'debug' }],
      ['resources/subscribe', { uri: 'test://text' }],
      ['resources/unsubscribe', { uri: 'test://text' }],
    ] as const) {
      expect((await client.ask(method, params)).result).toEqual({});
    }
  });

  test('what the server says by itself is, too', async () => {
    const client = line();
    await client.greet(revision, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
    await client.ask('resources/subscribe', { uri: 'test://text' });
    await client.ask('tools/call', { name: 'telling', _meta: { progressToken: 't' } });
    const server = open.at(-1) as Server;
    server.removeTool('list');
    server.resourceUpdated('test://text');
    await client.next('notifications/resources/updated');
    await client.next('notifications/tools/list_changed');
    client.answers.set('elicitation/create', { action: 'accept', content: { name: 'Ada' } });
    client.answers.set('sampling/createMessage', { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' });
    client.answers.set('roots/list', { roots: [{ uri: 'file:///a' }] });
    const ask = async (name: string) => {
      const { result, error } = await client.ask('tools/call', { name });
      return error?.code ?? (result?.['content'] as { text: string }[])[0]?.text;
    };
    expect(await ask('elicit')).toBe(revision < '2025-06-18' ? -32600 : 'accept');
    expect(await ask('visit')).toBe(revision < '2025-11-25' ? -32600 : 'accept');
    expect(await ask('sample')).toBe('m');
    expect(await ask('roots')).toBe('file:///a');
    for (const item of client.news) {
      const definition = NEWS[item.method] as string;
      expect([item.method, schema.problems(definition, item)]).toEqual([item.method, []]);
      expect(schema.problems('JSONRPCMessage', item)).toEqual([]);
    }
  });
});

describe.each(MODERN_REVISIONS.filter((revision) => schemas.get(revision) !== undefined))('in %s', (revision) => {
  const schema = schemas.get(revision) as Official;

  test('every result is what the official schema says', async () => {
    const client = line();
    const all = [['server/discover', {}, 'DiscoverResult'] as const, ...REQUESTS];
    for (const [method, params, definition] of all) {
      const { result } = await client.modern(method, params);
      expect([method, params, schema.problems(definition, result)]).toEqual([method, params, []]);
      expect(schema.problems('ServerResult', result)).toEqual([]);
      expect(result?.['_meta']).toMatchObject({ 'io.modelcontextprotocol/serverInfo': { name: 'full', version: '1.0.0' } });
    }
  });

  test('what it asks, tells and ends with is, too', async () => {
    const client = line();
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    for (const name of ['elicit', 'visit', 'sample', 'roots', 'by-hand']) {
      const { result } = await client.modern('tools/call', { name }, { capabilities });
      expect(result?.['resultType']).toBe('input_required');
      expect([name, schema.problems('InputRequiredResult', result)]).toEqual([name, []]);
    }
    const listening = client.modern(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true, resourceSubscriptions: ['test://text'] } },
      { id: 'listen' },
    );
    await client.next('notifications/subscriptions/acknowledged');
    await client.modern(
      'tools/call',
      { name: 'telling' },
      { meta: { progressToken: 't', 'io.modelcontextprotocol/logLevel': 'debug' } },
    );
    const server = open.at(-1) as Server;
    server.removeTool('list');
    server.resourceUpdated('test://text');
    await client.next('notifications/resources/updated');
    await server.close();
    expect(schema.problems('SubscriptionsListenResult', (await listening).result)).toEqual([]);
    expect(client.news.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/progress',
      'notifications/message',
      'notifications/tools/list_changed',
      'notifications/resources/updated',
    ]);
    for (const item of client.news) {
      expect([item.method, schema.problems(NEWS[item.method] as string, item)]).toEqual([item.method, []]);
    }
  });

  test('every error has the shape the schema gives it', async () => {
    const client = line();
    const version = { 'io.modelcontextprotocol/protocolVersion': 'v999.0.0' };
    const wrong = await client.modern('tools/list', {}, { meta: version });
    expect(schema.problems('UnsupportedProtocolVersionError', wrong)).toEqual([]);
    expect(wrong.error?.data).toEqual({ supported: MODERN_REVISIONS, requested: 'v999.0.0' });
    const incapable = await client.modern('tools/call', { name: 'sample' });
    expect(schema.problems('MissingRequiredClientCapabilityError', incapable)).toEqual([]);
    for (const reply of client.received) expect(schema.problems('JSONRPCMessage', reply)).toEqual([]);
  });
});
