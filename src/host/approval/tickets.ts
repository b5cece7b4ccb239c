// Questions as tickets in the store: whoever answers first, here or in another process, has decided. A ticket outlives the process
// that asked; the same call, made again, finds it.
import { randomUUID } from 'node:crypto';
import { digest, systemClock, type Clock } from '../../base/index.ts';
import { abortError, type JsonObject } from '../../jsonrpc/index.ts';
import type { Approval, ApprovalDecision, ApprovalTicket, AuditEntry, Grant, Store } from '../../store/index.ts';
import { ParleyError } from '../../errors.ts';
import type { Allowance, ApprovalRequest, Approver, Refusal, Verdict } from './approver.ts';
import { grantFor, subjectOf, type GrantTerms } from './grants.ts';
import { createIntent, writtenTool, type CallIntent } from './intent.ts';

export interface TicketOptions {
  readonly store: Store | (() => Store | Promise<Store>);
  /** How long an answer is waited for. 0: not at all. */
  readonly waitMs: number;
  /** After so long nobody's answer counts any more. Default one day. */
  readonly expiresAfterMs?: number;
  readonly clock?: Clock;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const DAY_MS = 86_400_000;
/** Tickets that may wait, in all and of one server; more are denied at once. */
const MOST_PENDING = 32;
const MOST_PENDING_OF_SERVER = 8;
/** A doorbell may be lost, so everybody also looks by himself. */
const LOOK_EVERY_MS = 1_000;

/**
 * An approver that asks nobody: it leaves a ticket that any process may answer, and waits for `waitMs`. Undecided by then, the call
 * is denied as `parked`; made again, it is carried out once when the ticket was approved.
 */
export function parkApprover(options: TicketOptions): Approver {
  return { keepsQueue: true, ask: (request, asking = {}) => askByTicket(request, options, undefined, asking.signal) };
}

/** An approver that asks `approver` by way of a ticket, which others may answer too; the first answer counts. */
export function ticketed(approver: Approver, options: Omit<TicketOptions, 'waitMs'>): Approver {
  return {
    ...(approver.keepsQueue && { keepsQueue: true }),
    ask: (request, asking = {}) => askByTicket(request, { ...options, waitMs: Infinity }, approver, asking.signal),
  };
}

/** What a ticket asks, as it is shown to whoever answers. */
export function requestOf(approval: Approval): ApprovalRequest {
  const { because, shown, serverName, server, policyVersion, args, principal, run } = approval;
  const { trusted = false, widest = 'once', ...more } = shown as unknown as Partial<ApprovalRequest>;
  const { floating = false, proposals = [], changes = [] } = more;
  const { route = 'library', taint = [], kind = 'tool', definition } = shown as unknown as Partial<CallIntent>;
  const tool = definition ?? { name: approval.tool, inputSchema: {} };
  const whose = { policyVersion, principal, run, route, taint, kind };
  const intent = createIntent({ ...whose, server: serverName, serverDigest: server, tool, args });
  return { intent, because, trusted, widest, floating, proposals, changes };
}

/**
 * Answers a ticket from anywhere. Resolves with the ticket as it is then: somebody else may have been first.
 * @throws ParleyError `not-found` when there is none · `usage` when the answer allows what was not offered · `denied` when what it shows
 * is not what was asked
 */
export async function answerTicket(
  { approvals }: Pick<Store, 'approvals'>,
  id: string,
  verdict: Verdict,
  now: () => number = Date.now,
): Promise<{ readonly won: boolean; readonly approval: Approval }> {
  const ticket = await approvals.get(id);
  const missing = () =>
    new ParleyError('not-found', `There is no ticket ${JSON.stringify(id.slice(0, 64))}. See \`parley approvals list\`.`);
  if (ticket === undefined) throw missing();
  const request = requestOf(ticket);
  // What is made is what whoever asked still holds, under the digest of then.
  if (verdict.type === 'allow' && request.intent.digest !== ticket.intentDigest) {
    throw new ParleyError('denied', `What ${ticket.id} shows was changed after it was asked. It can be denied alone.`);
  }
  if (verdict.type === 'allow' && verdict.scope !== 'once' && verdict.args !== undefined) {
    throw new ParleyError('usage', 'Arguments that were changed can be allowed once, and nothing for good with them.');
  }
  if (verdict.type === 'allow' && verdict.scope !== 'once' && termsOf(verdict, request) === undefined) {
    const only = request.widest === 'once' ? 'this one call' : 'this call, or the tool for this run,';
    throw new ParleyError('usage', `Only ${only} can be allowed: ${request.because}`);
  }
  const decision = toDecision(verdict, request, ticket, now());
  const result = await approvals.decide(id, decision, decisionEntry(ticket, decision, now()));
  if (result === undefined) throw missing();
  return result;
}

async function askByTicket(
  request: ApprovalRequest,
  options: TicketOptions,
  approver: Approver | undefined,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const { now = Date.now } = options;
  const store = typeof options.store === 'function' ? await options.store() : options.store;
  const full = approver === undefined ? await tooMany(store, request) : undefined;
  if (full !== undefined) return full;
  const opened = await open(store, request, options);
  if (opened.state !== 'pending') return toVerdict(opened);
  const takeBack = async () => {
    await store.approvals.cancel(opened.id, { at: now(), kind: 'approval', body: { state: 'cancelled', ...whose(opened) } });
    // Approved in that very moment, it would be made the next time without a question.
    if (await store.approvals.claim(opened.id))
      await store.approvals.finish(opened.id, { state: 'failed', outcome: 'cancelled' });
  };
  if (approver === undefined) {
    try {
      return toVerdict(await decided(store, opened.id, options, signal));
    } catch (error) {
      await takeBack();
      throw error;
    }
  }
  const stop = new AbortController();
  const stopped = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', stopped, { once: true });
  if (signal?.aborted) stopped();
  let answeredHere = false;
  try {
    const asked = approver.ask(request, { signal: stop.signal }).then(async (verdict) => {
      answeredHere = true;
      const decision = toDecision(verdict, request, opened, now());
      const { id } = opened;
      const result = await store.approvals.decide(id, decision, decisionEntry(opened, decision, now()));
      if (result?.won !== true) return toVerdict(result?.approval ?? opened);
      return { ...verdict, ticket: id };
    });
    // The answer from here says more than the ticket does.
    const elsewhere = decided(store, opened.id, options, stop.signal).then((approval) =>
      answeredHere ? asked : toVerdict(approval),
    );
    // Whichever is not waited for any more may fail in silence.
    asked.catch(() => {});
    elsewhere.catch(() => {});
    const verdict = await Promise.race([asked, elsewhere]);
    // Nobody waits for it any more.
    if (signal?.aborted === true) throw abortError(signal, 'The approval');
    return verdict;
  } catch (error) {
    await takeBack();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stopped);
    stop.abort();
  }
}

