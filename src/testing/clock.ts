// Time that stands still until a test moves it. Nothing here waits for real time.
import type { Clock, Timer } from '../base/index.ts';

/** A clock for tests: timers fire only inside `advance`. */
export interface FakeClock extends Clock {
  /** Moves time on by `ms` and fires, in order of their time, all timers that come due on the way, also those set on the way. */
  advance(ms: number): void;
  /** Timers that are set and have neither fired nor been cancelled. */
  readonly waiting: number;
}

/** Returns a clock that stands at 0. */
export function createFakeClock(): FakeClock {
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>();
  let now = 0;

  /** The timer that is due first, by `limit` at the latest; of two at the same time the one set first. */
  const firstDue = (limit: number) => {
    let first;
    for (const timer of timers) if (timer.at <= limit && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  };

  return {
    now: () => now,
    after(ms, fire): Timer {
      const timer = { at: now + Math.max(0, ms), fire };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer), hold: () => {} };
    },
    advance(ms) {
      const limit = now + ms;
      for (let timer = firstDue(limit); timer !== undefined; timer = firstDue(limit)) {
        timers.delete(timer);
        now = timer.at;
        timer.fire();
      }
      now = Math.max(now, limit);
    },
    get waiting() {
      return timers.size;
    },
  };
}
