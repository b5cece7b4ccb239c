import { describe, expect, it } from 'vitest';
import {
  freshFor,
  readCallToolResult,
  readCompleteResult,
  readGetPromptResult,
  readPrompts,
  readResources,
  readTools,
} from './read.ts';

const good = { name: 'good', inputSchema: { type: 'object' }, future: { kept: true } };

describe('reading lists', () => {
  it('keeps good tools and names the bad ones', () => {
    const page = readTools({
      tools: [
        good,
        { name: 42, inputSchema: {} },
        { name: 'no-schema' },
        { name: 'array-output', inputSchema: {}, outputSchema: [] },
        null,
        'tool',
      ],
    });
    expect(page.items).toEqual([good]);
    expect(page.rejected.map(({ name }) => name)).toEqual(['(unnamed)', 'no-schema', 'array-output', '(unnamed)', '(unnamed)']);
  });

  it('drops a member of the wrong type and keeps the tool', () => {
    const page = readTools({ tools: [{ ...good, description: null, annotations: 'x', title: 3 }] });
    expect(page.items).toEqual([good]);
  });

  it('takes the URI as the name of a nameless resource', () => {
    expect(readResources({ resources: [{ uri: 'a:b' }, { name: 'x' }] })).toMatchObject({
      items: [{ uri: 'a:b', name: 'a:b' }],
      rejected: [{ name: 'x' }],
    });
  });

  it('refuses prompts whose arguments have no names', () => {
    expect(readPrompts({ prompts: [{ name: 'p', arguments: [{}] }] }).rejected).toHaveLength(1);
  });

  it.each([
    [{ tools: [] }, undefined],
    [{ tools: [], nextCursor: null }, undefined],
    [{ tools: [], nextCursor: '' }, ''],
    [{ tools: [], nextCursor: 'x' }, 'x'],
  ])('reads the cursor of %j', (result, cursor) => {
    expect(readTools(result).nextCursor).toBe(cursor);
  });

  it.each([{}, { tools: {} }, { tools: [], nextCursor: 5 }])('refuses %j as a whole', (result) => {
    expect(() => readTools(result)).toThrow(expect.objectContaining({ code: 'protocol-violation' }));
  });
});

describe('reading results', () => {
  it('keeps blocks of unknown kinds as they came', () => {
    const content = [
      { type: 'json', value: { a: 1 } },
      { type: 'text', text: 'x' },
    ];
    expect(readCallToolResult({ content }).content).toEqual(content);
  });

  it('takes structured content alone for an empty content', () => {
    expect(readCallToolResult({ structuredContent: { a: 1 } })).toEqual({ structuredContent: { a: 1 }, content: [] });
  });

  it.each([{}, { content: 'text' }])('refuses the tool result %j', (result) => {
    expect(() => readCallToolResult(result)).toThrow(expect.objectContaining({ code: 'protocol-violation' }));
  });

  it('keeps the whole messages of a prompt', () => {
    const whole = { role: 'user', content: { type: 'text', text: 'x' } };
    expect(readGetPromptResult({ messages: [whole, { role: 'user' }, 7] }).messages).toEqual([whole]);
  });

  it('cuts a completion at 100 values and drops what is no text', () => {
    const values = [...Array.from({ length: 150 }, (_, index) => String(index)), 7];
    expect(readCompleteResult({ completion: { values } }).completion.values).toHaveLength(100);
  });

  it.each([
    [5_000, 5_000],
    [-1, 0],
    [undefined, 0],
    ['5', 0],
    [Infinity, 86_400_000],
    [10 ** 12, 86_400_000],
  ])('reads ttlMs %s as %i ms', (ttlMs, fresh) => {
    expect(freshFor({ ttlMs })).toBe(fresh);
  });
});
