// The host's standing hold on one server: connects, watches its health, and comes back with a bounded back-off.
// What it is doing is always in `state`; nothing else is remembered.
import { ParleyError } from '../../errors.ts';
import { backoff, createFeed, type Clock, type Feed, type Timer } from '../../base/index.ts';
import { abortError } from '../../jsonrpc/index.ts';
import type { Session } from '../../client/index.ts';
import { named } from '../named.ts';
import { next, type ConnectionEvent, type ConnectionState } from './state.ts';

export interface ConnectionOptions {
  readonly name: string;
  /** Opens a session; called once an attempt. Must end within a bound and heed the signal. */
  readonly open: (options: { readonly signal: AbortSignal }) => Promise<Session>;
  readonly clock: Clock;
  /** Milliseconds between health checks; 0 for none. Default 30,000. */
  readonly healthIntervalMs?: number;
  readonly random?: () => number;
}

/** Health checks in a row that may go unanswered before the server counts as lost. */
const MAX_MISSED = 2;

export class Connection {
  readonly name: string;
  readonly changes: Feed<ConnectionState>;
  readonly #options: ConnectionOptions;
  readonly #source = createFeed<ConnectionState>();
  #state: ConnectionState = { type: 'idle' };
  #attempt: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;
  #timer: Timer | undefined;

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.#options = options;
    this.changes = this.#source.feed;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Begins to connect, if it has not begun. */
  start(): void {
    this.#move({ type: 'start' });
  }

  /** Forgets earlier failures and connects anew. */
  async restart(): Promise<void> {
    const { session } = this.#state as { session?: Session };
    this.#move({ type: 'restart' });
    await session?.close();
  }

  /**
   * Resolves with a session that is ready: waits for an attempt under way, ends a back-off at once, and where a sign-in was needed
   * looks whether it still is.
   * @throws ParleyError why the server cannot be used
   */
  async session(options: { readonly signal?: AbortSignal } = {}): Promise<Session> {
    const { signal } = options;
    if (this.#state.type === 'idle') this.#move({ type: 'start' });
    if (this.#state.type === 'waiting' || this.#state.type === 'needs-auth') this.#move({ type: 'retry' });
    while (this.#state.type === 'connecting') await this.#change(signal);
    switch (this.#state.type) {
      case 'ready':
        return this.#state.session;
      case 'waiting':
      case 'needs-auth':
      case 'failed':
        throw this.#state.error;
      default:
        throw new ParleyError('closed', `Server "${this.name}" is not connected.`, { details: { server: this.name } });
    }
  }

  /** Ends the connection and whatever it is doing, and waits until nothing of it is left. */
  async close(): Promise<void> {
    const { session } = this.#state as { session?: Session };
    this.#move({ type: 'stop' });
    this.#attempt?.abort.abort(new ParleyError('closed', `Server "${this.name}" was closed.`));
    await Promise.all([this.#attempt?.done, session?.close()]);
    this.#source.end();
  }

  #move(event: ConnectionEvent): void {
    const { clock, random } = this.#options;
    const delay = (attempt: number) => backoff(attempt, random === undefined ? {} : { random });
    const state = next(this.#state, event, { now: clock.now(), delay });
    if (state === this.#state) return;
    this.#state = state;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (state.type === 'connecting') this.#connect();
    else if (state.type === 'waiting') this.#after(state.retryAt - clock.now(), () => this.#move({ type: 'retry' }));
    else if (state.type === 'ready') this.#checkLater(state.session, 0);
    this.#source.emit(state);
  }

  #after(ms: number, fire: () => void): void {
    this.#timer = this.#options.clock.after(ms, fire);
    this.#timer.hold('release');
  }

  #connect(): void {
    const abort = new AbortController();
    const run = async () => {
      try {
        const session = await this.#options.open({ signal: abort.signal });
        if (abort.signal.aborted) return await session.close();
        void session.ended.then((ending) => this.#lost(session, ending.error));
        this.#move({ type: 'connected', session });
      } catch (error) {
        this.#move({ type: 'failed', error: named(error, this.name) });
      }
    };
    this.#attempt = { abort, done: run() };
  }

  #checkLater(session: Session, missed: number): void {
    const { healthIntervalMs = 30_000 } = this.#options;
    if (healthIntervalMs > 0) this.#after(healthIntervalMs, () => void this.#check(session, missed));
  }

  async #check(session: Session, missed: number): Promise<void> {
    try {
      await session.ping({ timeoutMs: 10_000 });
      missed = 0;
    } catch {
      missed++;
    }
    if (!this.#holds(session)) return;
    if (missed < MAX_MISSED) return this.#checkLater(session, missed);
    const error = new ParleyError('timeout', `Server "${this.name}" stopped answering health checks.`, {
      details: { server: this.name },
    });
    this.#move({ type: 'lost', error });
    await session.close();
  }

  #holds(session: Session): boolean {
    return this.#state.type === 'ready' && this.#state.session === session;
  }

  #lost(session: Session, error: Error): void {
    if (this.#holds(session)) this.#move({ type: 'lost', error: named(error, this.name) });
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal, `Waiting for server "${this.name}"`));
      const stop = () => {
        unsubscribe();
        reject(abortError(signal as AbortSignal, `Waiting for server "${this.name}"`));
      };
      const unsubscribe = this.changes.subscribe(() => {
        unsubscribe();
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}
