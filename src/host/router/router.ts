// Takes a request from a name to an outcome: found, checked, let through the gate, held. Every route to a server goes through here,
// and nothing in here throws at its caller.
import { suggestion, type Clock } from '../../base/index.ts';
import { isObject, type JsonObject, type Progress } from '../../jsonrpc/index.ts';
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  ReadResourceResult,
  Tool,
} from '../../protocol/index.ts';
import { createIntent, type CallIntent } from '../approval/index.ts';
import type { ServerSettings } from '../config/index.ts';
import type { LockCheck } from '../lock/index.ts';
import type { ROUTES } from '../policy/index.ts';
import type { Kind, Lookup, PromptEntry, Registry, ToolEntry } from '../registry/index.ts';
import type { SchemaChecks } from '../schemas/index.ts';
import {
  hold,
  holdPrompt,
  holdResource,
  holdToolResult,
  resultLimits,
  oneLine,
  type Held,
  type Taint,
  type ToolHoldOptions,
  type Untrusted,
} from '../trust/index.ts';
import { asFault, createGate, type Gate, type GateParts, type Passage } from './gate.ts';
import type { Outcome } from './outcome.ts';

/** The way on which a call comes. */
export type Route = (typeof ROUTES)[number];

export interface RouteOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress. Default: the server's setting. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** The way on which it comes. Default: the host's. */
  readonly route?: Route;
}

export type ToolOutcome = Outcome<Held<CallToolResult>>;

/** One call as it went, for logs and summaries. `args` are absent when nothing could be made of them. */
export interface CallRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly durationMs: number;
  /** As it was asked for. */
  readonly name: string;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  readonly args: JsonObject | undefined;
  readonly digest: string | undefined;
  /** The id it is written down under; absent when it was not to be sent. */
  readonly call: string | undefined;
  /** Why it was allowed or not, for people. */
  readonly because: string | undefined;
  readonly outcome: ToolOutcome;
}

export interface RouterParts extends GateParts {
  readonly registry: Registry;
  readonly clock: Clock;
  /** For whom calls are made, in which run, and on which way where a call does not say so itself. */
  readonly principal: string;
  readonly route: Route;
  readonly run: string;
  /** What the run has read. */
  readonly taint: Taint;
  /** Hosts that are a server's own: links there are nothing to point out. */
  readonly hosts: (server: string) => readonly string[];
  readonly schemas: SchemaChecks;
  /** Resolves when no first list is awaited any more. */
  readonly listed: (options: { readonly signal?: AbortSignal }) => Promise<void>;
  /** Looks again at servers that wanted a sign-in, where `name` may be theirs; resolves with why the one it names still does. */
  readonly signedIn: (name: string, options: { readonly signal?: AbortSignal }) => Promise<Error | undefined>;
  /** Whether a definition is what was reviewed of it. */
  readonly drift: LockCheck;
  readonly record: (record: CallRecord) => void;
}

export interface Router {
  /** Calls a tool under any of its names, if that is allowed. */
  call(name: string, args: unknown, options?: RouteOptions): Promise<ToolOutcome>;
  /** Reads a resource by its URI, its name, or `server:uri`. */
  readResource(name: string, options?: RouteOptions): Promise<Outcome<Held<ReadResourceResult>>>;
  getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: RouteOptions,
  ): Promise<Outcome<Held<GetPromptResult>>>;
  /** Completes an argument of a prompt or a variable of a template of `server`. */
  complete(server: string, params: CompleteParams, options?: RouteOptions): Promise<Outcome<Untrusted<CompleteResult>>>;
}

/** What a call came to, with what is known of it by then. */
interface Ended {
  readonly outcome: ToolOutcome;
  readonly entry?: ToolEntry;
  readonly intent?: CallIntent;
  readonly because?: string;
  readonly call?: string;
}

