// The one gate before every server, whatever way a request came and whatever it asks for: decided, asked for, written down, checked
// once more, sent. What is not written down is not sent, and nothing in here throws at its caller.
import { randomBytes } from 'node:crypto';
import { isParleyError, ParleyError, RpcError, type ErrorCode } from '../../errors.ts';
import type { Clock } from '../../base/index.ts';
import type { Session } from '../../client/index.ts';
import type { JsonObject, Progress } from '../../jsonrpc/index.ts';
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
import { oneLine, type Held } from '../trust/index.ts';
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

/** What a session is told of a request. */
export interface PassOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress. Default: the server's setting. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
}

/** The way of an intent to its server and back. Nothing of it is one call's own, so that it may serve many. */
export interface Passage<R, A> {
  /** The intent with other arguments, or why there can be none. */
  readonly rebuild: (args: JsonObject, intent: CallIntent) => CallIntent | Outcome<never> | Promise<CallIntent | Outcome<never>>;
  /** True while what the intent was built against is what is on offer. */
  readonly isCurrent: () => boolean;
  /** Why it must be looked at before it is used; undefined when it need not. */
  readonly blocked: () => string | undefined;
  /** Sends it, once. */
  readonly act: (session: Session, intent: CallIntent, options: PassOptions) => Promise<A>;
  /** Shuts in what came. */
  readonly hold: (answer: A) => R | Promise<R>;
}

/** What became of it. `intent` is the one that was decided on last, `call` the id under which it is written down. */
export interface Passed<R> {
  readonly outcome: Outcome<R>;
  readonly intent: CallIntent;
  readonly because: string;
  readonly call?: string | undefined;
}

