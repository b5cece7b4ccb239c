import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StderrTail } from './stderr.ts';

const KIB = 1_024;

test('a short text is kept whole', () => {
  const tail = new StderrTail();
  tail.push(Buffer.from('one\ntw'));
  tail.push(Buffer.from('o'));
  expect(tail.text()).toBe('one\ntwo');
  expect(tail.text(5)).toBe('two');
  expect(tail.text(2)).toBe('wo');
});

test('the last 256 KiB are kept, from the beginning of a line', () => {
  const tail = new StderrTail();
  for (let line = 0; line < 100_000; line++) tail.push(Buffer.from(`line ${String(line)}\n`));
  const text = tail.text();
  expect(text.length).toBeLessThanOrEqual(256 * KIB);
  expect(text.length).toBeGreaterThan(255 * KIB);
  expect(text).toMatch(/^line \d+\n/);
  expect(text.endsWith('line 99999\n')).toBe(true);
});

test('one chunk larger than all that is kept leaves its end', () => {
  const tail = new StderrTail();
  tail.push(Buffer.from(`${'x'.repeat(999)}\n`.repeat(1_000)));
  expect(tail.text()).toBe(`${'x'.repeat(999)}\n`.repeat(262));
});

test('a line is cut at 8 KiB, and the next one is whole', () => {
  const tail = new StderrTail();
  const text = `a\n${'x'.repeat(20 * KIB)}\nb\n${'y'.repeat(8 * KIB)}\nc`;
  tail.push(Buffer.from(text));
  expect(tail.text()).toBe(`a\n${'x'.repeat(8 * KIB)}\nb\n${'y'.repeat(8 * KIB)}\nc`);
});

test('what is kept does not depend on how the text is cut, and is all passed on', () => {
  const line = fc.nat({ max: 20_000 }).map((length) => 'x'.repeat(length));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), fc.array(fc.nat(), { maxLength: 10 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.join('\n'));
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const passed: Buffer[] = [];
      const tail = new StderrTail((piece) => passed.push(piece));
      places.slice(1).forEach((end, index) => tail.push(bytes.subarray(places[index], end)));
      const expected = lines.map((text) => text.slice(0, 8 * KIB)).join('\n');
      expect(Buffer.concat(passed).toString()).toBe(expected);
      const kept = expected.slice(-256 * KIB);
      expect(tail.text()).toBe(kept === expected ? kept : kept.slice(kept.indexOf('\n') + 1));
    }),
    { numRuns: 50 },
  );
});
