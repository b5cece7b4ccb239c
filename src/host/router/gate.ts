// The one gate before every server, whatever way a request came and whatever it asks for: decided, asked for, written down, checked
// once more, sent. What is not written down is not sent, and nothing in here throws at its caller.
import { randomUUID } from 'node:crypto';
import { isParleyError, ParleyError, RpcError, type ErrorCode } from '../../errors.ts';
import type { Clock } from '../../base/index.ts';
import type { Session } from '../../client/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { JournalState, Store } from '../../store/index.ts';
import { proposals, type Allowance, type Approver, type CallIntent, type Grant, type Grants } from '../approval/index.ts';
import type { ServerSettings } from '../config/index.ts';
import type { ServerIdentity } from '../identity/index.ts';
import type { Drift, PinnedTool, Pins } from '../lock/index.ts';
import { named } from '../named.ts';
import {
  decide,
  mayRepeat,
  placeOf,
  type CallQuestion,
  type Decision,
  type OwnFiles,
  type Rule,
  type RuleSet,
} from '../policy/index.ts';
import type { Allowed, AllowedBy, Entries } from '../record/index.ts';
import { oneLine } from '../trust/index.ts';
import type { Denied, Denier, Outcome } from './outcome.ts';

export interface GateParts {
  readonly rules: RuleSet;
  /** What no call may name, whatever the rules say. */
  readonly ownFiles: OwnFiles;
  readonly grants: Grants;
  readonly approver: Approver;
  /** The store, opened when it is first needed. */
  readonly store: () => Store | Promise<Store>;
  readonly entries: Entries;
  /** What tools were when they were first allowed. */
  readonly pins: Pins;
  /** True for a server whose tools are held to the project's lock: what is reviewed there needs no other look. */
  readonly isLocked: (server: string) => boolean;
  readonly clock: Clock;
  /** The settings of a configured server. */
  readonly settings: (server: string) => ServerSettings;
  /** What a server is now; undefined while it was never reached. */
  readonly identity: (server: string) => ServerIdentity | undefined;
  /** A ready session, at once where there is one, or why there is none. */
  readonly session: (server: string, options: { readonly signal?: AbortSignal }) => Session | Promise<Session>;
  /** Told what could not be written down when it was too late to hold anything back. */
  readonly trouble: (error: ParleyError) => void;
}

/** What is to be sent to a server, if that is allowed. */
export interface Passage<R> {
  readonly intent: CallIntent;
  /** The intent with other arguments, or why there can be none. */
  readonly rebuild: (args: JsonObject) => Promise<CallIntent | Outcome<never>>;
  /** True while what the intent was built against is what is on offer. */
  readonly isCurrent: () => boolean;
  /** Why it must be looked at before it is used; undefined when it need not. */
  readonly blocked: () => string | undefined;
  readonly act: (session: Session, intent: CallIntent) => Promise<R>;
}

export interface PassOptions {
  readonly signal?: AbortSignal;
}

/** What became of it. `intent` is the one that was decided on last, `call` the id under which it is written down. */
export interface Passed<R> {
  readonly outcome: Outcome<R>;
  readonly intent: CallIntent;
  readonly because: string;
  readonly call?: string;
}

export interface Gate {
  pass<R>(passage: Passage<R>, options?: PassOptions): Promise<Passed<R>>;
  /** Resolves when nothing is being sent: what was, has its end written down. */
  drained(): Promise<void>;
}

/** What is known of a call besides its intent. */
interface Known {
  readonly grants?: readonly Grant[];
  /** What changed in its tool. */
  readonly changed?: string;
}

/** An intent that may be sent, with the grant that says so, if one does; or what became of it instead. */
type Permission = Permitted | { readonly ended: Passed<never> };

interface Permitted {
  readonly allowed: Allowed;
  readonly grant?: Grant;
}

/** Codes that say that a session is over. */
const GONE: readonly ErrorCode[] = ['server-stopped', 'session-lost', 'closed'];

/** Codes of requests that no server's code ever saw. */
const REFUSED: readonly ErrorCode[] = ['auth-required', 'unreachable', 'unsupported', 'usage', 'input-unanswered'];

/** A decision that is younger is not made again. */
const MOMENT_MS = 100;

