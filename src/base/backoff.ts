// Delays between attempts: exponential with full jitter, bounded above.

export interface BackoffOptions {
  /** The first delay's upper bound, in milliseconds. Default 1,000. */
  readonly firstMs?: number;
  /** No delay is longer. Default 60,000. */
  readonly maxMs?: number;
  readonly random?: () => number;
}

/** The delay before attempt number `attempt` (1, 2, …), in milliseconds: between half and all of the doubled bound. */
export function backoff(attempt: number, options: BackoffOptions = {}): number {
  const { firstMs = 1_000, maxMs = 60_000, random = Math.random } = options;
  const bound = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(bound / 2 + (random() * bound) / 2);
}
