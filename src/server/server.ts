// A server as an application writes it: what it offers, and lines to clients of either era.
import { ParleyError } from '../errors.ts';
import { silent, sleep, systemClock, type Clock, type Log } from '../base/index.ts';
import { servingLimit } from '../base/serving.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import type { Icon, JsonSchema, RequestHeaders, ServerCapabilities, ServerTerms } from '../protocol/index.ts';
import { Core, type ServerLimit, type ServerLimits } from './core.ts';
import { SingleExchange } from './exchange.ts';
import { Line, type ServerChannel } from './line.ts';
import type { List } from './list.ts';
import { holdPrompt, type HeldPrompt, type PromptDefinition, type PromptHandler } from './prompts.ts';
import {
  holdResource,
  holdTemplate,
  type HeldResource,
  type HeldTemplate,
  type ResourceDefinition,
  type ResourceHandler,
  type TemplateDefinition,
  type TemplateHandler,
} from './resources.ts';
import type { StandardSchema } from './schema.ts';
import { createSealer } from './seal.ts';
import type { TaskOptions } from './tasks.ts';
import { holdTool, type HeldTool, type ToolDefinition, type ToolHandler } from './tools.ts';

/** What a tool with a plain JSON Schema for its output may return. */
type JsonValue = object | string | number | boolean | null;

export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
  /** How the server is best used, for the model. */
  readonly instructions?: string;
  /** Declared instead of what follows from what is registered, tasks aside. */
  readonly capabilities?: ServerCapabilities;
  /** Entries on a page of a list. Default 100. */
  readonly pageSize?: number;
  /**
   * How long lists and resources may be reused, in milliseconds, and whether for any client. Default: not at all, and for no
   * other. A resource's handler can say otherwise in its result.
   */
  readonly cache?: { readonly ttlMs: number; readonly scope: 'public' | 'private' };
  /**
   * Seals the state of questions that take several rounds: at least 16 secret bytes, the same in every process that serves the
   * same clients. Default: random, for this process alone.
   */
  readonly stateKey?: string | Uint8Array;
  /**
   * Says who makes a request, from its headers, where no gate has found out: the state of questions, and tasks, are good for
   * nobody else.
   */
  readonly principal?: (headers: RequestHeaders) => string | undefined;
  /** Hears of faults of handlers and of what was wrong on lines. */
  readonly log?: Log;
  /** How tasks are kept, where a tool has some. */
  readonly tasks?: TaskOptions;
  /** Requests of one line or session that are answered at the same time. Default 256, at most 4,096. */
  readonly maxAnswering?: number;
  /** Subscriptions to changes at once, of all clients. Default 4,096. */
  readonly maxSubscriptions?: number;
  /** Subscriptions on one line. Default 64. */
  readonly maxSubscriptionsEach?: number;
  /** Resources that one session follows, or one subscription names. Default 1,024. */
  readonly maxFollowed?: number;
  /** Milliseconds a client, and a person at it, may take to answer a question on its line. Default 600,000. */
  readonly answerTimeoutMs?: number;
  readonly clock?: Clock;
  /** Milliseconds since 1970, for the age of sealed state and the dates of tasks. */
  readonly now?: () => number;
}

/** One thing on offer. */
export interface Registration<Changes, Handler> {
  /** False when it was removed already. */
  remove(): boolean;
  /** Changes what is named and keeps the rest; false when it was removed already. */
  update(changes: Changes, handler?: Handler): boolean;
}

export type ToolRegistration<Args, Output> = Registration<Omit<Partial<ToolDefinition>, 'name'>, ToolHandler<Args, Output>>;
export type ResourceRegistration = Registration<Omit<Partial<ResourceDefinition>, 'uri'>, ResourceHandler>;
export type TemplateRegistration = Registration<Omit<Partial<TemplateDefinition>, 'uriTemplate'>, TemplateHandler>;
export type PromptRegistration<Args> = Registration<Omit<Partial<PromptDefinition>, 'name'>, PromptHandler<Args>>;

export interface AcceptOptions {
  /** `single`: the line carries one modern request and its answer. Anything else is a line for many. */
  readonly era?: 'single' | 'session' | 'sse';
}

export interface CloseOptions {
  /** Milliseconds that requests being answered are given to end. Default 2,000. */
  readonly graceMs?: number;
}

