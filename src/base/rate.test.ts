import { expect, test } from 'vitest';
import { createFakeClock } from '../testing/index.ts';
import { createRate } from './rate.ts';

test('a burst passes at once, then so many a second, and quiet times save up no more than a burst', () => {
  const clock = createFakeClock();
  const rate = createRate({ perSecond: 10, burst: 3, clock });
  const taken = (tries: number) => Array.from({ length: tries }, () => rate.take()).filter(Boolean).length;
  expect(taken(5)).toBe(3);
  clock.advance(100);
  expect(taken(5)).toBe(1);
  clock.advance(50);
  expect(taken(5)).toBe(0);
  clock.advance(50);
  expect(taken(5)).toBe(1);
  clock.advance(60_000);
  expect(taken(5)).toBe(3);
});
