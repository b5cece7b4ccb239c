import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isGlob, matchesGlob } from './glob.ts';

describe('a pattern', () => {
  it.each([
    ['', '', true],
    ['', 'a', false],
    ['a', 'a', true],
    ['a', 'A', false],
    ['a', 'ab', false],
    ['*', '', true],
    ['*', 'a/b\nc', true],
    ['get_*', 'get_', true],
    ['get_*', 'get_user', true],
    ['get_*', 'forget_user', false],
    ['*_user', 'get_user', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['?', '', false],
    ['?', 'a', true],
    ['?', 'ab', false],
    ['?', '😀', true],
    ['??', '😀', false],
    ['*?', '😀', true],
    ['*??', '😀', false],
    ['**', 'x', true],
    ['[a-z]', 'a', false],
    ['a.c', 'abc', false],
    ['.*', 'abc', false],
  ])('"%s" against "%s" gives %s', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
  });

  it('agrees with the definition, worked out step by step', () => {
    const pieces = fc.array(fc.constantFrom('a', 'b', '*', '?', '😀'), { maxLength: 10 });
    fc.assert(
      fc.property(pieces, pieces, (pattern, text) => {
        expect(matchesGlob(pattern.join(''), text.join(''))).toBe(byDefinition(pattern, text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('without a wildcard covers itself alone', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (pattern, text) => {
        fc.pre(!isGlob(pattern));
        expect(matchesGlob(pattern, text)).toBe(pattern === text);
        expect(matchesGlob(pattern, pattern)).toBe(true);
      }),
    );
  });
});

/** A star takes nothing, or one character and goes on. */
function byDefinition([first, ...pattern]: string[], text: string[]): boolean {
  if (first === undefined) return text.length === 0;
  if (first === '*') return byDefinition(pattern, text) || (text.length > 0 && byDefinition(['*', ...pattern], text.slice(1)));
  return text.length > 0 && (first === '?' || first === text[0]) && byDefinition(pattern, text.slice(1));
}
