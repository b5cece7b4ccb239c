// What all lines of a server share: what it offers, in which dialects, and the one table from methods to answers.
import { RpcError } from '../errors.ts';
import type { Clock, Log } from '../base/index.ts';
import { rpcCode, type JsonObject, type Origin, type Request } from '../jsonrpc/index.ts';
import {
  declares,
  extension,
  factsOf,
  method,
  readModern,
  serverDialect,
  type ClientMethod,
  type RequestHeaders,
  type Revision,
  type ServerCapabilities,
  type ServerDialect,
  type ServerTerms,
} from '../protocol/index.ts';
import type { Call, Cancellation, WayBack } from './call.ts';
import { complete } from './completion.ts';
import { List } from './list.ts';
import { listen } from './listen.ts';
import { getPrompt, type HeldPrompt } from './prompts.ts';
import { readResource, type HeldResource, type HeldTemplate } from './resources.ts';
import type { Sealer } from './seal.ts';
import { Tasks, type TaskOptions } from './tasks.ts';
import { ToolError } from './tool-error.ts';
import { callTool, type HeldTool } from './tools.ts';
import { Watchers, type Changed } from './watchers.ts';

export interface CoreOptions {
  readonly terms: ServerTerms;
  readonly instructions: string | undefined;
  /** Declared as they are, and tasks where a tool has some; undefined declares what is registered. */
  readonly capabilities: ServerCapabilities | undefined;
  readonly pageSize: number;
  readonly sealer: Sealer;
  readonly principal: ((headers: RequestHeaders) => string | undefined) | undefined;
  readonly log: Log;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly tasks: TaskOptions | undefined;
  readonly limits: ServerLimits;
}

/** What clients may cost the server: see the table in base/serving.ts. */
export type ServerLimits = Readonly<Record<ServerLimit, number>>;
export type ServerLimit = 'maxAnswering' | 'maxSubscriptions' | 'maxSubscriptionsEach' | 'maxFollowed' | 'answerTimeoutMs';

