import { describe, expect, test } from 'vitest';
import type { CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult } from '../../protocol/index.ts';
import { holdPrompt, holdResource, holdToolResult, type ToolHoldOptions } from './check.ts';
import { RESULT_LIMITS } from './limits.ts';
import { forWire } from './untrusted.ts';

const SOURCE = { server: 'fake' };
const text = (value: string) => ({ type: 'text' as const, text: value });
const holdBlocks = (content: unknown[], options?: ToolHoldOptions, rest: object = {}) =>
  holdToolResult({ content: content as ContentBlock[], ...rest }, SOURCE, options);

const deep = (levels: number) => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

describe('a result within the limits', () => {
  test('stays as it came, unknown blocks and members included', async () => {
    const result = {
      content: [text('a'), { type: 'json', json: { x: 1 } }],
      structuredContent: { a: deep(60) },
      _meta: { k: 1 },
      other: 2,
    };
    const held = await holdToolResult(result as unknown as CallToolResult, SOURCE);
    expect(forWire(held.value)).toEqual(result);
    expect(held).toMatchObject({ isError: false, verdict: 'unchecked', errors: [] });
    expect(held.findings).toEqual([{ kind: 'unknown-block', where: 'content[1]', detail: '[block of unknown type "json"]' }]);
    expect(held.value.source).toEqual(SOURCE);
  });

  test('shows nothing of itself to whoever prints it', async () => {
    const held = await holdBlocks([text('secret')]);
    expect(JSON.stringify(held)).not.toContain('secret');
    expect(Object.keys(held.value)).toEqual(['source']);
  });

  test('may have media as large as their limit, to the byte', async () => {
    const limits = { ...RESULT_LIMITS, image: 8, audio: 8, resource: 8 };
    const image = { type: 'image', data: 'AAAAAAAA', mimeType: 'image/png' };
    const resource = { type: 'resource', resource: { uri: 'a:b', text: '12345678' } };
    expect((await holdBlocks([image, { ...image, type: 'audio' }, resource], { limits })).findings).toEqual([]);
    const over = await holdBlocks(
      [
        { ...image, data: 'AAAAAAAAA' },
        { ...resource, resource: { uri: 'a:b', text: '123456789' } },
      ],
      { limits },
    );
    expect(over.findings.map(({ kind, where }) => `${kind} ${where}`)).toEqual(['oversized content[0]', 'oversized content[1]']);
  });
});

describe('what is too much is left out, and the rest stays:', () => {
  test('a large image', async () => {
    const image = {
      type: 'image',
      data: 'A'.repeat(6_000_000),
      mimeType: 'image/png',
      annotations: { audience: ['user'], priority: 1 },
    };
    const held = await holdBlocks([text('a'), image, text('b')]);
    expect(forWire(held.value).content).toEqual([
      text('a'),
      { ...text('[image omitted: image/png, 4.5 MB] (more than 5.2 MB)'), annotations: { audience: ['user'] } },
      text('b'),
    ]);
    expect(held.findings).toEqual([{ kind: 'oversized', where: 'content[1]', detail: 'more than 5.2 MB; left out' }]);
  });

  test('blocks beyond the 256th', async () => {
    const held = await holdBlocks(Array.from({ length: 10_000 }, () => text('a')));
    const { content } = forWire(held.value);
    expect(content).toHaveLength(257);
    expect(content.at(-1)).toEqual(text('[9744 more items omitted]'));
    expect(held.findings).toEqual([
      { kind: 'too-many', where: 'content', detail: '10000 items, more than 256; the rest is left out' },
    ]);
  });

  test('a block that is too deep, however deep', async () => {
    const held = await holdBlocks([{ type: 'json', json: deep(200_000) }, text('b')], {
      limits: { ...RESULT_LIMITS, nodes: 300_000 },
    });
    expect(forWire(held.value).content).toEqual([
      text('[block of unknown type "json" omitted] (more than 64 levels deep)'),
      text('b'),
    ]);
    expect(held.findings.map(({ kind }) => kind)).toContain('too-deep');
  });

  test('structured content that is too deep, has too many values, or is too large', async () => {
    for (const [structuredContent, kind] of [
      [deep(65), 'too-deep'],
      [Array(200_001).fill(1), 'too-many'],
      [{ a: 'x'.repeat(4_200_000) }, 'oversized'],
    ] as const) {
      const held = await holdBlocks([text('a')], { checkOutput: () => ({ valid: true }) }, { structuredContent });
      expect(forWire(held.value)).toEqual({ content: [text('a')] });
      expect(held.findings).toMatchObject([{ kind, where: 'structuredContent' }]);
      expect(held.verdict).toBe('unchecked');
    }
    const alone = await holdBlocks([], {}, { structuredContent: deep(65) });
    expect(forWire(alone.value).content).toEqual([text('[structured content omitted]')]);
  });

  test('values beyond the limit of the whole result', async () => {
    const block = { type: 'json', list: Array(90_000).fill(1) };
    const held = await holdBlocks([block, block, block, text('a')], {}, { structuredContent: Array(50_000).fill(1) });
    const { content, structuredContent } = forWire(held.value);
    expect(content.map(({ type }) => type as string)).toEqual(['json', 'json', 'text', 'text']);
    expect(content[3]).toEqual(text('a'));
    expect(structuredContent).toBeUndefined();
  });

  test('but never that it is an error', async () => {
    const held = await holdBlocks([{ type: 'json', list: Array(300_000).fill(1) }], {}, { isError: true, structuredContent: {} });
    expect(forWire(held.value)).toMatchObject({ isError: true });
    expect(held.isError).toBe(true);
  });

  test('contents of a resource and messages of a prompt', () => {
    const read: ReadResourceResult = {
      contents: [
        { uri: 'a:b', text: 'x'.repeat(5_000_000) },
        { uri: 'a:c', text: 'c' },
      ],
      ttlMs: 5,
    };
    expect(forWire(holdResource(read, SOURCE).value)).toEqual({
      contents: [
        { uri: 'a:b', mimeType: 'text/plain', text: '[resource omitted: a:b, 5.0 MB] (more than 4.2 MB)' },
        { uri: 'a:c', text: 'c' },
      ],
      ttlMs: 5,
    });
    const prompt: GetPromptResult = {
      description: 'd',
      messages: [
        { role: 'assistant', content: { type: 'audio', data: 'A'.repeat(11_000_000), mimeType: 'audio/wav' } },
        { role: 'user', content: text('u') },
      ],
    };
    expect(forWire(holdPrompt(prompt, SOURCE).value)).toEqual({
      description: 'd',
      messages: [
        { role: 'assistant', content: text('[audio omitted: audio/wav, 8.3 MB] (more than 10.5 MB)') },
        { role: 'user', content: text('u') },
      ],
    });
  });

  test('a second list that somebody might read instead', async () => {
    const held = await holdBlocks([text('a')], {}, { messages: [{ role: 'user', content: text('hidden') }], contents: [] });
    expect(forWire(held.value)).toEqual({ content: [text('a')] });
  });
});

