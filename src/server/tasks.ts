// The tasks of a server, kept in memory (SEP-2663): few enough, each for a while, and each for the one who made it. Calls of tools
// that may become tasks begin here, and so do the requests about them.
import { RpcError } from '../errors.ts';
import type { Clock, Timer } from '../base/index.ts';
import { isObject, rpcCode, type JsonObject, type Request } from '../jsonrpc/index.ts';
import { declares, extension, mcpCode, method } from '../protocol/index.ts';
import { invalidParams, stringParam, type Call, type Cancellation } from './call.ts';
import { Task } from './task.ts';

/** How a server keeps its tasks. */
export interface TaskOptions {
  /** Milliseconds from its creation for which a task is kept; then it is aborted and forgotten. At most a day. Default an hour. */
  readonly ttlMs?: number | undefined;
  /** Milliseconds clients should leave between two questions about a task. Default 1,000. */
  readonly pollIntervalMs?: number | undefined;
  /** Milliseconds a call that may become a task is given to be answered at once. Default 250. */
  readonly promptMs?: number | undefined;
  /** Tasks at once, of all clients; of those that have ended the oldest makes room. Default 1,024. */
  readonly maxTasks?: number | undefined;
}

/** Whether a tool's calls may become tasks, or have to. */
export type TaskSupport = 'optional' | 'required';

type TaskMethod = (typeof method)['getTask' | 'updateTask' | 'cancelTask'];

const MAX_TTL_MS = 86_400_000;

export interface TasksPort {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly changed: (task: Task) => void;
  /** The error to answer when a handler threw. */
  readonly failure: (error: unknown, request: Request, cancellation: Cancellation) => RpcError;
}

export class Tasks {
  readonly #port: TasksPort;
  readonly #ttlMs: number;
  readonly #pollIntervalMs: number;
  readonly #promptMs: number;
  readonly #maxTasks: number;
  readonly #kept = new Map<string, { readonly task: Task; readonly timer: Timer }>();

  constructor(port: TasksPort, options: TaskOptions = {}) {
    const { ttlMs = 3_600_000, pollIntervalMs = 1_000, promptMs = 250, maxTasks = 1_024 } = options;
    this.#port = port;
    this.#ttlMs = Math.min(MAX_TTL_MS, Math.max(1, Math.round(ttlMs)));
    this.#pollIntervalMs = Math.max(1, Math.round(pollIntervalMs));
    this.#promptMs = promptMs;
    this.#maxTasks = maxTasks;
  }

  /**
   * Answers a call with what `work` makes of it: at once when that is quick, or wants a round of input first; else with a task in
   * which it goes on. `support` says whether what is quick becomes a task as well.
   * @throws RpcError -32021 when the call has to become a task and its client cannot follow one; what `work` throws before that
   */
  perform(call: Call, support: TaskSupport, work: (call: Call) => Promise<JsonObject>): Promise<JsonObject> {
    if (!canFollow(call)) {
      if (support === 'optional') return work(call);
      throw missing('The tool runs as a task, which the client did not declare that it can follow');
    }
    const task = this.#keep(call);
    if (task === undefined) {
      if (support === 'optional') return work(call);
      throw new RpcError(rpcCode.internalError, 'Too many tasks are at work. Try again later');
    }
    return new Promise((resolve, reject) => {
      const { signal } = call.cancellation;
      const gone = () => task.abort(signal.reason as Error);
      if (signal.aborted) gone();
      signal.addEventListener('abort', gone, { once: true });
      // What does not wait for anything has ended before the next turn of the event loop.
      const timer = support === 'optional' ? this.#port.clock.after(this.#promptMs, () => task.becomeTask()) : undefined;
      const turn = support === 'required' ? setImmediate(() => task.becomeTask()) : undefined;
      const decided = () => {
        signal.removeEventListener('abort', gone);
        timer?.cancel();
        clearImmediate(turn);
      };
      task.onDetach = () => {
        decided();
        resolve({ resultType: 'task', ...task.seed() });
      };
      const end = (answer: () => void, ofTask: () => void, asksFirst: boolean) => {
        if (support === 'required' && !asksFirst) task.becomeTask();
        if (!task.takeAnswer()) return ofTask();
        decided();
        this.#forget(task.id);
        answer();
      };
      work({ ...call, task, cancellation: task, line: task }).then(
        (result) =>
          end(
            () => resolve(result),
            () => task.complete(result),
            result['resultType'] === 'input_required',
          ),
        (error: unknown) =>
          end(
            () => reject(error as Error),
            () => task.fail(this.#port.failure(error, call.request, task)),
            false,
          ),
      );
    });
  }

  /** Answers a request about a task. @throws RpcError -32021, or -32602 for a task that is none, or another's */
  answer(name: TaskMethod, call: Call): JsonObject {
    if (!canFollow(call)) throw missing(`${name} needs a client that declared tasks`);
    const task = this.#of(stringParam(call.params, 'taskId'), call);
    if (task === undefined) throw invalidParams('there is no such task, or no longer');
    switch (name) {
      case method.getTask:
        return task.describe();
      case method.updateTask: {
        const { inputResponses } = call.params;
        if (!isObject(inputResponses)) throw invalidParams('"inputResponses" is missing or not an object');
        task.update(inputResponses);
        return {};
      }
      case method.cancelTask:
        task.cancel();
        return {};
      default:
        return name satisfies never;
    }
  }

  /** The part of `ids` whose tasks are the caller's to hear of. @throws RpcError -32021 when it did not declare that it can */
  audible(ids: readonly string[], call: Call): readonly string[] {
    if (!canFollow(call)) throw missing('Only a client that declared tasks can hear of them');
    return ids.filter((id) => this.#of(id, call) !== undefined);
  }

  /** Aborts all that is at work and forgets everything. */
  close(): void {
    for (const { task } of this.#kept.values()) task.cancel();
    for (const id of [...this.#kept.keys()]) this.#forget(id);
  }

  #keep(call: Call): Task | undefined {
    if (this.#kept.size >= this.#maxTasks) {
      const ended = [...this.#kept.values()].find(({ task }) => task.hasEnded);
      if (ended === undefined) return undefined;
      this.#forget(ended.task.id);
    }
    const { now, changed, clock } = this.#port;
    const task = new Task(call, { ttlMs: this.#ttlMs, pollIntervalMs: this.#pollIntervalMs, now, changed });
    const timer = clock.after(this.#ttlMs, () => {
      task.cancel();
      this.#forget(task.id);
    });
    timer.hold('release');
    this.#kept.set(task.id, { task, timer });
    return task;
  }

  #forget(id: string): void {
    this.#kept.get(id)?.timer.cancel();
    this.#kept.delete(id);
  }

  /** A task that is another's is none. */
  #of(id: string, call: Call): Task | undefined {
    const task = this.#kept.get(id)?.task;
    return task?.isTask === true && task.principal === call.principal ? task : undefined;
  }
}

/** Only what the request itself declares counts, and only where the extension is defined. */
function canFollow({ dialect, facts }: Call): boolean {
  return dialect.era === 'modern' && declares(facts.capabilities, extension.tasks);
}

function missing(why: string): RpcError {
  return new RpcError(mcpCode.missingCapability, why, { requiredCapabilities: { extensions: { [extension.tasks]: {} } } });
}