export class Core {
  readonly log: Log;
  readonly limits: ServerLimits;
  readonly sealer: Sealer;
  readonly watchers = new Watchers();
  readonly tasks: Tasks;
  readonly tools: List<HeldTool>;
  readonly prompts: List<HeldPrompt>;
  readonly resources: List<HeldResource>;
  readonly templates: List<HeldTemplate>;
  readonly #options: CoreOptions;
  readonly #dialects = new Map<Revision, ServerDialect>();
  #capabilities: ServerCapabilities | undefined;
  #answering = 0;
  #whenIdle: (() => void) | undefined;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.log = options.log;
    this.limits = options.limits;
    this.sealer = options.sealer;
    const { pageSize, clock, now } = options;
    this.tasks = new Tasks(
      {
        clock,
        now,
        changed: (task) => this.watchers.taskChanged(task.id, () => task.describe()),
        failure: (error, request, cancellation) => this.failure(error, request, cancellation),
      },
      options.tasks,
    );
    const list = (noun: string, name: ClientMethod, member: string, kind: Changed) => ({
      noun,
      method: name,
      member,
      pageSize,
      onChange: () => this.#changed(kind),
    });
    this.tools = new List(list('tool', method.listTools, 'tools', 'tools'));
    this.prompts = new List(list('prompt', method.listPrompts, 'prompts', 'prompts'));
    this.resources = new List(list('resource', method.listResources, 'resources', 'resources'));
    this.templates = new List(list('template', method.listResourceTemplates, 'resourceTemplates', 'resources'));
  }

  get capabilities(): ServerCapabilities {
    return (this.#capabilities ??= this.#withTasks(this.#options.capabilities ?? this.#derive()));
  }

  dialect(revision: Revision): ServerDialect {
    let dialect = this.#dialects.get(revision);
    if (dialect === undefined) {
      dialect = serverDialect(revision, this.#options.terms);
      this.#dialects.set(revision, dialect);
    }
    return dialect;
  }

  /** Whom a request is from; who was authenticated is not asked about again. */
  principal({ identity, headers }: Origin): string | undefined {
    return identity?.principal ?? (headers === undefined ? undefined : this.#options.principal?.(headers));
  }

  /** What a greeting of either era says of the server. */
  greeting(): JsonObject {
    const { instructions } = this.#options;
    return { capabilities: this.capabilities, ...(instructions !== undefined && { instructions }) };
  }

  /**
   * Says that a request is being answered; returns the function that says it no longer is.
   * @throws RpcError -32603 once the server is closing
   */
  begin(): () => void {
    if (this.#whenIdle !== undefined) throw new RpcError(rpcCode.internalError, 'The server is closing. Try again later');
    this.#answering++;
    return () => {
      if (--this.#answering === 0) this.#whenIdle?.();
    };
  }

  /** Ends all subscriptions and tasks, lets nothing new begin, and resolves when no request is being answered. */
  finish(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
      if (this.#answering === 0) resolve();
      this.tasks.close();
      this.watchers.finish();
    });
  }

  /** Reads a modern request, and answers it. @throws RpcError what is wrong with it */
  serve(request: Request, origin: Origin, cancellation: Cancellation, line: WayBack): Promise<JsonObject> | JsonObject {
    const { headers, identity } = origin;
    const facts = readModern(request, headers);
    return this.answer({
      request,
      params: request.params ?? {},
      dialect: this.dialect(facts.revision),
      facts,
      logLevel: facts.logLevel,
      headers,
      identity,
      principal: this.principal(origin),
      cancellation,
      line,
      sealer: this.sealer,
    });
  }

  /** Answers a request of either era; those that belong to a session are answered by its line before. */
  answer(call: Call): Promise<JsonObject> | JsonObject {
    const { request, params, dialect } = call;
    const name = request.method;
    const capability = factsOf(name)?.capability;
    if (!dialect.has(name) || (capability !== undefined && this.capabilities[capability] === undefined)) {
      throw methodNotFound(name);
    }
    switch (name) {
      case method.discover:
        return dialect.encode(name, this.greeting());
      case method.ping:
        return {};
      case method.listTools:
        return this.tools.page(params['cursor'], dialect);
      case method.callTool:
        return callTool(this.tools, this.tasks, call);
      case method.listPrompts:
        return this.prompts.page(params['cursor'], dialect);
      case method.getPrompt:
        return getPrompt(this.prompts, call);
      case method.listResources:
        return this.resources.page(params['cursor'], dialect);
      case method.listResourceTemplates:
        return this.templates.page(params['cursor'], dialect);
      case method.readResource:
        return readResource(this.resources, this.templates, call);
      case method.complete:
        return complete(this, call);
      case method.listen:
        if (this.watchers.size >= this.limits.maxSubscriptions)
          throw new RpcError(rpcCode.internalError, 'There are too many subscriptions. Try again later');
        return listen(this, call);
      case method.getTask:
      case method.updateTask:
      case method.cancelTask:
        if (!declares(this.capabilities, extension.tasks)) throw methodNotFound(name);
        return dialect.encode(name, this.tasks.answer(name, call));
      default:
        // Those of a session, which its line answers, and of extensions that are not offered here.
        throw methodNotFound(name);
    }
  }

  /** The error to answer when answering threw: faults keep their texts to the log. */
  failure(error: unknown, request: Request, cancellation: Cancellation): RpcError {
    if (error instanceof RpcError) return error;
    if (error instanceof ToolError) return new RpcError(rpcCode.internalError, error.message);
    if (!cancellation.isCancelled) this.log('error', `${request.method} failed.`, { error });
    return new RpcError(rpcCode.internalError, 'Internal error');
  }

  #derive(): ServerCapabilities {
    const completers = [...this.prompts, ...this.templates].some(({ definition }) => definition.complete !== undefined);
    const hasResources = this.resources.wasUsed || this.templates.wasUsed;
    return {
      ...(this.tools.wasUsed && { tools: { listChanged: true } }),
      ...(this.prompts.wasUsed && { prompts: { listChanged: true } }),
      ...(hasResources && { resources: { subscribe: true, listChanged: true } }),
      ...(completers && { completions: {} }),
      logging: {},
    };
  }

  #withTasks(capabilities: ServerCapabilities): ServerCapabilities {
    if (![...this.tools].some(({ definition }) => definition.task !== undefined)) return capabilities;
    return { ...capabilities, extensions: { ...capabilities.extensions, [extension.tasks]: {} } };
  }

  #changed(kind: Changed): void {
    // A list that changes may be the first of its kind.
    this.#capabilities = undefined;
    this.watchers.changed(kind);
  }
}

function methodNotFound(name: string): RpcError {
  return new RpcError(rpcCode.methodNotFound, `Method not found: ${name.slice(0, 128)}`);
}
