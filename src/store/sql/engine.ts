// What the two engines have in common: how a transaction is run. Kysely writes the SQL and never runs it, so that each engine keeps
// its connections, its transactions and their time-outs in its own hands.
import type { Compilable, Kysely } from 'kysely';
import type { Tables } from './tables.ts';

/** Runs statements, one after the other, inside one transaction or outside any. */
export interface Session {
  /** Resolves with the rows that come back: of a query, or of what `returning` names. */
  run<Row>(query: Compilable<Row>): Promise<readonly Row[]>;
  /** Milliseconds since 1970, by the database's clock. */
  now(): Promise<number>;
}

export interface Engine {
  /** Writes statements for this engine. */
  readonly db: Kysely<Tables>;
  /** Whether a row must be locked when it is read before it is written; where there is one writer at a time it need not. */
  readonly locksRows: boolean;
  /** How often a follower looks, in milliseconds, when no bell rings. */
  readonly lookMs: number;
  /** Runs what only reads. */
  read<T>(act: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Runs `act` in a transaction, all of it or nothing; when others are in the way, again from its start. `act` awaits nothing but its
   * session. With `power` it outlives the loss of power when it resolves; without, at least the end of the process.
   */
  write<T>(act: (session: Session) => Promise<T>, options: WriteOptions): Promise<T>;
  /** Calls `heard` when somebody else may have written; returns what ends that. Bells that are lost cost time only. */
  listen(heard: () => void): () => void;
  /** Rings for the others, after a transaction. */
  ring(): void;
  /** False when surely nobody else has written since it was last asked. */
  mayHaveMoved(): Promise<boolean>;
  close(): Promise<void>;
}

export interface WriteOptions {
  readonly outlives: 'process' | 'power';
}
