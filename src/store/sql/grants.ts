// What was allowed beyond one call. A grant that is over is not kept: the audit knows of it.
import type { ExpressionBuilder } from 'kysely';
import { revokedEntry, withdrawnEntry } from '../rules.ts';
import type { Grant, GrantFilter, GrantTable } from '../store.ts';
import type { Session } from './engine.ts';
import type { Facts } from '../facts.ts';
import { key, ms, type Tables } from './tables.ts';
import type { Transactions, Writing } from './transactions.ts';

const COLUMNS = {
  id: 'id',
  principal: 'principal',
  server: 'server',
  serverName: 'server_name',
  tool: 'tool',
  run: 'run',
} as const satisfies Record<keyof GrantFilter, string>;

export function createGrantTable({ db, read, write, audited }: Transactions, facts: Facts): GrantTable {
  const active = async (session: Session, filter: GrantFilter) => {
    let query = db
      .selectFrom('grants')
      .select(['fact', 'uses_left'])
      .where(inForceAt(await session.now()))
      .orderBy('at')
      .orderBy('id');
    for (const [member, column] of Object.entries(COLUMNS)) {
      const wanted = filter[member as keyof GrantFilter];
      if (wanted !== undefined) query = query.where(column, '=', key(wanted));
    }
    const rows = await session.run(query);
    return rows.map(({ fact, uses_left }) => {
      const grant = facts.read<Grant>(fact);
      return uses_left === null ? grant : { ...grant, usesLeft: uses_left };
    });
  };

  return {
    active: (filter = {}) => read((session) => active(session, filter)),
    async add(grant, audit) {
      await audited(
        async (tx) => {
          await insertGrant(tx, db, grant, facts);
          await tx.append(audit);
        },
        { outlives: 'power' },
      );
    },
    use(id) {
      return write(async (tx) => {
        const [row] = await tx.run(
          db
            .updateTable('grants')
            .set((set) => ({ uses_left: set('uses_left', '-', 1) }))
            .where('id', '=', key(id))
            .where(inForceAt(await tx.now()))
            .returning('uses_left'),
        );
        if (row === undefined) return false;
        if (row.uses_left === null) return true;
        if (row.uses_left === 0) await tx.run(db.deleteFrom('grants').where('id', '=', key(id)));
        tx.changed('grants');
        return true;
      });
    },
    revoke(filter, { why, keep }) {
      return audited(
        async (tx) => {
          const meant = (await active(tx, filter)).filter(({ definitionDigest }) => definitionDigest !== keep);
          let count = 0;
          for (const grant of meant) {
            // Another may have used it up meanwhile.
            const gone = await tx.run(db.deleteFrom('grants').where('id', '=', key(grant.id)).returning('id'));
            if (gone.length === 0) continue;
            await tx.append(revokedEntry(grant, why, await tx.now()));
            count++;
            if (grant.approval === undefined) continue;
            const withdrawn = await tx.run(
              db
                .updateTable('approvals')
                .set({ state: 'cancelled' })
                .where('id', '=', key(grant.approval.id))
                .where('state', '=', 'approved')
                .returning('id'),
            );
            if (withdrawn.length === 0) continue;
            await tx.append(withdrawnEntry(grant, why, await tx.now()));
            tx.changed('approvals');
          }
          if (count > 0) tx.changed('grants');
          return count;
        },
        { outlives: 'power' },
      );
    },
  };
}

function inForceAt(now: number) {
  return ({ eb, or, and }: ExpressionBuilder<Tables, 'grants'>) =>
    and([
      or([eb('uses_left', 'is', null), eb('uses_left', '>', 0)]),
      or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]),
    ]);
}

/** Keeps a grant, and sweeps those whose time is over. */
export async function insertGrant(tx: Writing, db: Transactions['db'], grant: Grant, facts: Facts): Promise<void> {
  const { id, principal, server, serverName, tool, run, definitionDigest, usesLeft, expiresAt, at } = grant;
  await tx.run(db.deleteFrom('grants').where('expires_at', '<=', await tx.now()));
  await tx.run(
    db.insertInto('grants').values({
      id: key(id),
      principal: key(principal),
      server: key(server),
      server_name: key(serverName),
      tool: key(tool),
      run: run === undefined ? null : key(run),
      definition_digest: key(definitionDigest),
      uses_left: usesLeft ?? null,
      expires_at: expiresAt === undefined ? null : ms(expiresAt),
      at: ms(at),
      fact: facts.write(grant),
    }),
  );
  tx.changed('grants');
}
