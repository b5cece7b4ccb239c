import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../testing/index.ts';
import { createRefresher } from './refresher.ts';

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a refresher', () => {
  it('makes one run of many requests, and does not put it off while they keep coming', async () => {
    const clock = createFakeClock();
    let runs = 0;
    const refresher = createRefresher({ clock, run: async () => void runs++ });
    for (let ms = 0; ms < 50; ms += 10) {
      refresher.request();
      clock.advance(10);
    }
    await settle();
    expect(runs).toBe(1);
    refresher.close();
  });

  it('runs once more when a request comes during a run, never two at a time', async () => {
    const clock = createFakeClock();
    const finish: (() => void)[] = [];
    const refresher = createRefresher({ clock, run: () => new Promise((resolve) => finish.push(resolve)) });
    refresher.request();
    clock.advance(50);
    refresher.request();
    clock.advance(10_000);
    expect(finish).toHaveLength(1);
    finish[0]?.();
    await settle();
    clock.advance(1_000);
    expect(finish).toHaveLength(2);
    refresher.close();
  });

  it('is slowed down by a storm: at most a dozen runs in ten minutes, and quick again after quiet', async () => {
    const clock = createFakeClock();
    let runs = 0;
    // A server that announces a change after every list.
    const refresher = createRefresher({ clock, run: async () => void (runs++, setImmediate(() => refresher.request())) });
    refresher.request();
    for (let ms = 0; ms < 600_000; ms += 500) {
      clock.advance(500);
      await settle();
      await settle();
    }
    expect(runs).toBeGreaterThan(5);
    expect(runs).toBeLessThan(20);
    refresher.close();
    clock.advance(600_000);
    await settle();
    const after = runs;
    refresher.request();
    clock.advance(600_000);
    expect(runs).toBe(after);
  });
});
