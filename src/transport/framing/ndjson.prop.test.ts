import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Message } from '../../jsonrpc/index.ts';
import { createNdjsonDecoder, encodeLine } from './ndjson.ts';

const message = fc.record({
  jsonrpc: fc.constant('2.0' as const),
  id: fc.oneof(fc.integer(), fc.string({ unit: 'binary' })),
  result: fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: 'binary' })),
});

/** A stray line that is surely no message, and has no newline in it. */
const noise = fc
  .string({ unit: 'binary' })
  .map((text) => `#${text.replaceAll(/[\n\ud800-\udfff]/g, '')}`)
  .filter((text) => text.length < 1_000);

/** `bytes` cut at the places that `cuts` names. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

function decode(chunks: readonly Buffer[]) {
  const seen: unknown[] = [];
  const decoder = createNdjsonDecoder({ message: (value) => seen.push(value), problem: ({ kind }) => seen.push(kind) });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { seen, lines: decoder.lines };
}

test('messages survive any chunking, in order, with any line ends and noise between them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(message, noise), { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.array(fc.nat(), { maxLength: 20 }),
      (items, lineEnd, cuts) => {
        const text = items
          .map((item) => (typeof item === 'string' ? item : encodeLine(item as Message).trimEnd()) + lineEnd)
          .join('');
        const { seen } = decode(pieces(Buffer.from(text), cuts));
        expect(seen).toEqual(
          items.map((item) => (typeof item === 'string' ? 'noise' : (JSON.parse(JSON.stringify(item)) as unknown))),
        );
      },
    ),
  );
});

test('whatever bytes arrive and however they are cut, the decoder sees the same and does not throw', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: fc.constantFrom('{', '}', '"', 'id', ':', '1', ',', '\n', '\\') }),
  );
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(), { maxLength: 20 }), (input, cuts) => {
      const whole = Buffer.from(input as string);
      expect(decode(pieces(whole, cuts))).toEqual(decode([whole]));
    }),
  );
});

test('with a small cap, messages within it arrive and all others are reported, however they are cut', () => {
  const text = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '😀'), maxLength: 60 }), { maxLength: 8 });
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 20 }), (texts, cuts) => {
      const lines = texts.map((value, id) => JSON.stringify({ jsonrpc: '2.0', id, result: { value } }));
      const seen: unknown[] = [];
      const decoder = createNdjsonDecoder(
        {
          message: (value) => seen.push((value as { id: number }).id),
          problem: (problem) => seen.push([problem.kind, problem.requestId]),
        },
        { maxLineBytes: 100 },
      );
      for (const chunk of pieces(Buffer.from(lines.map((line) => `${line}\n`).join('')), cuts)) decoder.push(chunk);
      expect(seen).toEqual(lines.map((line, id) => (Buffer.byteLength(line) <= 100 ? id : ['oversized', id])));
    }),
  );
});
