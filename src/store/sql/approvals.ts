// Calls that wait to be decided. Every move is one statement that names the state it starts from, so exactly one mover wins; an end
// is never left. What nobody decides in time is ended by whoever looks next.
import type { Selectable } from 'kysely';
import { limitOf, type Limits } from '../../base/index.ts';
import { DEFAULT_ROWS, expiredEntry, OPEN_STATES, tooManyPending } from '../rules.ts';
import type { Approval, ApprovalTable, ApprovalTicket } from '../store.ts';
import type { Facts } from '../facts.ts';
import { insertGrant } from './grants.ts';
import type { Lease } from './lease.ts';
import { escaped, key, ms, rows, unescaped, type Tables } from './tables.ts';
import type { Audited, Transactions } from './transactions.ts';

export interface ApprovalTableOptions {
  readonly facts: Facts;
  readonly lease: Lease;
  readonly limits: Limits;
}

export function createApprovalTable(transactions: Transactions, options: ApprovalTableOptions): ApprovalTable {
  const { db, read, write, audited } = transactions;
  const { facts, lease, limits } = options;
  const maxPending = limitOf('maxPendingApprovals', limits.maxPendingApprovals);

  const get = (id: string) => db.selectFrom('approvals').selectAll().where('id', '=', key(id));
  const due = (now: number) => db.selectFrom('approvals').where('state', '=', 'pending').where('expires_at', '<=', now);

  /** Ends what waited too long. */
  async function expire(tx: Audited): Promise<void> {
    const now = await tx.now();
    const ended = await tx.run(
      db
        .updateTable('approvals')
        .set({ state: 'expired', decided_at: now })
        .where('state', '=', 'pending')
        .where('expires_at', '<=', now)
        .returningAll(),
    );
    for (const row of ended) await tx.append(expiredEntry(approvalOf(row, facts), now));
    if (ended.length > 0) tx.changed('approvals');
  }

  /** Before something is read, so that nobody is shown as waiting who waits no more. */
  async function expireDue(): Promise<void> {
    const found = await read(async (session) =>
      session.run(
        due(await session.now())
          .select('id')
          .limit(1),
      ),
    );
    if (found.length > 0) await audited(expire);
  }

  return {
    open(ticket, audit) {
      return audited(async (tx) => {
        await expire(tx);
        const [same] = await tx.run(
          db
            .selectFrom('approvals')
            .selectAll()
            .where('state', 'in', OPEN_STATES)
            .where('principal', '=', key(ticket.principal))
            .where('intent_digest', '=', key(ticket.intentDigest)),
        );
        if (same !== undefined) return approvalOf(same, facts);
        const waiting = db.selectFrom('approvals').select((eb) => eb.fn.countAll<number>().as('count'));
        const [{ count } = { count: 0 }] = await tx.run(waiting.where('state', '=', 'pending'));
        if (count >= maxPending) throw tooManyPending(count, maxPending);
        const row: Selectable<Tables['approvals']> = {
          id: key(ticket.id),
          state: 'pending',
          principal: key(ticket.principal),
          intent_digest: key(ticket.intentDigest),
          created_at: ms(ticket.createdAt),
          expires_at: ms(ticket.expiresAt),
          ticket: facts.write(ticket),
          decided_at: null,
          decision: null,
          owner: null,
          dispatched_at: null,
          outcome: null,
        };
        await tx.run(db.insertInto('approvals').values(row));
        await tx.append(audit);
        tx.changed('approvals');
        return approvalOf(row, facts);
      });
    },
    async get(id) {
      await expireDue();
      const [row] = await read((session) => session.run(get(id)));
      return row && approvalOf(row, facts);
    },
    async list({ states, limit = DEFAULT_ROWS } = {}) {
      await expireDue();
      if (states?.length === 0) return [];
      let query = db.selectFrom('approvals').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(rows(limit));
      if (states !== undefined) query = query.where('state', 'in', states);
      return (await read((session) => session.run(query))).map((row) => approvalOf(row, facts));
    },
    decide(id, { verdict, grant, by, ...decision }, audit) {
      return audited(
        async (tx) => {
          await expire(tx);
          const [won] = await tx.run(
            db
              .updateTable('approvals')
              .set({
                state: verdict === 'approve' ? 'approved' : 'denied',
                decided_at: await tx.now(),
                decision: facts.write({ ...decision, decidedBy: by }),
              })
              .where('id', '=', key(id))
              .where('state', '=', 'pending')
              .returningAll(),
          );
          if (won === undefined) {
            const [decided] = await tx.run(get(id));
            return decided && { won: false, approval: approvalOf(decided, facts) };
          }
          if (grant !== undefined) await insertGrant(tx, db, grant, facts);
          await tx.append(audit);
          tx.changed('approvals');
          return { won: true, approval: approvalOf(won, facts) };
        },
        { outlives: 'power' },
      );
    },
    async cancel(id, audit) {
      await audited(async (tx) => {
        await expire(tx);
        const ended = await tx.run(
          db
            .updateTable('approvals')
            .set({ state: 'cancelled', decided_at: await tx.now() })
            .where('id', '=', key(id))
            .where('state', '=', 'pending')
            .returning('id'),
        );
        if (ended.length === 0) return;
        await tx.append(audit);
        tx.changed('approvals');
      });
    },
    async claim(id) {
      await lease.hold();
      return write(
        async (tx) => {
          const claimed = await tx.run(
            db
              .updateTable('approvals')
              .set({ state: 'dispatching', owner: lease.owner, dispatched_at: await tx.now() })
              .where('id', '=', key(id))
              .where('state', '=', 'approved')
              .returning('id'),
          );
          if (claimed.length === 0) return false;
          tx.changed('approvals');
          return true;
        },
        // Otherwise a call could be sent twice after the power was lost.
        { outlives: 'power' },
      );
    },
    async finish(id, { state, outcome }) {
      await write(async (tx) => {
        const ended = await tx.run(
          db
            .updateTable('approvals')
            .set({ state, outcome: escaped(outcome) })
            .where('id', '=', key(id))
            .where('state', '=', 'dispatching')
            .where('owner', '=', lease.owner)
            .returning('id'),
        );
        if (ended.length > 0) tx.changed('approvals');
      });
    },
  };
}

export function approvalOf(row: Selectable<Tables['approvals']>, facts: Facts): Approval {
  const { state, decided_at, decision, dispatched_at, outcome } = row;
  return {
    ...facts.read<ApprovalTicket>(row.ticket),
    ...(decision !== null && facts.read<Partial<Approval>>(decision)),
    ...(decided_at !== null && { decidedAt: decided_at }),
    ...(dispatched_at !== null && { dispatchedAt: dispatched_at }),
    ...(outcome !== null && { outcome: unescaped(outcome) }),
    state,
  };
}
