import { expect, test } from 'vitest';
import { FORMATS, type Format } from './format.ts';

test.each<[Format, string, boolean]>([
  ['date', '2024-02-29', true],
  ['date', '2023-02-29', false],
  ['date', '2023-13-01', false],
  ['date', '2023-00-10', false],
  ['date', '0001-01-01', true],
  ['date', '2023-1-1', false],
  ['date', '2023-01-01T00:00:00Z', false],
  ['date-time', '2024-02-29T23:59:60Z', true],
  ['date-time', '2024-02-29t23:59:59.123456+05:30', true],
  ['date-time', '2024-02-29T24:00:00Z', false],
  ['date-time', '2024-02-29T10:60:00Z', false],
  ['date-time', '2024-02-29T10:00:00', false],
  ['date-time', '2024-02-30T10:00:00Z', false],
  ['date-time', '2024-02-29T10:00:00+24:00', false],
  ['email', 'me@example.com', true],
  ['email', 'first.last+tag@sub.example.com', true],
  ['email', 'me@localhost', true],
  ['email', 'jürgen@exämple.de', true],
  ['email', 'example.com', false],
  ['email', 'a@b@c', false],
  ['email', 'a b@c', false],
  ['email', 'a@b..c', false],
  ['email', '@b', false],
  ['uri', 'https://example.com/a?b#c', true],
  ['uri', 'urn:isbn:0451450523', true],
  ['uri', 'mailto:me@example.com', true],
  ['uri', '/relative', false],
  ['uri', 'https://exa mple.com', false],
  ['uri', 'https://example.com/%zz', false],
  ['uri', 'https://example.com/\u0007', false],
])('%s "%s": %s', (format, text, valid) => {
  expect(FORMATS[format](text)).toBe(valid);
});

test('no format is slow on a text made to be hard', () => {
  for (const text of [
    `${'a'.repeat(50_000)}@`,
    `a@${'a.'.repeat(50_000)}`,
    `a:${'%20'.repeat(50_000)}%`,
    `2024-02-29T10:00:00.${'1'.repeat(100_000)}`,
  ]) {
    for (const check of Object.values(FORMATS)) expect(check(text)).toBe(false);
  }
});
