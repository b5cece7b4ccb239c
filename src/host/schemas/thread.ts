// One thread that checks one value at a time and is ended, and replaced by the next, when that takes too long.
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/index.ts';
import { ParleyError, type ErrorCode, type ErrorDetails } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { CompileOptions, Validated } from '../../protocol/json-schema.ts';

export interface Task {
  readonly schema: JsonObject;
  readonly value: unknown;
  readonly options: CompileOptions;
}

/** What the thread says: that it has begun, that the schema is ready, and what came of the check. */
export type Said =
  | { readonly type: 'ready' }
  | { readonly type: 'compiled' }
  | { readonly type: 'checked'; readonly checked: Validated }
  | {
      readonly type: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: ErrorDetails;
    };

export type ThreadOutcome =
  | { readonly type: 'checked'; readonly checked: Validated }
  | { readonly type: 'failed'; readonly error: ParleyError }
  | { readonly type: 'late'; readonly stage: 'compile' | 'check' };

/** What came of a task, and whether its thread can take the next. */
interface Ended {
  readonly outcome: ThreadOutcome;
  readonly worker: 'idle' | 'stuck';
}

/** Milliseconds for a thread to start: no server has a say in it, and a machine may be busy. */
const START_MS = 30_000;
const MEMORY_MB = 256;
// The sources cannot run in a thread of their own on every Node that is supported; then what was built of them does.
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/host/schemas/program.js' : './program.js',
  import.meta.url,
);

export class SchemaThread {
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs the task when those before it are done. Never rejects. */
  run(task: Task, times: { readonly compileMs: number; readonly checkMs: number }): Promise<ThreadOutcome> {
    const turn = this.#last.then(() => this.#run(task, times));
    this.#last = turn;
    return turn;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
    await this.#last;
  }

  async #run(task: Task, times: { readonly compileMs: number; readonly checkMs: number }): Promise<ThreadOutcome> {
    if (this.#closed) return failed('closed', 'The host is closed.');
    const isNew = this.#worker === undefined;
    const worker = (this.#worker ??= new Worker(PROGRAM, {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    }));
    const { outcome, worker: state } = await new Promise<Ended>((resolve) => {
      let timer: Timer | undefined;
      const within = (ms: number, late: ThreadOutcome) => {
        timer?.cancel();
        timer = this.#clock.after(ms, () => finish(late, 'stuck'));
      };
      const finish = (outcome: ThreadOutcome, state: Ended['worker'] = 'idle') => {
        timer?.cancel();
        for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event);
        // What it may still suffer is nobody's any more.
        worker.on('error', () => {});
        resolve({ outcome, worker: state });
      };
      const begin = () => {
        within(times.compileMs, { type: 'late', stage: 'compile' });
        worker.postMessage(task);
      };
      worker.on('message', (said: Said) => {
        if (said.type === 'ready') begin();
        else if (said.type === 'compiled') within(times.checkMs, { type: 'late', stage: 'check' });
        else if (said.type === 'checked') finish(said);
        else finish(failed(said.code, said.message, said.details));
      });
      worker.on('error', () => finish(failed('limit', 'The schema takes too much memory to be checked against.'), 'stuck'));
      worker.on('exit', () => finish(failed('internal', 'The thread that checks schemas ended.'), 'stuck'));
      worker.ref();
      if (isNew) within(START_MS, failed('internal', 'The thread that checks schemas did not start.'));
      else begin();
    });
    if (state === 'idle') worker.unref();
    else await this.#end();
    return outcome;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

function failed(code: ErrorCode, message: string, details: ErrorDetails = {}): ThreadOutcome {
  return { type: 'failed', error: new ParleyError(code, message, { details }) };
}
