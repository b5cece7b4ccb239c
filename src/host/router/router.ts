// Takes a request from a name to an outcome: found, checked, let through the gate, held. Every route to a server goes through here,
// and nothing in here throws at its caller.
import { didYouMean, suggestion, type Clock } from '../../base/index.ts';
import { isParleyError } from '../../errors.ts';
import { isObject, type JsonObject, type Progress } from '../../jsonrpc/index.ts';
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Tool,
} from '../../protocol/index.ts';
import type { Session } from '../../client/index.ts';
import { createIntent, writtenTool, type CallIntent, type IntendedCall } from '../approval/index.ts';
import type { ServerSettings } from '../config/index.ts';
import type { LockCheck } from '../lock/index.ts';
import type { ROUTES } from '../policy/index.ts';
import type { Kind, Lookup, PromptEntry, Registry, Snapshot, ToolEntry } from '../registry/index.ts';
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

/** What is asked of a server. */
type Asked = Pick<IntendedCall, 'server' | 'kind' | 'tool' | 'args'>;

interface Standing extends Pick<Passage<unknown>, 'isCurrent' | 'blocked'> {
  /** What no change of the policy changes. */
  readonly settings: Pick<ServerSettings, 'timeoutMs'>;
  readonly holding: ToolHoldOptions;
}

