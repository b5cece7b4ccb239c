import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { EMPTY, rule, subject } from './fixtures/world.ts';
import { parseRule, type Effect } from './rules.ts';

const effect = fc.constantFrom<Effect>('allow', 'ask', 'deny');

const PIECES = [
  'a',
  '/',
  '*',
  '?',
  '(',
  ')',
  ':',
  ',',
  '|',
  '"',
  '\\',
  ' ',
  '.',
  '..',
  '1',
  '-',
  'e',
  '>= ',
  'matches /',
  '/i',
  'under /',
  'host ',
];
const WORDS = [
  ' when ',
  ' and ',
  ' not ',
  'read-only',
  'destructive',
  'tainted',
  'route run',
  ' even when tainted',
  'resource:',
  '[::1]',
  '*.',
];
const ruleText = fc.array(fc.constantFrom(...PIECES, ...WORDS), { maxLength: 16 }).map((pieces) => `s/t${pieces.join('')}`);

it('any text is a rule, or an error that names it', () => {
  fc.assert(
    fc.property(effect, fc.oneof(ruleText, fc.string({ unit: 'binary', maxLength: 40 })), (which, text) => {
      try {
        parseRule(which, text, { file: 'f', key: 'k', scope: 'user' }, EMPTY).matches(subject('s', 't', { a: 'x' }));
      } catch (error) {
        expect(isParleyError(error, 'config-invalid')).toBe(true);
        expect((error as Error).message).toContain('(k in f)');
      }
    }),
    { numRuns: 3_000 },
  );
});

const path = fc
  .array(
    fc.constantFrom(
      '/',
      'srv',
      'data',
      'x',
      '..',
      '.',
      '~',
      ' ',
      '\\',
      '%2e',
      '\u200b',
      'SRV',
      'é',
      'e\u0301',
      'file://',
      '$HOME',
    ),
    {
      maxLength: 10,
    },
  )
  .map((steps) => steps.join(''));
const url = fc
  .array(
    fc.constantFrom(
      'https:',
      'http:',
      '//',
      '/',
      'good',
      '.',
      'example',
      'evil',
      '@',
      ':',
      '443',
      '#',
      '?',
      '\\',
      '\t',
      '%2e',
      'G',
      '[::1]',
      '。',
    ),
    { maxLength: 10 },
  )
  .map((parts) => parts.join(''));
const likely = (prefix: string, rest: fc.Arbitrary<string>) =>
  fc.oneof(
    rest,
    rest.map((text) => prefix + text),
  );

it.each<[string, fc.Arbitrary<string>]>([
  ['under /srv/data', likely('/srv/data', path)],
  ['under ~/x', likely('/home/me/x', path)],
  ['host good.example', likely('https://good.example', url)],
  ['host *.example:443', likely('https://good.example', url)],
  ['matches /a.*b/', fc.array(fc.constantFrom('a', 'b', '\n', 'c'), { maxLength: 6 }).map((letters) => letters.join(''))],
])('whatever %s allows, it holds back too', (matcher, value) => {
  const allow = rule('allow', `s/t(x: ${matcher})`);
  const deny = rule('deny', `s/t(x: ${matcher})`);
  let allowed = 0;
  fc.assert(
    fc.property(value, (x) => {
      if (!allow.matches(subject('s', 't', { x }))) return;
      allowed++;
      expect(deny.matches(subject('s', 't', { x }))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  // Else it would say nothing.
  expect(allowed).toBeGreaterThan(0);
});
