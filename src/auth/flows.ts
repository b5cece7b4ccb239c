// One act for many who want the same thing at the same time. It goes on as long as anybody waits for it, within a bound, and all
// who wait learn of the same outcome.
import { ParleyError } from '../errors.ts';
import type { Clock } from '../base/index.ts';
import { untilAborted } from './store.ts';

export interface SharedFlowsOptions {
  readonly clock: Clock;
  /** Milliseconds one flow may take. */
  readonly maxMs: number;
  /** What is said when it took longer. */
  readonly late: string;
}

/** What somebody wants. */
export interface Want {
  /** Those who want the same have the same key. */
  readonly key: string | undefined;
  /** True when another flow has brought it about. */
  readonly isDone: () => boolean;
  readonly act: (signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

interface Flow {
  readonly key: string | undefined;
  readonly over: Promise<void>;
  readonly control: AbortController;
  waiting: number;
}

/** Flows, one at a time. */
export class SharedFlows {
  readonly #options: SharedFlowsOptions;
  #flow: Flow | undefined;

  constructor(options: SharedFlowsOptions) {
    this.#options = options;
  }

  /**
   * Resolves when what is wanted was done: by the flow under way for it, or by a new one after any other.
   * @throws ParleyError what the flow throws, or the signal's reason
   */
  async share({ key, isDone, act, signal }: Want): Promise<void> {
    while (this.#flow !== undefined && this.#flow.key !== key) {
      const other = this.#flow.over.catch(() => {
        // Whoever wanted that one hears of it.
      });
      await untilAborted(other, signal);
    }
    if (this.#flow === undefined && isDone()) return;
    const flow = (this.#flow ??= this.#begin(key, act));
    flow.waiting++;
    try {
      await untilAborted(flow.over, signal);
    } finally {
      if (--flow.waiting === 0) flow.control.abort(new ParleyError('aborted', 'Nobody waits for the sign-in any more.'));
    }
  }

  #begin(key: string | undefined, act: (signal: AbortSignal) => Promise<void>): Flow {
    const { clock, maxMs, late } = this.#options;
    const control = new AbortController();
    const timer = clock.after(maxMs, () => control.abort(new ParleyError('timeout', late, { details: { afterMs: maxMs } })));
    const over = untilAborted(act(control.signal), control.signal).finally(() => {
      timer.cancel();
      this.#flow = undefined;
    });
    return { key, over, control, waiting: 0 };
  }
}