export function createRouter(parts: RouterParts): Router & Pick<Gate, 'drained'> {
  const { registry, clock, taint } = parts;
  const gate = createGate(parts);
  const standings = new WeakMap<ToolEntry | PromptEntry, Standing>();

  async function call(name: string, args: unknown, options: RouteOptions): Promise<Ended> {
    const look = () => registry.snapshot.find('tool', name);
    const listed = look();
    const found = listed.type === 'found' ? listed : await find('tool', name, look, options);
    if ('outcome' in found) return found;
    const { entry } = found;
    const given = args ?? {};
    if (!isObject(given)) return { entry, outcome: invalid(`The arguments of ${name} are not a JSON object; nothing was sent.`) };
    const rebuild = (changed: JsonObject) => toolIntent(entry, changed, options);
    const intent = await rebuild(given);
    if ('type' in intent) return { entry, outcome: intent };
    const { isCurrent, blocked, settings, holding } = standing(entry);
    const act = async (session: Session, { tool, args: checked }: CallIntent) => {
      const result = await session.callTool(tool, checked, sessionOptions(options, settings));
      return holdToolResult(result, { server: entry.server }, holding);
    };
    const passed = await gate.pass<Held<CallToolResult>>({ intent, rebuild, isCurrent, blocked, act }, options);
    const { outcome, intent: last, because, call: id } = passed;
    mark(last, outcome);
    const failed = outcome.type === 'ok' && outcome.result.isError;
    const said: ToolOutcome = failed ? { type: 'tool-error', result: outcome.result } : outcome;
    return { outcome: said, entry, intent: last, because, ...(id !== undefined && { call: id }) };
  }

  /** The intent of a call, or why the arguments cannot be right. A schema that cannot be checked lets nothing through. */
  async function toolIntent(entry: ToolEntry, args: JsonObject, options: RouteOptions): Promise<CallIntent | Outcome<never>> {
    try {
      const { limits } = parts.settings(entry.server);
      const checking = parts.schemas.check(entry.definition.inputSchema, args, { patterns: 'skip', limits });
      const fit = checking instanceof Promise ? await checking : checking;
      if (!fit.valid) return invalid(misfit(entry, fit.errors));
      return intentOf({ server: entry.server, kind: 'tool', tool: entry.definition, args }, options);
    } catch (error) {
      return invalid(asFault(error).message);
    }
  }

  /** With structured content checked against the tool's output schema, where it has one. */
  function holdingOf({ server, definition }: ToolEntry | PromptEntry): ToolHoldOptions {
    const { outputSchema } = definition as Partial<Tool>;
    if (outputSchema === undefined) return own(server);
    const { limits } = parts.settings(server);
    const checkOutput = (value: unknown) =>
      parts.schemas.check(outputSchema, value, { noun: 'member', patterns: 'skip', limits });
    return { ...own(server), checkOutput };
  }

  const own = (server: string) => ({ ownHosts: parts.hosts(server), limits: resultLimits(parts.settings(server).limits) });

  /** The intent of what is asked for, here and now. */
  function intentOf({ server, kind, tool, args }: Required<Asked>, { route = parts.route }: RouteOptions): CallIntent {
    const { principal, run, rules } = parts;
    const serverDigest = parts.identity(server)?.digest ?? '';
    const policyVersion = rules.version(server);
    return createIntent({ server, kind, tool, args, principal, run, route, policyVersion, taint: taint.of(), serverDigest });
  }

  /** What a server gave is remembered before anybody reads it, also when it was an error. */
  function mark({ server, tool, kind, digest, definition }: CallIntent, outcome: Outcome<unknown>): void {
    if (outcome.type !== 'ok' && outcome.type !== 'protocol-error') return;
    const annotations = kind === 'tool' ? definition.annotations : undefined;
    taint.mark({ server, from: writtenTool(tool), digest, settings: parts.settings(server), annotations });
  }

  /** What is the same for every use of an entry: whether it is still what it was and may be used, and how its results are held. */
  function standing(entry: ToolEntry | PromptEntry): Standing {
    let known = standings.get(entry);
    if (known === undefined) {
      let seenIn: Snapshot | undefined;
      const isCurrent = () => {
        const { snapshot } = registry;
        if (snapshot === seenIn) return true;
        const found = snapshot.find(entry.kind, `${entry.server}/${entry.key}`);
        const isThere = found.type === 'found' && found.entry.server === entry.server && found.entry.digest === entry.digest;
        if (isThere) seenIn = snapshot;
        return isThere;
      };
      const settings = parts.settings(entry.server);
      known = { isCurrent, blocked: () => refusal(entry), settings, holding: holdingOf(entry) };
      standings.set(entry, known);
    }
    return known;
  }

  /** Asks for a resource or a prompt, or for what could complete them. */
  async function read<R>(target: ReadTarget, options: RouteOptions, act: Passage<R>['act']): Promise<Outcome<R>> {
    const { kind, server, entry, args, edited } = target;
    const build = async (definition: Tool, given: JsonObject): Promise<CallIntent | Outcome<never>> => {
      try {
        return intentOf({ server, kind, tool: definition, args: given }, options);
      } catch (error) {
        return invalid(asFault(error).message);
      }
    };
    const rebuild = async (changed: JsonObject) => {
      const definition = edited(changed);
      return typeof definition === 'string' ? invalid(`${definition} Nothing was sent.`) : build(definition, changed);
    };
    const intent = await build(target.definition, args);
    if ('type' in intent) return intent;
    const standalone = { isCurrent: () => true, blocked: () => refusal({ kind: 'resource', server, name: '' }) };
    const passed = await gate.pass<R>({ ...(entry ? standing(entry) : standalone), intent, rebuild, act }, options);
    mark(passed.intent, passed.outcome);
    return passed.outcome;
  }

  /** What is not as it was reviewed is used by nobody, whatever the rules allow. */
  function refusal(entry: Parameters<LockCheck>[0] & { readonly name: string }): string | undefined {
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
      const edited = ({ uri: other, ...rest }: JsonObject) =>
        typeof other === 'string' && Object.keys(rest).length === 0
          ? resourceOf(other)
          : 'A resource has the argument "uri" alone.';
      const target: ReadTarget = { kind: 'resource', server, definition: resourceOf(uri), args: { uri }, edited };
      return read(target, options, async (session, intent) => {
        const result = await session.readResource(intent.args['uri'] as string, sessionOptions(options, parts.settings(server)));
        return holdResource(result, { server }, own(server));
      });
    },

    async getPrompt(name, args, options = {}) {
      const found = await find('prompt', name, () => registry.snapshot.find('prompt', name), options);
      if ('outcome' in found) return found.outcome;
      const { server, key, definition } = found.entry;
      const problem = promptMisfit(definition, args ?? {});
      if (problem !== undefined) return invalid(`The prompt ${name} ${problem} Nothing was sent.`);
      const itself: Tool = { ...definition, inputSchema: {} };
      const target: ReadTarget = {
        kind: 'prompt',
        server,
        entry: found.entry,
        definition: itself,
        args: args ?? {},
        edited: (changed) => {
          const wrong = promptMisfit(definition, changed);
          return wrong === undefined ? itself : `The prompt ${name} ${wrong}`;
        },
      };
      return read(target, options, async (session, intent) => {
        const isEmpty = args === undefined && Object.keys(intent.args).length === 0;
        const given = isEmpty ? undefined : (intent.args as Record<string, string>);
        const result = await session.getPrompt(key, given, sessionOptions(options, parts.settings(server)));
        return holdPrompt(result, { server }, own(server));
      });
    },

    async complete(server, params, options = {}) {
      const { ref, argument, context } = params;
      try {
        // A server that was never reached has no identity yet.
        await parts.session(server, options.signal ? { signal: options.signal } : {});
      } catch (error) {
        if (isParleyError(error, 'not-found')) return unknown(error.message, []);
        // Why not is the outcome, below.
      }
      // As the arguments that they are to become, so that a rule about an argument is about its beginning too.
      const args = { ...context?.arguments, [argument.name]: argument.value };
      const about = { description: `What could complete its ${JSON.stringify(argument.name)} is asked for.`, inputSchema: {} };
      const edited = () => 'What is to be completed cannot be changed.';
      const target: ReadTarget =
        ref.type === 'ref/prompt'
          ? { kind: 'prompt', server, definition: { name: ref.name, ...about }, args, edited, ...promptOf(server, ref.name) }
          : { kind: 'resource', server, definition: { name: ref.uri, ...about }, args: { uri: ref.uri, ...args }, edited };
      return read(target, options, async (session) =>
        hold(await session.complete(params, sessionOptions(options, parts.settings(server))), { server }),
      );
    },
  };

  /** The entry of a prompt, where the server lists it. */
  function promptOf(server: string, name: string): Pick<ReadTarget, 'entry'> {
    const found = registry.snapshot.find('prompt', `${server}/${name}`);
    return found.type === 'found' ? { entry: found.entry } : {};
  }
}

