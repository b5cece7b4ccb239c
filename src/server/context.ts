// What a handler is given besides its arguments: who asks, whether they still wait, and ways to tell and ask them things.
// Its functions may be taken out of it and used alone.
import type { Identity, JsonObject } from '../jsonrpc/index.ts';
import {
  LOGGING_LEVELS,
  metaKey,
  metaOf,
  notification,
  type ClientCapabilities,
  type ElicitFormParams,
  type ElicitResult,
  type ElicitUrlParams,
  type Era,
  type Implementation,
  type LoggingLevel,
  type RequestHeaders,
  type Revision,
  type Root,
  type SampleParams,
  type SampleResult,
} from '../protocol/index.ts';
import { ask, type Ask } from './ask.ts';
import type { Call } from './call.ts';

/** What is known of a request and its sender. */
export interface RequestInfo {
  readonly era: Era;
  readonly revision: Revision;
  /** As the client reports itself: for display, not for decisions. */
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities;
  /** Names in lower case; undefined on lines without headers. Without credentials when `identity` is there. */
  readonly headers: RequestHeaders | undefined;
  /** Who was let in by the gate of the listener; undefined where there is none. */
  readonly identity: Identity | undefined;
  /** The principal of `identity`, or else who the `principal` option of the server says it is. */
  readonly principal: string | undefined;
  readonly meta: JsonObject;
}

export interface AskOptions {
  /** The name of this input. Default: `input-1`, `input-2`, … in the order the handler asks. */
  readonly key?: string;
}

type Answers<Asks> = { readonly [Key in keyof Asks]: Asks[Key] extends Ask<infer Answer> ? Answer : JsonObject };

export interface Context {
  /**
   * Aborts when the client cancels, disconnects, or the server closes; of a task, when it is cancelled or too old. What is sent or asked
   * afterwards goes nowhere.
   */
  readonly signal: AbortSignal;
  readonly request: RequestInfo;
  /**
   * Tells the client how far the work is, when it wants to know. A value that does not increase is not sent. Of a task, the message
   * is its status.
   */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message, when the client wants those of this level. `data` is JSON and holds no secrets. */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
  /**
   * Resolves with what a person answered to a form. With a modern client the handler is run again from its start for each
   * round of questions, and answers already given return at once: what it does before it asks must bear being done again. A tool
   * that runs as a task waits instead, and is not run again.
   * @throws RpcError when the client answers no such questions · ToolError when it did not answer this one
   */
  elicit(params: ElicitFormParams, options?: AskOptions): Promise<ElicitResult>;
  /** Resolves when a person agreed, or did not, to visit a URL. Otherwise as `elicit`. */
  elicitUrl(params: Omit<ElicitUrlParams, 'mode'>, options?: AskOptions): Promise<ElicitResult>;
  /** Resolves with a message that the client's model wrote. Otherwise as `elicit`. */
  sample(params: SampleParams, options?: AskOptions): Promise<SampleResult>;
  /** Resolves with the folders the client works in. Otherwise as `elicit`. */
  listRoots(options?: AskOptions): Promise<readonly Root[]>;
  /** Asks several things at once, each under its own key: `inputs({ name: ask.elicit(…), poem: ask.sample(…) })`. */
  inputs<Asks extends Readonly<Record<string, Ask<unknown>>>>(asks: Asks): Promise<Answers<Asks>>;
  /** What the client answered to an `inputRequired` of this handler, unchecked. */
  readonly inputResponses: JsonObject;
  /** The state of an `inputRequired` of this handler, as the client sent it: check it, or open it with `unseal`. */
  readonly requestState: string | undefined;
  /** `value` as a state that only this request can bring back, for ten minutes. */
  seal(value: unknown): string;
  /** @throws RpcError -32602 for a state that `seal` did not make for this request, or too long ago */
  unseal(state: string): unknown;
  /**
   * Closes the connection this request waits on, and lets the client come back for the answer after `retryMs` milliseconds.
   * Does nothing where clients cannot come back.
   */
  detach(retryMs?: number): void;
}

/** How an answer to one question is had; chosen by the client's era. */
export interface Inputs {
  ask(key: string, request: Ask<unknown>): Promise<JsonObject>;
  /** What the request is, so that a state goes with no other. */
  readonly binding: string;
}