export function createRouter(parts: RouterParts): Router & Pick<Gate, 'drained'> {
  const { registry, clock, taint } = parts;
  const gate = createGate(parts);

  async function call(name: string, args: unknown, options: RouteOptions): Promise<Ended> {
    const found = await find('tool', name, () => registry.snapshot.find('tool', name), options);
    if ('outcome' in found) return found;
    const { entry } = found;
    const given = args ?? {};
    if (!isObject(given)) return { entry, outcome: invalid(`The arguments of ${name} are not a JSON object; nothing was sent.`) };
    const rebuild = (changed: JsonObject) => toolIntent(entry, changed, options);
    const intent = await rebuild(given);
    if ('type' in intent) return { entry, outcome: intent };
    const settings = parts.settings(entry.server);
    const passed = await gate.pass<Held<CallToolResult>>(
      {
        ...standing(entry),
        intent,
        rebuild,
        act: async (session, { tool, args: checked }) => {
          const result = await session.callTool(tool, checked, sessionOptions(options, settings));
          return holdToolResult(result, { server: entry.server }, { ...outputCheck(entry), ...own(entry.server) });
        },
      },
      options,
    );
    const { outcome } = passed;
    mark(passed.intent, outcome);
    const failed = outcome.type === 'ok' && outcome.result.isError;
    return { ...passed, entry, outcome: failed ? { type: 'tool-error', result: outcome.result } : outcome };
  }

  /** The intent of a call, or why the arguments cannot be right. */
  async function toolIntent(entry: ToolEntry, args: JsonObject, options: RouteOptions): Promise<CallIntent | Outcome<never>> {
    try {
      const problem = await misfit(entry, args);
      if (problem !== undefined) return invalid(problem);
      return createIntent({ ...circumstances(entry.server, options), server: entry.server, tool: entry.definition, args });
    } catch (error) {
      return invalid(asFault(error).message);
    }
  }

  /** Why the arguments do not fit the tool, or undefined when they do. A schema that cannot be checked lets nothing through. */
  async function misfit({ server, name, definition }: ToolEntry, args: JsonObject): Promise<string | undefined> {
    const { limits } = parts.settings(server);
    const outcome = await parts.schemas.check(definition.inputSchema, args, { patterns: 'skip', limits });
    return outcome.valid
      ? undefined
      : `The arguments do not fit ${server}/${name}: ${outcome.errors.join('; ')}. Nothing was sent.`;
  }

  /** Checks structured content against the tool's output schema, where it has one. */
  function outputCheck({ server, definition: { outputSchema } }: ToolEntry): ToolHoldOptions {
    if (outputSchema === undefined) return {};
    const { limits } = parts.settings(server);
    return { checkOutput: (value) => parts.schemas.check(outputSchema, value, { noun: 'member', patterns: 'skip', limits }) };
  }

  const own = (server: string) => ({ ownHosts: parts.hosts(server), limits: resultLimits(parts.settings(server).limits) });

  function circumstances(server: string, { route = parts.route }: RouteOptions) {
    const { principal, run, rules } = parts;
    const serverDigest = parts.identity(server)?.digest ?? '';
    return { principal, run, route, policyVersion: rules.version(server), taint: taint.of(), serverDigest };
  }

  /** What a server gave is remembered before anybody reads it, also when it was an error. */
  function mark({ server, tool, kind, digest, definition }: CallIntent, outcome: Outcome<unknown>): void {
    if (outcome.type !== 'ok' && outcome.type !== 'protocol-error') return;
    const annotations = kind === 'tool' ? definition.annotations : undefined;
    taint.mark({ server, from: tool, digest, settings: parts.settings(server), annotations });
  }

  /** Whether an entry is still what it was, and may be used. */
  function standing(entry: ToolEntry | PromptEntry): Pick<Passage<unknown>, 'isCurrent' | 'blocked'> {
    const { snapshot } = registry;
    const isSame = () => {
      const found = registry.snapshot.find(entry.kind, `${entry.server}/${entry.key}`);
      return found.type === 'found' && found.entry.server === entry.server && found.entry.digest === entry.digest;
    };
    return { isCurrent: () => registry.snapshot === snapshot || isSame(), blocked: () => refusal(entry) };
  }

  /** Asks for a resource or a prompt, or for what could complete them. */
  async function read<R>(target: ReadTarget, options: RouteOptions, act: Passage<R>['act']): Promise<Outcome<R>> {
    const { kind, server, name, args, entry } = target;
    const rebuild = async (changed: JsonObject): Promise<CallIntent | Outcome<never>> => {
      try {
        const tool: Tool = { name, inputSchema: {} };
        return createIntent({ ...circumstances(server, options), server, kind, tool, args: changed });
      } catch (error) {
        return invalid(asFault(error).message);
      }
    };
    const intent = await rebuild(args);
    if ('type' in intent) return intent;
    const free = { isCurrent: () => true, blocked: () => undefined };
    const passed = await gate.pass<R>({ ...(entry ? standing(entry) : free), intent, rebuild, act }, options);
    mark(passed.intent, passed.outcome);
    return passed.outcome;
  }

  /** What is not as it was reviewed is used by nobody, whatever the rules allow. */
  function refusal(entry: ToolEntry | PromptEntry): string | undefined {
    const drift = parts.drift(entry);
    if (drift === undefined) return undefined;
    const what = drift.kind === 'launch' ? `Server "${entry.server}"` : `${entry.server}/${oneLine(entry.name, 128)}`;
    return `${what} is not what parley.lock says was reviewed: ${drift.reasons.join('; ')}. Look at it with \`parley lock diff\`.`;
  }

  /** What a name stands for; waits for servers that are still being listed before it says that there is nothing. */
  async function find<T extends { readonly server: string }>(
    kind: Kind,
    name: string,
    look: () => Lookup<T>,
    options: RouteOptions,
  ) {
    let found = look();
    if (found.type === 'missing') {
      const waiting = options.signal ? { signal: options.signal } : {};
      let absent: Error | undefined;
      try {
        await parts.listed(waiting);
        if (look().type === 'missing') absent = await parts.signedIn(name, waiting);
      } catch {
        return { outcome: { type: 'cancelled' } } as const;
      }
      found = look();
      if (found.type === 'missing' && absent !== undefined) {
        return { outcome: { type: 'fault', sent: 'no', error: asFault(absent) } } as const;
      }
    }
    return found.type === 'found' ? found : { outcome: notFound(kind, name, found) };
  }

  return {
    drained: () => gate.drained(),

    async call(name, args, options = {}) {
      const startedAt = clock.now();
      const at = Date.now();
      const { outcome, entry, intent, because, call: id } = await call(name, args, options);
      parts.record({
        at,
        durationMs: clock.now() - startedAt,
        name,
        server: entry?.server,
        tool: entry?.name,
        args: intent?.args ?? (isObject(args) ? args : undefined),
        digest: intent?.digest,
        call: id,
        because,
        outcome,
      });
      return outcome;
    },

    async readResource(name, options = {}) {
      const found = await find('resource', name, () => registry.snapshot.findResource(name), options);
      if ('outcome' in found) return found.outcome;
      const { server, uri } = found.entry;
      const target = { kind: 'resource', server, name: uri, args: { uri } } as const;
      return read(target, options, async (session) =>
        holdResource(await session.readResource(uri, sessionOptions(options, parts.settings(server))), { server }, own(server)),
      );
    },

    async getPrompt(name, args, options = {}) {
      const found = await find('prompt', name, () => registry.snapshot.find('prompt', name), options);
      if ('outcome' in found) return found.outcome;
      const { server, key, definition } = found.entry;
      const missing = (definition.arguments ?? []).filter((each) => each.required === true && args?.[each.name] === undefined);
      if (missing.length > 0) {
        return invalid(`The prompt ${name} needs ${missing.map((each) => `"${each.name}"`).join(', ')}; nothing was sent.`);
      }
      const target = { kind: 'prompt', server, name: key, args: args ?? {}, entry: found.entry } as const;
      return read(target, options, async (session, intent) => {
        const given = args === undefined ? undefined : (intent.args as Record<string, string>);
        return holdPrompt(
          await session.getPrompt(key, given, sessionOptions(options, parts.settings(server))),
          { server },
          own(server),
        );
      });
    },

    async complete(server, params, options = {}) {
      const { ref } = params;
      try {
        // A server that was never reached has no identity yet.
        await parts.session(server, options.signal ? { signal: options.signal } : {});
      } catch {
        // Why not is the outcome, below.
      }
      const target =
        ref.type === 'ref/prompt'
          ? ({ kind: 'prompt', server, name: ref.name, args: {} } as const)
          : ({ kind: 'resource', server, name: ref.uri, args: { uri: ref.uri } } as const);
      return read(target, options, async (session) =>
        hold(await session.complete(params, sessionOptions(options, parts.settings(server))), { server }),
      );
    },
  };
}

