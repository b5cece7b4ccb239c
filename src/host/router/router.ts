// Takes a request from a name to an outcome: found, checked, decided, asked for, sent, held. Every route to a server goes
// through here, and nothing in here throws at its caller.
import { isParleyError, ParleyError, RpcError, type ErrorCode } from '../../errors.ts';
import { suggestion, type Clock } from '../../base/index.ts';
import type { Session } from '../../client/index.ts';
import { isObject, type JsonObject, type Progress } from '../../jsonrpc/index.ts';
import type { compileSchema } from '../../protocol/json-schema.ts';
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  ReadResourceResult,
} from '../../protocol/index.ts';
import { createIntent, type Approver, type CallIntent, type Grants } from '../approval/index.ts';
import type { ServerSettings } from '../config/index.ts';
import type { LockCheck } from '../lock/index.ts';
import { decide, type Decision, type RuleSet } from '../policy/index.ts';
import type { Kind, Lookup, PromptEntry, Registry, ToolEntry } from '../registry/index.ts';
import {
  hold,
  holdPrompt,
  holdResource,
  holdToolResult,
  oneLine,
  type Held,
  type ToolHoldOptions,
  type Untrusted,
} from '../trust/index.ts';
import type { Denier, Outcome } from './outcome.ts';

export interface RouteOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress. Default: the server's setting. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
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
  /** Why it was allowed or not, for people. */
  readonly because: string | undefined;
  readonly outcome: ToolOutcome;
}

