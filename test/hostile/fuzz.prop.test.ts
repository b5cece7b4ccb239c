// Anything at all, in generated pieces, through every reader of what a server sends. The number of runs and the seed can be set
// from outside, to go on for longer or to repeat what was found.
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isParleyError, RpcError } from '../../src/errors.ts';
import { connect } from '../../src/client/index.ts';
import { forHuman, forModel } from '../../src/host/index.ts';
import { holdToolResult } from '../../src/host/trust/index.ts';
import { parseJson, sort } from '../../src/jsonrpc/index.ts';
import {
  readCallToolResult,
  readGetPromptResult,
  readPrompts,
  readReadResourceResult,
  readResources,
  readTools,
} from '../../src/protocol/index.ts';
import { createScriptedLine } from '../../src/testing/index.ts';
import { EventStreamDecoder } from '../../src/transport/framing/event-stream.ts';
import { createNdjsonDecoder } from '../../src/transport/framing/ndjson.ts';

// As long as was asked for.
vi.setConfig({ testTimeout: 600_000 });

const seed = process.env['PARLEY_FUZZ_SEED'];
const parameters = {
  numRuns: Number(process.env['PARLEY_FUZZ_RUNS'] ?? 100),
  ...(seed !== undefined && { seed: Number(seed) }),
};

const MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'code', 'message', 'data', 'content', 'type', 'text'];
const MORE = [
  'tools',
  'name',
  'inputSchema',
  'nextCursor',
  'structuredContent',
  '__proto__',
  'constructor',
  'then',
  'toString',
  '$ref',
];
const WORDS = [
  '2.0',
  'text',
  'image',
  'resource',
  'object',
  'notifications/progress',
  'ping',
  '\u001b[31m',
  '\u202e',
  '\ud800',
  '',
];

/** JSON that is near to what is expected, and wrong in some place. */
const nearly = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...WORDS),
    fc.oneof(fc.constantFrom(0, 1, -1, 1.5, 2 ** 53, 1e308), fc.integer()),
    fc.constantFrom(null, true, false, [], {}),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...MEMBERS, ...MORE), tie('value'), { maxKeys: 6 }),
  ),
})).value;
const message = fc.record(
  {
    jsonrpc: fc.oneof(fc.constant('2.0'), nearly),
    id: fc.oneof(fc.constantFrom(1, 2, '1', 0, null), nearly),
    method: nearly,
    params: nearly,
    result: nearly,
    error: nearly,
  },
  { requiredKeys: [] },
);
const bytes = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
    message.map((value) => Buffer.from(`${JSON.stringify(value)}\n`)),
    fc
      .constantFrom('data: ', 'event: ', 'id: ', 'retry: 0\n', '\n', '\r\n', '\r', '\n\n', ': x\n', '{', '[', '"', '\\', '\ufeff')
      .map((each) => Buffer.from(each)),
  ),
  { maxLength: 30 },
);

/** Fails for what is no report but an accident. */
function expectReport(error: unknown): void {
  if (!isParleyError(error) || error.code === 'internal') expect(error).toBeInstanceOf(RpcError);
}

/** Calls `act`; whatever it throws is a report. */
function onlyReports(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    expectReport(error);
  }
}

describe('anything at all', () => {
  it('as lines is messages or problems, within small caps', () => {
    fc.assert(
      fc.property(bytes, (chunks) => {
        const excerpts: (string | undefined)[] = [];
        const decoder = createNdjsonDecoder(
          { message: (value) => void sort(value), problem: (problem) => excerpts.push(problem.excerpt) },
          { maxLineBytes: 200, maxJsonDepth: 4, maxJsonValues: 20 },
        );
        for (const chunk of chunks) decoder.push(chunk);
        decoder.end();
        expect(decoder.partial).toBe(false);
        for (const excerpt of excerpts) expect(excerpt?.length ?? 0).toBeLessThanOrEqual(200);
      }),
      parameters,
    );
  });

  it('as an event stream is events, or a report of what went past a cap', () => {
    fc.assert(
      fc.property(bytes, (chunks) => {
        const decoder = new EventStreamDecoder(
          ({ data }) =>
            onlyReports(() => {
              try {
                sort(parseJson(data, { maxJsonDepth: 4 }));
              } catch (error) {
                if (!(error instanceof SyntaxError)) throw error;
              }
            }),
          { maxLineBytes: 200, maxEventBytes: 400 },
        );
        onlyReports(() => {
          for (const chunk of chunks) decoder.push(chunk);
          decoder.end();
        });
      }),
      parameters,
    );
  });

  it('as messages leaves a session that still answers, or has ended with a report', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(message, nearly), { maxLength: 20 }), async (messages) => {
        const line = createScriptedLine();
        const connected = connect({ kind: 'memory', target: 'fuzz', open: async () => line.channel });
        const { id } = (await line.next()) as { id: number };
        const facts = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} };
        line.deliver({ jsonrpc: '2.0', id, result: facts });
        const session = await connected;
        const called = session.callTool('work');
        // It may fail before it is looked at.
        called.catch(() => {});
        // As they would be after JSON.parse: no undefined, no prototypes.
        for (const each of messages) line.deliver(JSON.parse(JSON.stringify(each)));
        const asked = session.ping();
        const sent = line.sent.filter((each): each is typeof each & { id: number } => 'method' in each && 'id' in each);
        for (const each of sent) line.deliver({ jsonrpc: '2.0', id: each.id, result: { ...facts, content: [] } });
        await asked.catch(expectReport);
        await called.catch(expectReport);
        await session.close();
      }),
      parameters,
    );
  });

  it('as pages and results is read or refused, and comes out safe to show', async () => {
    const result = fc.record(
      {
        tools: nearly,
        prompts: nearly,
        resources: nearly,
        contents: nearly,
        messages: nearly,
        content: fc.oneof(fc.array(nearly), nearly),
        structuredContent: nearly,
        isError: nearly,
        nextCursor: nearly,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(result, async (given) => {
        const value = JSON.parse(JSON.stringify(given)) as Record<string, unknown>;
        for (const read of [readTools, readPrompts, readResources, readGetPromptResult, readReadResourceResult])
          onlyReports(() => read(value));
        let called: ReturnType<typeof readCallToolResult> | undefined;
        onlyReports(() => void (called = readCallToolResult(value)));
        if (called === undefined) return;
        const held = await holdToolResult(called, { server: 'fuzz' });
        expect(forHuman(held.value)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069](?<![\n\t])/u);
        for (const part of await forModel(held.value))
          if (part.type === 'text') expect(part.text).not.toMatch(/[\p{Cc}\u202e](?<![\n\t])/u);
      }),
      parameters,
    );
  });

  it('leaves Object.prototype as it was', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
