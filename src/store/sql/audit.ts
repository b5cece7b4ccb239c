// The audit as it is read. It is written in the transactions of what it tells of, and on its own by `append`.
import type { Selectable } from 'kysely';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { DEFAULT_ROWS } from '../rules.ts';
import type { AuditRecord, AuditTable } from '../store.ts';
import { rows, unescaped, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

export function createAuditTable({ db, read, audited }: Transactions): AuditTable {
  const records = db.selectFrom('audit').selectAll();
  return {
    append: (entry) => audited((tx) => tx.append(entry)),
    async read({ after = 0, limit = DEFAULT_ROWS } = {}) {
      const query = records.where('seq', '>', after).orderBy('seq').limit(rows(limit));
      return (await read((session) => session.run(query))).map(recordOf);
    },
    async tail(count) {
      const query = records.orderBy('seq', 'desc').limit(rows(count));
      return (await read((session) => session.run(query))).map(recordOf).reverse();
    },
    async head() {
      const query = db.selectFrom('audit_head').select(['seq', 'hash', 'seal']);
      const [head] = await read((session) => session.run(query));
      return head === undefined || head.seq === 0 ? undefined : head;
    },
  };
}

/** A record as it is in the table, whatever became of it there: what is not JSON as it was written is a text, and its hash is wrong. */
function recordOf({ kind, body, ...rest }: Selectable<Tables['audit']>): AuditRecord {
  return {
    ...rest,
    kind: parsed(() => unescaped(kind), kind),
    body: parsed(() => asWritten(body), { text: body }),
  };
}

/** Another text may read as the same object, one in which a name stands twice, say. */
function asWritten(text: string): JsonObject {
  const body = JSON.parse(text) as JsonObject;
  return JSON.stringify(body) === text ? body : { text };
}

function parsed<T>(parse: () => T, otherwise: T): T {
  try {
    return parse();
  } catch {
    return otherwise;
  }
}
