// Reads a store's audit from its beginning and checks it, while others may go on writing.
import { verifyChain, type ChainVerdict } from './audit-chain.ts';
import type { AuditHead, AuditRecord, AuditTable } from './store.ts';

/** The records in order, read in pages; up to `until` when it is given. */
export async function* auditRecords(
  audit: AuditTable,
  options: { readonly until?: number; readonly signal?: AbortSignal } = {},
): AsyncGenerator<AuditRecord, void, undefined> {
  const { until = Infinity, signal } = options;
  let after = 0;
  while (true) {
    signal?.throwIfAborted();
    const page = await audit.read({ after });
    for (const record of page) {
      if (record.seq > until) return;
      yield record;
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

/**
 * Resolves with the first bad record of a store's audit, or with how many are good. Records that are added while it reads are left to
 * the next time.
 */
export async function verifyAudit(
  audit: AuditTable,
  key: Uint8Array,
  options: { readonly anchor?: AuditHead; readonly signal?: AbortSignal } = {},
): Promise<ChainVerdict> {
  const { anchor, signal } = options;
  const head = await audit.head();
  const read = auditRecords(audit, { until: head?.seq ?? 0, ...(signal && { signal }) });
  const verdict = await verifyChain(read, head, key, anchor && { anchor });
  if (!verdict.ok) return verdict;
  const [next] = await audit.read({ after: verdict.count, limit: 1 });
  const reached = (await audit.head())?.seq ?? 0;
  // What was written meanwhile has moved the head.
  return next === undefined || next.seq <= reached ? verdict : { ok: false, seq: next.seq, fault: 'added' };
}
