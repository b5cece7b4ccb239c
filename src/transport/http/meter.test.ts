import { expect, it } from 'vitest';
import { createFakeClock } from '../../testing/index.ts';
import { Meter } from './meter.ts';

it('stops what goes past a limit within a minute, and only that', () => {
  const clock = createFakeClock();
  const meter = new Meter({ bytes: 100, events: 2 }, clock);
  for (let minute = 0; minute < 10; minute++) {
    meter.add('bytes', 60);
    meter.add('events', 2);
    meter.add('bytes', 40);
    clock.advance(60_000);
  }
  meter.add('events', 2);
  clock.advance(59_999);
  expect(() => meter.add('events', 1)).toThrow(expect.objectContaining({ code: 'limit' }));
  expect(() => meter.add('bytes', 101)).toThrow('more than 100 bytes within a minute');
});