const CHANGED = 'What was allowed is not what is there now: the tool or its server changed. Call it again to see what it is.';

export function createGate(parts: GateParts): Gate {
  const { clock, entries } = parts;
  const drains: (() => void)[] = [];
  let sending = 0;

  const question = (intent: CallIntent, { grants = [], changed }: Known = {}): CallQuestion => ({
    type: 'call',
    intent,
    server: parts.settings(intent.server),
    ...(changed !== undefined && { changed }),
    rules: parts.rules,
    grants,
  });

  function judge(intent: CallIntent, known: Known = {}): Decision {
    const { kind, server, definition, args, principal, route, taint } = intent;
    const own = parts.ownFiles(server, args);
    if (own !== undefined) return { verdict: 'deny', because: own };
    if (kind === 'tool') return decide(question(intent, known));
    return decide({ type: 'read', kind, server, name: definition.name, args, principal, route, taint, rules: parts.rules });
  }

  /** Writes down what holds nothing back. */
  async function note(write: (store: Store) => Promise<unknown>): Promise<void> {
    try {
      await write(await parts.store());
    } catch (error) {
      parts.trouble(notRecorded(error));
    }
  }

  async function denial(intent: CallIntent, by: Denier, because: string, ticket?: string): Promise<Denied> {
    await note(async ({ audit }) => audit.append(entries.refusal(intent, because, by, ticket)));
    return { type: 'denied', by, because, ...(ticket !== undefined && { ticket }) };
  }

  const refuse = async (intent: CallIntent, by: Denier, because: string, ticket?: string): Promise<Permission> => ({
    ended: { intent, because, outcome: await denial(intent, by, because, ticket) },
  });

  async function permit({ intent, rebuild, blocked }: Passage<unknown>, { signal }: PassOptions): Promise<Permission> {
    const unseen = blocked();
    if (unseen !== undefined) return refuse(intent, 'changed', unseen);
    let drift: Drift | undefined;
    try {
      const isPinned = intent.kind === 'tool' && !parts.isLocked(intent.server);
      const known = isPinned ? parts.pins.drift(pinned(intent)) : undefined;
      drift = known instanceof Promise ? await known : known;
    } catch (error) {
      return { ended: { intent, because: '', outcome: { type: 'fault', sent: 'no', error: notRecorded(error) } } };
    }
    const { trusted } = parts.settings(intent.server);
    // What a trusted server says counts, also when it says something else than before.
    const changed = drift?.level === 'blocked' && !trusted ? sayDrift(intent, drift) : undefined;
    const decision = judge(intent, changed === undefined ? {} : { changed });
    const { because } = decision;
    if (decision.verdict !== 'ask') {
      if (decision.verdict === 'deny') return refuse(intent, 'policy', because);
      const keeping = drift === undefined ? keep(intent, 'policy') : undefined;
      if (keeping !== undefined) await keeping;
      return { allowed: { intent, because, by: byPolicy(decision) } };
    }
    const { widest } = decision;
    try {
      const granted = widest === 'run' ? await grantFor(intent) : undefined;
      if (granted !== undefined) return granted;
      const floating = parts.identity(intent.server)?.floating ?? false;
      const offers = widest === 'run' && !floating ? offersFor(intent) : [];
      const changes = drift === undefined ? {} : { changes: drift.changes };
      const request = { intent, because, trusted, widest, floating, proposals: offers, ...changes };
      const verdict = await parts.approver.ask(request, signal && { signal });
      if (verdict.type === 'allow') {
        await keep(intent, verdict.who ?? intent.principal);
        return await approved(intent, verdict, rebuild);
      }
      if (verdict.by !== 'no-terminal') return await refuse(intent, verdict.by, verdict.message ?? because, verdict.ticket);
      const refusal = await denial(intent, because === changed ? 'changed' : 'no-terminal', because, verdict.ticket);
      return { ended: { intent, because, outcome: { ...refusal, widest } } };
    } catch (error) {
      if (signal?.aborted) return { ended: { intent, because: 'It was cancelled.', outcome: { type: 'cancelled' } } };
      return refuse(intent, 'policy', `Nobody could be asked: ${asFault(error).message}`);
    }
  }

  /** Keeps a tool as it is; undefined when it is kept so already. */
  function keep(intent: CallIntent, by: string): Promise<void> | undefined {
    const keeping = intent.kind === 'tool' ? parts.pins.keep(pinned(intent), by) : undefined;
    return keeping?.catch((error: unknown) => parts.trouble(notRecorded(error)));
  }

  /** What is allowed by something that somebody allowed before. */
  async function grantFor(intent: CallIntent): Promise<Permitted | undefined> {
    const covering = await parts.grants.covering(intent);
    const grant = covering.find((each) => judge(intent, { grants: [each] }).verdict === 'allow');
    if (grant === undefined) return undefined;
    const { id, by, channel } = grant;
    return { allowed: { intent, because: sayGrant(grant), by: { type: 'grant', id, by, channel } }, grant };
  }

  async function approved(intent: CallIntent, verdict: Allowance, rebuild: Passage<unknown>['rebuild']): Promise<Permission> {
    const { who = intent.principal, channel = 'approver', ticket, args } = verdict;
    const by: AllowedBy = { type: 'approval', by: who, channel, ...(ticket !== undefined && { id: ticket }) };
    const because = `It was approved${who === '' ? '' : ` by ${who}`}.`;
    if (args === undefined) return { allowed: { intent, because, by } };
    const edited = await rebuild(args);
    if ('type' in edited) {
      await release(by);
      return { ended: { intent, because: 'The arguments that were put in place of its own do not fit.', outcome: edited } };
    }
    // What the approver wrote is approved; what is denied to everybody is denied to him.
    const decision = judge(edited);
    if (decision.verdict === 'deny') {
      await release(by);
      return refuse(edited, 'policy', decision.because, ticket);
    }
    return { allowed: { intent: edited, because: `${because} Its arguments were changed.`, by, editedFrom: intent.digest } };
  }

  /** Ends a ticket that was approved and is not made use of. */
  async function release(by: AllowedBy): Promise<void> {
    const ticket = ticketOf(by);
    if (ticket === undefined) return;
    await note(async ({ approvals }) => {
      if (await approvals.claim(ticket)) await approvals.finish(ticket, { state: 'failed', outcome: 'unsent' });
    });
  }

  /** Writes down that it is about to be sent. Resolves with why it is not when its ticket or grant is good no more. */
  async function begin(id: string, { allowed, grant }: Permitted): Promise<string | undefined> {
    const store = parts.store();
    const { journal, audit, approvals } = store instanceof Promise ? await store : store;
    const { intent, by } = allowed;
    const ticket = ticketOf(by);
    if (grant !== undefined && !(await parts.grants.use(grant, intent))) return `What allowed it is over (${grant.id}).`;
    if (ticket !== undefined && !(await approvals.claim(ticket))) return `The call of ${ticket} was made already.`;
    try {
      if (intent.kind === 'tool') {
        const { trusted, reviewedTools } = parts.settings(intent.server);
        const begun = entries.begin(id, allowed, { trusted, reviewed: reviewedTools.includes(intent.tool) });
        await journal.begin(begun.entry, begun.audit);
      } else {
        await audit.append(entries.read(allowed));
      }
      return undefined;
    } catch (error) {
      if (ticket !== undefined) await note(() => approvals.finish(ticket, { state: 'failed', outcome: 'not-recorded' }));
      throw error;
    }
  }

  /** Writes down how it ended. By then nothing can be held back. */
  async function end(id: string, { intent, by }: Allowed, ended: Ended, since: number): Promise<void> {
    const ticket = ticketOf(by);
    if (intent.kind !== 'tool' && ticket === undefined) return;
    try {
      const store = parts.store();
      const { journal, approvals } = store instanceof Promise ? await store : store;
      const { state, outcome } = ended;
      if (intent.kind === 'tool') {
        const { end: ending, audit } = entries.end(id, ended, clock.now() - since);
        await journal.end(id, ending, audit);
      }
      if (ticket !== undefined) await approvals.finish(ticket, { state: TICKET_END[state], outcome });
    } catch (error) {
      parts.trouble(notRecorded(error));
    }
  }

  /** True when nothing has changed that the decision was made on. */
  function isStill(permitted: Permitted, { isCurrent, blocked }: Passage<unknown>, since: number): boolean {
    const { intent } = permitted.allowed;
    return (
      parts.identity(intent.server)?.digest === intent.serverDigest &&
      parts.rules.version(intent.server) === intent.policyVersion &&
      isCurrent() &&
      blocked() === undefined &&
      isStillAllowed(permitted, since)
    );
  }

  /** True when it would be allowed again: a path may lead elsewhere by now, after somebody has thought or a server was waited for. */
  function isStillAllowed({ allowed: { intent, by }, grant }: Permitted, since: number): boolean {
    if (by.type === 'policy' && clock.now() - since < MOMENT_MS) return true;
    const { verdict } = judge(intent, grant && { grants: [grant] });
    return verdict === 'allow' || (verdict === 'ask' && by.type === 'approval');
  }

  async function send<R>(permitted: Permitted, passage: Passage<R>, { signal }: PassOptions): Promise<Passed<R>> {
    const { allowed } = permitted;
    const { intent, by, because } = allowed;
    const { server } = intent;
    const id = `call_${randomUUID()}`;
    const since = clock.now();
    let written = false;
    let perhaps = false;

    const finish = async (outcome: Outcome<R>): Promise<Passed<R>> => {
      if (!written) await release(by);
      else await end(id, allowed, endOf(outcome, perhaps ? 'perhaps' : 'no'), since);
      return { outcome, intent, because, ...(written && intent.kind === 'tool' && { call: id }) };
    };
    const deny = async (why: string): Promise<Passed<R>> => {
      const outcome = await denial(intent, 'policy', why, ticketOf(by));
      return { ...(await finish(outcome)), because: why };
    };

    for (const attempt of ['first', 'last'] as const) {
      let session: Session;
      try {
        const ready = parts.session(server, signal ? { signal } : {});
        session = ready instanceof Promise ? await ready : ready;
      } catch (error) {
        return finish(unreached(server, error));
      }
      if (!isStill(permitted, passage, since)) return deny(CHANGED);
      if (!written) {
        let taken: string | undefined;
        try {
          taken = await begin(id, permitted);
        } catch (error) {
          return { outcome: { type: 'fault', sent: 'no', error: notRecorded(error) }, intent, because };
        }
        if (taken !== undefined) return deny(taken);
        written = true;
        if (!isStill(permitted, passage, since)) return deny(CHANGED);
      }
      try {
        return await finish({ type: 'ok', result: await passage.act(session, intent) });
      } catch (error) {
        // Surely not carried out: the session was over before, or the server did not know it.
        const unsent = isParleyError(error) && error.details.unsent === true && GONE.includes(error.code);
        const outcome = failure(server, error, unsent ? 'no' : 'perhaps');
        perhaps ||= !isUnsent(outcome);
        const again = unsent || (outcome.type === 'lost' && isRepeatable(intent));
        if (attempt === 'last' || !again || signal?.aborted === true) return finish(outcome);
        await session.close();
        await session.ended;
      }
    }
    throw new ParleyError('internal', 'A second attempt ended without an outcome.');
  }

  /** Reads may always be made again; calls when a trusted server says so, or a rule of the user. */
  function isRepeatable(intent: CallIntent): boolean {
    return intent.kind !== 'tool' || mayRepeat(question(intent));
  }

  return {
    async pass(passage, options = {}) {
      const permission = await permit(passage, options);
      if ('ended' in permission) return permission.ended;
      sending++;
      try {
        return await send(permission, passage, options);
      } finally {
        if (--sending === 0) for (const drained of drains.splice(0)) drained();
      }
    },
    drained: () => (sending === 0 ? Promise.resolve() : new Promise((resolve) => drains.push(resolve))),
  };
}

