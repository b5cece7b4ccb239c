// Launches that were agreed to, and definitions that were reviewed.
import type { Pin, PinTable, TrustedLaunch, TrustTable } from '../store.ts';
import type { Facts } from '../facts.ts';
import { key, ms } from './tables.ts';
import type { Transactions } from './transactions.ts';

export function createTrustTable({ db, read, audited }: Transactions, facts: Facts): TrustTable {
  return {
    async find(digest) {
      const query = db.selectFrom('trust').select('fact').where('digest', '=', key(digest));
      const [row] = await read((session) => session.run(query));
      return row && facts.read<TrustedLaunch>(row.fact);
    },
    async list(of) {
      let query = db.selectFrom('trust').select('fact').orderBy('at', 'desc').orderBy('digest');
      if (of !== undefined) query = query.where('server', '=', key(of.server)).where('file', '=', key(of.file));
      return (await read((session) => session.run(query))).map(({ fact }) => facts.read<TrustedLaunch>(fact));
    },
    async add(launch, audit) {
      const { digest, server, file, at } = launch;
      const rest = { server: key(server), file: key(file), at: ms(at), fact: facts.write(launch) };
      await audited(
        async (tx) => {
          await tx.run(
            db
              .insertInto('trust')
              .values({ digest: key(digest), ...rest })
              .onConflict((conflict) => conflict.column('digest').doUpdateSet(rest)),
          );
          await tx.append(audit);
          tx.changed('trust');
        },
        { outlives: 'power' },
      );
    },
    remove(digest, audit) {
      return audited(
        async (tx) => {
          const gone = await tx.run(db.deleteFrom('trust').where('digest', '=', key(digest)).returning('digest'));
          if (gone.length === 0) return false;
          await tx.append(audit);
          tx.changed('trust');
          return true;
        },
        { outlives: 'power' },
      );
    },
  };
}

export function createPinTable({ db, read, write }: Transactions, facts: Facts): PinTable {
  return {
    async of(server) {
      const query = db.selectFrom('pins').select('fact').where('server', '=', key(server)).orderBy('kind').orderBy('name');
      return (await read((session) => session.run(query))).map(({ fact }) => facts.read<Pin>(fact));
    },
    async put(pins) {
      const rows = pins.map((pin) => ({
        server: key(pin.server),
        kind: pin.kind,
        name: key(pin.name),
        fact: facts.write(pin),
      }));
      // In one order, so that two that put the same pins do not wait for each other.
      rows.sort((a, b) => (rowKey(a) < rowKey(b) ? -1 : 1));
      await write(async (tx) => {
        for (const row of rows) {
          await tx.run(
            db
              .insertInto('pins')
              .values(row)
              .onConflict((conflict) => conflict.columns(['server', 'kind', 'name']).doUpdateSet({ fact: row.fact })),
          );
        }
        tx.changed('pins');
      });
    },
    async remove(server, pin) {
      let query = db.deleteFrom('pins').where('server', '=', key(server));
      if (pin !== undefined) query = query.where('kind', '=', pin.kind).where('name', '=', key(pin.name));
      await write(async (tx) => {
        await tx.run(query);
        tx.changed('pins');
      });
    },
  };
}

function rowKey({ server, kind, name }: { readonly server: string; readonly kind: string; readonly name: string }): string {
  return `${server} ${kind} ${name}`;
}
