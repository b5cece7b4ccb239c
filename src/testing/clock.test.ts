import { expect, test } from 'vitest';
import { createFakeClock } from './clock.ts';

test('timers fire in the order of their time, those of one time in the order they were set, and see their own time', () => {
  const clock = createFakeClock();
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name} at ${clock.now()}`);
  clock.after(20, note('b'));
  clock.after(10, note('a'));
  clock.after(20, note('c'));
  clock.after(31, note('never'));
  clock.advance(30);
  expect(fired).toEqual(['a at 10', 'b at 20', 'c at 20']);
  expect(clock.now()).toBe(30);
  expect(clock.waiting).toBe(1);
});

test('a timer that is set on the way fires on the way when it is due', () => {
  const clock = createFakeClock();
  const fired: number[] = [];
  const tick = () => {
    fired.push(clock.now());
    clock.after(10, tick);
  };
  clock.after(10, tick);
  clock.advance(35);
  expect(fired).toEqual([10, 20, 30]);
});

test('a cancelled timer does not fire, and cancelling it again or after it fired is nothing', () => {
  const clock = createFakeClock();
  const fired: string[] = [];
  const first = clock.after(10, () => {
    fired.push('first');
    second.cancel();
  });
  const second = clock.after(10, () => fired.push('second'));
  clock.advance(10);
  first.cancel();
  second.cancel();
  expect(fired).toEqual(['first']);
  expect(clock.waiting).toBe(0);
});
