// Takes a request from a name to an outcome: found, checked, let through the gate, held. Every route to a server goes through here,
// and nothing in here throws at its caller.
import { didYouMean, suggestion, type Clock } from '../../base/index.ts';
import { isParleyError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Tool,
} from '../../protocol/index.ts';
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
  type CheckedOutput,
  type Held,
  type Taint,
  type ToolHoldOptions,
  type Untrusted,
} from '../trust/index.ts';
import { asFault, createGate, type Gate, type GateParts, type Passage, type Passed, type PassOptions } from './gate.ts';
import type { Outcome } from './outcome.ts';

/** The way on which a call comes. */
export type Route = (typeof ROUTES)[number];

export interface RouteOptions extends PassOptions {
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

/** A call as it was asked for. */
interface Asking extends Pick<CallRecord, 'name' | 'args' | 'at'> {
  /** By the clock. */
  readonly startedAt: number;
}

/** What is asked of a server. */
type Asked = Pick<IntendedCall, 'server' | 'kind' | 'tool' | 'args'>;

/** What is the same for every use of an entry: whether it is still what it was and may be used. */
type Standing = Pick<Passage<unknown, unknown>, 'isCurrent' | 'blocked'>;

type ToolPassage = Passage<Held<CallToolResult>, CallToolResult>;

export function createRouter(parts: RouterParts): Router & Pick<Gate, 'drained'> {
  const { registry, clock, taint } = parts;
  const gate = createGate(parts);
  const standings = new WeakMap<ToolEntry | PromptEntry, Standing>();
  const ways = new WeakMap<ToolEntry, ToolPassage>();

  async function call(name: string, args: unknown, options: RouteOptions): Promise<ToolOutcome> {
    const asking = { name, args: isObject(args) ? args : undefined, at: Date.now(), startedAt: clock.now() };
    const listed = registry.snapshot.find('tool', name);
    const found =
      listed.type === 'found' ? listed : await find('tool', name, () => registry.snapshot.find('tool', name), options);
    if ('outcome' in found) return tell(asking, found.outcome);
    const { entry } = found;
    const given = args ?? {};
    if (!isObject(given))
      return tell(asking, invalid(`The arguments of ${name} are not a JSON object; nothing was sent.`), entry);
    const building = toolIntent(entry, given, options);
    const intent = building instanceof Promise ? await building : building;
    if ('type' in intent) return tell(asking, intent, entry);
    const passing = gate.pass(intent, wayOf(entry), options);
    const passed = passing instanceof Promise ? await passing : passing;
    const { outcome } = passed;
    mark(passed.intent, outcome);
    const said: ToolOutcome =
      outcome.type === 'ok' && outcome.result.isError ? { type: 'tool-error', result: outcome.result } : outcome;
    return tell(asking, said, entry, passed);
  }

  /** Tells of a call how it went; its outcome. */
  function tell(asking: Asking, outcome: ToolOutcome, entry?: ToolEntry, passed?: Passed<unknown>): ToolOutcome {
    parts.record(new Told(asking, clock.now(), outcome, entry, passed));
    return outcome;
  }

  /** How a call of a tool goes: with structured content checked against its output schema, where it has one. */
  function wayOf(entry: ToolEntry): ToolPassage {
    let way = ways.get(entry);
    if (way === undefined) {
      const settings = parts.settings(entry.server);
      const holding = holdingOf(entry);
      const source = Object.freeze({ server: entry.server });
      way = {
        ...standing(entry),
        rebuild: (args, { route }) => toolIntent(entry, args, { route: route as Route }),
        act: (session, { tool, args }, options) => session.callTool(tool, args, sessionOptions(options, settings)),
        hold: (result) => holdToolResult(result, source, holding),
      };
      ways.set(entry, way);
    }
    return way;
  }

  /** The intent of a call, or why the arguments cannot be right. A schema that cannot be checked lets nothing through. */
  function toolIntent(
    entry: ToolEntry,
    args: JsonObject,
    options: Pick<RouteOptions, 'route'>,
  ): CallIntent | Outcome<never> | Promise<CallIntent | Outcome<never>> {
    const uncheckable = (error: unknown) => invalid(asFault(error).message);
    const build = (fit: CheckedOutput) => {
      if (!fit.valid) return invalid(misfit(entry, fit.errors));
      return intentOf({ server: entry.server, kind: 'tool', tool: entry.definition, args }, options);
    };
    try {
      const { limits } = parts.settings(entry.server);
      const checking = parts.schemas.check(entry.definition.inputSchema, args, { patterns: 'skip', limits });
      return checking instanceof Promise ? checking.then(build).catch(uncheckable) : build(checking);
    } catch (error) {
      return uncheckable(error);
    }
  }

  function holdingOf({ server, definition: { outputSchema } }: ToolEntry): ToolHoldOptions {
    if (outputSchema === undefined) return own(server);
    const { limits } = parts.settings(server);
    const checkOutput = (value: unknown) =>
      parts.schemas.check(outputSchema, value, { noun: 'member', patterns: 'skip', limits });
    return { ...own(server), checkOutput };
  }

  const own = (server: string) => ({ ownHosts: parts.hosts(server), limits: resultLimits(parts.settings(server).limits) });

  /** The intent of what is asked for, here and now. */
  function intentOf(
    { server, kind, tool, args }: Required<Asked>,
    { route = parts.route }: Pick<RouteOptions, 'route'>,
  ): CallIntent {
    const { principal, run, rules } = parts;
    const serverDigest = parts.identity(server)?.digest ?? '';
    const policyVersion = rules.version(server);
    return createIntent({ server, kind, tool, args, principal, run, route, policyVersion, taint: taint.of(), serverDigest });
  }

  /** What a server gave is remembered before anybody reads it, also when it was an error. */
  function mark(call: CallIntent, outcome: Outcome<unknown>): void {
    if (outcome.type !== 'ok' && outcome.type !== 'protocol-error') return;
    const { server, tool, kind, definition } = call;
    const annotations = kind === 'tool' ? definition.annotations : undefined;
    taint.mark({ server, from: writtenTool(tool), call, settings: parts.settings(server), annotations });
  }

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
      known = { isCurrent, blocked: () => refusal(entry) };
      standings.set(entry, known);
    }
    return known;
  }

  /** Asks for a resource or a prompt, or for what could complete them. */
  async function read<R, A>(
    target: ReadTarget,
    options: RouteOptions,
    { act, hold }: Pick<Passage<R, A>, 'act' | 'hold'>,
  ): Promise<Outcome<R>> {
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
    const passed = await gate.pass<R, A>(intent, { ...(entry ? standing(entry) : standalone), rebuild, act, hold }, options);
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

    call: (name, args, options = {}) => call(name, args, options),

    async readResource(name, options = {}) {
      const found = await find('resource', name, () => registry.snapshot.findResource(name), options);
      if ('outcome' in found) return found.outcome;
      const { server, uri } = found.entry;
      const edited = ({ uri: other, ...rest }: JsonObject) =>
        typeof other === 'string' && Object.keys(rest).length === 0
          ? resourceOf(other)
          : 'A resource has the argument "uri" alone.';
      const target: ReadTarget = { kind: 'resource', server, definition: resourceOf(uri), args: { uri }, edited };
      return read(target, options, {
        act: (session, { args }) => session.readResource(args['uri'] as string, sessionOptions(options, parts.settings(server))),
        hold: (result) => holdResource(result, { server }, own(server)),
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
      return read(target, options, {
        act(session, intent) {
          const isEmpty = args === undefined && Object.keys(intent.args).length === 0;
          const given = isEmpty ? undefined : (intent.args as Record<string, string>);
          return session.getPrompt(key, given, sessionOptions(options, parts.settings(server)));
        },
        hold: (result) => holdPrompt(result, { server }, own(server)),
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
          : { kind: 'resource', server, definition: { name: ref.uri, ...about }, args: withUri(ref.uri, args), edited };
      return read(target, options, {
        act: (session) => session.complete(params, sessionOptions(options, parts.settings(server))),
        hold: (result) => hold(result, { server }),
      });
    },
  };

  /** The entry of a prompt, where the server lists it. */
  function promptOf(server: string, name: string): Pick<ReadTarget, 'entry'> {
    const found = registry.snapshot.find('prompt', `${server}/${name}`);
    return found.type === 'found' ? { entry: found.entry } : {};
  }
}

/** The values of a template's variables with its URI, which one that is called `uri` must not hide from the rules. */
function withUri(uri: string, args: JsonObject): JsonObject {
  return { ...args, uri: 'uri' in args ? [uri, args['uri']] : uri };
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

function sessionOptions(options: PassOptions, settings: Pick<ServerSettings, 'timeoutMs'>): PassOptions {
  const { signal, onProgress, timeoutMs = settings.timeoutMs } = options;
  if (signal === undefined && onProgress === undefined) return { timeoutMs };
  return { timeoutMs, ...(signal && { signal }), ...(onProgress && { onProgress }) };
}

/** A record whose digest is made when somebody reads it. */
class Told implements CallRecord {
  readonly at: number;
  readonly durationMs: number;
  readonly name: string;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  readonly args: JsonObject | undefined;
  readonly call: string | undefined;
  readonly because: string | undefined;
  readonly outcome: ToolOutcome;
  readonly #intent: CallIntent | undefined;

  constructor(asking: Asking, endedAt: number, outcome: ToolOutcome, entry?: ToolEntry, passed?: Passed<unknown>) {
    this.at = asking.at;
    this.durationMs = endedAt - asking.startedAt;
    this.name = asking.name;
    this.server = entry?.server;
    this.tool = entry?.name;
    this.args = passed?.intent.args ?? asking.args;
    this.call = passed?.call;
    this.because = passed?.because;
    this.outcome = outcome;
    this.#intent = passed?.intent;
  }

  get digest(): string | undefined {
    return this.#intent?.digest;
  }

  toJSON(): CallRecord {
    const { at, durationMs, name, server, tool, args, digest, call, because, outcome } = this;
    return { at, durationMs, name, server, tool, args, digest, call, because, outcome };
  }
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
