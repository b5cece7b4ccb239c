// What every store does in the same way: which tickets are open, how many rows there are, what it refuses, and the audit entries that
// it writes by itself, for what happens without anybody who asks.
import { overLimit } from '../base/index.ts';
import { ParleyError } from '../errors.ts';
import type { Approval, ApprovalState, AuditEntry, Grant, JournalRecord } from './store.ts';

/** States in which the same call of the same principal is the same ticket. */
export const OPEN_STATES: readonly ApprovalState[] = ['pending', 'approved', 'dispatching'];

/** A list has no more rows when no limit is given. */
export const DEFAULT_ROWS = 1_000;

/** Eras and listings that are kept, each; the oldest go first. */
export const MAX_CACHED = 10_000;

/** Outcome of what was under way in a process that is gone. */
export const OWNER_GONE = 'owner-gone';

/** A ticket that nobody decided in time. */
export function expiredEntry({ id, principal, run }: Approval, at: number): AuditEntry {
  return { at, kind: 'approval', body: { approval: id, state: 'expired', principal, run } };
}

/** A grant that was taken back. */
export function revokedEntry({ id, principal, serverName, tool }: Grant, why: string, at: number): AuditEntry {
  return { at, kind: 'grant', body: { revoked: id, principal, serverName, tool, why } };
}

/** A ticket whose approval went with the grant that was given with it. */
export function withdrawnEntry({ approval, principal, serverName, tool }: Grant, why: string, at: number): AuditEntry {
  const body = { approval: approval?.id ?? '', state: 'cancelled', principal, serverName, tool, why };
  return { at, kind: 'approval', body };
}

/** A call whose process is gone. */
export function unknownCallEntry({ id, principal, run, serverName, tool }: JournalRecord, at: number): AuditEntry {
  return { at, kind: 'outcome', body: { call: id, state: 'unknown', outcome: OWNER_GONE, principal, run, serverName, tool } };
}

/** A ticket whose process is gone while it was being sent. */
export function unknownTicketEntry({ id, principal, run }: Approval, at: number): AuditEntry {
  return { at, kind: 'approval', body: { approval: id, state: 'outcome-unknown', outcome: OWNER_GONE, principal, run } };
}

/** The refusal of a fact whose id is taken. */
export function taken(cause?: unknown): ParleyError {
  return new ParleyError('usage', 'The store has one with the same id already. Give each its own.', { cause });
}

/** The refusal of a ticket when too many wait. */
export function tooManyPending(waiting: number, allowed: number): ParleyError {
  const message = `${waiting} calls wait for approval already; one more was not kept. Decide them with \`parley approvals\`.`;
  return overLimit('maxPendingApprovals', waiting + 1, message, allowed);
}
