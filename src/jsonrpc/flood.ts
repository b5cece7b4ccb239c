// Keeps a peer that tells too much from keeping us busy: beyond a rate its notifications are dropped, and one that goes on and on
// at a far higher rate is to be cut off.
import { createRate, limitOf, type Clock, type Limits, type Rate } from '../base/index.ts';

/** Kinds of notification that are counted apart, so that a flood of one does not drown the others. All beyond them count as one. */
const MAX_KINDS = 16;
/** Seconds in a row after which a flood has gone on for too long. */
const MAX_SECONDS = 10;

export class Flood {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #maxPerSecond: number;
  readonly #rates = new Map<string, Rate>();
  #second = 0;
  #inSecond = 0;
  #seconds = 0;

  constructor(limits: Limits, clock: Clock) {
    this.#clock = clock;
    this.#perSecond = limitOf('maxNotificationsPerSecond', limits.maxNotificationsPerSecond);
    this.#maxPerSecond = limitOf('maxFloodPerSecond', limits.maxFloodPerSecond);
  }

  /** True when a notification of this kind may be passed on. */
  admits(kind: string): boolean {
    const key = this.#rates.has(kind) || this.#rates.size < MAX_KINDS ? kind : '';
    let rate = this.#rates.get(key);
    if (rate === undefined) {
      rate = createRate({ perSecond: this.#perSecond, burst: 2 * this.#perSecond, clock: this.#clock });
      this.#rates.set(key, rate);
    }
    return rate.take();
  }

  /** True when more came in this second than may. */
  get isHigh(): boolean {
    return this.#inSecond > this.#maxPerSecond;
  }

  /** Counts a message that answers nothing. Returns how many came in this second when that was too many for ten seconds in a row. */
  count(): number | undefined {
    const second = Math.floor(this.#clock.now() / 1_000);
    if (second !== this.#second) {
      const goesOn = second === this.#second + 1 && this.#inSecond > this.#maxPerSecond;
      this.#seconds = goesOn ? this.#seconds + 1 : 0;
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond++;
    return this.#seconds >= MAX_SECONDS ? this.#inSecond : undefined;
  }
}