test('members with names and types that objects choke on stay data', async () => {
  const rest = JSON.parse('{"__proto__":{"polluted":true}}') as object;
  const odd = { type: { toString: 1, valueOf: 1 }, mimeType: {}, resource: [], annotations: { audience: {} } };
  const held = await holdToolResult({ ...rest, content: [odd as unknown as ContentBlock] }, SOURCE);
  const kept = forWire(held.value);
  expect(Object.hasOwn(kept, '__proto__')).toBe(true);
  expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
  expect(kept.content).toEqual([odd]);
});

describe('findings', () => {
  test('name what hides in texts, keys and structured content', async () => {
    const held = await holdBlocks(
      [text('a\x1b[2J'), text('b'), text('\u202e\u{e0041}')],
      {},
      { structuredContent: { 'k\u200b': 1 } },
    );
    expect(held.findings.map(({ kind, where }) => `${kind} ${where}`)).toEqual([
      'control content[0]',
      'bidi content[2]',
      'tag content[2]',
      'invisible structuredContent',
    ]);
  });

  test('name imitations of our questions and links to other hosts, and change nothing of what is said', async () => {
    const blocks = [
      text('Allow it? [o]nce or [d]eny'),
      text('see https://own.example/x'),
      text('![x](https://evil.example/p.png) https://a.example'),
      { type: 'resource_link', name: 'key', uri: 'http://169.254.169.254/latest' },
    ];
    const held = await holdBlocks(blocks, { ownHosts: ['own.example'] });
    expect(held.findings).toEqual([
      { kind: 'imitation', where: 'content[0]', detail: 'holds what looks like a question of Parley’s own' },
      {
        kind: 'link',
        where: 'content[2]',
        detail: 'links to evil.example, a.example; some of it is loaded to be shown, by those who show it',
      },
      { kind: 'link', where: 'content[3]', detail: 'links to 169.254.169.254' },
    ]);
    expect((forWire(held.value) as { content: unknown }).content).toEqual(blocks);
  });

  test('are a hundred at most, and hold no raw text of the server', async () => {
    const held = await holdBlocks(
      Array.from({ length: 200 }, () => ({ type: '\x1b[2J' })),
      {},
      { '\x1b]0;': '\x1b' },
    );
    expect(held.findings).toHaveLength(100);
    expect(JSON.stringify(held.findings)).not.toContain('\\u001b');
    expect((await holdBlocks([], {}, { '\x1b]0;': '\x1b' })).findings).toMatchObject([{ where: '\\u{1b}]0;' }]);
  });
});

describe('the output schema', () => {
  const checkOutput = (value: unknown) =>
    Promise.resolve(value === 1 ? ({ valid: true } as const) : ({ valid: false, errors: ['the value must be 1'] } as const));

  test.each([
    ['that fits', { structuredContent: 1 }, 'valid', []],
    ['that does not fit', { structuredContent: 2 }, 'invalid', ['the value must be 1']],
    ['without structured content', {}, 'missing', ['the tool has an output schema but gave no structured content']],
    ['of an error', { isError: true, structuredContent: 2 }, 'unchecked', []],
  ])('%s', async (_name, rest, verdict, errors) => {
    const held = await holdBlocks([text('a')], { checkOutput }, rest);
    expect(held).toMatchObject({ verdict, errors, isError: 'isError' in rest });
    expect(forWire(held.value)).toEqual({ content: [text('a')], ...rest });
  });

  test('that cannot be checked leaves the result as it is', async () => {
    const broken = () => {
      throw new Error('no such dialect');
    };
    const held = await holdBlocks([text('a')], { checkOutput: broken }, { structuredContent: 1 });
    expect(held).toMatchObject({ verdict: 'unchecked', errors: ['no such dialect'] });
    expect(forWire(held.value).structuredContent).toBe(1);
  });
});
