import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseChallenges } from './challenge.ts';

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,8}$/);
const text = fc.string({ unit: fc.constantFrom(...'aZ09 ,="\\;:/?~é\t'), maxLength: 12 });
const challenge = fc.record({
  scheme: token,
  params: fc.uniqueArray(fc.tuple(token, text), { selector: ([name]) => name.toLowerCase() }),
});

const quoted = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`;

it('reads back whatever challenges were written, in one header or in several', () => {
  fc.assert(
    fc.property(fc.array(challenge, { maxLength: 4 }), (challenges) => {
      const headers = challenges.map(({ scheme, params }) => {
        const written = params.map(([name, value]) => `${name}=${quoted(value)}`);
        return [scheme, written.join(', ')].join(' ').trim();
      });
      const expected = challenges.map(({ scheme, params }) => ({
        scheme: scheme.toLowerCase(),
        params: new Map(params.map(([name, value]) => [name.toLowerCase(), value])),
      }));
      expect(parseChallenges(headers)).toEqual(expected);
      expect(parseChallenges(headers.join(', '))).toEqual(expected);
    }),
  );
});

it('makes nothing but challenges of any text, and ends', () => {
  const part = fc.constantFrom('Bearer', 'scope', '=', '"', '\\', ',', ' ', 'a', 'é', '\0');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      for (const { scheme, params } of parseChallenges(parts.join(''))) {
        expect(scheme).toMatch(/^[!#$%&'*+.^_`|~0-9a-z-]+$/);
        for (const name of params.keys()) expect(name).toBe(name.toLowerCase());
      }
    }),
  );
});
