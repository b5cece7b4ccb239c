// A negotiated conversation with one server: what it says of itself, and a function for everything it offers.
// A session ends; it never reconnects. Results keep the server's own text, which is untrusted.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { createFeed, createRate, limitOf, overLimit, type Clock, type Feed, type Limits, type Rate } from '../base/index.ts';
import {
  type Channel,
  type Ending,
  type JsonObject,
  type Notification,
  type Origin,
  type PeerStats,
  type Problem,
  type Progress,
  rpcCode,
  type Request,
  type RequestContext,
  type RequestId,
} from '../jsonrpc/index.ts';
import {
  argumentHeaders,
  isLoggingLevel,
  mcpCode,
  method,
  METHODS,
  notification,
  paramHeaders,
  readCallToolResult,
  readCompleteResult,
  readGetPromptResult,
  readPrompts,
  readReadResourceResult,
  readResources,
  readResourceTemplates,
  readTools,
  freshFor,
  type Answered,
  type CallToolResult,
  type ClientDialect,
  type ClientMethod,
  type CompleteParams,
  type CompleteResult,
  type Decoded,
  type Era,
  type GetPromptResult,
  type InputAnswers,
  type LoggingLevel,
  type LogMessage,
  type Page,
  type ParamHeader,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
  type Revision,
  type ServerFacts,
  type SubscriptionFilter,
  type Tool,
} from '../protocol/index.ts';
import type { Cache } from './cache.ts';
import { answerInput, boundedInputs, type InputHandlers } from './inputs.ts';
import { hold, type Negotiated } from './negotiate.ts';
import { walkPages, type Listing } from './pages.ts';
import { completeRounds } from './rounds.ts';
import type { TaskHandle } from './task.ts';
import { Tasks } from './tasks.ts';
import { Listeners, readChange, type Change, type Watch } from './watch.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress. Default 60,000. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds in all, one attempt. Default 600,000. For a call that becomes a task, also from then to its end, people included:
   * default 1,800,000, or a day when its handle was asked for.
   */
  readonly maxMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** `fresh` asks the server even when an answer is still fresh. Default `reuse`. */
  readonly cache?: 'reuse' | 'fresh';
}

/** What became of a call that may go on as a task. */
export type StartedCall =
  { readonly type: 'result'; readonly result: CallToolResult } | { readonly type: 'task'; readonly task: TaskHandle };

/** What a session tells by itself. */
export type News =
  | Change
  | { readonly type: 'log'; readonly message: LogMessage; readonly requestId: RequestId | undefined }
  | { readonly type: 'elicitation-complete'; readonly elicitationId: string }
  | { readonly type: 'notification'; readonly message: Notification }
  | { readonly type: 'problem'; readonly problem: Problem };

