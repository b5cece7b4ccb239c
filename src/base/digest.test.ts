import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical, digest } from './digest.ts';

test('the order of keys does not matter, the order of items does', () => {
  expect(canonical({ b: 1, a: { d: [1, 2], c: null } })).toBe('{"a":{"c":null,"d":[1,2]},"b":1}');
  expect(digest({ b: 1, a: 2 })).toBe(digest({ a: 2, b: 1 }));
  expect(digest([1, 2])).not.toBe(digest([2, 1]));
});

test('keys are ordered by code unit, not by any language', () => {
  expect(canonical({ é: 1, z: 2, Z: 3, '😀': 4, '\uffff': 5 })).toBe('{"Z":3,"z":2,"é":1,"😀":4,"\uffff":5}');
});

test('a member that is undefined is as good as absent, one that is null is not', () => {
  expect(canonical({ a: undefined, b: 1 })).toBe('{"b":1}');
  expect(canonical([undefined])).toBe('[null]');
  expect(digest({ a: null })).not.toBe(digest({}));
});

test('a key named __proto__ is a key', () => {
  expect(canonical(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
});

test('the digest is the SHA-256 of the canonical form', () => {
  // printf '{"a":1}' | sha256sum
  expect(digest({ a: 1 })).toBe('015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
});

test('the canonical form is JSON of an equal value, and stays itself', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonical(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonical(JSON.parse(text))).toBe(text);
    }),
  );
});
