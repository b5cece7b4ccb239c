// One task, followed to its end (SEP-2663): asks about it at the server's pace, answers what it asks once each, and keeps the
// first end it hears of. Bounded in time, in rounds of input and in failures; whoever gives up tells the server to stop.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { backoff, createFeed, limitOf, sleep, type Clock, type Feed } from '../base/index.ts';
import { abortError, rpcCode, seconds, type JsonObject, type Progress } from '../jsonrpc/index.ts';
import {
  method,
  readCallToolResult,
  readDetailedTask,
  type CallToolResult,
  type DetailedTask,
  type InputRequest,
  type Task,
} from '../protocol/index.ts';
import type { InputHandlers } from './inputs.ts';
import { gather, tooLong } from './rounds.ts';

/** A tool call that goes on after its answer. It is followed whether or not anybody waits for it. */
export interface TaskHandle {
  /** What `resumeTask` takes, in this process or a later one. Whoever has it can ask about the task: keep it secret. */
  readonly id: string;
  /** What was heard last. `statusMessage` is the server's own text. */
  readonly state: Task;
  /** Every state that differs from the one before it. Ends with the task. */
  readonly updates: Feed<Task>;
  /**
   * Resolves with the result of the call; the same one however often it is asked for.
   * @throws RpcError what the server says the call failed with · ParleyError `aborted` when the task was cancelled, `timeout` after
   * `maxMs`, `input-unanswered`, `outcome-unknown` when the server no longer knows it, and whatever ends a session
   */
  result(): Promise<CallToolResult>;
  /** Asks the server to stop; resolves when it heard. The server may still finish the work. */
  cancel(): Promise<void>;
}

/** What the following of a task needs of its session. */
export interface TaskPort {
  readonly clock: Clock;
  readonly handlers: InputHandlers;
  readonly maxRounds: number | undefined;
  readonly maxTasks: number | undefined;
  /** Sends a request and resolves with its complete result. */
  request(name: string, params: JsonObject, options: { signal?: AbortSignal; timeoutMs?: number }): Promise<JsonObject>;
  /** From 0 to 1, to spread the polls of many clients. Default Math.random. */
  readonly random?: () => number;
}

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for each question about the task. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds for the task in all, people included. */
  readonly maxMs: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Milliseconds between two polls: at least and at most, whatever the server wants, and when it wants nothing. */
const POLL = { minMs: 1_000, maxMs: 60_000, defaultMs: 2_000 } as const;
/** The longest a task can live, and how long past its end it may still be heard of. */
const MAX_TTL_MS = 86_400_000;
const TTL_GRACE_MS = 60_000;
/** Failures in a row after which a task is lost sight of. */
const MAX_FAILURES = 5;
const CANCEL_MS = 10_000;

export class LiveTask implements TaskHandle {
  readonly id: string;
  readonly updates: Feed<Task>;
  /** The result object of the call. */
  readonly outcome: Promise<JsonObject>;
  readonly #what: string;
  readonly #port: TaskPort;
  readonly #options: FollowOptions;
  readonly #source = createFeed<Task>();
  readonly #stop = new AbortController();
  readonly #startedAt: number;
  readonly #seen = new Set<string>();
  readonly #asking = new Map<AbortController, ReadonlyMap<string, InputRequest>>();
  #state: Task;
  #rounds = 0;
  #reports = 0;
  #askedAt = -Infinity;
  #isDue: boolean;
  #wakeUp: AbortController | undefined;

  /** Follows `seed`, the task that the request `what` became, from now on. */
  constructor(what: string, seed: Task, port: TaskPort, options: FollowOptions) {
    this.id = seed.taskId;
    this.updates = this.#source.feed;
    this.#what = what;
    this.#state = seed;
    this.#port = port;
    this.#options = options;
    this.#startedAt = port.clock.now();
    // Only a task at work has nothing to tell yet.
    this.#isDue = seed.status !== 'working';
    this.outcome = this.#follow();
    // Nobody has to wait for it.
    this.outcome.catch(() => {});
  }

  get state(): Task {
    return this.#state;
  }

  async result(): Promise<CallToolResult> {
    return readCallToolResult(await this.outcome);
  }

  async cancel(): Promise<void> {
    await this.#port.request(method.cancelTask, { taskId: this.id }, { timeoutMs: CANCEL_MS });
    this.wake();
  }

  /** Asks the server at once, or as soon as the last question is long enough ago. */
  wake(): void {
    this.#isDue = true;
    this.#wakeUp?.abort();
  }

  /** Gives the task up: `outcome` rejects with `error`. */
  stop(error: Error): void {
    this.#stop.abort(error);
  }

