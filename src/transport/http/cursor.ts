// Where one stream of events stands across its connections: the id to resume after, how long to wait before the next
// connection, and when to stop. Pure: opens nothing and sets no timer.
import { backoff } from '../../base/index.ts';

/** A `retry` is honoured within these, in milliseconds. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 60_000;
/** Connections in a row that may bring nothing. */
const MAX_ATTEMPTS = 5;
/** So many of them wait just as long as the server asked; the later ones back off. */
const ATTEMPTS_AS_ASKED = 2;
/** A connection that lasted this long did its work, even in silence. */
const HEALTHY_MS = 30_000;
/** Event ids remembered, to tell what a server sends again after a resumption. */
const MAX_SEEN = 1_000;

export interface CursorOptions {
  /** True for a stream that was never open: its first connection does not wait. */
  readonly unopened?: boolean;
  readonly random?: () => number;
}

export class Cursor {
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #attempts = 0;
  #unopened: boolean;
  readonly #random: () => number;
  /** Event ids, and the connection each first came on. */
  #seen: Map<string, number> | undefined;
  #connection = 0;

  constructor(options: CursorOptions = {}) {
    this.#unopened = options.unopened ?? false;
    this.#random = options.random ?? Math.random;
  }

  /** The value of Last-Event-ID, or undefined when the server gave no id, or took it back. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** True when an event with this id came on an earlier connection: it is a repetition. */
  repeats(eventId: string): boolean {
    const seen = (this.#seen ??= new Map<string, number>());
    const connection = seen.get(eventId);
    if (connection !== undefined) return connection < this.#connection;
    seen.set(eventId, this.#connection);
    if (seen.size > MAX_SEEN) seen.delete(seen.keys().next().value as string);
    return false;
  }

  /** Says that the connection brought a message, so that it was worth its while. */
  progressed(): void {
    this.#attempts = 0;
  }

  /** Says that a connection ended which had lasted `ms` milliseconds, and takes over what its decoder learnt. */
  ended(ms: number, lastEventId: string | undefined, retryMs: number | undefined): void {
    this.#connection++;
    if (ms >= HEALTHY_MS) this.#attempts = 0;
    if (lastEventId !== undefined) this.#lastEventId = lastEventId === '' ? undefined : lastEventId;
    if (retryMs !== undefined) this.#retryMs = Math.min(Math.max(retryMs, MIN_RETRY_MS), MAX_RETRY_MS);
  }

  /** Milliseconds to wait before the next connection, or undefined when there is to be none. Counts as an attempt. */
  nextDelayMs(): number | undefined {
    if (this.#unopened) {
      this.#unopened = false;
      return 0;
    }
    if (this.#attempts === MAX_ATTEMPTS) return undefined;
    const attempt = ++this.#attempts;
    if (this.#retryMs === undefined) return backoff(attempt, { random: this.#random });
    if (attempt <= ATTEMPTS_AS_ASKED) return this.#retryMs;
    return Math.max(this.#retryMs, backoff(attempt - ATTEMPTS_AS_ASKED, { random: this.#random }));
  }
}
