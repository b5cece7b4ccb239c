import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from './parse.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const limit = (text: string, limits?: Parameters<typeof parseJson>[1]): unknown => {
  try {
    parseJson(text, limits);
    return undefined;
  } catch (error) {
    return (error as { details?: object }).details ?? error;
  }
};

describe('JSON of a peer', () => {
  it('may have 64 levels and not one more, whatever stands between them', () => {
    expect(limit(nested(64))).toBeUndefined();
    expect(limit(nested(65))).toEqual({ limit: 'maxJsonDepth', allowed: 64, observed: 65 });
    expect(limit('{"a":'.repeat(65) + '1' + '}'.repeat(65))).toMatchObject({ limit: 'maxJsonDepth' });
    expect(limit('[ \n'.repeat(65) + ']'.repeat(65))).toMatchObject({ limit: 'maxJsonDepth' });
  });

  it('is refused before it is built, however deep it is', () => {
    expect(limit(nested(1_000_000))).toMatchObject({ limit: 'maxJsonDepth', observed: 65 });
  });

  it('may have 200,000 values and not one more', () => {
    const row = (values: number) => `[${'0,'.repeat(values - 2)}0]`;
    expect(limit(row(200_000))).toBeUndefined();
    expect(limit(row(200_001))).toEqual({ limit: 'maxJsonValues', allowed: 200_000, observed: 200_001 });
  });

  it('has no levels and values inside its strings, also behind escapes', () => {
    const text = JSON.stringify(['[{,"\\'.repeat(200), '\\', '\\\\"', '[[['.repeat(100)]);
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('that is no JSON is a syntax error', () => {
    for (const text of ['', '{', 'x'.repeat(1_000), `"${'['.repeat(500)}`, ']'.repeat(500)]) {
      expect(limit(text)).toBeInstanceOf(SyntaxError);
    }
  });

  it('is refused exactly when it has more levels or values than allowed', () => {
    const depth = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
    const values = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Object.values(value).reduce<number>((sum, each) => sum + values(each), 0)
        : 1;
    const spaces = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), spaces, (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const [deep, many] = [depth(value), values(value)];
        expect(limit(text, { maxJsonDepth: deep, maxJsonValues: many })).toBeUndefined();
        if (deep > 0) expect(limit(text, { maxJsonDepth: deep - 1 })).toMatchObject({ limit: 'maxJsonDepth' });
        if (many > 1) expect(limit(text, { maxJsonValues: many - 1 })).toMatchObject({ limit: 'maxJsonValues' });
      }),
    );
  });
});
