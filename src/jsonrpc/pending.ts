// The table of requests that wait for a reply: one entry an id, each with its own time-out and absolute maximum.
// One timer serves all entries; it never decides more than "which entries are due".
import { isParleyError, ParleyError } from '../errors.ts';
import { limitOf, type Clock, type Timer } from '../base/index.ts';
import type { RequestId } from './message.ts';

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Entry<Reply> {
  readonly method: string;
  readonly settle: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  /** Milliseconds without a reply or progress; Infinity for none. */
  readonly timeoutMs: number;
  /** Milliseconds in all; progress never extends past it. */
  readonly maxMs: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called before the rejection when nobody waits any more. */
  readonly onGiveUp: (error: ParleyError) => void;
}

/** An entry and how long it still waits. */
interface Held<Reply> {
  readonly entry: Entry<Reply>;
  dueAt: number;
  readonly endsAt: number;
  lastProgress: number;
  progressCount: number;
}

/** Ids remembered after their caller gave up, to tell a late reply from an invented one. */
const REMEMBERED = 1_000;

export class Pending<Reply> {
  readonly #entries = new Map<RequestId, Held<Reply>>();
  readonly #forgotten = new Set<RequestId>();
  readonly #clock: Clock;
  readonly #maxProgress: number;
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock, maxProgress?: number) {
    this.#clock = clock;
    this.#maxProgress = limitOf('maxProgress', maxProgress);
  }

  get size(): number {
    return this.#entries.size;
  }

  add(id: RequestId, entry: Entry<Reply>): void {
    const now = this.#clock.now();
    const endsAt = now + entry.maxMs;
    const dueAt = Math.min(now + entry.timeoutMs, endsAt);
    this.#entries.set(id, { entry, dueAt, endsAt, lastProgress: -Infinity, progressCount: 0 });
    if (dueAt < this.#timerAt) this.#arm(dueAt);
    if (this.#entries.size === 1) this.#timer?.hold('hold');
  }

  /** Takes the entry out; undefined when nobody waits for `id`. */
  take(id: RequestId): Entry<Reply> | undefined {
    const held = this.#entries.get(id);
    if (held === undefined) return undefined;
    this.#entries.delete(id);
    if (this.#entries.size === 0) this.#timer?.hold('release');
    return held.entry;
  }

  /** The only id that waits, when exactly one does. */
  only(): RequestId | undefined {
    return this.#entries.size === 1 ? this.#entries.keys().next().value : undefined;
  }

  /** Takes the entry out because its caller gave up; a reply that still comes is then known as stale. */
  forget(id: RequestId): Entry<Reply> | undefined {
    const entry = this.take(id);
    if (entry === undefined) return undefined;
    this.#forgotten.add(id);
    if (this.#forgotten.size > REMEMBERED) this.#forgotten.delete(this.#forgotten.values().next().value as RequestId);
    return entry;
  }

  /** True once for each forgotten id. */
  wasForgotten(id: RequestId): boolean {
    return this.#forgotten.delete(id);
  }

  /** Passes progress on and restarts the idle time-out. False when nobody waits for it, it does not increase, or is too much. */
  progress(id: RequestId, progress: Progress): boolean {
    const held = this.#entries.get(id);
    const { onProgress, timeoutMs } = held?.entry ?? {};
    if (held === undefined || onProgress === undefined || timeoutMs === undefined) return false;
    if (!Number.isFinite(progress.progress) || progress.progress <= held.lastProgress) return false;
    if (++held.progressCount > this.#maxProgress) return false;
    held.lastProgress = progress.progress;
    held.dueAt = Math.min(this.#clock.now() + timeoutMs, held.endsAt);
    onProgress(progress);
    return true;
  }

  /** Rejects all that wait. */
  failAll(errorFor: (entry: Entry<Reply>) => Error): void {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Infinity;
    for (const { entry } of entries) entry.reject(errorFor(entry));
  }

  #arm(at: number): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = at;
    if (at === Infinity) return;
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#expire());
  }

  #expire(): void {
    const now = this.#clock.now();
    // Nothing is armed while entries are told: whoever is told may add another, or end all.
    this.#timer = undefined;
    this.#timerAt = Infinity;
    for (const [id, { entry, dueAt, endsAt }] of [...this.#entries]) {
      if (dueAt > now || this.forget(id) === undefined) continue;
      const afterMs = dueAt === endsAt ? entry.maxMs : entry.timeoutMs;
      const error = new ParleyError(
        'timeout',
        `No answer to ${entry.method} within ${seconds(afterMs)}. Raise the time-out for this call, or look at the server.`,
        { details: { afterMs } },
      );
      entry.onGiveUp(error);
      entry.reject(error);
    }
    let next = Infinity;
    for (const { dueAt } of this.#entries.values()) next = Math.min(next, dueAt);
    this.#arm(next);
  }
}

/** "60 s", "0.5 s", "40 ms": durations in messages. */
export function seconds(ms: number): string {
  if (ms < 100) return `${String(Math.round(ms))} ms`;
  return `${String(Math.round(ms / 100) / 10)} s`;
}

/** The error an aborted signal stands for: a ParleyError reason stays itself. */
export function abortError(signal: AbortSignal, what: string): ParleyError {
  if (isParleyError(signal.reason)) return signal.reason;
  return new ParleyError('aborted', `${what} was cancelled by the caller.`, { cause: signal.reason });
}
