// The audit entries that a store writes by itself: for what happens without anybody who asks, such as time running out.
import type { Approval, AuditEntry, Grant, JournalRecord } from './store.ts';

/** A ticket that nobody decided in time. */
export function expiredEntry({ id, principal, run }: Approval, at: number): AuditEntry {
  return { at, kind: 'approval', body: { approval: id, state: 'expired', principal, run } };
}

/** A grant that was taken back. */
export function revokedEntry({ id, principal, serverName, tool }: Grant, why: string, at: number): AuditEntry {
  return { at, kind: 'grant', body: { revoked: id, principal, serverName, tool, why } };
}

/** A call whose process is gone. */
export function unknownCallEntry({ id, principal, run, serverName, tool }: JournalRecord, at: number): AuditEntry {
  return { at, kind: 'outcome', body: { call: id, state: 'unknown', outcome: OWNER_GONE, principal, run, serverName, tool } };
}

/** A ticket whose process is gone while it was being sent. */
export function unknownTicketEntry({ id, principal, run }: Approval, at: number): AuditEntry {
  return { at, kind: 'approval', body: { approval: id, state: 'outcome-unknown', outcome: OWNER_GONE, principal, run } };
}

/** Outcome of what was under way in a process that is gone. */
export const OWNER_GONE = 'owner-gone';