/** A negotiated conversation. Every function may throw what `Peer.request` throws; lists and results are untrusted. */
export interface Session extends AsyncDisposable {
  readonly era: Era;
  readonly revision: Revision;
  readonly server: ServerFacts;
  /** For people: the command line or URL. */
  readonly target: string;
  /** The line below, for what only its transport knows (a process id, its stderr). */
  readonly channel: Channel;
  readonly news: Feed<News>;
  readonly stats: Readonly<PeerStats>;
  /** Resolves when the conversation is over, with the reason. */
  readonly ended: Promise<Ending>;
  /** Sends any request of the negotiated revision and resolves with its complete result object. */
  request(name: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** Lists all tools, to the last page. A server that does not have the method has none. */
  listTools(options?: CallOptions): Promise<Listing<Tool>>;
  listPrompts(options?: CallOptions): Promise<Listing<Prompt>>;
  listResources(options?: CallOptions): Promise<Listing<Resource>>;
  listResourceTemplates(options?: CallOptions): Promise<Listing<ResourceTemplate>>;
  /**
   * Calls a tool. Never sent twice, except when the server refused its headers unread (-32020). A call that the server makes a task
   * is followed to its end: its status is progress, what it asks goes to the same handlers, and giving up cancels it.
   */
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult>;
  /** As `callTool`, but a call that becomes a task resolves with its handle at once. `signal` and the rest then go with the task. */
  startTool(name: string, args?: JsonObject, options?: CallOptions): Promise<StartedCall>;
  /**
   * Follows a task that an earlier session was given. @throws ParleyError `outcome-unknown` when the server does not know it,
   * `unsupported` in revisions without tasks
   */
  resumeTask(id: string, options?: CallOptions): Promise<TaskHandle>;
  readResource(uri: string, options?: CallOptions): Promise<ReadResourceResult>;
  getPrompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult>;
  complete(params: CompleteParams, options?: CallOptions): Promise<CompleteResult>;
  /** Sets the least severe log message to hear: for the session (legacy) or with each later request (2026-07-28). */
  setLogLevel(level: LoggingLevel, options?: CallOptions): Promise<void>;
  /** Resolves when the server shows that it is alive; any answer does. */
  ping(options?: CallOptions): Promise<void>;
  /** Asks to hear of changes, which then arrive in `news`. */
  watch(filter: SubscriptionFilter): Watch;
  /** Tells a legacy server that the roots changed. */
  rootsChanged(): Promise<void>;
  /** Ends the conversation and waits until nothing is left of it. Idempotent. */
  close(): Promise<void>;
}

export interface SessionOptions {
  readonly target: string;
  readonly inputs: InputHandlers;
  readonly clock: Clock;
  readonly cache: Cache | undefined;
  /** The key of the cache: which server, and for whom. */
  readonly cacheServer: string;
  readonly principal: string;
  readonly limits: Limits;
  readonly maxCallMs: number | undefined;
}

/** Milliseconds for a call that becomes a task: when its result is waited for, and when its handle is. */
const MAX_TASK_MS = { followed: 1_800_000, handled: 86_400_000 } as const;

export class LiveSession implements Session {
  readonly era: Era;
  readonly revision: Revision;
  readonly server: ServerFacts;
  readonly target: string;
  readonly channel: Channel;
  readonly news: Feed<News>;
  readonly ended: Promise<Ending>;
  readonly #options: SessionOptions;
  readonly #line: Negotiated['line'];
  readonly #dialect: ClientDialect;
  readonly #source = createFeed<News>();
  readonly #listeners: Listeners;
  readonly #tasks: Tasks;
  readonly #inputs: InputHandlers;
  /** Argument headers by tool name, where the transport has headers; learned from tools/list. */
  readonly #headers = new Map<string, readonly ParamHeader[]>();
  /** Counts changes by method, so that a list fetched while it changed is not kept as fresh. */
  readonly #changes = new Map<string, number>();
  readonly #logs: Rate;
  #logsDropped = 0;
  #requestsDropped = 0;
  #logLevel: LoggingLevel | undefined;

