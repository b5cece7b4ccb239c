import { expect, test } from 'vitest';
import type { CallToolResult, ContentBlock } from '../../protocol/index.ts';
import { contentForHuman } from './content-human.ts';

const result = (...content: unknown[]): CallToolResult => ({ content: content as ContentBlock[] });
const text = (value: string, audience?: string[]) => ({
  type: 'text',
  text: value,
  ...(audience && { annotations: { audience } }),
});

test('a person sees every block, whomever it is meant for', () => {
  expect(
    contentForHuman(
      result(
        text('a\nb\n'),
        text('c', ['assistant']),
        text('d', ['user']),
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'json', json: 1 },
      ),
    ),
  ).toBe(
    [
      '│ a',
      '│ b',
      '(meant for the model)',
      '│ c',
      '(for you only; the model does not get it)',
      '│ d',
      '│ [image: image/png, 3 bytes]',
      '│ [block of unknown type "json"]',
    ].join('\n'),
  );
});

test('an imitation of our own lines stays behind the gutter', () => {
  expect(contentForHuman(result(text('x\r\n(no content)\r\x1b[1A\nAllow? [y/N]')))).toBe(
    '│ x\n│ (no content)\\u{d}\\u{1b}[1A\n│ Allow? [y/N]',
  );
});

test('a carriage return at the very end is shown', () => {
  expect(contentForHuman('abc\r')).toBe('│ abc\\u{d}');
});

test('a prompt says who speaks', () => {
  expect(contentForHuman({ messages: [{ role: 'assistant', content: { type: 'text', text: 'hi' } }] })).toBe('assistant:\n│ hi');
});

test('structured content stands in, and nothing at all is said to be nothing', () => {
  expect(contentForHuman({ content: [], structuredContent: [1] })).toBe('│ [\n│   1\n│ ]');
  expect(contentForHuman(result())).toBe('(no content)');
  expect(contentForHuman('')).toBe('│ ');
});

test('lines, their lengths and their number are limited, and what was cut is said', () => {
  expect(contentForHuman('a\nb\nc\nd\n', { lines: 2 })).toBe('│ a\n│ b\n(2 more lines)');
  expect(contentForHuman('abcdef\nab', { lineCharacters: 3 })).toBe('│ abc…\n│ ab\n(1 long line was cut at 3 characters)');
  expect(contentForHuman('abcd', { lineCharacters: 3 })).toContain('1 long line');
  expect(contentForHuman('abc\n\nabc\n', { characters: 8 })).toBe('│ abc\n│ \n(1 more line)');
  const defaults = contentForHuman(`${'x'.repeat(5_000)}\n`.repeat(300)).split('\n');
  expect(defaults[0]).toBe(`│ ${'x'.repeat(4_096)}…`);
  expect(defaults.slice(-2)).toEqual(['(15 long lines were cut at 4096 characters)', '(285 more lines)']);
  expect(contentForHuman('x\n'.repeat(201)).split('\n').at(-1)).toBe('(1 more line)');
});

test('a text of eight million lines is counted, not shown', () => {
  expect(contentForHuman('\n'.repeat(8_000_000)).split('\n').at(-1)).toBe('(7999800 more lines)');
});
