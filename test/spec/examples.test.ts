// Every sample message that the specification of 2026-07-28 publishes, through the readers that real messages go through:
// nothing of it is lost, and neither are members that nobody knows yet.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerInput } from '../../src/client/index.ts';
import { isObject, sort, type JsonObject } from '../../src/jsonrpc/index.ts';
import {
  clientDialect,
  judge,
  readCallToolResult,
  readCompleteResult,
  readGetPromptResult,
  readPrompts,
  readReadResourceResult,
  readResources,
  readResourceTemplates,
  readTools,
} from '../../src/protocol/index.ts';

const folder = new URL('../../../shared/spec/2026-07-28/examples/', import.meta.url);
const present = existsSync(folder);
if (!present) process.stdout.write('The specification’s samples are not beside the project: they are not read.\n');

interface Sample {
  readonly type: string;
  readonly name: string;
  readonly value: JsonObject;
}

const samples: Sample[] = !present
  ? []
  : readdirSync(folder).flatMap((type) =>
      readdirSync(new URL(`${type}/`, folder)).map((name) => ({
        type,
        name,
        value: JSON.parse(readFileSync(new URL(`${type}/${name}`, folder), 'utf8')) as JsonObject,
      })),
    );

const dialect = clientDialect('2026-07-28', { client: { name: 'test', version: '1' }, capabilities: {} });

/** A reader of whole lists as a reader of results: the same result with the entries that it made. */
const list =
  (member: string, read: typeof readTools | typeof readPrompts | typeof readResources | typeof readResourceTemplates) =>
  (result: JsonObject): JsonObject => {
    const { items, rejected, nextCursor } = read(result);
    expect(rejected).toEqual([]);
    expect(nextCursor).toBe(result['nextCursor']);
    return { ...result, [member]: items };
  };

/** What reads results of each kind. */
const READERS: Readonly<Record<string, (result: JsonObject) => unknown>> = {
  CallToolResult: readCallToolResult,
  CompleteResult: readCompleteResult,
  GetPromptResult: readGetPromptResult,
  ReadResourceResult: readReadResourceResult,
  ListToolsResult: list('tools', readTools),
  ListPromptsResult: list('prompts', readPrompts),
  ListResourcesResult: list('resources', readResources),
  ListResourceTemplatesResult: list('resourceTemplates', readResourceTemplates),
};

/** Definitions that are entries of lists, or blocks of content: each read as the only one. */
const ENTRIES: Readonly<Record<string, (value: JsonObject) => unknown>> = {
  Tool: (value) => readTools({ tools: [value] }).items[0],
  Resource: (value) => readResources({ resources: [value] }).items[0],
  ...Object.fromEntries(
    ['TextContent', 'ImageContent', 'AudioContent', 'ResourceLink', 'EmbeddedResource'].map((type) => [
      type,
      (value: JsonObject) => readCallToolResult({ content: [value] }).content[0],
    ]),
  ),
  ...Object.fromEntries(
    ['TextResourceContents', 'BlobResourceContents'].map((type) => [
      type,
      (value: JsonObject) => readReadResourceResult({ contents: [value] }).contents[0],
    ]),
  ),
};

/** Members that no revision knows, at any depth of what may be extended. */
const unknownMembers = fc.dictionary(
  fc.stringMatching(/^[a-z.]{1,8}\/[a-z]{1,8}$/),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  { minKeys: 1, maxKeys: 3 },
);

