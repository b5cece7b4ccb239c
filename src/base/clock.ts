// Time as an argument, so that tests can move it.

/** A timer that was set; `cancel` may be called at any time, also after it fired. */
export interface Timer {
  cancel(): void;
  /** Keeps the process alive while true (the default). */
  hold(alive: 'hold' | 'release'): void;
}

export interface Clock {
  /** Milliseconds; only differences mean anything. */
  now(): number;
  /** Calls `fire` once after `ms` milliseconds. */
  after(ms: number, fire: () => void): Timer;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, fire) {
    // setTimeout treats anything above 2^31 - 1 as 1 ms.
    const timer = setTimeout(fire, Math.min(ms, 2_147_483_647));
    return {
      cancel: () => clearTimeout(timer),
      hold: (alive) => {
        if (alive === 'hold') timer.ref();
        else timer.unref();
      },
    };
  },
};

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(ms: number, options: { clock?: Clock; signal?: AbortSignal } = {}): Promise<void> {
  const { clock = systemClock, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = () => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}
