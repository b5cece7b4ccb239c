// How much one reply stream may bring in a minute. Counted by the minute, so that a stream is not cut for its age.
import { overLimit, type Clock } from '../../base/index.ts';

export interface MeterLimits {
  /** Bytes a minute. */
  readonly bytes: number;
  /** Events a minute. */
  readonly events: number;
}

const MINUTE_MS = 60_000;

export class Meter {
  readonly #limits: MeterLimits;
  readonly #clock: Clock;
  #since: number;
  #used = { bytes: 0, events: 0 };

  constructor(limits: MeterLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#since = clock.now();
  }

  /**
   * Counts what arrived.
   * @throws ParleyError `limit` when it is too much
   */
  add(kind: keyof MeterLimits, amount: number): void {
    const observed = (this.#used[kind] += amount);
    const allowed = this.#limits[kind];
    if (observed <= allowed) return;
    // The time matters only now.
    const now = this.#clock.now();
    if (now - this.#since >= MINUTE_MS) {
      this.#since = now;
      this.#used = { bytes: 0, events: 0 };
      return this.add(kind, amount);
    }
    const limit = kind === 'bytes' ? 'maxStreamBytes' : 'maxStreamEvents';
    throw overLimit(limit, observed, `A reply stream brought more than ${allowed} ${kind} within a minute; it was cut.`, allowed);
  }
}