describe.skipIf(!present)('the samples', () => {
  test('are there in all the kinds that are read here', () => {
    const types = new Set(samples.map(({ type }) => type));
    for (const type of [...Object.keys(READERS), ...Object.keys(ENTRIES)]) expect(types).toContain(type);
    expect(samples.length).toBeGreaterThanOrEqual(88);
  });

  const messages = samples.filter(({ value }) => value['jsonrpc'] === '2.0');

  test.each(messages)('$type/$name is one whole message', ({ type, value }) => {
    const incoming = sort(value);
    const kind = type.endsWith('Notification')
      ? 'notification'
      : type.endsWith('Request')
        ? 'request'
        : 'error' in value
          ? 'failure'
          : 'success';
    expect(incoming.kind).toBe(kind);
    expect('message' in incoming && incoming.message).toEqual(value);
  });

  test('that carry JSON-RPC are sorted with whatever else they hold', () => {
    fc.assert(
      fc.property(fc.constantFrom(...messages), unknownMembers, ({ value }, more) => {
        const extended = { ...more, ...value };
        const incoming = sort(extended);
        expect('message' in incoming && incoming.message).toEqual(extended);
      }),
    );
  });

  const results = samples.flatMap(({ type, name, value }) => {
    const of = type.replace(/Response$/, '');
    const result = type === of ? value : value['result'];
    return Object.hasOwn(READERS, of) && isObject(result) ? [{ type, name, of, result }] : [];
  });

  test.each(results)('$type/$name is read without loss', ({ of, result }) => {
    expect(dialect.decode('tools/call', result)).toEqual({ type: 'complete', result });
    expect(READERS[of]?.(result)).toEqual(result);
  });

  test('that are results keep what nobody knows', () => {
    fc.assert(
      fc.property(fc.constantFrom(...results), unknownMembers, ({ of, result }, more) => {
        const meta = isObject(result['_meta']) ? result['_meta'] : {};
        const extended = { ...more, ...result, _meta: { ...more, ...meta } };
        expect(READERS[of]?.(extended)).toEqual(extended);
      }),
    );
  });

  const entries = samples.filter(({ type }) => Object.hasOwn(ENTRIES, type));

  test.each(entries)('$type/$name is read without loss', ({ type, value }) => {
    expect(ENTRIES[type]?.(value)).toEqual(value);
  });

  test('that are entries or blocks keep what nobody knows', () => {
    fc.assert(
      fc.property(fc.constantFrom(...entries), unknownMembers, ({ type, value }, more) => {
        const extended = { ...more, ...value };
        expect(ENTRIES[type]?.(extended)).toEqual(extended);
      }),
    );
  });

  test.each(samples.filter(({ type }) => type === 'InputRequiredResult'))('$type/$name asks for what it asks', ({ value }) => {
    const decoded = dialect.decode('tools/call', value);
    if (decoded.type !== 'input') throw new Error(`It was read as ${decoded.type}.`);
    expect(decoded.state).toBe(value['requestState']);
    expect(Object.fromEntries(decoded.requests)).toEqual(value['inputRequests'] ?? {});
  });

  test.each(samples.filter(({ type }) => type === 'InputRequests'))('$type/$name come out under their keys', ({ value }) => {
    const decoded = dialect.decode('tools/call', { resultType: 'input_required', inputRequests: value });
    expect(decoded.type === 'input' && Object.fromEntries(decoded.requests)).toEqual(value);
  });

  const ASKED: Readonly<Record<string, string>> = {
    ElicitRequestFormParams: 'elicitation/create',
    ElicitRequestURLParams: 'elicitation/create',
    CreateMessageRequestParams: 'sampling/createMessage',
  };

  test.each(samples.filter(({ type }) => Object.hasOwn(ASKED, type)))(
    '$type/$name reaches its handler as it is',
    async ({ type, value }) => {
      const seen: unknown[] = [];
      const see = (params: unknown) => {
        seen.push(params);
        return Promise.reject(new Error('seen'));
      };
      const request = { method: ASKED[type] as string, params: value };
      const answer = answerInput(
        request,
        { elicitForm: see, elicitUrl: see, sample: see },
        { signal: new AbortController().signal },
      );
      // Sampling with tools is not declared (client/sampling, “Tools in Sampling”).
      const refused = JSON.stringify(value).includes('"tool_result"') || 'tools' in value;
      await expect(answer).rejects.toMatchObject(refused ? { code: -32602 } : { message: 'seen' });
      expect(seen).toEqual(refused ? [] : [value]);
    },
  );

  test.each(samples.filter(({ type }) => type === 'InputResponses'))('$type/$name go out as they are', ({ value }) => {
    const responses = new Map(Object.entries(value) as [string, JsonObject][]);
    expect(dialect.encode({ name: 'x' }, { answers: { responses, state: 's' } })).toMatchObject({
      inputResponses: value,
      requestState: 's',
    });
  });

  test.each(samples.filter(({ type }) => /^(Discover|Server)/.test(type) && !type.endsWith('Request')))(
    '$type/$name is what the server is known by',
    ({ type, value }) => {
      const result =
        type === 'ServerCapabilities'
          ? { supportedVersions: ['2026-07-28'], capabilities: value }
          : ((type === 'DiscoverResult' ? value : value['result']) as JsonObject);
      const verdict = judge({ type: 'result', result }, '2026-07-28', 'first');
      if (verdict.type !== 'modern') throw new Error(`It was judged ${verdict.type}.`);
      expect(verdict.facts.capabilities).toEqual(result['capabilities']);
      expect(verdict.facts.instructions).toBe(result['instructions']);
    },
  );

  test.each(samples.filter(({ type }) => type === 'ClientCapabilities'))('$type/$name is said in each request', ({ value }) => {
    const own = clientDialect('2026-07-28', { client: { name: 'test', version: '1' }, capabilities: value });
    expect(own.encode({}, {})).toMatchObject({ _meta: { 'io.modelcontextprotocol/clientCapabilities': value } });
  });
});
