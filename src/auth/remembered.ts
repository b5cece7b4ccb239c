// Something that is fetched when it is first wanted, and then seldom: by one at a time, and not at once again after a failure.
import type { Clock } from '../base/index.ts';

export interface RememberedOptions {
  readonly clock: Clock;
  /** Milliseconds for which what was fetched is used. */
  readonly keepMs: number;
  /** Milliseconds after a failure in which the same failure is all there is. */
  readonly retryMs: number;
}

/** Returns a function that resolves with what `fetch` resolved with last. */
export function remembered<T>(fetch: () => Promise<T>, { clock, keepMs, retryMs }: RememberedOptions): () => Promise<T> {
  let last: { readonly value: Promise<T>; until: number } | undefined;
  return () => {
    if (last !== undefined && clock.now() < last.until) return last.value;
    const entry = { value: fetch(), until: Infinity };
    last = entry;
    entry.value.then(
      () => (entry.until = clock.now() + keepMs),
      () => (entry.until = clock.now() + retryMs),
    );
    return entry.value;
  };
}
