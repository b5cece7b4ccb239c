// Calls, written before they are sent. What was under way in a process that is gone is found here, once.
import type { Selectable } from 'kysely';
import { DEFAULT_ROWS, OWNER_GONE, unknownCallEntry, unknownTicketEntry } from '../rules.ts';
import type { JournalEnd, JournalEntry, JournalRecord, JournalTable } from '../store.ts';
import { approvalOf } from './approvals.ts';
import type { Facts } from '../facts.ts';
import type { Lease } from './lease.ts';
import { key, ms, rows, type Tables } from './tables.ts';
import type { Audited, Transactions } from './transactions.ts';

export interface JournalTableOptions {
  readonly facts: Facts;
  readonly lease: Lease;
}

export function createJournalTable(transactions: Transactions, { facts, lease }: JournalTableOptions): JournalTable {
  const { db, read, audited } = transactions;
  const owners = db.selectFrom('leases').select('owner');
  const orphans = db.selectFrom('journal').where('state', '=', 'begun').where('owner', 'not in', owners);
  const orphanTickets = db.selectFrom('approvals').where('state', '=', 'dispatching').where('owner', 'not in', owners);

  async function recoverCalls(tx: Audited): Promise<readonly JournalRecord[]> {
    const now = await tx.now();
    const end: JournalEnd = { state: 'unknown', outcome: OWNER_GONE, at: now };
    const left = await tx.run(
      db
        .updateTable('journal')
        .set({ state: end.state, ended_at: now, ending: facts.write(end) })
        .where('state', '=', 'begun')
        .where('owner', 'not in', owners)
        .returningAll(),
    );
    const records = left.map((row) => recordOf(row, facts));
    for (const record of records) await tx.append(unknownCallEntry(record, now));
    if (records.length > 0) tx.changed('journal');
    return records;
  }

  async function recoverTickets(tx: Audited): Promise<void> {
    const left = await tx.run(
      db
        .updateTable('approvals')
        .set({ state: 'outcome-unknown', outcome: OWNER_GONE })
        .where('state', '=', 'dispatching')
        .where('owner', 'not in', owners)
        .returningAll(),
    );
    for (const row of left) await tx.append(unknownTicketEntry(approvalOf(row, facts), await tx.now()));
    if (left.length > 0) tx.changed('approvals');
  }

  return {
    async begin(entry, audit) {
      await lease.hold();
      await audited(async (tx) => {
        await tx.run(
          db.insertInto('journal').values({
            id: key(entry.id),
            state: 'begun',
            owner: lease.owner,
            at: ms(entry.at),
            entry: facts.write(entry),
            ended_at: null,
            ending: null,
          }),
        );
        await tx.append(audit);
        tx.changed('journal');
      });
    },
    async end(id, end, audit) {
      await audited(async (tx) => {
        const ended = await tx.run(
          db
            .updateTable('journal')
            .set({ state: end.state, ended_at: ms(end.at), ending: facts.write(end) })
            .where('id', '=', key(id))
            .where('state', '=', 'begun')
            .returning('id'),
        );
        // An end that comes too late changes no state, but it is a fact.
        await tx.append(audit);
        if (ended.length > 0) tx.changed('journal');
      });
    },
    async recover() {
      const gone = await lease.gone();
      const nothing = await read(async (session) => {
        const calls = await session.run(orphans.select('id').limit(1));
        const tickets = await session.run(orphanTickets.select('id').limit(1));
        return calls.length + tickets.length === 0;
      });
      if (gone.length === 0 && nothing) return [];
      return audited(
        async (tx) => {
          await lease.bury(tx, gone);
          await recoverTickets(tx);
          return recoverCalls(tx);
        },
        { outlives: 'power' },
      );
    },
    async list({ state, limit = DEFAULT_ROWS } = {}) {
      let query = db.selectFrom('journal').selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(rows(limit));
      if (state !== undefined) query = query.where('state', '=', state);
      return (await read((session) => session.run(query))).map((row) => recordOf(row, facts));
    },
  };
}

function recordOf({ state, entry, ending }: Selectable<Tables['journal']>, facts: Facts): JournalRecord {
  const begun = facts.read<JournalEntry>(entry);
  if (ending === null) return { ...begun, state };
  const { at, ...end } = facts.read<JournalEnd>(ending);
  return { ...begun, ...end, endedAt: at };
}
