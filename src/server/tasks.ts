// The tasks of a server, kept in memory (SEP-2663): few enough, each for a while, and each for the one who made it. Calls of tools
// that may become tasks begin here, and so do the requests about them.
import { ParleyError, RpcError } from '../errors.ts';
import type { Clock, Timer } from '../base/index.ts';
import { SERVING } from '../base/serving.ts';
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
  #isClosed = false;
  readonly #kept = new Map<string, { readonly task: Task; readonly timer: Timer }>();

  /** @throws ParleyError `usage` for a number that is not above 0 */
  constructor(port: TasksPort, options: TaskOptions = {}) {
    const wrong = Object.entries(options).find(([, value]) => value !== undefined && !(Number(value) > 0));
    if (wrong !== undefined) throw new ParleyError('usage', `tasks.${wrong[0]} must be a number above 0.`);
    const { pollIntervalMs = 1_000, promptMs = 250 } = options;
    const { ttlMs = SERVING.ttlMs.default, maxTasks = SERVING.maxTasks.default } = options;
    this.#port = port;
    this.#ttlMs = Math.min(MAX_TTL_MS, Math.ceil(ttlMs));
    this.#pollIntervalMs = Math.ceil(pollIntervalMs);
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
    return this.#run(task, call, support, work);
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

  /** Cancels and forgets all tasks, and those that calls become from now on. */
  close(): void {
    this.#isClosed = true;
    for (const { task } of [...this.#kept.values()]) if (task.isTask) this.#drop(task);
  }

  #run(task: Task, call: Call, support: TaskSupport, work: (call: Call) => Promise<JsonObject>): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const { signal } = call.cancellation;
      const givenUp = () => task.abort(signal.reason as Error);
      if (signal.aborted) givenUp();
      signal.addEventListener('abort', givenUp, { once: true });
      // What waits for nothing has ended before the next turn of the event loop: a round of input can still come before the task.
      const timer = support === 'optional' ? this.#port.clock.after(this.#promptMs, () => task.becomeTask()) : undefined;
      const turn = support === 'required' ? setImmediate(() => task.becomeTask()) : undefined;
      const decided = () => {
        signal.removeEventListener('abort', givenUp);
        timer?.cancel();
        clearImmediate(turn);
      };
      const ended = (outcome: { readonly result: JsonObject } | { readonly error: Error }) => {
        const wantsRound = 'result' in outcome && outcome.result['resultType'] === 'input_required';
        if (support === 'required' && !wantsRound) task.becomeTask();
        if (task.takeAnswer()) {
          decided();
          this.#forget(task.id);
          if ('result' in outcome) resolve(outcome.result);
          else reject(outcome.error);
        } else if ('result' in outcome) task.complete(outcome.result);
        else task.fail(this.#port.failure(outcome.error, call.request, task));
      };
      task.whenTask(() => {
        decided();
        resolve({ resultType: 'task', ...task.seed() });
        if (this.#isClosed) this.#drop(task);
      });
      work({ ...call, task, cancellation: task, line: task }).then(
        (result) => ended({ result }),
        (error: unknown) => ended({ error: error as Error }),
      );
    });
  }

  #keep(call: Call): Task | undefined {
    if (this.#kept.size >= this.#maxTasks) {
      const ended = [...this.#kept.values()].find(({ task }) => task.hasEnded);
      if (ended === undefined) return undefined;
      this.#forget(ended.task.id);
    }
    const { now, changed, clock } = this.#port;
    const task = new Task(call, { ttlMs: this.#ttlMs, pollIntervalMs: this.#pollIntervalMs, now, changed });
    const timer = clock.after(this.#ttlMs, () => this.#drop(task));
    timer.hold('release');
    this.#kept.set(task.id, { task, timer });
    return task;
  }

  #drop(task: Task): void {
    task.cancel();
    this.#forget(task.id);
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
