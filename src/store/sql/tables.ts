// The tables, as both engines have them. A fact is kept whole, as JSON text; beside it stand only the columns that it is found,
// decided and swept by. So what a server wrote never has to fit a column of a database.
import { digest } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import type { ApprovalState, JournalState, StoreChange } from '../store.ts';

export interface Tables {
  readonly trust: { digest: string; server: string; file: string; at: number; fact: string };
  readonly pins: { server: string; kind: string; name: string; fact: string };
  readonly grants: {
    id: string;
    principal: string;
    server: string;
    server_name: string;
    tool: string;
    run: string | null;
    definition_digest: string;
    uses_left: number | null;
    expires_at: number | null;
    at: number;
    fact: string;
  };
  readonly approvals: {
    id: string;
    state: ApprovalState;
    principal: string;
    intent_digest: string;
    created_at: number;
    expires_at: number;
    ticket: string;
    decided_at: number | null;
    /** Who decided, where, and what was said with it. */
    decision: string | null;
    owner: string | null;
    dispatched_at: number | null;
    outcome: string | null;
  };
  readonly journal: {
    id: string;
    state: JournalState;
    owner: string;
    at: number;
    entry: string;
    ended_at: number | null;
    /** How it ended. */
    ending: string | null;
  };
  readonly audit: { seq: number; previous: string; hash: string; at: number; kind: string; body: string };
  readonly audit_head: { id: number; seq: number; hash: string; seal: string };
  readonly eras: { server: string; principal: string; revision: string; at: number };
  readonly listings: { key: string; server: string; method: string; body: string; fresh_until: number };
  /** Who may have something under way: a process, where it runs, and until when it is believed without another sign of life. */
  readonly leases: { owner: string; place: string; pid: number; started: string; expires_at: number };
  /** How often something of a kind was changed. */
  readonly versions: { kind: StoreChange; version: number };
  /** How many steps the schema has gone. */
  readonly parley_schema: { id: number; version: number };
}

/** Longer texts are compared by their digest: an index takes no more than a piece of a page. */
const MAX_KEY = 256;

/**
 * The text as a column takes it. No database takes every text: some end it at U+0000, some change half of a surrogate pair. So both
 * are escaped as in JSON, and so is the backslash; ordinary text stays as it is.
 */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export function unescaped(column: string): string {
  return JSON.parse(`"${column}"`) as string;
}

/** The text as it is compared in a column, and only compared. */
export function key(text: string): string {
  const column = escaped(text);
  // Nothing escaped begins like this.
  return column.length > MAX_KEY ? `\\#${digest(text)}` : column;
}

/** A time as a column takes it: whole milliseconds. */
export function ms(at: number): number {
  const whole = Math.trunc(at);
  if (!Number.isSafeInteger(whole)) throw new ParleyError('usage', `${at} is not a time in milliseconds.`);
  return whole;
}

/** A number of rows as a query takes it: `Infinity` too. */
export function rows(limit: number): number {
  return Math.max(0, Math.min(Math.trunc(limit), 2_147_483_647));
}
