import { expect, test } from 'vitest';
import { createFakeClock } from '../../testing/index.ts';
import { Watch } from './watch.ts';

function watched() {
  const clock = createFakeClock();
  const expiries: number[] = [];
  return { clock, expiries, watch: new Watch(clock, 100, () => expiries.push(clock.now())) };
}

test('it expires once after the last touch', () => {
  const { clock, expiries, watch } = watched();
  watch.touch();
  clock.advance(60);
  watch.touch();
  clock.advance(99);
  expect(expiries).toEqual([]);
  clock.advance(500);
  expect(expiries).toEqual([160]);
  watch.touch();
  clock.advance(100);
  expect(expiries).toEqual([160, 759]);
});

test('it does not expire while it rests, and starts anew when touched', () => {
  const { clock, expiries, watch } = watched();
  watch.touch();
  watch.rest();
  clock.advance(150);
  watch.touch();
  clock.advance(99);
  expect(expiries).toEqual([]);
  clock.advance(1);
  expect(expiries).toEqual([250]);
});

test('any number of touches keeps one timer, and none once it is stopped', () => {
  const { clock, expiries, watch } = watched();
  for (let count = 0; count < 10; count++) watch.touch();
  expect(clock.waiting).toBe(1);
  watch.stop();
  watch.touch();
  expect(clock.waiting).toBe(0);
  clock.advance(1_000);
  expect(expiries).toEqual([]);
});