function pinned({ serverDigest, tool, definitionDigest, definition }: CallIntent): PinnedTool {
  return { server: serverDigest, name: tool, digest: definitionDigest, definition: definition as unknown as JsonObject };
}

function sayDrift({ server, tool }: CallIntent, { reasons }: Drift): string {
  return `${server}/${oneLine(tool, 128)} changed since it was allowed: ${reasons.join('; ')}.`;
}

function sayGrant({ id, by, run, expiresAt }: Grant): string {
  const until = expiresAt === undefined ? 'from then on' : `until ${new Date(expiresAt).toISOString()}`;
  return `It was allowed ${by === '' ? '' : `by ${by}, `}${run === undefined ? until : 'for this run'} (${id}).`;
}

function ticketOf(by: AllowedBy): string | undefined {
  return by.type === 'approval' ? by.id : undefined;
}

interface Ended {
  readonly state: Exclude<JournalState, 'begun'>;
  readonly outcome: string;
  readonly bytes?: number;
}

const TICKET_END = { done: 'done', unsent: 'failed', unknown: 'outcome-unknown' } as const satisfies Record<
  Ended['state'],
  string
>;

/** How the journal says that a call ended. `sent` is what is known of all attempts together. */
function endOf(outcome: Outcome<unknown>, sent: 'no' | 'perhaps'): Ended {
  const unclear = sent === 'perhaps' ? 'unknown' : 'unsent';
  switch (outcome.type) {
    case 'ok': {
      const isError = (outcome.result as { readonly isError?: boolean } | undefined)?.isError === true;
      return { state: 'done', outcome: isError ? 'tool-error' : 'ok', bytes: sizeOf(outcome.result) };
    }
    case 'tool-error':
    case 'protocol-error':
      return { state: 'done', outcome: outcome.type };
    case 'denied':
    case 'unknown':
    case 'invalid':
      return { state: 'unsent', outcome: outcome.type };
    case 'timeout':
    case 'cancelled':
    case 'lost':
      return { state: unclear, outcome: outcome.type };
    case 'fault':
      return { state: unclear, outcome: outcome.error.code };
    default:
      return outcome satisfies never;
  }
}

