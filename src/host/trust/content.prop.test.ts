import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallToolResult } from '../../protocol/index.ts';
import { contentForHuman } from './content-human.ts';
import { contentForModel } from './content-text.ts';
import { DANGEROUS, nasty } from './fixtures/nasty.ts';

const audience = fc.option(
  fc.array(fc.constantFrom('user', 'assistant'), { maxLength: 2 }).map((names) => ({ audience: names })),
  { nil: undefined },
);

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: nasty, annotations: audience }),
  fc.record({ type: fc.constantFrom('image', 'audio'), data: nasty, mimeType: nasty, annotations: audience }),
  fc.record({ type: fc.constant('resource_link'), uri: nasty, name: nasty }),
  fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: nasty, mimeType: nasty, text: nasty }) }),
  fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: nasty, blob: nasty }) }),
  fc.record({ type: nasty, text: nasty }),
  fc.constantFrom(
    {},
    { type: 'text' },
    { type: 'resource' },
    { type: 'resource', resource: null },
    { type: 7 },
    { type: 'image', data: 1 },
  ),
);

const results = fc.record({
  content: fc.array(block, { maxLength: 6 }),
  structuredContent: nasty,
}) as unknown as fc.Arbitrary<CallToolResult>;

test('whatever a server sends, a terminal gets nothing to act on, and no server has the first column', () => {
  fc.assert(
    fc.property(results, (result) => {
      const shown = contentForHuman(result);
      expect(shown).not.toMatch(DANGEROUS);
      for (const line of shown.split('\n')) expect(line).toMatch(/^(│ |\((for you|meant|no content|\d+ (more|long)))/);
    }),
    { numRuns: 1_000 },
  );
});

test('a preview never grows past its limits, and says when it was cut', () => {
  fc.assert(
    fc.property(results, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 30 }), (result, lines, lineCharacters) => {
      const shown = contentForHuman(result, { lines, lineCharacters }).split('\n');
      const notes = shown.filter((line) => /^\(\d+ (more|long)/.test(line));
      expect(shown.length - notes.length).toBeLessThanOrEqual(lines);
      for (const line of shown) {
        if (line.startsWith('│ ')) expect(line.length).toBeLessThanOrEqual(lineCharacters + 12);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('whatever a server sends, a model gets text without hidden characters and within the limit', async () => {
  await fc.assert(
    fc.asyncProperty(results, fc.integer({ min: 0, max: 200 }), async (result, modelText) => {
      const parts = await contentForModel(result, { limits: { modelText } });
      expect(parts.length).toBeGreaterThan(0);
      const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
      for (const text of texts) expect(text).not.toMatch(/[^\P{Cc}\n\t\r]|[\u202a-\u202e]|\p{Cs}|[\u{e0000}-\u{e0fff}]/u);
      expect(Buffer.byteLength(texts.join(''))).toBeLessThanOrEqual(modelText + 100);
    }),
    { numRuns: 1_000 },
  );
});
