import { expect, it } from 'vitest';
import { challengeOf, parseChallenges, scopesOf } from './challenge.ts';

const parsed = (header: string | string[]) =>
  parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)] as const);

it.each([
  ['Bearer', [['bearer', {}]]],
  ['Bearer realm="a"', [['bearer', { realm: 'a' }]]],
  ['bEaReR Resource_Metadata="https://h/m", SCOPE=a', [['bearer', { resource_metadata: 'https://h/m', scope: 'a' }]]],
  [
    'Basic realm="x", Bearer scope="a b"',
    [
      ['basic', { realm: 'x' }],
      ['bearer', { scope: 'a b' }],
    ],
  ],
  [
    'Negotiate abc==, Bearer scope=a',
    [
      ['negotiate', {}],
      ['bearer', { scope: 'a' }],
    ],
  ],
  [
    'Negotiate, Bearer',
    [
      ['negotiate', {}],
      ['bearer', {}],
    ],
  ],
  [
    'Bearer error_description="scope=\\"a\\", Basic realm=\\"b\\"", scope="c"',
    [['bearer', { error_description: 'scope="a", Basic realm="b"', scope: 'c' }]],
  ],
  ['Bearer realm="a,b\\\\c", scope="d"', [['bearer', { realm: 'a,b\\c', scope: 'd' }]]],
  ['Bearer scope="first", scope="second"', [['bearer', { scope: 'first' }]]],
  ['Bearer realm="a" scope="b"', [['bearer', { realm: 'a', scope: 'b' }]]],
  ['Bearer resource_metadata=https://h/p?x=y, scope=a', [['bearer', { resource_metadata: 'https://h/p?x=y', scope: 'a' }]]],
  ['Bearer scope = "a" ,, realm=b', [['bearer', { scope: 'a', realm: 'b' }]]],
  [
    'Bearer scope="a", {]}, DPoP algs="ES256"',
    [
      ['bearer', { scope: 'a' }],
      ['dpop', { algs: 'ES256' }],
    ],
  ],
  ['Bearer scope="unfinished', [['bearer', {}]]],
  ['scope="orphan"', []],
  ['', []],
  [', ,', []],
  ['Bearer a="b"\tc="d"', [['bearer', { a: 'b', c: 'd' }]]],
  ['Bearer __proto__="x"', [['bearer', Object.fromEntries([['__proto__', 'x']])]]],
] as const)('reads %s', (header, expected) => {
  expect(parsed(header)).toEqual(expected);
});

it('reads several headers, and finds the scheme that is wanted most', () => {
  const challenges = parseChallenges(['Basic realm="x"', 'Bearer scope="a"', 'DPoP scope="b"']);
  expect(challengeOf(challenges, 'dpop', 'bearer')?.params.get('scope')).toBe('b');
  expect(challengeOf(challenges, 'digest')).toBeUndefined();
  expect(parseChallenges(undefined)).toEqual([]);
});

it('ends on any header within a time that grows with its length', () => {
  for (const piece of ['"', 'a="', '\\"', 'a=', ', ', '{', 'a ', '=']) {
    expect(Array.isArray(parseChallenges(`Bearer ${piece.repeat(5_000)}`))).toBe(true);
  }
});

it('takes the scopes of a list once each, and nothing that is no scope', () => {
  expect(scopesOf('a  b a "c" d\\e f')).toEqual(['a', 'b', 'f']);
  expect(scopesOf(undefined)).toEqual([]);
});
