// What arrives on a channel, for its receiver: kept until there is one, in order, and nothing after the end.
import type { Ending, Origin, Receiver } from '../../jsonrpc/index.ts';

/** Values kept before `start`. */
const MAX_EARLY = 256;

export class Inbox {
  #receiver: Receiver | undefined;
  #early: (readonly [value: unknown, origin: Origin])[] = [];
  #ending: Ending | undefined;
  #isTold = false;

  /** How the channel ended; undefined while it is open. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** True when another `count` values can be taken. */
  hasRoom(count: number): boolean {
    return this.#early.length + count <= MAX_EARLY;
  }

  /** Hands a value on, or keeps it for the receiver. */
  take(value: unknown, origin: Origin): void {
    if (this.#ending !== undefined) return;
    if (this.#receiver === undefined) this.#early.push([value, origin]);
    else this.#receiver.message(value, origin);
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    const early = this.#early;
    this.#early = [];
    for (const [value, origin] of early) {
      if (this.#isTold) return;
      receiver.message(value, origin);
    }
    this.#tell();
  }

  /** Ends it; only the first ending counts. */
  end(ending: Ending): void {
    this.#ending ??= ending;
    this.#tell();
  }

  #tell(): void {
    if (this.#receiver === undefined || this.#ending === undefined || this.#isTold) return;
    this.#isTold = true;
    this.#receiver.end(this.#ending);
  }
}
