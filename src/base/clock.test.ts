import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../testing/index.ts';
import { sleep, systemClock } from './clock.ts';

describe('systemClock', () => {
  test('fires once after the time has passed', async () => {
    const start = systemClock.now();
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    // A timer of the platform may fire up to a millisecond early by this clock.
    expect(systemClock.now() - start).toBeGreaterThanOrEqual(4);
  });

  test('does not take a very long time for a very short one', async () => {
    let fired = false;
    const timers = [2 ** 31, 2 ** 40, Infinity].map((ms) => systemClock.after(ms, () => (fired = true)));
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    for (const timer of timers) timer.cancel();
    expect(fired).toBe(false);
  });

  test('holds the process only while it is told to', () => {
    const timersHeld = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timersHeld();
    const timer = systemClock.after(60_000, () => {});
    expect(timersHeld()).toBe(before + 1);
    timer.hold('release');
    expect(timersHeld()).toBe(before);
    timer.hold('hold');
    expect(timersHeld()).toBe(before + 1);
    timer.cancel();
    expect(timersHeld()).toBe(before);
  });
});

describe('sleep', () => {
  test('resolves when its time has come and not before', async () => {
    const clock = createFakeClock();
    let awake = false;
    const slept = sleep(100, { clock }).then(() => (awake = true));
    clock.advance(99);
    await Promise.resolve();
    expect(awake).toBe(false);
    clock.advance(1);
    await slept;
    expect(awake).toBe(true);
  });

  test('rejects with the reason of a signal that has aborted before, and sets no timer', async () => {
    const clock = createFakeClock();
    const reason = new Error('no');
    await expect(sleep(100, { clock, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(clock.waiting).toBe(0);
  });

  test('rejects at once when its signal aborts, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const slept = sleep(100, { clock, signal: controller.signal });
    expect(clock.waiting).toBe(1);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(clock.waiting).toBe(0);
  });
});