  constructor(negotiated: Negotiated, options: SessionOptions) {
    const { line, dialect, facts } = negotiated;
    this.#line = line;
    this.#dialect = dialect;
    this.#options = options;
    this.era = dialect.era;
    this.revision = dialect.revision;
    this.server = facts;
    this.target = options.target;
    this.channel = line.channel;
    this.news = this.#source.feed;
    const perSecond = limitOf('maxLogsPerSecond', options.limits.maxLogsPerSecond);
    this.#logs = createRate({ perSecond, burst: 5 * perSecond, clock: options.clock });
    this.ended = line.peer.ended;
    this.#listeners = new Listeners({
      clock: options.clock,
      request: (name, params, { signal, onId }) =>
        this.#send(name, params, undefined, { signal, timeoutMs: Infinity, maxMs: Infinity }, onId),
      emit: (change) => this.#changed(change),
      lost: (why) =>
        this.#source.emit({ type: 'problem', problem: { kind: 'undelivered', message: `Changes are no longer heard: ${why}.` } }),
    });
    const { clock, limits } = options;
    const onBreach = (breach: ParleyError) =>
      this.#source.emit({ type: 'problem', problem: { kind: 'oversized', message: breach.message, breach } });
    this.#inputs = boundedInputs(options.inputs, { limits, clock, onBreach });
    const request = (name: string, params: JsonObject, given: CallOptions) => this.request(name, params, given);
    this.#tasks = new Tasks(
      { clock, handlers: this.#inputs, maxRounds: limits.maxRounds, maxTasks: limits.maxTasks, request },
      facts.capabilities,
    );
    void line.peer.ended.then(({ error }) => {
      this.#tasks.stop(error);
      this.#listeners.close();
      this.#source.end();
    });
    hold(line, {
      request: (request, context) => this.#answer(request, context),
      notification: (message, origin) => this.#notified(message, origin),
      problem: (problem) => this.#source.emit({ type: 'problem', problem }),
    });
    Object.freeze(this);
  }

  get stats(): Readonly<PeerStats> {
    return this.#line.peer.stats;
  }

  async request(name: string, params?: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    return (await this.#ask(name, params, options)).result;
  }

  async listTools(options: CallOptions = {}): Promise<Listing<Tool>> {
    return this.#list(method.listTools, (result) => this.#withHeaders(readTools(result)), options);
  }

  async listPrompts(options: CallOptions = {}): Promise<Listing<Prompt>> {
    return this.#list(method.listPrompts, readPrompts, options);
  }

  async listResources(options: CallOptions = {}): Promise<Listing<Resource>> {
    return this.#list(method.listResources, readResources, options);
  }

  async listResourceTemplates(options: CallOptions = {}): Promise<Listing<ResourceTemplate>> {
    return this.#list(method.listResourceTemplates, readResourceTemplates, options);
  }

  async callTool(name: string, args?: JsonObject, options: CallOptions = {}): Promise<CallToolResult> {
    const { answered } = await this.#call(name, args, options);
    return readCallToolResult(
      answered.type === 'complete' ? answered.result : await this.#resultOf(method.callTool, answered, options),
    );
  }

  async startTool(name: string, args?: JsonObject, options: CallOptions = {}): Promise<StartedCall> {
    const { answered } = await this.#call(name, args, options);
    if (answered.type === 'complete') return { type: 'result', result: readCallToolResult(answered.result) };
    const { maxMs = MAX_TASK_MS.handled } = options;
    return { type: 'task', task: this.#tasks.follow(method.callTool, answered.task, { ...options, maxMs }) };
  }

  async resumeTask(id: string, options: CallOptions = {}): Promise<TaskHandle> {
    const { maxMs = MAX_TASK_MS.handled } = options;
    return this.#tasks.resume(method.callTool, id, { ...options, maxMs });
  }

  readResource(uri: string, options: CallOptions = {}): Promise<ReadResourceResult> {
    return this.#cached(method.readResource, uri, options, async () => {
      const { result, rounds } = await this.#ask(method.readResource, { uri }, options);
      const scope = result['cacheScope'] === 'public' ? 'public' : 'private';
      // What came after a round of input depends on it and is never reused (server/utilities/caching, "Cache Key").
      return { value: readReadResourceResult(result), freshMs: rounds === 'none' ? freshFor(result) : 0, scope };
    });
  }

  async getPrompt(name: string, args?: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<GetPromptResult> {
    return readGetPromptResult(
      await this.request(method.getPrompt, args === undefined ? { name } : { name, arguments: args }, options),
    );
  }

  async complete(params: CompleteParams, options: CallOptions = {}): Promise<CompleteResult> {
    return readCompleteResult(await this.request(method.complete, { ...params }, options));
  }

  async setLogLevel(level: LoggingLevel, options: CallOptions = {}): Promise<void> {
    if (this.#dialect.has(method.setLogLevel)) await this.request(method.setLogLevel, { level }, options);
    else this.#logLevel = level;
  }

  async ping(options: CallOptions = {}): Promise<void> {
    try {
      await this.#send(this.#dialect.pulse, this.era === 'modern' ? {} : undefined, undefined, { timeoutMs: 10_000, ...options });
    } catch (error) {
      this.#closeIfLost(error);
      // Any answer shows life, also a refusal or one that makes no sense.
      if (!(error instanceof RpcError) && !isParleyError(error, 'protocol-violation')) throw error;
    }
  }

  watch(filter: SubscriptionFilter): Watch {
    if (this.#dialect.watches === 'listen') return this.#listeners.open(filter);
    const uris = this.server.capabilities.resources?.subscribe === true ? (filter.resourceSubscriptions ?? []) : [];
    const each = (name: ClientMethod) => Promise.allSettled(uris.map((uri) => this.request(name, { uri })));
    const { tools, prompts, resources } = this.server.capabilities;
    return {
      acknowledged: each(method.subscribe).then((outcomes) => ({
        ...(filter.toolsListChanged && tools?.listChanged && { toolsListChanged: true }),
        ...(filter.promptsListChanged && prompts?.listChanged && { promptsListChanged: true }),
        ...(filter.resourcesListChanged && resources?.listChanged && { resourcesListChanged: true }),
        ...(uris.length > 0 && { resourceSubscriptions: uris.filter((_, index) => outcomes[index]?.status === 'fulfilled') }),
      })),
      close: async () => void (await each(method.unsubscribe)),
    };
  }

  async rootsChanged(): Promise<void> {
    if (this.#dialect.serverAsks === 'requests') await this.#line.peer.notify(notification.rootsChanged);
  }

  async close(): Promise<void> {
    this.#listeners.close();
    await this.#line.peer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call(name: string, args: JsonObject | undefined, options: CallOptions): Promise<Performed> {
    return this.#perform(method.callTool, args === undefined ? { name } : { name, arguments: args }, options);
  }

  /** One request with its rounds of input, and its task when it becomes one. */
  async #ask(
    name: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<{ result: JsonObject; rounds: 'none' | 'some' }> {
    const { answered, rounds } = await this.#perform(name, params, options);
    return { result: await this.#resultOf(name, answered, options), rounds };
  }

  /** The result, had by following the task where there is one. */
  async #resultOf(name: string, answered: Answered, options: CallOptions): Promise<JsonObject> {
    if (answered.type === 'complete') return answered.result;
    const { maxMs = this.#options.maxCallMs ?? MAX_TASK_MS.followed } = options;
    return this.#tasks.follow(name, answered.task, { ...options, maxMs }).outcome;
  }

  /** One request with its rounds of input. */
  async #perform(name: string, params: JsonObject | undefined, options: CallOptions): Promise<Performed> {
    if (Object.hasOwn(METHODS, name) && !this.#dialect.has(name as ClientMethod)) {
      throw new ParleyError('unsupported', `${name} does not exist in revision ${this.revision}, which this server speaks.`);
    }
    const first = await this.#attempt(name, params, undefined, options);
    if (first.type !== 'input') return { answered: first, rounds: 'none' };
    const answered = await completeRounds(name, first, (answers) => this.#attempt(name, params, answers, options), {
      handlers: this.#inputs,
      clock: this.#options.clock,
      signal: options.signal,
      limits: this.#options.limits,
    });
    return { answered, rounds: 'some' };
  }

  /** One attempt: encoded, sent, decoded; for a tool whose headers were refused once more. */
  async #attempt(
    name: string,
    params: JsonObject | undefined,
    answers: InputAnswers | undefined,
    options: CallOptions,
    headers: 'as known' | 'learnt anew' = 'as known',
  ): Promise<Decoded> {
    try {
      return this.#dialect.decode(name, await this.#send(name, params, answers, options));
    } catch (error) {
      this.#closeIfLost(error);
      const wanted = error instanceof RpcError ? this.#dialect.decodeError(error) : undefined;
      if (wanted !== undefined) return wanted;
      const areRefused = error instanceof RpcError && error.code === mcpCode.headerMismatch && name === method.callTool;
      if (!areRefused || headers === 'learnt anew' || this.channel.kind !== 'http') throw error;
    }
    // The server refused the headers, so the tool's schema changed: learn it anew, then once more (streamable-http, "Client Behavior").
    await this.listTools({ cache: 'fresh', ...(options.signal && { signal: options.signal }) });
    return this.#attempt(name, params, answers, options, 'learnt anew');
  }

  /** The session is gone for every request, so the conversation is over; a host opens the next. */
  #closeIfLost(error: unknown): void {
    if (isParleyError(error, 'session-lost')) void this.#line.peer.close();
  }

  #send(
    name: string,
    params: JsonObject | undefined,
    answers: InputAnswers | undefined,
    { signal, timeoutMs, maxMs, onProgress }: CallOptions,
    onId?: (id: RequestId) => void,
  ): Promise<JsonObject> {
    const headers = this.channel.kind === 'http' ? this.#headersFor(name, params) : undefined;
    const encoded = this.#dialect.encode(params, { logLevel: this.#logLevel, answers });
    const onGiveUp = this.#dialect.giveUp;
    return this.#line.peer.request(name, encoded, { onGiveUp, signal, timeoutMs, maxMs, onProgress, headers, onId });
  }

  #headersFor(name: string, params: JsonObject | undefined): Record<string, string> | undefined {
    const headers = this.#dialect.headers(name, params);
    const wanted = headers && name === method.callTool ? this.#headers.get(String(params?.['name'])) : undefined;
    return wanted === undefined
      ? headers
      : { ...headers, ...argumentHeaders(wanted, params?.['arguments'] as JsonObject | undefined) };
  }

  /** On a transport with headers: learns which arguments travel in them, and leaves out tools whose wish is invalid. */
  #withHeaders(page: Page<Tool>): Page<Tool> {
    if (this.channel.kind !== 'http' || this.era !== 'modern') return page;
    const rejected = [...page.rejected];
    const items = page.items.filter((tool) => {
      const wanted = paramHeaders(tool.inputSchema);
      if ('invalid' in wanted) {
        rejected.push({ name: tool.name, why: wanted.invalid });
        return false;
      }
      if (wanted.length > 0) this.#headers.set(tool.name, wanted);
      else this.#headers.delete(tool.name);
      return true;
    });
    return { ...page, items, rejected };
  }

  #list<T>(name: ClientMethod, read: (result: JsonObject) => Page<T>, options: CallOptions): Promise<Listing<T>> {
    return this.#cached(name, '', options, async () => {
      const page = async (cursor: string | undefined) =>
        (await this.#ask(name, cursor === undefined ? {} : { cursor }, options)).result;
      try {
        const { items, rejected, freshMs, scope } = await walkPages(page, read, this.#options.clock, this.#options.limits);
        return { value: { items, rejected }, freshMs, scope };
      } catch (error) {
        // A server without the method has nothing to list.
        if (!(error instanceof RpcError) || error.code !== rpcCode.methodNotFound) throw error;
        return { value: { items: [], rejected: [] }, freshMs: 0, scope: 'private' };
      }
    });
  }

  async #cached<T>(name: ClientMethod, argument: string, options: CallOptions, produce: () => Promise<Produced<T>>): Promise<T> {
    const { cache, cacheServer, principal } = this.#options;
    if (cache === undefined) return (await produce()).value;
    const key = { server: cacheServer, principal, method: name, argument };
    const kept = options.cache === 'fresh' ? undefined : (cache.get(key) as T | undefined);
    if (kept !== undefined) return kept;
    const before = this.#changes.get(name);
    const { value, freshMs, scope } = await produce();
    if (this.#changes.get(name) === before) cache.set(key, value, freshMs, scope);
    return value;
  }

  #changed(change: Change): void {
    const stale = (name: ClientMethod, argument?: string) => {
      this.#changes.set(name, (this.#changes.get(name) ?? 0) + 1);
      this.#options.cache?.drop(this.#options.cacheServer, name, argument);
    };
    switch (change.type) {
      case 'tools-changed':
        stale(method.listTools);
        break;
      case 'prompts-changed':
        stale(method.listPrompts);
        break;
      case 'resources-changed':
        stale(method.listResources);
        stale(method.listResourceTemplates);
        break;
      case 'resource-updated':
        stale(method.readResource, change.uri);
        break;
      case 'task-changed':
        this.#tasks.wake(change.taskId);
        break;
      default:
        change satisfies never;
    }
    this.#source.emit(change);
  }

  async #answer(request: Request, context: RequestContext): Promise<JsonObject | undefined> {
    if (this.#dialect.serverAsks === 'rounds') {
      this.#dropRequest();
      return undefined;
    }
    if (request.method === method.ping) return {};
    return answerInput({ method: request.method, ...(request.params && { params: request.params }) }, this.#inputs, context);
  }

  #notified(message: Notification, origin: Origin | undefined): void {
    if (this.#dialect.watches === 'listen') {
      if (this.#listeners.take(message)) return;
      // Changes count only on a stream that asked for them (2026-07-28, patterns/subscriptions).
      if (readChange(message) !== undefined || message.method === notification.acknowledged) return;
    } else {
      const change = readChange(message);
      if (change !== undefined) return this.#changed(change);
    }
    const params = message.params ?? {};
    if (message.method === notification.log && isLoggingLevel(params['level'])) {
      if (!this.#logs.take()) return this.#dropLog();
      const { level, logger, data } = params;
      const log: LogMessage = { level, data, ...(typeof logger === 'string' && { logger }) };
      this.#source.emit({ type: 'log', message: log, requestId: origin?.requestId });
    } else if (message.method === notification.elicitationComplete && typeof params['elicitationId'] === 'string') {
      this.#source.emit({ type: 'elicitation-complete', elicitationId: params['elicitationId'] });
    } else {
      this.#source.emit({ type: 'notification', message });
    }
  }

  /** That a server asks where it may not is said once. */
  #dropRequest(): void {
    if (this.#requestsDropped++ > 0) return;
    const message = 'The server sent a request, which its revision does not allow; it was dropped.';
    this.#source.emit({ type: 'problem', problem: { kind: 'malformed', message } });
  }

  /** A server that logs without end is heard now and then; that not all of it is heard is said once. */
  #dropLog(): void {
    if (this.#logsDropped++ > 0) return;
    const allowed = limitOf('maxLogsPerSecond', this.#options.limits.maxLogsPerSecond);
    const what = `The server logs more than ${String(allowed)} messages a second; what is too much is dropped.`;
    const breach = overLimit('maxLogsPerSecond', allowed + 1, what, allowed);
    this.#source.emit({ type: 'problem', problem: { kind: 'oversized', message: breach.message, breach } });
  }
}

/** What became of a request, and whether it took rounds of input. */
interface Performed {
  readonly answered: Answered;
  readonly rounds: 'none' | 'some';
}

interface Produced<T> {
  readonly value: T;
  readonly freshMs: number;
  readonly scope: 'public' | 'private';
}
