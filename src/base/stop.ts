// Says once that something is to end, and why: what an AbortController does, at a tenth of its cost. For things that are made by
// the thousand; whoever needs a real AbortSignal gets one made.

/** What is watched. Every AbortSignal is one. */
export interface StopSignal {
  readonly aborted: boolean;
  /** Why, once it is aborted. */
  readonly reason: Error;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Both ends in one: who holds it as a `Stop` may abort it, who is given it as a `StopSignal` hears of that. */
export class Stop implements StopSignal {
  #aborted = false;
  #reason: Error | undefined;
  #listeners: (() => void)[] = [];
  #real: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): Error {
    return this.#reason as Error;
  }

  /** Tells all listeners, once. They must not throw. */
  abort(reason: Error): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners.splice(0)) listener();
    this.#real?.abort(reason);
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners.splice(at, 1);
  }

  /** The same as a real signal, for code of others. */
  get signal(): AbortSignal {
    if (this.#real === undefined) {
      this.#real = new AbortController();
      if (this.#aborted) this.#real.abort(this.#reason);
    }
    return this.#real.signal;
  }
}

/** `signal` as a real one. */
export function realSignal(signal: StopSignal): AbortSignal {
  return signal instanceof Stop ? signal.signal : (signal as AbortSignal);
}