  async #follow(): Promise<JsonObject> {
    const { clock } = this.#port;
    const { signal, maxMs } = this.#options;
    const onAbort = () => signal !== undefined && this.stop(abortError(signal, this.#what));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = maxMs === Infinity ? undefined : clock.after(maxMs, () => this.stop(tooLate(this.#what, maxMs)));
    let isOver = false;
    try {
      if (this.#state.statusMessage !== undefined) this.#report(this.#state);
      for (;;) {
        await this.#pause();
        const task = await this.#get();
        isOver = task.status === 'completed' || task.status === 'failed' || task.status === 'cancelled';
        this.#heard(task, isOver);
        if (task.status === 'completed') return task.result;
        if (task.status === 'failed') throw new RpcError(task.error.code, task.error.message, task.error.data);
        if (task.status === 'cancelled') throw cancelled(this.#what);
        this.#answer(task.status === 'input_required' ? task.inputRequests : new Map());
        if (clock.now() > this.#startedAt + ttlOf(task) + TTL_GRACE_MS)
          throw lostSight(this.#what, 'it outlived its time to live');
      }
    } catch (error) {
      // Given up here while the server may still be at work.
      if (!isOver && !isParleyError(error, 'outcome-unknown')) this.cancel().catch(() => {});
      throw error;
    } finally {
      timer?.cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#stop.abort();
      this.#source.end();
    }
  }

  async #pause(): Promise<void> {
    const { clock, random = Math.random } = this.#port;
    const { signal } = this.#stop;
    if (!this.#isDue) {
      const wakeUp = (this.#wakeUp = new AbortController());
      const intervalMs = Math.min(POLL.maxMs, intervalOf(this.#state) * (1 + random() / 10));
      await sleep(intervalMs, { clock, signal: AbortSignal.any([signal, wakeUp.signal]) }).catch(() => {});
    }
    // However often it is woken, a server cannot make us ask without pause.
    const soonest = this.#askedAt + POLL.minMs - clock.now();
    if (soonest > 0) await sleep(soonest, { clock, signal });
    signal.throwIfAborted();
    this.#isDue = false;
    this.#askedAt = clock.now();
  }

  async #get(): Promise<DetailedTask> {
    try {
      return readDetailedTask(await this.#ask(method.getTask, {}), this.id);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      throw lostSight(this.#what, 'the server does not know the task, or no longer', error);
    }
  }

  #heard(task: DetailedTask, isOver: boolean): void {
    const former = this.#state;
    this.#state = task;
    if (task.status === former.status && task.statusMessage === former.statusMessage) return;
    this.#source.emit(task);
    if (!isOver) this.#report(task);
  }

  #report({ statusMessage: message }: Task): void {
    this.#options.onProgress?.({ progress: ++this.#reports, ...(message !== undefined && { message }) });
  }

  /** Answers the requests that were not there before, and lets go of those that are no longer. */
  #answer(wanted: ReadonlyMap<string, InputRequest>): void {
    for (const [controller, requests] of this.#asking) {
      if (![...requests.keys()].some((key) => wanted.has(key))) controller.abort();
    }
    const fresh = new Map([...wanted].filter(([key]) => !this.#seen.has(key)));
    if (fresh.size === 0) return;
    const maxRounds = limitOf('maxRounds', this.#port.maxRounds);
    if (++this.#rounds > maxRounds) throw tooLong(this.#what, 'maxRounds', maxRounds, this.#rounds);
    for (const key of fresh.keys()) this.#seen.add(key);
    void this.#gather(fresh);
  }

  async #gather(requests: ReadonlyMap<string, InputRequest>): Promise<void> {
    const { clock, handlers } = this.#port;
    const unwanted = new AbortController();
    this.#asking.set(unwanted, requests);
    const signal = AbortSignal.any([this.#stop.signal, unwanted.signal]);
    try {
      const { responses } = await gather(this.#what, { type: 'input', requests, state: undefined }, { handlers, clock, signal });
      if (!signal.aborted) await this.#ask(method.updateTask, { inputResponses: Object.fromEntries(responses) });
    } catch (error) {
      if (signal.aborted) return;
      this.stop(isParleyError(error) ? error : lostSight(this.#what, 'the server did not take the input it asked for', error));
    } finally {
      this.#asking.delete(unwanted);
    }
  }

  /** One question about the task; a failure that may pass is met with patience. */
  async #ask(name: string, params: JsonObject): Promise<JsonObject> {
    const { clock, random } = this.#port;
    const { signal } = this.#stop;
    const { timeoutMs } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#port.request(
          name,
          { taskId: this.id, ...params },
          { signal, ...(timeoutMs !== undefined && { timeoutMs }) },
        );
      } catch (error) {
        signal.throwIfAborted();
        if (!mayPass(error)) throw error;
        if (failures === MAX_FAILURES) throw lostSight(this.#what, 'the server stopped answering questions about it', error);
        await sleep(backoff(failures, { firstMs: POLL.minMs, ...(random && { random }) }), { clock, signal });
      }
    }
  }
}

function intervalOf({ pollIntervalMs = POLL.defaultMs }: Task): number {
  return Math.min(POLL.maxMs, Math.max(POLL.minMs, pollIntervalMs));
}

function ttlOf({ ttlMs }: Task): number {
  return Math.min(MAX_TTL_MS, ttlMs ?? MAX_TTL_MS);
}

/** Faults of the way to the server, and of the server in general; not its word about this task. */
function mayPass(error: unknown): boolean {
  if (error instanceof RpcError) return error.code === rpcCode.internalError;
  if (!isParleyError(error)) return false;
  if (error.code === 'http-status') return error.details.status === 429 || (error.details.status ?? 0) >= 500;
  return error.code === 'timeout' || error.code === 'unreachable' || error.code === 'server-stopped';
}

function cancelled(what: string): ParleyError {
  return new ParleyError('aborted', `${what} went on as a task, which was cancelled before it was done.`);
}

function tooLate(what: string, afterMs: number): ParleyError {
  return new ParleyError(
    'timeout',
    `${what} went on as a task, which did not end within ${seconds(afterMs)}. Raise maxMs if it needs longer.`,
    { details: { afterMs } },
  );
}

/** The task may have done its work, but what became of it cannot be had. */
export function lostSight(what: string, why: string, cause?: unknown): ParleyError {
  return new ParleyError(
    'outcome-unknown',
    `${what} went on as a task, and what became of it is not known: ${why}. Check with the server before you call again.`,
    { cause },
  );
}