/** What came back with a request after an `inputRequired`. */
export interface Returned {
  readonly responses: JsonObject;
  readonly state: string | undefined;
}

/**
 * The context of one run of a handler. `end` is not for handlers: afterwards nothing more is sent. Its functions may be taken out of it,
 * and are made when they are: most handlers want none.
 */
export class CallContext implements Context {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
  readonly #call: Call;
  readonly #inputs: Inputs;
  #request: RequestInfo | undefined;
  #lastProgress = -Infinity;
  #questions = 0;
  #over = false;

  constructor(call: Call, inputs: Inputs, returned: Returned) {
    this.#call = call;
    this.#inputs = inputs;
    this.inputResponses = returned.responses;
    this.requestState = returned.state;
  }

  get request(): RequestInfo {
    return (this.#request ??= infoOf(this.#call));
  }

  get signal(): AbortSignal {
    return this.#call.cancellation.signal;
  }

  get progress(): Context['progress'] {
    return (progress, total, message) => {
      if (!Number.isFinite(progress) || progress <= this.#lastProgress) return;
      this.#lastProgress = progress;
      this.#call.task?.report(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`));
      const token = this.request.meta[metaKey.progressToken];
      if (token === undefined) return;
      this.#tell(notification.progress, {
        progressToken: token,
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      });
    };
  }

  get log(): Context['log'] {
    return (level, data, logger) => {
      const { logLevel } = this.#call;
      if (logLevel === undefined || LOGGING_LEVELS.indexOf(level) < LOGGING_LEVELS.indexOf(logLevel)) return;
      this.#tell(notification.log, { level, ...(logger !== undefined && { logger }), data: data ?? null });
    };
  }

  get elicit(): Context['elicit'] {
    return (params, options) => this.#ask(ask.elicit(params), options);
  }

  get elicitUrl(): Context['elicitUrl'] {
    return (params, options) => this.#ask(ask.elicitUrl(params), options);
  }

  get sample(): Context['sample'] {
    return (params, options) => this.#ask(ask.sample(params), options);
  }

  get listRoots(): Context['listRoots'] {
    return (options) => safe(this.#ask(ask.listRoots(), options).then(({ roots }) => roots));
  }

  get inputs(): Context['inputs'] {
    return <Asks extends Readonly<Record<string, Ask<unknown>>>>(asks: Asks) => {
      const answers = Object.entries(asks).map(async ([key, question]) => [key, await this.#ask(question, { key })] as const);
      return safe(Promise.all(answers).then((entries) => Object.fromEntries(entries) as Answers<Asks>));
    };
  }

  get seal(): Context['seal'] {
    return (value) => this.#call.sealer.seal('handler', value, this.#inputs.binding);
  }

  get unseal(): Context['unseal'] {
    return (state) => this.#call.sealer.open('handler', state, this.#inputs.binding);
  }

  get detach(): Context['detach'] {
    return (retryMs = 1_000) => this.#call.line.detach(this.#call.request.id, retryMs);
  }

  end(): void {
    this.#over = true;
  }

  #tell(method: string, params: JsonObject): void {
    const { cancellation, line, dialect, request } = this.#call;
    if (this.#over || cancellation.isCancelled) return;
    line.notify(method, dialect.inform(method, params), request.id).catch(() => {
      // News is not worth more than the request: a client that cannot take it still gets its answer.
    });
  }

  #ask<Answer>(question: Ask<Answer>, options: AskOptions = {}): Promise<Answer> {
    const key = options.key ?? `input-${++this.#questions}`;
    return safe(this.#inputs.ask(key, question) as Promise<Answer>);
  }
}

/** A handler that asks several things and waits for the first must not bring the process down with the others. */
function safe<Answer>(answer: Promise<Answer>): Promise<Answer> {
  answer.catch(() => {});
  return answer;
}

/** What a handler may know of the request. */
export function infoOf({ dialect, facts, headers, identity, principal, request }: Call): RequestInfo {
  return {
    era: dialect.era,
    revision: dialect.revision,
    client: facts.client,
    capabilities: facts.capabilities,
    headers,
    identity,
    principal,
    meta: metaOf(request.params),
  };
}
