import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { forHuman, forModel, forWire, hold } from './untrusted.ts';

test('what is held comes out by the three exits only', async () => {
  const result = { content: [{ type: 'text' as const, text: 'a\x1b' }] };
  const held = hold(result, { server: 'fake' });
  expect(JSON.stringify(held)).toBe('{"source":{"server":"fake"}}');
  expect(inspect(held, { showHidden: true })).not.toContain('text');
  expect(forWire(held)).toBe(result);
  expect(forHuman(held)).toBe('│ a\\u{1b}');
  expect(await forModel(held)).toEqual([{ type: 'text', text: 'a' }]);
});

test('a text is held and shown like a result', () => {
  expect(forHuman(hold('a\nb', { server: 'fake' }))).toBe('│ a\n│ b');
});