/** A resource or prompt, or what could complete one of its arguments. */
interface ReadTarget {
  readonly kind: 'resource' | 'prompt';
  readonly server: string;
  /** Absent for what has no definition of its own. */
  readonly entry?: PromptEntry;
  /** What it is taken for in the place of a tool's definition. Its name is the URI, or the prompt's name. */
  readonly definition: Tool;
  /** All that is sent of it. */
  readonly args: JsonObject;
  /** What it is with other arguments, or why there can be none. */
  readonly edited: (args: JsonObject) => Tool | string;
}

function resourceOf(uri: string): Tool {
  return { name: uri, inputSchema: {} };
}

/** Why the arguments cannot be those of the prompt, to go behind its name; undefined when they can. */
function promptMisfit({ arguments: known = [] }: Prompt, args: JsonObject): string | undefined {
  const names = known.map(({ name }) => name);
  const stray = Object.keys(args).find((name) => !names.includes(name));
  if (stray !== undefined) return `has no argument "${stray}".${didYouMean(stray, names)}`;
  const text = Object.keys(args).find((name) => args[name] !== undefined && typeof args[name] !== 'string');
  if (text !== undefined) return `takes texts alone, and "${text}" is none.`;
  const missing = known.filter(
    ({ name, required }) => required === true && (!Object.hasOwn(args, name) || args[name] === undefined),
  );
  return missing.length === 0 ? undefined : `needs ${missing.map(({ name }) => `"${name}"`).join(', ')}.`;
}

function sessionOptions(options: RouteOptions, settings: Pick<ServerSettings, 'timeoutMs'>) {
  return {
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
    ...(options.signal && { signal: options.signal }),
    ...(options.onProgress && { onProgress: options.onProgress }),
  };
}

/** Why the arguments do not fit the tool. */
function misfit({ server, name }: ToolEntry, errors: readonly string[]): string {
  return `The arguments do not fit ${server}/${name}: ${errors.join('; ')}. Nothing was sent.`;
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
