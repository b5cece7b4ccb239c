// The schema's steps, in order. A step that was released is never changed: what comes later is another step.
import { sql, type Compilable, type Kysely } from 'kysely';
import { CHAIN_START } from '../audit-chain.ts';
import { ParleyError } from '../../errors.ts';
import type { Session } from './engine.ts';
import type { Tables } from './tables.ts';

/** The statements of one step. */
type Step = (db: Kysely<Tables>) => readonly Compilable[];

const STEPS: readonly Step[] = [first];

/**
 * Takes the schema from where it is to where this version of Parley has it. Runs inside a transaction that nobody else migrates
 * beside.
 * @throws ParleyError `store-unavailable` when a newer version of Parley has been here
 */
export async function migrate(session: Session, db: Kysely<Tables>): Promise<void> {
  await session.run(
    db.schema
      .createTable('parley_schema')
      .ifNotExists()
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('version', 'integer', (column) => column.notNull()),
  );
  const [found] = await session.run(db.selectFrom('parley_schema').select('version'));
  const version = found?.version ?? 0;
  if (version > STEPS.length) {
    throw new ParleyError(
      'store-unavailable',
      `The store was written by a newer Parley (schema ${version}; this one knows ${STEPS.length}). Update Parley.`,
    );
  }
  if (version === STEPS.length) return;
  for (const step of STEPS.slice(version)) for (const statement of step(db)) await session.run(statement);
  const row = { id: 1, version: STEPS.length };
  await session.run(
    db
      .insertInto('parley_schema')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row)),
  );
}

/** True when no step is left to go; false also when that cannot be read. */
export async function isCurrent(session: Session, db: Kysely<Tables>): Promise<boolean> {
  try {
    const [found] = await session.run(db.selectFrom('parley_schema').select('version'));
    return found?.version === STEPS.length;
  } catch {
    // There is no such table; or what is wrong shows when the steps are gone.
    return false;
  }
}

function first(db: Kysely<Tables>): readonly Compilable[] {
  const index = (name: keyof Tables, ...columns: string[]) =>
    db.schema
      .createIndex(`${name}_by_${columns.join('_')}`)
      .on(name)
      .columns(columns);
  return [
    db.schema
      .createTable('trust')
      .addColumn('digest', 'text', (column) => column.primaryKey())
      .addColumn('server', 'text', required)
      .addColumn('file', 'text', required)
      .addColumn('at', 'bigint', required)
      .addColumn('fact', 'text', required),
    db.schema
      .createTable('pins')
      .addColumn('server', 'text', required)
      .addColumn('kind', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('fact', 'text', required)
      .addPrimaryKeyConstraint('pins_key', ['server', 'kind', 'name']),
    db.schema
      .createTable('grants')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('principal', 'text', required)
      .addColumn('server', 'text', required)
      .addColumn('server_name', 'text', required)
      .addColumn('tool', 'text', required)
      .addColumn('run', 'text')
      .addColumn('definition_digest', 'text', required)
      .addColumn('uses_left', 'bigint')
      .addColumn('expires_at', 'bigint')
      .addColumn('at', 'bigint', required)
      .addColumn('fact', 'text', required),
    index('grants', 'principal', 'server', 'tool'),
    db.schema
      .createTable('approvals')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', required)
      .addColumn('principal', 'text', required)
      .addColumn('intent_digest', 'text', required)
      .addColumn('created_at', 'bigint', required)
      .addColumn('expires_at', 'bigint', required)
      .addColumn('ticket', 'text', required)
      .addColumn('decided_at', 'bigint')
      .addColumn('decision', 'text')
      .addColumn('owner', 'text')
      .addColumn('dispatched_at', 'bigint')
      .addColumn('outcome', 'text'),
    index('approvals', 'state', 'expires_at'),
    index('approvals', 'created_at'),
    // The same call of the same principal is one ticket, whatever goes wrong elsewhere.
    db.schema
      .createIndex('approvals_open')
      .unique()
      .on('approvals')
      .columns(['principal', 'intent_digest'])
      .where(sql.ref('state'), 'in', ['pending', 'approved', 'dispatching']),
    db.schema
      .createTable('journal')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', required)
      .addColumn('owner', 'text', required)
      .addColumn('at', 'bigint', required)
      .addColumn('entry', 'text', required)
      .addColumn('ended_at', 'bigint')
      .addColumn('ending', 'text'),
    // Few at any time: those that may have to be recovered.
    db.schema.createIndex('journal_begun').on('journal').columns(['owner']).where(sql.ref('state'), '=', 'begun'),
    index('journal', 'at'),
    db.schema
      .createTable('audit')
      .addColumn('seq', 'bigint', (column) => column.primaryKey())
      .addColumn('previous', 'text', required)
      .addColumn('hash', 'text', required)
      .addColumn('at', 'bigint', required)
      .addColumn('kind', 'text', required)
      .addColumn('body', 'text', required),
    db.schema
      .createTable('audit_head')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('seq', 'bigint', required)
      .addColumn('hash', 'text', required)
      .addColumn('seal', 'text', required),
    db.insertInto('audit_head').values({ id: 1, ...CHAIN_START, seal: '' }),
    db.schema
      .createTable('eras')
      .addColumn('server', 'text', required)
      .addColumn('principal', 'text', required)
      .addColumn('revision', 'text', required)
      .addColumn('at', 'bigint', required)
      .addPrimaryKeyConstraint('eras_key', ['server', 'principal']),
    index('eras', 'at'),
    db.schema
      .createTable('listings')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('server', 'text', required)
      .addColumn('method', 'text', required)
      .addColumn('body', 'text', required)
      .addColumn('fresh_until', 'bigint', required),
    index('listings', 'server', 'method'),
    index('listings', 'fresh_until'),
    db.schema
      .createTable('leases')
      .addColumn('owner', 'text', (column) => column.primaryKey())
      .addColumn('place', 'text', required)
      .addColumn('pid', 'bigint', required)
      .addColumn('started', 'text', required)
      .addColumn('expires_at', 'bigint', required),
    db.schema
      .createTable('versions')
      .addColumn('kind', 'text', (column) => column.primaryKey())
      .addColumn('version', 'bigint', required),
    db
      .insertInto('versions')
      .values((['approvals', 'grants', 'journal', 'pins', 'trust'] as const).map((kind) => ({ kind, version: 0 }))),
  ];
}

function required<Column extends { notNull(): Column }>(column: Column): Column {
  return column.notNull();
}
