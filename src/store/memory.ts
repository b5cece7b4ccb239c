// A store that forgets with the process: for hosts that keep nothing, and for tests. It makes the same promises as the others, and
// keeps no more of what is over than its bounds say.
import { randomBytes, randomUUID } from 'node:crypto';
import { canonical, createFeed, limitOf, type Limits } from '../base/index.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import { CHAIN_START, link, seal, type ChainEnd } from './audit-chain.ts';
import { createFacts, mostBytes } from './facts.ts';
import {
  DEFAULT_ROWS,
  expiredEntry,
  MAX_CACHED,
  OPEN_STATES,
  revokedEntry,
  taken,
  tooManyPending,
  withdrawnEntry,
} from './rules.ts';
import type {
  Approval,
  AuditEntry,
  AuditRecord,
  Grant,
  GrantFilter,
  JournalEnd,
  JournalEntry,
  JournalRecord,
  Pin,
  Store,
  StoreChange,
  TrustedLaunch,
} from './store.ts';

export interface MemoryStoreOptions {
  /** What the head of the audit is sealed with. Default: a key that nobody else knows. */
  readonly auditKey?: Uint8Array;
  /** `maxFactBytes`, `maxPendingApprovals`. */
  readonly limits?: Limits;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Records of the audit, and calls and tickets that are over, each; the oldest go first. */
const MAX_ROWS = 10_000;

/** A call as it was handed over, and how it ended. */
interface KeptCall {
  readonly entry: JournalEntry;
  end: JournalEnd | undefined;
}

/** A copy of what is kept of a call, made when somebody asks for it. */
function recordOf({ entry, end }: KeptCall): JournalRecord {
  const begun = JSON.parse(JSON.stringify(entry)) as JournalEntry;
  if (end === undefined) return frozen({ ...begun, state: 'begun' });
  const { at: endedAt, ...ended } = end;
  return frozen({ ...begun, ...ended, endedAt });
}

/** The most bytes that the JSON of a call may take. Its own digest, which may not be made yet, is short. */
function mostBytesOf(entry: JournalEntry): number {
  const { id, run, principal, route, serverName, server, tool, definitionDigest, because, approval = '' } = entry;
  const names = id.length + run.length + principal.length + route.length + serverName.length + server.length + tool.length;
  const texts = names + definitionDigest.length + because.length + approval.length;
  return 6 * texts + mostBytes(entry.args) + mostBytes(entry.facts) + 1_000;
}

/** Returns an empty store. Its audit is whole until its bounds make it forget the beginning. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { auditKey = randomBytes(32), limits = {}, now = Date.now } = options;
  const facts = createFacts(limits);
  const maxPending = limitOf('maxPendingApprovals', limits.maxPendingApprovals);
  /** The value as JSON keeps it, apart from the caller's own and not to be changed by whoever gets it. */
  const copy = <T extends object>(value: T): T => frozen(facts.read<T>(facts.write(value)));
  const changes = createFeed<StoreChange>();
  const trust = new Map<string, TrustedLaunch>();
  const pins = new Map<string, Pin>();
  const grants = new Map<string, Grant>();
  const approvals = new Map<string, Approval>();
  const journal = new Map<string, KeptCall>();
  const records: AuditRecord[] = [];
  /** Audit entries, in order, that nobody has asked for yet. */
  const unlinked: AuditEntry[] = [];
  const eras = new Map<string, string>();
  const listings = new Map<string, { readonly body: JsonObject; readonly freshUntil: number }>();
  let end: ChainEnd = CHAIN_START;
  let closed = false;

  // Nothing below waits, and what can throw comes first: copies, then the audit, then the rest. So each method is one transaction.
  const check = () => {
    if (closed) throw new ParleyError('closed', 'The store was closed. Open another one.');
  };
  const append = (entry: AuditEntry, fact?: object): void => {
    // Throws now for what could not be written later. What is one with a fact that is kept is written from the same.
    if (entry !== fact) mostBytes(entry.body);
    unlinked.push(entry);
    // In one go now and then, for taking from the front is not free. What is forgotten leaves a gap, as it must.
    if (unlinked.length <= 2 * MAX_ROWS) return;
    unlinked.splice(0, MAX_ROWS);
    records.length = 0;
    end = { ...end, seq: end.seq + MAX_ROWS };
  };
  /** The audit, linked when somebody looks at it: hosts whose audit nobody reads do not wait for it. */
  const linked = (): readonly AuditRecord[] => {
    for (const entry of unlinked.splice(0)) {
      const record = frozen(link(entry, end));
      end = record;
      records.push(record);
    }
    if (records.length > 2 * MAX_ROWS) records.splice(0, MAX_ROWS);
    return records;
  };
  const setApproval = (approval: Approval, audit?: AuditEntry): Approval => {
    const kept = copy(approval);
    if (audit !== undefined) append(audit);
    approvals.set(kept.id, kept);
    changes.emit('approvals');
    return kept;
  };
  /** Ends the pending tickets whose time is over. */
  const expire = () => {
    const at = now();
    for (const approval of approvals.values()) {
      if (approval.state !== 'pending' || approval.expiresAt > at) continue;
      setApproval({ ...approval, state: 'expired', decidedAt: at }, expiredEntry(approval, at));
    }
  };
  const inForce = () => {
    const at = now();
    return [...grants.values()]
      .filter(({ usesLeft = 1, expiresAt = Infinity }) => usesLeft > 0 && expiresAt > at)
      .sort((a, b) => a.at - b.at);
  };
  const newGrant = (grant: Grant): Grant => {
    refuseTaken(grants, grant.id);
    return copy(grant);
  };
  const setGrant = (grant: Grant) => {
    grants.set(grant.id, grant);
    changes.emit('grants');
  };

