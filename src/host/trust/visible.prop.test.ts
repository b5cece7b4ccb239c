import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DANGEROUS, nasty } from './fixtures/nasty.ts';
import { gutter, hiddenIn, oneLine, stripHidden, visible } from './visible.ts';

const runs = { numRuns: 2_000 };

test('making text visible twice changes nothing more', () => {
  fc.assert(
    fc.property(nasty, fc.boolean(), (text, multiline) => {
      const once = visible(text, { multiline });
      expect(visible(once, { multiline })).toBe(once);
    }),
    runs,
  );
});

test('visible text holds nothing that a terminal acts on', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      expect(visible(text, { multiline: true })).not.toMatch(DANGEROUS);
      expect(visible(text)).not.toMatch(DANGEROUS);
      expect(visible(text)).not.toMatch(/[\n\t]/);
    }),
    runs,
  );
});

test('a line is one line, as long as allowed at most, and safe', () => {
  fc.assert(
    fc.property(nasty, fc.integer({ min: 1, max: 40 }), (text, most) => {
      const line = oneLine(text, most);
      expect(line.length).toBeLessThanOrEqual(most);
      expect(line).not.toMatch(DANGEROUS);
      expect(line).not.toMatch(/[\n\t]/);
      expect(visible(line)).toBe(line);
    }),
    runs,
  );
});

test('every line in the gutter is behind the bar, and safe', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      const shown = gutter(text);
      expect(shown).not.toMatch(DANGEROUS);
      if (text !== '') for (const line of shown.split('\n')) expect(line.startsWith('│ ')).toBe(true);
    }),
    runs,
  );
});

test('what is stripped for a model holds no control, no direction override, no tag, and is stripped once and for all', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      const stripped = stripHidden(text);
      expect(stripped).not.toMatch(/[^\P{Cc}\n\t\r]|[\u202a-\u202e\u2066-\u2069\u200b\ufeff]|\p{Cs}|[\u{e0000}-\u{e0fff}]/u);
      expect(stripHidden(stripped)).toBe(stripped);
    }),
    runs,
  );
});

test('text in which nothing is found is shown as it is', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      if (hiddenIn(text).length === 0) expect(visible(text, { multiline: true })).toBe(text.replaceAll('\r\n', '\n'));
      else expect(visible(text, { multiline: true })).not.toBe(text);
    }),
    runs,
  );
});
