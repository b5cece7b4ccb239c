// How often something may happen: so many times a second, and a burst of it.
import type { Clock } from './clock.ts';

export interface Rate {
  /** True, and counted, when it may happen now. */
  take(): boolean;
}

export interface RateOptions {
  readonly perSecond: number;
  /** How many may come at once after a quiet time. */
  readonly burst: number;
  readonly clock: Clock;
}

export function createRate({ perSecond, burst, clock }: RateOptions): Rate {
  let left = burst;
  let at = clock.now();
  return {
    take() {
      const now = clock.now();
      left = Math.min(burst, left + ((now - at) / 1_000) * perSecond);
      at = now;
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}