  return {
    owner: randomUUID(),
    changes: changes.feed,
    async prune(before, audit) {
      check();
      append(audit);
      for (const [id, { end: over }] of journal) if (over !== undefined && over.at < before) journal.delete(id);
      for (const [id, { state, decidedAt = Infinity }] of approvals) {
        if (!OPEN_STATES.includes(state) && decidedAt < before) approvals.delete(id);
      }
    },
    async close() {
      closed = true;
      changes.end();
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },

    trust: {
      async find(digest) {
        check();
        return trust.get(digest);
      },
      async list(of) {
        check();
        const wanted = [...trust.values()].filter(
          ({ server, file }) => of === undefined || (server === of.server && file === of.file),
        );
        return wanted.reverse().sort((a, b) => b.at - a.at);
      },
      async add(launch, audit) {
        check();
        const kept = copy(launch);
        append(audit);
        trust.delete(launch.digest);
        trust.set(launch.digest, kept);
        changes.emit('trust');
      },
      async remove(digest, audit) {
        check();
        if (!trust.has(digest)) return false;
        append(audit);
        trust.delete(digest);
        changes.emit('trust');
        return true;
      },
    },

    pins: {
      async of(server) {
        check();
        return [...pins.values()].filter((pin) => pin.server === server);
      },
      async put(list) {
        check();
        for (const pin of list.map(copy)) pins.set(pinKey(pin), pin);
        changes.emit('pins');
      },
      async remove(server, pin) {
        check();
        for (const [key, { server: its }] of pins) {
          if (its === server && (pin === undefined || key === pinKey({ server, ...pin }))) pins.delete(key);
        }
        changes.emit('pins');
      },
    },

    grants: {
      async active(filter = {}) {
        check();
        return inForce().filter((grant) => isMeant(grant, filter));
      },
      async add(grant, audit) {
        check();
        const kept = newGrant(grant);
        append(audit);
        setGrant(kept);
      },
      async use(id) {
        check();
        const grant = inForce().find((each) => each.id === id);
        if (grant === undefined) return false;
        if (grant.usesLeft !== undefined) {
          const usesLeft = grant.usesLeft - 1;
          if (usesLeft === 0) grants.delete(id);
          else grants.set(id, frozen({ ...grant, usesLeft }));
          changes.emit('grants');
        }
        return true;
      },
      async revoke(filter, { why, keep }) {
        check();
        const ended = inForce().filter((grant) => isMeant(grant, filter) && grant.definitionDigest !== keep);
        for (const grant of ended) {
          append(revokedEntry(grant, why, now()));
          grants.delete(grant.id);
          const given = approvals.get(grant.approval?.id ?? '');
          if (given?.state === 'approved') setApproval({ ...given, state: 'cancelled' }, withdrawnEntry(grant, why, now()));
        }
        if (ended.length > 0) changes.emit('grants');
        return ended.length;
      },
    },

    approvals: {
      async open(ticket, audit) {
        check();
        expire();
        const same = [...approvals.values()].find(
          ({ state, principal, intentDigest }) =>
            OPEN_STATES.includes(state) && principal === ticket.principal && intentDigest === ticket.intentDigest,
        );
        if (same !== undefined) return same;
        refuseTaken(approvals, ticket.id);
        const waiting = [...approvals.values()].filter(({ state }) => state === 'pending').length;
        if (waiting >= maxPending) throw tooManyPending(waiting, maxPending);
        const approval = setApproval({ ...ticket, state: 'pending' }, audit);
        forgetOldest(approvals, ({ state }) => !OPEN_STATES.includes(state));
        return approval;
      },
      async get(id) {
        check();
        expire();
        return approvals.get(id);
      },
      async list({ states, limit = DEFAULT_ROWS } = {}) {
        check();
        expire();
        const wanted = [...approvals.values()].filter(({ state }) => states === undefined || states.includes(state));
        return newestFirst(wanted, ({ createdAt }) => createdAt, limit);
      },
      async decide(id, { verdict, grant, ...decision }, audit) {
        check();
        expire();
        const approval = approvals.get(id);
        if (approval === undefined) return undefined;
        if (approval.state !== 'pending') return { won: false, approval };
        const kept = grant && newGrant(grant);
        const { by, ...rest } = decision;
        const state = verdict === 'approve' ? 'approved' : 'denied';
        const decided = setApproval({ ...approval, ...rest, decidedBy: by, decidedAt: now(), state }, audit);
        if (kept !== undefined) setGrant(kept);
        return { won: true, approval: decided };
      },
      async cancel(id, audit) {
        check();
        expire();
        const approval = approvals.get(id);
        if (approval?.state !== 'pending') return;
        setApproval({ ...approval, state: 'cancelled', decidedAt: now() }, audit);
      },
      async claim(id) {
        check();
        const approval = approvals.get(id);
        if (approval?.state !== 'approved') return false;
        setApproval({ ...approval, state: 'dispatching', dispatchedAt: now() });
        return true;
      },
      async finish(id, { state, outcome }) {
        check();
        const approval = approvals.get(id);
        if (approval?.state === 'dispatching') setApproval({ ...approval, state, outcome });
      },
    },

    journal: {
      begin: (entry, audit) =>
        atOnce(() => {
          check();
          refuseTaken(journal, entry.id);
          facts.admit(entry, mostBytesOf(entry));
          append(audit, entry);
          journal.set(entry.id, { entry, end: undefined });
          if (journal.size > 2 * MAX_ROWS) forgetOldest(journal, ({ end: over }) => over !== undefined);
          changes.emit('journal');
        }),
      end: (id, ended, audit) =>
        atOnce(() => {
          check();
          append(audit, ended);
          const call = journal.get(id);
          if (call === undefined || call.end !== undefined) return;
          call.end = ended;
          changes.emit('journal');
        }),
      async recover() {
        check();
        // Whoever began a call here lives as long as the store does.
        return [];
      },
      async list({ state, limit = DEFAULT_ROWS } = {}) {
        check();
        const calls = [...journal.values()].filter(({ end: over }) => state === undefined || (over?.state ?? 'begun') === state);
        return newestFirst(calls.map(recordOf), ({ at }) => at, limit);
      },
    },

    audit: {
      async append(entry) {
        check();
        append(entry);
        return linked().at(-1) as AuditRecord;
      },
      async read({ after = 0, limit = DEFAULT_ROWS } = {}) {
        check();
        return linked()
          .filter(({ seq }) => seq > after)
          .slice(0, limit);
      },
      async tail(count) {
        check();
        return count > 0 ? linked().slice(-count) : [];
      },
      async head() {
        check();
        linked();
        return end.seq === 0 ? undefined : seal(end, auditKey);
      },
    },

    eras: {
      async get(server, principal) {
        check();
        return eras.get(canonical([server, principal]));
      },
      async set(server, principal, revision) {
        check();
        eras.delete(canonical([server, principal]));
        eras.set(canonical([server, principal]), revision);
        forgetOldest(eras, () => true, MAX_CACHED);
      },
    },

    listings: {
      async get(key, at) {
        check();
        const found = listings.get(canonical(key));
        return found !== undefined && found.freshUntil > at ? found.body : undefined;
      },
      async set(key, body, freshUntil) {
        check();
        listings.delete(canonical(key));
        // Too large to be kept, it is fetched again.
        if (!facts.fits(JSON.stringify(body))) return;
        listings.set(canonical(key), frozen({ body: JSON.parse(JSON.stringify(body)) as JsonObject, freshUntil }));
        forgetOldest(listings, () => true, MAX_CACHED);
      },
      async drop(server, method) {
        check();
        for (const key of listings.keys()) {
          const its = JSON.parse(key) as { readonly server: string; readonly method: string };
          if (its.server === server && (method === undefined || its.method === method)) listings.delete(key);
        }
      },
    },
  };
}

