import { expect, test } from 'vitest';
import { backoff } from './backoff.ts';

const bounds = (attempt: number, options = {}) => [
  backoff(attempt, { ...options, random: () => 0 }),
  backoff(attempt, { ...options, random: () => 1 }),
];

test('the delay doubles with each attempt, between half and all of its bound', () => {
  expect([1, 2, 3, 4].map((attempt) => bounds(attempt))).toEqual([
    [500, 1_000],
    [1_000, 2_000],
    [2_000, 4_000],
    [4_000, 8_000],
  ]);
});

test('no delay passes the maximum, however many attempts there were', () => {
  expect(bounds(7)).toEqual([30_000, 60_000]);
  expect(bounds(10_000)).toEqual([30_000, 60_000]);
});

test('the first delay and the maximum can be set', () => {
  expect(bounds(1, { firstMs: 10 })).toEqual([5, 10]);
  expect(bounds(9, { firstMs: 10, maxMs: 50 })).toEqual([25, 50]);
});

test('two delays by the default randomness lie within the bounds', () => {
  for (let attempt = 1; attempt <= 10; attempt++) {
    const [low, high] = bounds(attempt) as [number, number];
    expect(backoff(attempt)).toBeGreaterThanOrEqual(low);
    expect(backoff(attempt)).toBeLessThanOrEqual(high);
  }
});
