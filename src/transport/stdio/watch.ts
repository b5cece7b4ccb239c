// A bound on how long something may go on. Touching it is cheap: its one timer is set again only when it fires.
import type { Clock, Timer } from '../../base/index.ts';

/** Calls `expired` once `ms` milliseconds have passed since the last `touch` without a `rest`. Never keeps the process alive. */
export class Watch {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #expired: () => void;
  #since: number | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock, ms: number, expired: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#expired = expired;
  }

  touch(): void {
    if (this.#stopped) return;
    this.#since = this.#clock.now();
    if (this.#timer === undefined) this.#arm(this.#ms);
  }

  rest(): void {
    this.#since = undefined;
  }

  /** For good: the timer goes, and `touch` does nothing any more. */
  stop(): void {
    this.#stopped = true;
    this.#since = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = undefined;
      if (this.#since === undefined) return;
      const left = this.#since + this.#ms - this.#clock.now();
      if (left > 0) return this.#arm(left);
      this.#since = undefined;
      this.#expired();
    });
    this.#timer.hold('release');
  }
}
