// What a table needs of an engine: transactions that say what kinds of facts they changed, and transactions that write the audit.
import type { Compilable, Kysely } from 'kysely';
import { isSealed, link, seal, type ChainEnd } from '../audit-chain.ts';
import { ParleyError } from '../../errors.ts';
import type { AuditEntry, AuditRecord, StoreChange } from '../store.ts';
import type { Engine, Session, WriteOptions } from './engine.ts';
import { escaped, ms, type Tables } from './tables.ts';

/** A transaction that writes. */
export interface Writing extends Session {
  /** Says that facts of this kind are changed by it. */
  changed(kind: StoreChange): void;
}

/** A transaction that has the end of the audit for itself. */
export interface Audited extends Writing {
  append(entry: AuditEntry): Promise<AuditRecord>;
}

export interface Transactions {
  readonly db: Kysely<Tables>;
  read<T>(act: (session: Session) => Promise<T>): Promise<T>;
  write<T>(act: (writing: Writing) => Promise<T>, options?: Partial<WriteOptions>): Promise<T>;
  /** Everything that writes an audit record takes the end of the chain first, and so nothing waits for each other crosswise. */
  audited<T>(act: (audited: Audited) => Promise<T>, options?: Partial<WriteOptions>): Promise<T>;
}

export interface TransactionsOptions {
  readonly auditKey: Uint8Array;
  /** Called after the transaction, with what it changed and the versions that this made. */
  readonly wrote: (changes: ReadonlyMap<StoreChange, number>) => void;
}

/** In one order, so that no two transactions wait for each other. */
const KINDS: readonly StoreChange[] = ['approvals', 'grants', 'journal', 'pins', 'trust'];

export function createTransactions(engine: Engine, { auditKey, wrote }: TransactionsOptions): Transactions {
  const { db } = engine;
  // Parts of nearly every transaction, so their text is made once.
  const head = db.selectFrom('audit_head').select(['seq', 'hash', 'seal']).where('id', '=', 1);
  const takeHead = made(engine.locksRows ? head.forUpdate() : head);
  const bumps = new Map(KINDS.map((kind) => [kind, made(bumpOf(db, kind))]));
  const write: Transactions['write'] = async (act, { outlives = 'process' } = {}) => {
    const [result, versions] = await engine.write(
      async (session) => {
        const kinds = new Set<StoreChange>();
        const done = await act({
          run: (query) => session.run(query),
          now: () => session.now(),
          changed: (kind) => void kinds.add(kind),
        });
        return [done, await bump(session, kinds)] as const;
      },
      { outlives },
    );
    if (versions.size > 0) wrote(versions);
    return result;
  };

  async function bump(session: Session, kinds: ReadonlySet<StoreChange>): Promise<ReadonlyMap<StoreChange, number>> {
    const versions = new Map<StoreChange, number>();
    for (const [kind, query] of bumps) {
      const [row] = kinds.has(kind) ? await session.run(query) : [];
      if (row !== undefined) versions.set(kind, row.version);
    }
    return versions;
  }

  async function takeEnd(session: Session): Promise<ChainEnd> {
    const [found] = await session.run(takeHead);
    // Sealing anew what somebody else has put there would hide it.
    if (found === undefined || (found.seq > 0 && !isSealed(found, auditKey))) {
      const message = 'The end of the audit is not as it was sealed, or was sealed with another key. See `parley audit verify`.';
      throw new ParleyError('store-unavailable', message);
    }
    return found;
  }

  return {
    db,
    read: (act) => engine.read(act),
    write,
    audited: (act, options) =>
      write(async (writing) => {
        let end = await takeEnd(writing);
        return act({
          ...writing,
          async append(entry) {
            const record = link({ at: ms(entry.at), kind: entry.kind, body: entry.body }, end);
            const { body, kind, ...rest } = record;
            await writing.run(db.insertInto('audit').values({ ...rest, kind: escaped(kind), body: JSON.stringify(body) }));
            await writing.run(db.updateTable('audit_head').set(seal(record, auditKey)).where('id', '=', 1));
            end = record;
            return record;
          },
        });
      }, options),
  };
}

/** A statement whose text does not change. */
function made<Row>(query: Compilable<Row>): Compilable<Row> {
  const compiled = query.compile();
  return { compile: () => compiled };
}

function bumpOf(db: Kysely<Tables>, kind: StoreChange) {
  return db
    .updateTable('versions')
    .set((set) => ({ version: set('version', '+', 1) }))
    .where('kind', '=', kind)
    .returning('version');
}