export interface Gate {
  /** Nothing in it waits but for what has to be waited for, and then only a promise is returned. */
  pass<R, A>(intent: CallIntent, passage: Passage<R, A>, options: PassOptions): Passed<R> | Promise<Passed<R>>;
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

/** What is to be sent, before it is known whether it may be. */
interface Asked {
  readonly intent: CallIntent;
  readonly passage: Pick<Passage<unknown, unknown>, 'rebuild' | 'blocked'>;
  readonly options: PassOptions;
}

/** A permitted intent on its way. */
interface Sending {
  readonly id: string;
  readonly permitted: Permitted;
  readonly passage: Pick<Passage<unknown, unknown>, 'isCurrent' | 'blocked'>;
  readonly options: PassOptions;
  /** By the clock. */
  readonly since: number;
  /** True when it is written down that it is about to be sent. */
  isWritten: boolean;
  /** What is known of all attempts together. */
  sent: 'no' | 'perhaps';
}

/** Codes that say that a session is over. */
const GONE: readonly ErrorCode[] = ['server-stopped', 'session-lost', 'closed'];

/** Codes of requests that no server's code ever saw. */
const REFUSED: readonly ErrorCode[] = ['auth-required', 'unreachable', 'unsupported', 'usage', 'input-unanswered'];

const NO_GRANTS: readonly Grant[] = [];

/** A decision that is younger is not made again. */
const MOMENT_MS = 100;

const CHANGED = 'What was allowed is not what is there now: the tool or its server changed. Call it again to see what it is.';

export function createGate(parts: GateParts): Gate {
  const { clock, entries } = parts;
  const drains: (() => void)[] = [];
  /** The ids of calls are of one stem, which nobody else has, and counted. */
  const stem = `call_${randomBytes(12).toString('base64url')}`;
  let calls = 0;
  let underWay = 0;

  function question(intent: CallIntent, { grants = NO_GRANTS, changed }: Known = {}): CallQuestion {
    const asked = { type: 'call', intent, server: parts.settings(intent.server), rules: parts.rules, grants } as const;
    return changed === undefined ? asked : { ...asked, changed };
  }

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
      parts.trouble(notRecorded(error, STANDS));
    }
  }

  async function denial(intent: CallIntent, by: Denier, because: string, ticket?: string): Promise<Denied> {
    await note(async ({ audit }) => audit.append(entries.refusal(intent, because, by, ticket)));
    return { type: 'denied', by, because, ...(ticket !== undefined && { ticket }) };
  }

  const refuse = async (intent: CallIntent, by: Denier, because: string, ticket?: string): Promise<Permission> => ({
    ended: { intent, because, outcome: await denial(intent, by, because, ticket) },
  });

  function permit(asked: Asked): Permission | Promise<Permission> {
    const { intent, passage } = asked;
    const unseen = passage.blocked();
    if (unseen !== undefined) return refuse(intent, 'changed', unseen);
    if (intent.kind !== 'tool' || parts.isLocked(intent.server)) return weigh(asked, undefined);
    const unreadable = (error: unknown): Permission => ({
      ended: { intent, because: '', outcome: { type: 'fault', sent: 'no', error: notRecorded(error) } },
    });
    let drift: Drift | undefined | Promise<Drift | undefined>;
    try {
      drift = parts.pins.drift(pinned(intent));
    } catch (error) {
      return unreadable(error);
    }
    if (!(drift instanceof Promise)) return weigh(asked, drift);
    return drift.then((read) => weigh(asked, read), unreadable);
  }

  /** Decides, when it is known what changed in the tool since it was kept. */
  function weigh(asked: Asked, drift: Drift | undefined): Permission | Promise<Permission> {
    const { intent } = asked;
    // What a trusted server says counts, also when it says something else than before.
    const isHeld = drift?.level === 'blocked' && !parts.settings(intent.server).trusted;
    const decision = judge(intent, isHeld ? { changed: sayDrift(intent, drift) } : {});
    const { because } = decision;
    switch (decision.verdict) {
      case 'deny':
        return refuse(intent, 'policy', because);
      case 'ask':
        return ask(asked, drift, decision);
      case 'allow': {
        const permitted = { allowed: { intent, because, by: byPolicy(decision) } };
        const keeping = drift === undefined ? keep(intent, 'policy') : undefined;
        return keeping === undefined ? permitted : keeping.then(() => permitted);
      }
      default:
        return decision satisfies never;
    }
  }

  /** Sees whether somebody allowed it before, and else asks. */
  async function ask(
    { intent, passage, options: { signal } }: Asked,
    drift: Drift | undefined,
    { because, widest }: Extract<Decision, { readonly verdict: 'ask' }>,
  ): Promise<Permission> {
    const { trusted } = parts.settings(intent.server);
    const isChange = drift !== undefined && because === sayDrift(intent, drift);
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
        return await approved(intent, verdict, passage.rebuild);
      }
      if (verdict.by !== 'no-terminal') return await refuse(intent, verdict.by, verdict.message ?? because, verdict.ticket);
      const refusal = await denial(intent, isChange ? 'changed' : 'no-terminal', because, verdict.ticket);
      return { ended: { intent, because, outcome: { ...refusal, widest } } };
    } catch (error) {
      if (signal?.aborted) return { ended: { intent, because: 'It was cancelled.', outcome: { type: 'cancelled' } } };
      return refuse(intent, 'policy', `Nobody could be asked: ${asFault(error).message}`);
    }
  }

  /** Keeps a tool as it is; undefined when it is kept so already. */
  function keep(intent: CallIntent, by: string): Promise<void> | undefined {
    const keeping = intent.kind === 'tool' ? parts.pins.keep(pinned(intent), by) : undefined;
    return keeping?.catch((error: unknown) => parts.trouble(notRecorded(error, STANDS)));
  }

  /** What is allowed by something that somebody allowed before. */
  async function grantFor(intent: CallIntent): Promise<Permitted | undefined> {
    const covering = await parts.grants.covering(intent);
    const grant = covering.find((each) => judge(intent, { grants: [each] }).verdict === 'allow');
    if (grant === undefined) return undefined;
    const { id, by, channel } = grant;
    return { allowed: { intent, because: sayGrant(grant), by: { type: 'grant', id, by, channel } }, grant };
  }

  async function approved(intent: CallIntent, verdict: Allowance, rebuild: Asked['passage']['rebuild']): Promise<Permission> {
    const { who = intent.principal, channel = 'approver', ticket, args } = verdict;
    const by: AllowedBy = { type: 'approval', by: who, channel, ...(ticket !== undefined && { id: ticket }) };
    const because = `It was approved${who === '' ? '' : ` by ${who}`}.`;
    if (args === undefined) return { allowed: { intent, because, by } };
    const edited = await rebuild(args, intent);
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

  /** Ends a ticket that was approved and is not made use of; undefined where there is none. */
  function release(by: AllowedBy): Promise<void> | undefined {
    const ticket = ticketOf(by);
    if (ticket === undefined) return undefined;
    return note(async ({ approvals }) => {
      if (await approvals.claim(ticket)) await approvals.finish(ticket, { state: 'failed', outcome: 'unsent' });
    });
  }

  /** Writes down that it is about to be sent. Gives why it is not when its ticket or grant is good no more. */
  function begin({ id, permitted }: Sending): string | undefined | Promise<string | undefined> {
    const { allowed, grant } = permitted;
    const store = parts.store();
    const isPlain = allowed.intent.kind === 'tool' && grant === undefined && ticketOf(allowed.by) === undefined;
    if (!isPlain || store instanceof Promise) return beginInTurn(id, permitted, store);
    return beginCall(id, allowed, store)?.then(() => undefined);
  }

  function beginCall(id: string, allowed: Allowed, { journal }: Store): Promise<void> | undefined {
    const { server, tool } = allowed.intent;
    const { trusted, reviewedTools } = parts.settings(server);
    const begun = entries.begin(id, allowed, { trusted, reviewed: reviewedTools.includes(tool) });
    return journal.begin(begun, begun);
  }

  async function beginInTurn(
    id: string,
    { allowed, grant }: Permitted,
    opened: Store | Promise<Store>,
  ): Promise<string | undefined> {
    const store = await opened;
    const { audit, approvals } = store;
    const ticket = ticketOf(allowed.by);
    if (grant !== undefined && !(await parts.grants.use(grant, allowed.intent))) return `What allowed it is over (${grant.id}).`;
    if (ticket !== undefined && !(await approvals.claim(ticket))) return `The call of ${ticket} was made already.`;
    try {
      if (allowed.intent.kind === 'tool') await beginCall(id, allowed, store);
      else await audit.append(entries.read(allowed));
      return undefined;
    } catch (error) {
      if (ticket !== undefined) await note(() => approvals.finish(ticket, { state: 'failed', outcome: 'not-recorded' }));
      throw error;
    }
  }

  /** Writes down how it ended; by then nothing can be held back. Undefined where it is done already. */
  function end(sending: Sending, ended: Ended): Promise<void> | undefined {
    const { intent, by } = sending.permitted.allowed;
    const store = parts.store();
    const ticket = ticketOf(by);
    if (intent.kind !== 'tool' && ticket === undefined) return undefined;
    if (ticket !== undefined || store instanceof Promise) return endInTurn(sending, ended, store);
    const late = (error: unknown) => parts.trouble(notRecorded(error, STANDS));
    try {
      return endCall(sending, ended, store)?.catch(late);
    } catch (error) {
      late(error);
      return undefined;
    }
  }

  function endCall({ id, since }: Sending, ended: Ended, { journal }: Store): Promise<void> | undefined {
    const written = entries.end(id, ended, clock.now() - since);
    return journal.end(id, written, written);
  }

  async function endInTurn(sending: Sending, ended: Ended, opened: Store | Promise<Store>): Promise<void> {
    const { intent, by } = sending.permitted.allowed;
    const ticket = ticketOf(by);
    try {
      const store = await opened;
      const { state, outcome } = ended;
      if (intent.kind === 'tool') await endCall(sending, ended, store);
      if (ticket !== undefined) await store.approvals.finish(ticket, { state: TICKET_END[state], outcome });
    } catch (error) {
      parts.trouble(notRecorded(error, STANDS));
    }
  }

  /** True when nothing has changed that the decision was made on. */
  function isStill({ permitted, passage: { isCurrent, blocked }, since }: Sending): boolean {
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

  /** What became of it, when that is written down. */
  function finish<R>(sending: Sending, outcome: Outcome<R>): Passed<R> | Promise<Passed<R>> {
    const { id, permitted, isWritten, sent } = sending;
    const { intent, because, by } = permitted.allowed;
    const call = isWritten && intent.kind === 'tool' ? id : undefined;
    const passed = { outcome, intent, because, call };
    const ending = isWritten ? end(sending, endOf(outcome, sent)) : release(by);
    return ending === undefined ? passed : ending.then(() => passed);
  }

  async function deny(sending: Sending, because: string): Promise<Passed<never>> {
    const { intent, by } = sending.permitted.allowed;
    const outcome = await denial(intent, 'policy', because, ticketOf(by));
    return { ...(await finish(sending, outcome)), because };
  }

  /** A session to send it on, when it is written down; or what became of it instead. */
  function prepare(sending: Sending): Prepared | Promise<Prepared> {
    const { server } = sending.permitted.allowed.intent;
    const { signal } = sending.options;
    let ready: Session | Promise<Session>;
    try {
      ready = parts.session(server, signal ? { signal } : {});
    } catch (error) {
      return finish(sending, unreached(server, error));
    }
    if (!(ready instanceof Promise)) return settle(ready, sending);
    return ready.then(
      (session) => settle(session, sending),
      (error: unknown) => finish(sending, unreached(server, error)),
    );
  }

  /** Checks once more, writes down what is not written yet, and checks again. */
  function settle(session: Session, sending: Sending): Prepared | Promise<Prepared> {
    if (!isStill(sending)) return deny(sending, CHANGED);
    if (sending.isWritten) return session;
    let beginning: ReturnType<typeof begin>;
    try {
      beginning = begin(sending);
    } catch (error) {
      return unwritten(sending, error);
    }
    if (!(beginning instanceof Promise)) return begun(session, sending, beginning);
    return beginning.then(
      (taken) => begun(session, sending, taken),
      (error: unknown) => unwritten(sending, error),
    );
  }

  function begun(session: Session, sending: Sending, taken: string | undefined): Prepared | Promise<Prepared> {
    if (taken !== undefined) return deny(sending, taken);
    sending.isWritten = true;
    return isStill(sending) ? session : deny(sending, CHANGED);
  }

  function unwritten({ permitted: { allowed } }: Sending, error: unknown): Passed<never> {
    const { intent, because } = allowed;
    return { outcome: { type: 'fault', sent: 'no', error: notRecorded(error) }, intent, because };
  }

  async function send<R, A>(sending: Sending, { act, hold }: Passage<R, A>): Promise<Passed<R>> {
    const { permitted, options } = sending;
    const { intent } = permitted.allowed;
    underWay++;
    try {
      for (let attempt: 'first' | 'last' = 'first'; ; attempt = 'last') {
        const preparing = prepare(sending);
        const session = preparing instanceof Promise ? await preparing : preparing;
        if ('outcome' in session) return session;
        let outcome: Outcome<R>;
        try {
          const held = hold(await act(session, intent, options));
          outcome = { type: 'ok', result: held instanceof Promise ? await held : held };
        } catch (error) {
          // Surely not carried out: the session was over before, or the server did not know it.
          const unsent = isParleyError(error) && error.details.unsent === true && GONE.includes(error.code);
          outcome = failure(intent.server, error, unsent ? 'no' : 'perhaps');
          if (!isUnsent(outcome)) sending.sent = 'perhaps';
          const again = unsent || (outcome.type === 'lost' && isRepeatable(intent));
          if (attempt === 'first' && again && options.signal?.aborted !== true) {
            await session.close();
            await session.ended;
            continue;
          }
        }
        const finishing = finish(sending, outcome);
        return finishing instanceof Promise ? await finishing : finishing;
      }
    } finally {
      if (--underWay === 0) for (const drained of drains.splice(0)) drained();
    }
  }

  /** Reads may always be made again; calls when a trusted server says so, or a rule of the user. */
  function isRepeatable(intent: CallIntent): boolean {
    return intent.kind !== 'tool' || mayRepeat(question(intent));
  }

  function sendIf<R, A>(permission: Permission, passage: Passage<R, A>, options: PassOptions): Passed<R> | Promise<Passed<R>> {
    if ('ended' in permission) return permission.ended;
    const id = `${stem}-${++calls}`;
    return send({ id, permitted: permission, passage, options, since: clock.now(), isWritten: false, sent: 'no' }, passage);
  }

  return {
    pass(intent, passage, options) {
      const permission = permit({ intent, passage, options });
      return permission instanceof Promise
        ? permission.then((given) => sendIf(given, passage, options))
        : sendIf(permission, passage, options);
    },
    drained: () => (underWay === 0 ? Promise.resolve() : new Promise((resolve) => drains.push(resolve))),
  };
}

/** A session to send on, or what became of it instead. */
type Prepared = Session | Passed<never>;

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
      const { isError = false, bytes } = (outcome.result ?? {}) as Partial<Held<unknown>>;
      return { state: 'done', outcome: isError ? 'tool-error' : 'ok', ...(bytes !== undefined && { bytes }) };
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

/** What comes of it that something was not written down: nothing is sent, or it was over by then. */
const UNSENT = 'What is not written down is not sent.';
const STANDS = 'What was decided and done stands, and is missing in the record.';

function notRecorded(error: unknown, consequence = UNSENT): ParleyError {
  return new ParleyError(
    'not-recorded',
    `What happens to the call cannot be written down: ${asFault(error).message} ${consequence}`,
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