/** A resource or prompt. `entry` is absent for what has no definition of its own. */
interface ReadTarget {
  readonly kind: 'resource' | 'prompt';
  readonly server: string;
  /** The URI, or the prompt's name. */
  readonly name: string;
  readonly args: JsonObject;
  readonly entry?: PromptEntry;
}

function sessionOptions(options: RouteOptions, settings: ServerSettings) {
  return {
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
    ...(options.signal && { signal: options.signal }),
    ...(options.onProgress && { onProgress: options.onProgress }),
  };
}

function invalid(message: string): Outcome<never> {
  return { type: 'invalid', message };
}

function unknown(message: string, suggestions: readonly string[]): Outcome<never> {
  return { type: 'unknown', message, suggestions };
}

function notFound(
  kind: Kind,
  name: string,
  lookup: Exclude<Lookup<{ readonly server: string }>, { type: 'found' }>,
): Outcome<never> {
  if (lookup.type === 'ambiguous') {
    const servers = lookup.entries.map(({ server }) => server);
    const full = servers.map((server) => `${server}/${name}`);
    return unknown(
      `More than one server has a ${kind} "${name}": ${servers.join(', ')}. Name the server too, as ${full[0] ?? name}.`,
      full,
    );
  }
  const { suggestions } = lookup;
  return unknown(`There is no ${kind} "${name}".${suggestion(suggestions)}`, suggestions);
}
