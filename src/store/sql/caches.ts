// What may be forgotten at any time: the revision a server was last spoken to in, and lists that are still fresh.
import { digest } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { MAX_CACHED } from '../rules.ts';
import type { EraTable, ListingKey, ListingTable } from '../store.ts';
import type { Facts } from '../facts.ts';
import { escaped, key, ms, unescaped } from './tables.ts';
import type { Transactions } from './transactions.ts';

export function createEraTable({ db, read, write }: Transactions): EraTable {
  return {
    async get(server, principal) {
      const query = db
        .selectFrom('eras')
        .select('revision')
        .where('server', '=', key(server))
        .where('principal', '=', key(principal));
      const [row] = await read((session) => session.run(query));
      return row && unescaped(row.revision);
    },
    async set(server, principal, revision, at) {
      const facts = { revision: escaped(revision), at: ms(at) };
      await write(async (tx) => {
        await tx.run(
          db
            .insertInto('eras')
            .values({ server: key(server), principal: key(principal), ...facts })
            .onConflict((conflict) => conflict.columns(['server', 'principal']).doUpdateSet(facts)),
        );
        const [oldest] = await tx.run(db.selectFrom('eras').select('at').orderBy('at', 'desc').offset(MAX_CACHED).limit(1));
        if (oldest !== undefined) await tx.run(db.deleteFrom('eras').where('at', '<=', oldest.at));
      });
    },
  };
}

export function createListingTable({ db, read, write }: Transactions, facts: Facts): ListingTable {
  return {
    async get(of, now) {
      const query = db.selectFrom('listings').select('body').where('key', '=', listingKey(of)).where('fresh_until', '>', ms(now));
      const [row] = await read((session) => session.run(query));
      return row && facts.read<JsonObject>(row.body);
    },
    async set(of, body, freshUntil) {
      const text = JSON.stringify(body);
      const rest = { body: text, fresh_until: ms(freshUntil) };
      await write(async (tx) => {
        // What is stale goes, and so does the one before this; too large to be kept, this one is fetched again.
        await tx.run(db.deleteFrom('listings').where('fresh_until', '<=', await tx.now()));
        if (!facts.fits(text)) return void (await tx.run(db.deleteFrom('listings').where('key', '=', listingKey(of))));
        await tx.run(
          db
            .insertInto('listings')
            .values({ key: listingKey(of), server: key(of.server), method: key(of.method), ...rest })
            .onConflict((conflict) => conflict.column('key').doUpdateSet(rest)),
        );
        const ordered = db.selectFrom('listings').select('fresh_until').orderBy('fresh_until', 'desc');
        const [first] = await tx.run(ordered.offset(MAX_CACHED).limit(1));
        if (first !== undefined) await tx.run(db.deleteFrom('listings').where('fresh_until', '<=', first.fresh_until));
      });
    },
    async drop(server, method) {
      let query = db.deleteFrom('listings').where('server', '=', key(server));
      if (method !== undefined) query = query.where('method', '=', key(method));
      await write((tx) => tx.run(query));
    },
  };
}

function listingKey({ server, principal, method, argument }: ListingKey): string {
  return digest([server, principal, method, argument]);
}