export interface Server {
  /**
   * Offers a tool. Arguments reach the handler only when they fit the input schema; with a plain JSON Schema the handler says
   * itself which type that is.
   * @throws ParleyError `usage` for a name that is taken or a schema that cannot be a tool's
   */
  tool<Args extends object = JsonObject>(
    definition: ToolDefinition<Args> & { readonly output?: undefined },
    handler: ToolHandler<Args, never>,
  ): ToolRegistration<Args, never>;
  /** As above, with a schema for the structured content that the handler returns. */
  tool<Args extends object = JsonObject, const Output = unknown>(
    definition: ToolDefinition<Args> & { readonly output: StandardSchema<Output> },
    handler: ToolHandler<Args, Output>,
  ): ToolRegistration<Args, Output>;
  /** As above, with a plain JSON Schema for it. */
  tool<Args extends object = JsonObject>(
    definition: ToolDefinition<Args> & { readonly output: JsonSchema },
    handler: ToolHandler<Args, JsonValue>,
  ): ToolRegistration<Args, JsonValue>;
  /** Offers a resource. @throws ParleyError `usage` for a URI that is taken */
  resource(definition: ResourceDefinition, handler: ResourceHandler): ResourceRegistration;
  /** Offers all resources whose URIs fit a template. @throws ParleyError `usage` for a template that is taken or is none */
  template(definition: TemplateDefinition, handler: TemplateHandler): TemplateRegistration;
  /** Offers a prompt. @throws ParleyError `usage` for a name that is taken or arguments no prompt can have */
  prompt<Args extends object = Readonly<Record<string, string>>>(
    definition: PromptDefinition<Args>,
    handler: PromptHandler<Args>,
  ): PromptRegistration<Args>;
  /** False when there is none of that name. So are the other three. */
  removeTool(name: string): boolean;
  removeResource(uri: string): boolean;
  removeTemplate(uriTemplate: string): boolean;
  removePrompt(name: string): boolean;
  /** Tells clients that follow the resource that its contents are new. */
  resourceUpdated(uri: string): void;
  /** Serves a line until it ends. @throws ParleyError `closed` after `close` */
  accept(channel: ServerChannel, options?: AcceptOptions): void;
  /** Ends subscriptions in good order, waits a little for requests being answered, then closes all lines. Idempotent. */
  close(options?: CloseOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_PAGE = 100;

/**
 * Creates a server without lines; give it some with `accept`, `serveStdio` or `serveHttp`.
 * @throws ParleyError `usage` for an option that makes no sense
 */
export function createServer(options: ServerOptions): Server {
  const {
    pageSize = DEFAULT_PAGE,
    log = silent,
    clock = systemClock,
    now = Date.now,
    instructions,
    capabilities,
    principal,
  } = options;
  const { tasks } = options;
  if (!Number.isInteger(pageSize) || pageSize < 1) throw new ParleyError('usage', 'pageSize must be a whole number from 1 on.');
  const sealer = createSealer({ key: options.stateKey, now: options.now });
  const core = new Core({
    terms: termsOf(options),
    instructions,
    capabilities,
    pageSize,
    sealer,
    principal,
    log,
    clock,
    now,
    tasks,
    limits: limitsOf(options),
  });
  const lines = new Set<{ close(): Promise<void> }>();
  let closed: Promise<void> | undefined;

  const close = async (graceMs: number) => {
    const enough = new AbortController();
    // Idle at last, or out of patience.
    await Promise.race([core.finish(), sleep(graceMs, { clock, signal: enough.signal }).catch(() => {})]);
    enough.abort();
    await Promise.all([...lines].map((line) => line.close()));
  };

  return {
    tool: (definition: ToolDefinition, handler: ToolHandler) =>
      register<ToolDefinition, ToolHandler, HeldTool>(core.tools, definition.name, holdTool, definition, handler),
    resource: (definition, handler) =>
      register<ResourceDefinition, ResourceHandler, HeldResource>(
        core.resources,
        definition.uri,
        holdResource,
        definition,
        handler,
      ),
    template: (definition, handler) =>
      register<TemplateDefinition, TemplateHandler, HeldTemplate>(
        core.templates,
        definition.uriTemplate,
        holdTemplate,
        definition,
        handler,
      ),
    prompt: (definition: PromptDefinition, handler: PromptHandler) =>
      register<PromptDefinition, PromptHandler, HeldPrompt>(core.prompts, definition.name, holdPrompt, definition, handler),
    removeTool: (name) => core.tools.remove(name),
    removeResource: (uri) => core.resources.remove(uri),
    removeTemplate: (uriTemplate) => core.templates.remove(uriTemplate),
    removePrompt: (name) => core.prompts.remove(name),
    resourceUpdated: (uri) => core.watchers.updated(uri),
    accept(channel, { era } = {}) {
      if (closed !== undefined) throw new ParleyError('closed', 'The server was closed; it takes no more lines.');
      const line = era === 'single' ? new SingleExchange(core, channel) : new Line(core, channel);
      lines.add(line);
      line.start(() => lines.delete(line));
    },
    close: ({ graceMs = 2_000 } = {}) => (closed ??= close(graceMs)),
    [Symbol.asyncDispose]: () => (closed ??= close(2_000)),
  };
}

function limitsOf(options: ServerOptions): ServerLimits {
  const limit = (name: ServerLimit) => servingLimit(name, options[name]);
  return {
    maxAnswering: limit('maxAnswering'),
    maxSubscriptions: limit('maxSubscriptions'),
    maxSubscriptionsEach: limit('maxSubscriptionsEach'),
    maxFollowed: limit('maxFollowed'),
    answerTimeoutMs: limit('answerTimeoutMs'),
  };
}

function termsOf({ name, version, title, description, websiteUrl, icons, cache }: ServerOptions): ServerTerms {
  return {
    server: {
      name,
      version,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(websiteUrl !== undefined && { websiteUrl }),
      ...(icons !== undefined && { icons }),
    },
    caching: { ttlMs: cache?.ttlMs ?? 0, cacheScope: cache?.scope ?? 'private' },
  };
}

function register<
  Definition extends object,
  Handler,
  Held extends { readonly definition: Definition; readonly handler: Handler; readonly wire: JsonObject },
>(
  list: List<Held>,
  key: string,
  hold: (definition: Definition, handler: Handler) => Held,
  definition: Definition,
  handler: Handler,
): Registration<Partial<Definition>, Handler> {
  let held = hold(definition, handler);
  list.add(key, held);
  return {
    // Another of the same name, registered since, is not meant.
    remove: () => list.get(key) === held && list.remove(key),
    update(changes, newHandler) {
      if (list.get(key) !== held) return false;
      const next = hold({ ...held.definition, ...changes }, newHandler ?? held.handler);
      held = next;
      return list.replace(key, next);
    },
  };
}
