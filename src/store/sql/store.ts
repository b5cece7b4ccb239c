// A store over an engine: the tables, the lease and the follower, wired.
import { randomUUID } from 'node:crypto';
import { systemClock, type Clock, type Limits } from '../../base/index.ts';
import { OPEN_STATES } from '../rules.ts';
import type { AuditEntry, Store } from '../store.ts';
import { createApprovalTable } from './approvals.ts';
import { createAuditTable } from './audit.ts';
import { createEraTable, createListingTable } from './caches.ts';
import type { Engine } from './engine.ts';
import { createFacts } from '../facts.ts';
import { createFollower } from './follow.ts';
import { createGrantTable } from './grants.ts';
import { createJournalTable } from './journal.ts';
import { createLease } from './lease.ts';
import { ms } from './tables.ts';
import { createTransactions, type Transactions } from './transactions.ts';
import { createPinTable, createTrustTable } from './trust.ts';

export interface SqlStoreOptions {
  readonly auditKey: Uint8Array;
  readonly limits?: Limits;
  readonly leaseMs?: number;
  readonly clock?: Clock;
}

/** A process elsewhere that has given no sign of life for so long is believed to be gone. */
const LEASE_MS = 30_000;

/** Returns a store over the engine, which ends with it, also when it cannot be made. */
export async function createSqlStore(engine: Engine, options: SqlStoreOptions): Promise<Store> {
  const { auditKey, limits = {}, leaseMs = LEASE_MS, clock = systemClock } = options;
  const follower = await createFollower(engine, { clock }).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const transactions = createTransactions(engine, { auditKey, wrote: follower.wrote });
  const lease = createLease(transactions, { owner: randomUUID(), clock, leaseMs });
  const facts = createFacts(limits);
  let closing: Promise<void> | undefined;
  const close = () =>
    (closing ??= (async () => {
      await follower.end();
      // Where it cannot be given back it ends by itself.
      await lease.end().catch(() => {});
      await engine.close();
    })());

  return {
    owner: lease.owner,
    changes: follower.changes,
    trust: createTrustTable(transactions, facts),
    pins: createPinTable(transactions, facts),
    grants: createGrantTable(transactions, facts),
    approvals: createApprovalTable(transactions, { facts, lease, limits }),
    journal: createJournalTable(transactions, { facts, lease }),
    audit: createAuditTable(transactions),
    eras: createEraTable(transactions),
    listings: createListingTable(transactions, facts),
    prune: (before, audit) => prune(transactions, before, audit),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function prune({ db, audited }: Transactions, before: number, audit: AuditEntry): Promise<void> {
  await audited(async (tx) => {
    await tx.append(audit);
    await tx.run(db.deleteFrom('journal').where('state', '!=', 'begun').where('ended_at', '<', ms(before)));
    await tx.run(db.deleteFrom('approvals').where('state', 'not in', OPEN_STATES).where('decided_at', '<', ms(before)));
  });
}