export interface RouterParts {
  readonly registry: Registry;
  readonly rules: RuleSet;
  readonly grants: Grants;
  readonly approver: Approver;
  readonly clock: Clock;
  /** The settings of a configured server. */
  readonly settings: (server: string) => ServerSettings;
  /** A ready session, or why there is none. */
  readonly session: (server: string, options: { readonly signal?: AbortSignal }) => Promise<Session>;
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

type Compile = typeof compileSchema;

/** Codes that say that a session is over. */
const GONE: readonly ErrorCode[] = ['server-stopped', 'session-lost', 'closed'];

/** Codes of requests that no server's code ever saw. */
const REFUSED: readonly ErrorCode[] = ['auth-required', 'unreachable', 'unsupported', 'usage', 'input-unanswered'];

/** What a call came to, with what is known of it by then. */
interface Ended {
  readonly outcome: ToolOutcome;
  readonly entry?: ToolEntry;
  readonly intent?: CallIntent;
  readonly because?: string;
}

export function createRouter(parts: RouterParts): Router {
  const { registry, clock } = parts;

  async function call(name: string, args: unknown, options: RouteOptions): Promise<Ended> {
    const found = await find('tool', name, () => registry.snapshot.find('tool', name), options);
    if ('outcome' in found) return found;
    const { entry } = found;
    const given = args ?? {};
    if (!isObject(given)) return { entry, outcome: invalid(`The arguments of ${name} are not a JSON object; nothing was sent.`) };
    // Loaded now, since it is large and all that starts without calling a tool starts sooner.
    const compile = (await import('../../protocol/json-schema.ts')).compileSchema;
    let intent: CallIntent;
    try {
      const problem = misfit(entry, given, compile);
      if (problem !== undefined) return { entry, outcome: invalid(problem) };
      intent = createIntent({ server: entry.server, tool: entry.definition, args: given });
    } catch (error) {
      return { entry, outcome: invalid(asFault(error).message) };
    }
    const changed = refusal(entry);
    if (changed !== undefined) return { entry, intent, because: changed.because, outcome: changed };
    const permission = await permit(intent, options);
    if (permission.verdict !== 'allow') return { entry, intent, because: permission.because, outcome: permission.outcome };
    const settings = parts.settings(entry.server);
    const outcome = await perform(entry.server, options, async (session) => {
      const result = await session.callTool(intent.tool, intent.args, sessionOptions(options, settings));
      return holdToolResult(result, { server: entry.server }, outputCheck(entry, compile));
    });
    const failed = outcome.type === 'ok' && outcome.result.isError;
    return {
      entry,
      intent,
      because: permission.because,
      outcome: failed ? { type: 'tool-error', result: outcome.result } : outcome,
    };
  }

  type Permission =
    | { readonly verdict: 'allow'; readonly because: string }
    | { readonly verdict: 'deny'; readonly because: string; readonly outcome: Outcome<never> };

  async function permit(intent: CallIntent, options: RouteOptions): Promise<Permission> {
    const refuse = (by: Denier, because: string): Permission => ({
      verdict: 'deny',
      because,
      outcome: { type: 'denied', by, because },
    });
    const decision = judge(intent);
    if (decision.verdict === 'allow') return { verdict: 'allow', because: decision.because };
    if (decision.verdict !== 'ask') return refuse('policy', decision.because);
    const { trusted } = parts.settings(intent.server);
    try {
      const verdict = await parts.approver.ask(
        { intent, because: decision.because, trusted, widest: decision.widest },
        options.signal && { signal: options.signal },
      );
      if (verdict.type === 'deny') {
        return refuse(verdict.by, verdict.by === 'no-terminal' ? decision.because : (verdict.message ?? decision.because));
      }
    } catch (error) {
      if (options.signal?.aborted) return { verdict: 'deny', because: 'It was cancelled.', outcome: { type: 'cancelled' } };
      return refuse('policy', `Nobody could be asked: ${asFault(error).message}`);
    }
    // What was approved must still be what is on offer.
    const current = registry.snapshot.find('tool', `${intent.server}/${intent.tool}`);
    if (current.type !== 'found' || current.entry.server !== intent.server || current.entry.digest !== intent.definitionDigest) {
      return refuse('policy', 'The tool changed while it was being asked about. Call it again to see what it is now.');
    }
    return { verdict: 'allow', because: 'It was approved.' };
  }

  /** What is not as it was reviewed is used by nobody, whatever the rules allow. */
  function refusal(entry: ToolEntry | PromptEntry): Extract<Outcome<never>, { type: 'denied' }> | undefined {
    const drift = parts.drift(entry);
    if (drift === undefined) return undefined;
    const what = drift.kind === 'launch' ? `Server "${entry.server}"` : `${entry.server}/${oneLine(entry.name, 128)}`;
    const because = `${what} is not what parley.lock says was reviewed: ${drift.reasons.join('; ')}. Look at it with \`parley lock diff\`.`;
    return { type: 'denied', by: 'changed', because };
  }

  function judge(intent: CallIntent): Decision {
    return decide({
      type: 'call',
      intent,
      server: parts.settings(intent.server),
      rules: parts.rules,
      grants: parts.grants.list,
    });
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

  /** Runs one exchange with a server and turns every way it can fail into an outcome. */
  async function perform<R>(server: string, options: RouteOptions, act: (session: Session) => Promise<R>): Promise<Outcome<R>> {
    const signal = options.signal && { signal: options.signal };
    for (const attempt of ['first', 'last'] as const) {
      let session: Session;
      try {
        session = await parts.session(server, signal ?? {});
      } catch (error) {
        if (isParleyError(error, 'aborted')) return { type: 'cancelled' };
        const fault = asFault(error);
        return fault.code === 'server-stopped'
          ? { type: 'lost', server, sent: 'no', error: fault }
          : { type: 'fault', sent: 'no', error: fault };
      }
      try {
        return { type: 'ok', result: await act(session) };
      } catch (error) {
        // Surely not carried out: the session was over before, or the server did not know it. A new one, and once more.
        const unsent = isParleyError(error) && error.details.unsent === true && GONE.includes(error.code);
        if (unsent && attempt === 'first') {
          await session.close();
          await session.ended;
          continue;
        }
        return failure(server, error, unsent ? 'no' : 'perhaps');
      }
    }
    throw new ParleyError('internal', 'A second attempt ended without an outcome.');
  }

  return {
    async call(name, args, options = {}) {
      const startedAt = clock.now();
      const at = Date.now();
      const { outcome, entry, intent, because } = await call(name, args, options);
      parts.record({
        at,
        durationMs: clock.now() - startedAt,
        name,
        server: entry?.server,
        tool: entry?.name,
        args: intent?.args ?? (isObject(args) ? args : undefined),
        digest: intent?.digest,
        because,
        outcome,
      });
      return outcome;
    },

    async readResource(name, options = {}) {
      const found = await find('resource', name, () => registry.snapshot.findResource(name), options);
      if ('outcome' in found) return found.outcome;
      const { server, uri } = found.entry;
      return perform(server, options, async (session) =>
        holdResource(await session.readResource(uri, sessionOptions(options, parts.settings(server))), { server }),
      );
    },

    async getPrompt(name, args, options = {}) {
      const found = await find('prompt', name, () => registry.snapshot.find('prompt', name), options);
      if ('outcome' in found) return found.outcome;
      const changed = refusal(found.entry);
      if (changed !== undefined) return changed;
      const { server, key, definition } = found.entry;
      const missing = (definition.arguments ?? []).filter((each) => each.required === true && args?.[each.name] === undefined);
      if (missing.length > 0) {
        return invalid(`The prompt ${name} needs ${missing.map((each) => `"${each.name}"`).join(', ')}; nothing was sent.`);
      }
      return perform(server, options, async (session) =>
        holdPrompt(await session.getPrompt(key, args, sessionOptions(options, parts.settings(server))), { server }),
      );
    },

    complete(server, params, options = {}) {
      return perform(server, options, async (session) =>
        hold(await session.complete(params, sessionOptions(options, parts.settings(server))), { server }),
      );
    },
  };
}

function sessionOptions(options: RouteOptions, settings: ServerSettings) {
  return {
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
    ...(options.signal && { signal: options.signal }),
    ...(options.onProgress && { onProgress: options.onProgress }),
  };
}

/** Why the arguments do not fit the tool, or undefined when they do. A schema that cannot be checked lets nothing through. */
function misfit({ server, name, definition }: ToolEntry, args: JsonObject, compile: Compile): string | undefined {
  const outcome = compile(definition.inputSchema, { patterns: 'skip' })(args);
  return outcome.valid
    ? undefined
    : `The arguments do not fit ${server}/${name}: ${outcome.errors.join('; ')}. Nothing was sent.`;
}

/** Checks structured content against the tool's output schema, where it has one. */
function outputCheck({ definition: { outputSchema } }: ToolEntry, compile: Compile): ToolHoldOptions {
  if (outputSchema === undefined) return {};
  return { checkOutput: (structured) => compile(outputSchema, { noun: 'member', patterns: 'skip' })(structured) };
}

function failure(server: string, error: unknown, sent: 'no' | 'perhaps'): Outcome<never> {
  if (error instanceof RpcError) return { type: 'protocol-error', code: error.code, message: error.message, data: error.data };
  const fault = asFault(error);
  switch (fault.code) {
    case 'timeout':
      return { type: 'timeout', afterMs: fault.details.afterMs ?? 0 };
    case 'aborted':
      return { type: 'cancelled' };
    default:
      if (GONE.includes(fault.code)) return { type: 'lost', server, sent, error: fault };
      return { type: 'fault', sent: REFUSED.includes(fault.code) ? 'no' : sent, error: fault };
  }
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

function asFault(error: unknown): ParleyError {
  if (isParleyError(error)) return error;
  return new ParleyError('internal', error instanceof Error ? error.message : String(error), { cause: error });
}
