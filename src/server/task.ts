// One call that may go on as a task (SEP-2663). Until it is one, its client waits for the answer of the call itself; from then on
// it is asked about. Knows nothing of time and of other tasks. What has ended once stays as it ended.
import { randomBytes } from 'node:crypto';
import { ParleyError, type RpcError } from '../errors.ts';
import type { JsonObject, RequestId, RequestOptions } from '../jsonrpc/index.ts';
import type { ClientCapabilities, InputRequest, ServerDialect, TaskStatus } from '../protocol/index.ts';
import { readAnswer } from './ask.ts';
import { invalidParams, type Call, type Cancellation, type TaskSide, type WayBack } from './call.ts';

/** What a task needs of its table. */
export interface TaskPort {
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Its state is another than before. */
  readonly changed: (task: Task) => void;
}

interface Question {
  readonly request: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

export class Task implements TaskSide, Cancellation, WayBack {
  readonly id = randomBytes(16).toString('base64url');
  readonly principal: string | undefined;
  readonly #port: TaskPort;
  readonly #line: WayBack;
  readonly #dialect: ServerDialect;
  readonly #capabilities: ClientCapabilities;
  readonly #controller = new AbortController();
  readonly #questions = new Map<string, Question>();
  /** Keys asked under so far: none means two questions. */
  readonly #keys = new Set<string>();
  readonly #createdAt: number;
  #updatedAt: number;
  /** Who waits: for the answer of the call, for nothing more, or for the task. */
  #phase: 'call' | 'answered' | 'task' = 'call';
  #whenTask: () => void = () => {};
  #end: { readonly status: TaskStatus; readonly payload: JsonObject } | undefined;
  #message: string | undefined;

  constructor(call: Call, port: TaskPort) {
    this.principal = call.principal;
    this.#port = port;
    this.#line = call.line;
    this.#dialect = call.dialect;
    this.#capabilities = call.facts.capabilities;
    this.#createdAt = this.#updatedAt = port.now();
  }

  get isTask(): boolean {
    return this.#phase === 'task';
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get status(): TaskStatus {
    return this.#end?.status ?? (this.#questions.size > 0 ? 'input_required' : 'working');
  }

  get isCancelled(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Calls `listener` once, as soon as the call becomes a task. */
  whenTask(listener: () => void): void {
    this.#whenTask = listener;
  }

  /** Makes it a task, unless the call was answered, or its client gave it up, or it is one. */
  becomeTask(): void {
    if (this.#phase !== 'call' || this.isCancelled) return;
    this.#phase = 'task';
    this.#whenTask();
  }

  /** True when the call's own answer is still to be given, which it then is. */
  takeAnswer(): boolean {
    if (this.#phase === 'call') this.#phase = 'answered';
    return this.#phase === 'answered';
  }

  /** A question that only the task can put, so it is one from now on. */
  ask(name: string, question: InputRequest): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const request = this.#dialect.ask(question, this.#capabilities);
      if (this.isCancelled) return reject(this.signal.reason as Error);
      this.#questions.set(this.#keyOf(name), { request, resolve, reject });
      this.#changed();
      this.becomeTask();
    });
  }

  /** What progress says, told to whoever asks about the task. */
  report(message: string): void {
    if (this.hasEnded || message === this.#message) return;
    this.#message = message;
    this.#changed();
  }

  /** Takes answers to questions that are open, and ignores others. @throws RpcError -32602 for one that does not fit; then none is taken */
  update(responses: JsonObject): void {
    const taken = Object.entries(responses).flatMap(([key, value]) => {
      const question = this.#questions.get(key);
      if (question === undefined) return [];
      const answer = readAnswer(question.request, value);
      if (answer === undefined) throw invalidParams(`the response for "${key.slice(0, 128)}" does not fit what was asked`);
      return [[key, question, answer] as const];
    });
    for (const [key, { resolve }, answer] of taken) {
      this.#questions.delete(key);
      resolve(answer);
    }
    if (taken.length > 0) this.#changed();
  }

  complete(result: JsonObject): void {
    this.#finish('completed', { result });
  }

  fail({ code, message, data }: RpcError): void {
    this.#finish('failed', { error: { code, message, ...(data !== undefined && { data }) }, statusMessage: message });
  }

  /** Ends it, unless it has ended, and aborts the handler. */
  cancel(): void {
    this.abort(new ParleyError('aborted', 'The task was cancelled.'));
    this.#finish('cancelled', {});
  }

  /** Aborts the handler, whose client, or server, is gone. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
    for (const { reject } of this.#questions.values()) reject(reason);
    this.#questions.clear();
  }

  /** Its state without what belongs to the status: what a call is answered with. */
  seed(): JsonObject {
    return {
      taskId: this.id,
      status: this.status,
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      createdAt: new Date(this.#createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
      ttlMs: this.#port.ttlMs,
      pollIntervalMs: this.#port.pollIntervalMs,
    };
  }

  /** Its whole state. */
  describe(): JsonObject {
    const wanted = [...this.#questions].map(([key, { request }]) => [key, request] as const);
    return {
      ...this.seed(),
      ...(this.status === 'input_required' && { inputRequests: Object.fromEntries(wanted) }),
      ...this.#end?.payload,
    };
  }

  /** Progress goes to the call while its client waits for it; a task has none (SEP-2663, "Task Status Notifications"). */
  notify(method: string, params: JsonObject, relatedTo?: RequestId): Promise<void> {
    return this.isTask ? Promise.resolve() : this.#line.notify(method, params, relatedTo);
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<JsonObject> {
    return this.#line.request(method, params, options);
  }

  detach(id: RequestId, retryMs: number): void {
    if (!this.isTask) this.#line.detach(id, retryMs);
  }

  #finish(status: TaskStatus, payload: JsonObject): void {
    if (this.hasEnded) return;
    this.#end = { status, payload };
    this.#message = undefined;
    this.#questions.clear();
    this.#changed();
  }

  #changed(): void {
    this.#updatedAt = this.#port.now();
    if (this.isTask) this.#port.changed(this);
  }

  #keyOf(name: string): string {
    let key = name;
    for (let count = 2; this.#keys.has(key); count++) key = `${name}-${count}`;
    this.#keys.add(key);
    return key;
  }
}