async function tooMany(store: Store, { intent }: ApprovalRequest): Promise<Refusal | undefined> {
  const waiting = await store.approvals.list({ states: ['pending'] });
  if (waiting.some(({ intentDigest }) => intentDigest === intent.digest)) return undefined;
  const ofServer = waiting.filter(({ serverName }) => serverName === intent.server).length;
  if (waiting.length < MOST_PENDING && ofServer < MOST_PENDING_OF_SERVER) return undefined;
  const message = `Too many calls wait for approval: ${ofServer} of server "${intent.server}", ${waiting.length} in all.`;
  return { type: 'deny', by: 'policy', message };
}

/** The ticket of this call: a new one, or the one it has. */
async function open(store: Store, request: ApprovalRequest, options: TicketOptions): Promise<Approval> {
  const { now = Date.now } = options;
  const ticket = toTicket(request, options);
  const entry = askedEntry(ticket);
  const found = await store.approvals.open(ticket, entry);
  if (found.state !== 'approved' || found.expiresAt > now()) return found;
  // What was approved and not made in time counts no more.
  if (await store.approvals.claim(found.id)) await store.approvals.finish(found.id, { state: 'failed', outcome: 'expired' });
  return store.approvals.open(ticket, entry);
}

/** The ticket once it is decided, or as it is when the time is over. */
async function decided(
  store: Store,
  id: string,
  { waitMs, clock = systemClock }: TicketOptions,
  signal: AbortSignal | undefined,
): Promise<Approval> {
  const until = clock.now() + waitMs;
  for (;;) {
    const bell = ring(store, signal);
    try {
      const approval = await store.approvals.get(id);
      if (approval === undefined) throw new Error(`The ticket ${id} is gone.`);
      const left = until - clock.now();
      if (approval.state !== 'pending' || left <= 0) return approval;
      await bell.within(Math.min(left, LOOK_EVERY_MS), clock);
    } finally {
      bell.stop();
    }
  }
}

/** The doorbell, from now on. */
function ring(store: Store, signal: AbortSignal | undefined) {
  let rung = () => {};
  let failed: (error: Error) => void = () => {};
  const abort = () => failed(abortError(signal as AbortSignal, 'Waiting for approval'));
  const heard = new Promise<void>((resolve, reject) => {
    rung = resolve;
    failed = reject;
  });
  heard.catch(() => {});
  const unsubscribe = store.changes.subscribe((change) => change === 'approvals' && rung());
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return {
    async within(ms: number, clock: Clock) {
      const timer = clock.after(ms, () => rung());
      try {
        await heard;
      } finally {
        timer.cancel();
      }
    },
    stop() {
      unsubscribe();
      signal?.removeEventListener('abort', abort);
    },
  };
}

