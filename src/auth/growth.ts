// How often scopes may grow: a server that asks for another one each time does not get a person to consent for ever.
import type { Clock } from '../base/index.ts';

/** Times that one operation may ask for more, and for how long that is remembered. */
const MAX_PER_OPERATION = 2;
const MEMORY_MS = 600_000;
const MAX_OPERATIONS = 256;
/** Times in all, before a person has to sign in by themselves. */
const MAX_IN_ALL = 3;

export class GrowthLimit {
  readonly #clock: Clock;
  readonly #operations = new Map<string, { count: number; readonly since: number }>();
  #inAll = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one attempt for `operation`, unless there were enough already. */
  allows(operation: string): boolean {
    const now = this.#clock.now();
    const known = this.#operations.get(operation);
    const entry = known === undefined || now - known.since > MEMORY_MS ? { count: 0, since: now } : known;
    if (entry.count >= MAX_PER_OPERATION || this.#inAll >= MAX_IN_ALL) return false;
    entry.count++;
    this.#inAll++;
    this.#operations.delete(operation);
    this.#operations.set(operation, entry);
    if (this.#operations.size > MAX_OPERATIONS) this.#operations.delete(this.#operations.keys().next().value!);
    return true;
  }
}