/** About as many bytes as a value takes in JSON, without writing it. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 5;
  let size = 2;
  for (const name in value) size += name.length + 4 + sizeOf((value as JsonObject)[name]);
  return size;
}

const BY_POLICY: AllowedBy = { type: 'policy' };
/** One for each rule, since the journal keeps it with every call. */
const byRules = new WeakMap<Rule, AllowedBy>();

function byPolicy({ rule }: Decision): AllowedBy {
  if (rule === undefined) return BY_POLICY;
  let by = byRules.get(rule);
  if (by === undefined) {
    by = { type: 'policy', rule: rule.text, place: placeOf(rule.source) };
    byRules.set(rule, by);
  }
  return by;
}

/** What may be allowed for good: nothing of a tool that says that it destroys or reaches out, and all of one that says it is harmless. */
function offersFor({ definition: { annotations }, args }: CallIntent) {
  const harmless = annotations?.readOnlyHint === true || annotations?.destructiveHint === false;
  if (annotations?.openWorldHint === true || (annotations?.destructiveHint === true && annotations.readOnlyHint !== true))
    return [];
  return proposals({ args, harmless });
}

function notRecorded(error: unknown): ParleyError {
  return new ParleyError(
    'not-recorded',
    `What happens to the call cannot be written down: ${asFault(error).message} What is not written down is not sent.`,
    { cause: error },
  );
}

function unreached(server: string, error: unknown): Outcome<never> {
  if (isParleyError(error, 'aborted')) return { type: 'cancelled' };
  const fault = asFault(error);
  return fault.code === 'server-stopped'
    ? { type: 'lost', server, sent: 'no', error: fault }
    : { type: 'fault', sent: 'no', error: fault };
}

function isUnsent(outcome: Outcome<unknown>): boolean {
  return (outcome.type === 'fault' || outcome.type === 'lost') && outcome.sent === 'no';
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
      return { type: 'fault', sent: REFUSED.includes(fault.code) ? 'no' : sent, error: blamed(fault, server) };
  }
}

/** A breach of a limit says whose it is, for whoever wants to set that limit for that server. */
function blamed(fault: ParleyError, server: string): ParleyError {
  return fault.code === 'limit' ? (named(fault, server) as ParleyError) : fault;
}

/** Whatever was thrown, as a fault of ours. */
export function asFault(error: unknown): ParleyError {
  if (isParleyError(error)) return error;
  return new ParleyError('internal', error instanceof Error ? error.message : String(error), { cause: error });
}
