// Runs a refresh after changes were announced: coalesced, one at a time, and the slower the longer a storm lasts, so that a
// server which announces a change after every list cannot keep its client busy.
import type { Clock, Timer } from '../../base/index.ts';

export interface Refresher {
  /** Asks for a run; many requests become one. */
  request(): void;
  close(): void;
}

export interface RefresherOptions {
  readonly clock: Clock;
  /** Does the work; must not reject. */
  readonly run: () => Promise<void>;
  /** Milliseconds after the first request; later ones do not postpone it. Default 50. */
  readonly delayMs?: number;
  /** The gap between runs grows from this to `maxGapMs` while requests keep coming. Defaults 250 and 60,000. */
  readonly minGapMs?: number;
  readonly maxGapMs?: number;
}

export function createRefresher(options: RefresherOptions): Refresher {
  const { clock, run, delayMs = 50, minGapMs = 250, maxGapMs = 60_000 } = options;
  let timer: Timer | undefined;
  let running = false;
  let wanted = false;
  let closed = false;
  let gapMs = minGapMs;
  let lastEnd = -Infinity;

  const schedule = () => {
    if (timer !== undefined || running || closed) return;
    const now = clock.now();
    // A quiet time twice as long as the last gap ends the storm.
    gapMs = now - lastEnd > 2 * gapMs ? minGapMs : Math.min(2 * gapMs, maxGapMs);
    timer = clock.after(Math.max(delayMs, lastEnd + gapMs - now), () => void start());
    timer.hold('release');
  };
  const start = async () => {
    timer = undefined;
    running = true;
    wanted = false;
    await run();
    running = false;
    lastEnd = clock.now();
    again();
  };
  const again = () => {
    if (wanted) schedule();
  };

  return {
    request() {
      wanted = true;
      schedule();
    },
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}
