import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { matchesPattern, proposals, readPattern, type ArgumentPattern, type Matcher } from './pattern.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pattern-'));
const data = join(root, 'data');
mkdirSync(join(data, 'sub'), { recursive: true });
mkdirSync(join(root, 'datax'));
mkdirSync(join(root, 'etc'));
symlinkSync(join(root, 'etc'), join(data, 'link'));
symlinkSync(data, join(root, 'alias'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const only = (matcher: Matcher): ArgumentPattern => ({ args: { '/x': matcher } });
const covers = (matcher: Matcher, x: unknown) => matchesPattern(only(matcher), { x });

describe('a pattern', () => {
  it('takes exact values by type, lists of them, and ranges', () => {
    expect(covers({ exact: 1 }, 1)).toBe(true);
    expect(covers({ exact: 1 }, '1')).toBe(false);
    expect(covers({ exact: { a: 1, b: 2 } }, { b: 2, a: 1 })).toBe(true);
    expect(covers({ oneOf: ['a', 'b'] }, 'b')).toBe(true);
    expect(covers({ oneOf: ['a', 'b'] }, 'c')).toBe(false);
    expect([-1, 0, 5, 6, '3', NaN].map((x) => covers({ from: 0, to: 5 }, x))).toEqual([false, true, true, false, false, false]);
  });

  it('matches nothing where an argument is missing, and nothing more than it names unless the rest is free', () => {
    const pattern = only({ exact: 1 });
    expect(matchesPattern(pattern, {})).toBe(false);
    expect(matchesPattern(pattern, { x: 1, y: 2 })).toBe(false);
    expect(matchesPattern({ ...pattern, rest: 'free' }, { x: 1, y: 2 })).toBe(true);
    expect(matchesPattern({ args: {} }, {})).toBe(true);
    expect(matchesPattern({ args: {} }, { x: {} })).toBe(false);
    expect(matchesPattern({ args: { '/a/b': { exact: 1 } } }, { a: { b: 1 } })).toBe(true);
    expect(matchesPattern({ args: { '/a/b': { exact: 1 } } }, { a: { b: 1, c: 2 } })).toBe(false);
    expect(matchesPattern({ args: { '/a~1b': { exact: 1 } } }, { 'a/b': 1 })).toBe(true);
    expect(matchesPattern({ args: { '/toString': { exact: 1 } } }, {})).toBe(false);
  });

  it('takes what is really under a directory, and no path that only looks so', () => {
    const under = (path: string) => covers({ under: data }, path);
    expect(under(data)).toBe(true);
    expect(under(join(data, 'sub/new.txt'))).toBe(true);
    for (const path of [
      `${data}/../etc/passwd`,
      join(root, 'datax/a'),
      join(data, 'link/passwd'),
      `${data}/sub/./a`,
      `${data}//a`,
      `${data}/a.`,
      `${data}/a:stream`,
      `${data}/~`,
      `${data}\\..\\x`,
      `${data.toUpperCase()}/a`,
      `${data}/a\0b`,
      'data/a',
      `~/data`,
      `/proc/self/root${data}/a`,
      join(root, 'alias/a'),
    ]) {
      expect(under(path), path).toBe(false);
    }
  });

  it('takes URLs of one origin and path, and none that only looks so', () => {
    const at = (url: string) => covers({ url: 'https://good.example/api' }, url);
    for (const url of ['https://good.example/api', 'https://good.example:443/api/x?q=1', 'HTTPS://GOOD.example/api/'])
      expect(at(url), url).toBe(true);
    for (const url of [
      'https://good.example.evil/api',
      'https://good.example@evil.example/api',
      'https://evil.example#@good.example/api',
      'https://good.example./api',
      'https://good.example:8443/api',
      'http://good.example/api',
      'https://good.example/apis',
      'https://good.example/api/../admin',
      'https://good.example/api/%2e%2e/admin',
      'https://good.example/api\t/x',
      'https://good.example\\@evil.example/api',
      'https://[::1]/api',
      'https://göod.example/api',
      'javascript:alert(1)',
    ]) {
      expect(at(url), url).toBe(false);
    }
  });

  it('that cannot be read is none', () => {
    expect(readPattern({ args: { '/x': { exact: 1 } } })).toBeDefined();
    for (const bad of [{}, { args: [] }, { args: { '/x': {} } }, { args: { '/x': { like: '.*' } } }, { args: {}, rest: 'all' }])
      expect(readPattern(bad), JSON.stringify(bad)).toBeUndefined();
    expect(readPattern({ args: { '/x': { exact: 1, under: '/' } } })).toBeUndefined();
  });
});

describe('proposals', () => {
  const args = { path: join(data, 'sub/a.txt'), cents: 500, note: 'hello' };

  it('go from this very call to others like it, and each covers this call', () => {
    const found = proposals({ args, harmless: true });
    expect(found.map(({ label }) => label)).toEqual([
      'exactly these arguments',
      `these arguments, with path anywhere under ${join(data, 'sub')}, cents from 0 to 500`,
      'any arguments',
    ]);
    for (const { pattern } of found) expect(matchesPattern(pattern, args)).toBe(true);
    const other = { ...args, path: join(data, 'sub/b.txt'), cents: 3 };
    expect(found.map(({ pattern }) => matchesPattern(pattern, other))).toEqual([false, true, true]);
    expect(found.map(({ pattern }) => matchesPattern(pattern, { ...args, note: 'bye' }))).toEqual([false, false, true]);
  });

  it('leave any arguments out for a tool that is not said to be harmless', () => {
    expect(proposals({ args: { note: 'x' }, harmless: false }).map(({ label }) => label)).toEqual(['exactly these arguments']);
    expect(proposals({ args: { at: 'https://good.example/a' }, harmless: false })[1]?.label).toBe(
      'these arguments, with at anywhere at https://good.example',
    );
  });
});
