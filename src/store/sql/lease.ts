// The sign of life of whoever has something under way. It is taken with the first call, renewed at a third of its time, and its end is
// read from the database's clock; a process of this machine that is gone is gone at once.
import type { Clock, Timer } from '../../base/index.ts';
import type { Session } from './engine.ts';
import { lifeOf, ownMark } from './process.ts';
import type { Transactions } from './transactions.ts';

export interface Lease {
  readonly owner: string;
  /** Makes sure that it is held: takes it, or renews it when that has not been done for too long. */
  hold(): Promise<void>;
  /** Those of others that have ended without saying so. */
  gone(): Promise<readonly Gone[]>;
  /** Removes them, except such as were renewed meanwhile. */
  bury(session: Session, gone: readonly Gone[]): Promise<void>;
  /** Gives it back. */
  end(): Promise<void>;
}

export interface Gone {
  readonly owner: string;
  readonly expiresAt: number;
}

export interface LeaseOptions {
  readonly owner: string;
  readonly clock: Clock;
  /** Milliseconds that it is believed without a renewal. */
  readonly leaseMs: number;
}

export function createLease({ db, read, write }: Transactions, { owner, clock, leaseMs }: LeaseOptions): Lease {
  const mark = ownMark();
  let renewedAt: number | undefined;
  let timer: Timer | undefined;
  let ended = false;

  async function renew(): Promise<void> {
    // From before, for what the database writes down is later.
    const since = clock.now();
    await write(async (tx) => {
      const expires_at = (await tx.now()) + leaseMs;
      await tx.run(
        db
          .insertInto('leases')
          .values({ owner, ...mark, expires_at })
          .onConflict((conflict) => conflict.column('owner').doUpdateSet({ expires_at })),
      );
    });
    renewedAt = since;
    arm();
  }

  function arm(): void {
    timer?.cancel();
    if (ended) return;
    // A renewal that fails is tried again; at two thirds `hold` insists, and calls end there.
    timer = clock.after(leaseMs / 3, () => void renew().catch(arm));
    timer.hold('release');
  }

  return {
    owner,
    async hold() {
      if (renewedAt === undefined || clock.now() - renewedAt > (leaseMs * 2) / 3) await renew();
    },
    gone() {
      return read(async (session) => {
        const now = await session.now();
        const rows = await session.run(db.selectFrom('leases').selectAll().where('owner', '!=', owner));
        return rows
          .filter((row) => {
            const life = lifeOf(row);
            return life === 'gone' || (life === 'unknown' && row.expires_at <= now);
          })
          .map((row) => ({ owner: row.owner, expiresAt: row.expires_at }));
      });
    },
    async bury(session, gone) {
      for (const each of gone) {
        await session.run(db.deleteFrom('leases').where('owner', '=', each.owner).where('expires_at', '=', each.expiresAt));
      }
    },
    async end() {
      ended = true;
      timer?.cancel();
      if (renewedAt === undefined) return;
      await write((tx) => tx.run(db.deleteFrom('leases').where('owner', '=', owner)));
    },
  };
}