function toTicket(request: ApprovalRequest, { expiresAfterMs = DAY_MS, now = Date.now }: TicketOptions): ApprovalTicket {
  const { intent, because, trusted, widest, proposals = [], floating = false, changes = [] } = request;
  const { kind, definition, route, taint } = intent;
  const createdAt = now();
  return {
    id: `ap_${randomUUID().replaceAll('-', '').slice(0, 16)}`,
    ...subjectOf(intent),
    intentDigest: intent.digest,
    args: intent.args,
    shown: {
      kind,
      route,
      trusted,
      widest,
      floating,
      taint,
      definition,
      proposals,
      changes,
    },
    because,
    createdAt,
    expiresAt: createdAt + expiresAfterMs,
  };
}

/** What an approver of this host answered, as a decision on the ticket. */
function toDecision(verdict: Verdict, request: ApprovalRequest, ticket: Approval, at: number): ApprovalDecision {
  const { who = ticket.principal, channel = 'approver' } = verdict;
  if (verdict.type === 'deny') {
    const { by, message } = verdict;
    return { verdict: 'deny', by: by === 'person' ? who : 'parley', channel, ...(message !== undefined && { message }) };
  }
  const terms = termsOf(verdict, request);
  const { args } = verdict;
  const approved = { verdict: 'approve', by: who, channel, ...(args && { editedArgs: args }) } as const;
  if (terms === undefined) return approved;
  const approval = { id: ticket.id, argsDigest: digest(ticket.args) };
  const grant = { ...grantFor(ticket, terms, { by: who, channel, at }), approval };
  return { ...approved, grant, expiresAt: Math.min(ticket.expiresAt, grant.expiresAt ?? Infinity) };
}

/** What an approval allows beyond its call, as far as that was offered: nothing like it where its arguments were changed. */
function termsOf(verdict: Allowance, { widest, proposals = [] }: ApprovalRequest): GrantTerms | undefined {
  if (verdict.scope === 'once' || widest === 'once' || verdict.args !== undefined) return undefined;
  if (verdict.scope === 'run') return { type: 'run' };
  if (proposals.length === 0) return undefined;
  const { pattern } = verdict;
  return verdict.scope === 'always' ? { type: 'always', pattern } : { type: 'until', at: verdict.at, pattern };
}

function toVerdict(approval: Approval): Verdict {
  const { id: ticket, state, decidedBy, channel, message, editedArgs } = approval;
  const answered = { ticket, ...(decidedBy !== undefined && { who: decidedBy }), ...(channel !== undefined && { channel }) };
  const refuse = (by: Refusal['by'], why: string): Refusal => ({ ...answered, type: 'deny', by, message: why });
  switch (state) {
    case 'approved':
      return { ...answered, type: 'allow', scope: 'once', ...(editedArgs && { args: editedArgs }) };
    case 'pending':
      return refuse('parked', `Waiting for approval ${ticket}: \`parley approvals approve ${ticket}\`, then call again.`);
    case 'dispatching':
      return refuse('parked', `The same call is being made already, by ${ticket}. It is not made twice.`);
    case 'denied':
      return refuse('person', message ?? `It was denied by ${decidedBy ?? 'somebody'}.`);
    case 'expired':
      return refuse('timeout', `Nobody answered ${ticket} in time.`);
    case 'cancelled':
      return refuse('timeout', `The question ${ticket} was taken back.`);
    case 'done':
    case 'failed':
    case 'outcome-unknown':
      return refuse('policy', `${ticket} was answered and its call made by another process. It is not made twice.`);
    default:
      return state satisfies never;
  }
}

function askedEntry(ticket: ApprovalTicket): AuditEntry {
  return { at: ticket.createdAt, kind: 'approval', body: { state: 'asked', because: ticket.because, ...whose(ticket) } };
}

/** The audit entry of a decision on a ticket, with the grant it makes. */
function decisionEntry(ticket: ApprovalTicket, decision: ApprovalDecision, at: number): AuditEntry {
  const { verdict, by, channel, grant, editedArgs } = decision;
  const state = verdict === 'approve' ? 'approved' : 'denied';
  return {
    at,
    kind: 'approval',
    body: {
      state,
      by,
      channel,
      ...whose(ticket),
      ...(editedArgs && { edited: true }),
      ...(grant && { grant: grantBody(grant) }),
    },
  };
}

function whose({ id, principal, run, serverName, server, tool, intentDigest }: ApprovalTicket): JsonObject {
  return { approval: id, principal, run, server: serverName, identity: server, tool: writtenTool(tool), digest: intentDigest };
}

/** What a grant is for. A pattern may hold the arguments themselves: their names are enough to say what it is about. */
function grantBody({ id, run, expiresAt, pattern }: Grant): JsonObject {
  const { args } = (pattern ?? {}) as { readonly args?: JsonObject };
  return {
    grant: id,
    ...(run !== undefined && { run }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(args && { arguments: Object.keys(args) }),
  };
}