/** Does it now. What it throws is what the promise rejects with; where it does not throw, nobody has to wait. */
function atOnce(act: () => void): Promise<void> | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

function frozen<T extends object>(value: T): T {
  for (const member of Object.values(value) as unknown[]) {
    if (typeof member === 'object' && member !== null) frozen(member);
  }
  return Object.freeze(value);
}

function pinKey({ server, kind, name }: Pick<Pin, 'server' | 'kind' | 'name'>): string {
  return canonical([server, kind, name]);
}

function isMeant(grant: Grant, filter: GrantFilter): boolean {
  return Object.entries(filter).every(([member, value]) => value === undefined || grant[member as keyof GrantFilter] === value);
}

/** Sorted by time; those of one moment by when they came. */
function newestFirst<T>(list: readonly T[], time: (value: T) => number, limit: number): readonly T[] {
  return [...list]
    .reverse()
    .sort((a, b) => time(b) - time(a))
    .slice(0, limit);
}

function refuseTaken(map: ReadonlyMap<string, unknown>, id: string): void {
  if (map.has(id)) throw taken();
}

/** Drops the oldest that may go until there are no more than allowed. */
function forgetOldest<T>(map: Map<string, T>, mayGo: (value: T) => boolean, allowed = MAX_ROWS): void {
  if (map.size <= allowed) return;
  for (const [key, value] of map) {
    if (map.size <= allowed) return;
    if (mayGo(value)) map.delete(key);
  }
}
