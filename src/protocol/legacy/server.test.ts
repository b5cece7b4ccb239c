import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { serverDialect } from '../dialect.ts';
import { LEGACY_REVISIONS } from '../revision.ts';
import type { InputRequest } from '../schema/index.ts';
import type { ServerDialect } from '../server-dialect.ts';

const terms = {
  server: {
    name: 'a',
    version: '1',
    title: 'A',
    description: 'D',
    websiteUrl: 'https://example.com',
    icons: [{ src: 'data:,' }],
  },
  caching: { ttlMs: 0, cacheScope: 'private' as const },
};
const dialects = LEGACY_REVISIONS.map((revision) => serverDialect(revision, terms));
const each = <T>(act: (dialect: ServerDialect) => T) => dialects.map((dialect) => act(dialect));

describe('down the revisions, newest first', () => {
  test('a greeting says less and less of the server', () => {
    const capabilities = { completions: {}, logging: {} };
    expect(each((dialect) => Object.keys(dialect.encode('initialize', { capabilities })['serverInfo'] as object).length)).toEqual(
      [6, 3, 2, 2],
    );
    expect(each((dialect) => Object.keys(dialect.encode('initialize', { capabilities })['capabilities'] as object))).toEqual([
      ['completions', 'logging'],
      ['completions', 'logging'],
      ['completions', 'logging'],
      ['logging'],
    ]);
  });

  test('a tool loses icons, then what is structured and titled, then hints; its input schema stays an object schema', () => {
    const tool = {
      name: 't',
      title: 'T',
      description: 'D',
      inputSchema: { type: 'object', properties: { a: true, b: false, c: { type: 'string' } } },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
      icons: [],
    };
    const tools = each((dialect) => (dialect.encode('tools/list', { tools: [tool] })['tools'] as [JsonObject])[0]);
    expect(tools.map((one) => Object.keys(one).sort())).toEqual([
      ['annotations', 'description', 'icons', 'inputSchema', 'name', 'outputSchema', 'title'],
      ['annotations', 'description', 'inputSchema', 'name', 'outputSchema', 'title'],
      ['annotations', 'description', 'inputSchema', 'name'],
      ['description', 'inputSchema', 'name'],
    ]);
    for (const one of tools) {
      expect(one['inputSchema']).toEqual({ type: 'object', properties: { a: {}, b: { not: {} }, c: { type: 'string' } } });
    }
  });

  test('structured content that is no object is left to the text', () => {
    const content = [{ type: 'text', text: '[1]' }];
    for (const structuredContent of [[1], 'x', null, 7]) {
      for (const result of each((dialect) => dialect.encode('tools/call', { content, structuredContent }))) {
        expect(result).toEqual({ content });
      }
    }
    expect(each((dialect) => 'structuredContent' in dialect.encode('tools/call', { content, structuredContent: {} }))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('content without a block of its own is carried by another, with what is shared kept', () => {
    const annotations = { priority: 1 };
    const content = [
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav', annotations },
      { type: 'resource_link', uri: 'a:b', name: 'n', description: 'D', annotations },
      { type: 'hologram', depth: 3 },
    ];
    expect(
      each((dialect) => (dialect.encode('tools/call', { content })['content'] as JsonObject[]).map(({ type }) => type)),
    ).toEqual([
      ['audio', 'resource_link', 'text'],
      ['audio', 'resource_link', 'text'],
      ['audio', 'text', 'text'],
      ['resource', 'text', 'text'],
    ]);
    expect(dialects.at(-1)?.encode('tools/call', { content })['content']).toEqual([
      { type: 'resource', resource: { uri: 'attachment:audio', mimeType: 'audio/wav', blob: 'aGk=' }, annotations },
      { type: 'text', text: 'n: a:b\nD', annotations },
      { type: 'text', text: '{"type":"hologram","depth":3}' },
    ]);
  });

  test('progress has a message from the second revision on', () => {
    const params = { progressToken: 1, progress: 1, message: 'm' };
    expect(each((dialect) => 'message' in dialect.inform('notifications/progress', params))).toEqual([true, true, true, false]);
  });

  test('what belongs to the modern era never goes down', () => {
    for (const result of each((dialect) =>
      dialect.encode('resources/read', { contents: [], ttlMs: 1, cacheScope: 'public', resultType: 'complete' }),
    )) {
      expect(result).toEqual({ contents: [] });
    }
  });
});

describe('a question', () => {
  const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
  const asked = (request: InputRequest) =>
    each((dialect) => {
      try {
        return dialect.ask(request, all).params;
      } catch (error) {
        return (error as { code: number }).code;
      }
    });
  const form = (properties: JsonObject): InputRequest => ({
    method: 'elicitation/create',
    params: { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties } },
  });

  test('by form names its mode in the newest, has titled choices the older way in the one before, and none earlier', () => {
    const field = { type: 'string', oneOf: [{ const: 'a', title: 'A' }], default: 'a' };
    expect(asked(form({ field }))).toEqual([
      form({ field }).params,
      {
        message: 'm',
        requestedSchema: {
          type: 'object',
          properties: { field: { type: 'string', enum: ['a'], enumNames: ['A'], default: 'a' } },
        },
      },
      -32600,
      -32600,
    ]);
  });

  test('with a choice of several values, or by URL, is for the newest alone', () => {
    const several = form({ several: { type: 'array', items: { type: 'string', enum: ['a'] } } });
    const url = { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a.b', elicitationId: 'e' } };
    for (const request of [several, url]) expect(asked(request)).toEqual([request.params, -32600, -32600, -32600]);
  });

  test('to a model has one block a message before the newest, and no tools', () => {
    const text = { type: 'text', text: 'hi' };
    const sample = (content: unknown, more: JsonObject = {}): InputRequest => ({
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content }], maxTokens: 1, ...more },
    });
    expect(asked(sample([text])).slice(1)).toEqual([sample(text).params, sample(text).params, sample(text).params]);
    expect(asked(sample([text, text])).slice(1)).toEqual([-32600, -32600, -32600]);
    expect(asked(sample({ type: 'audio', data: '', mimeType: 'audio/wav' })).slice(2)).toEqual([
      sample({ type: 'audio', data: '', mimeType: 'audio/wav' }).params,
      -32600,
    ]);
    expect(asked(sample(text, { tools: [] })).map((one) => typeof one)).toEqual(['object', 'number', 'number', 'number']);
  });
});
