// What must outlive the process: the port. It holds facts, never the payload of a call in flight, and it decides nothing. What
// belongs together is one method, and one method is one transaction: all of it is kept, or nothing.
import type { Feed } from '../base/index.ts';
import type { JsonObject } from '../jsonrpc/index.ts';

/**
 * Everything a host remembers. Times are milliseconds since 1970; ids are texts that the caller chose or was given. What is handed over
 * is plain JSON and is never changed afterwards: a store may keep it as it is.
 */
export interface Store extends AsyncDisposable {
  readonly trust: TrustTable;
  readonly pins: PinTable;
  readonly grants: GrantTable;
  readonly approvals: ApprovalTable;
  readonly journal: JournalTable;
  readonly audit: AuditTable;
  readonly eras: EraTable;
  readonly listings: ListingTable;
  /**
   * Says which kind of fact was written, by this process or another. It only wakes: it may come late, twice or for nothing, and
   * whoever waits also looks by itself every second or two.
   */
  readonly changes: Feed<StoreChange>;
  /** Says that this process lives and owns what it dispatches; ends with `close`. Unique for each store that was opened. */
  readonly owner: string;
  /** Forgets calls and tickets that ended before then, in milliseconds since 1970. What the audit has of them it keeps. */
  prune(before: number, audit: AuditEntry): Promise<void>;
  /** Ends the lease and the connection. Idempotent. */
  close(): Promise<void>;
}

export type StoreChange = 'trust' | 'pins' | 'grants' | 'approvals' | 'journal';

/** A launch that somebody agreed to: its digest is the whole of it, never its name. */
export interface TrustedLaunch {
  readonly digest: string;
  /** The name it had then, to find what a changed launch is to be compared with. */
  readonly server: string;
  /** The file that defines it. */
  readonly file: string;
  /** What was agreed to, as it was shown; no secrets. */
  readonly launch: JsonObject;
  readonly by: string;
  readonly at: number;
}

export interface TrustTable {
  find(digest: string): Promise<TrustedLaunch | undefined>;
  /** All, newest first; of one server's name and file when given. */
  list(of?: { readonly server: string; readonly file: string }): Promise<readonly TrustedLaunch[]>;
  /** Keeps it, and the audit record of it. */
  add(launch: TrustedLaunch, audit: AuditEntry): Promise<void>;
  /** Forgets it; false when it was not there. */
  remove(digest: string, audit: AuditEntry): Promise<boolean>;
}

/** A definition as somebody reviewed it, or as it was seen first. */
export interface Pin {
  /** Digest of the server's identity. */
  readonly server: string;
  readonly kind: 'tool' | 'prompt' | 'instructions';
  /** The tool's or prompt's name; '' for instructions. */
  readonly name: string;
  readonly digest: string;
  /** The definition in canonical JSON. Untrusted text. */
  readonly canonical: string;
  readonly reviewedBy: string;
  readonly at: number;
}

export interface PinTable {
  of(server: string): Promise<readonly Pin[]>;
  /** Puts each in the place of the one with its server, kind and name. */
  put(pins: readonly Pin[]): Promise<void>;
  remove(server: string, pin?: Pick<Pin, 'kind' | 'name'>): Promise<void>;
}

/** What somebody allowed beyond one call. */
export interface Grant {
  readonly id: string;
  readonly principal: string;
  /** The configured name, for people. */
  readonly serverName: string;
  /** Digest of the server's identity. */
  readonly server: string;
  readonly tool: string;
  readonly definitionDigest: string;
  /** The policy it was given under; under another one it does not count. */
  readonly policyVersion: string;
  /** What the arguments must be like; absent for any. The policy reads it. */
  readonly pattern?: JsonObject;
  /** Only in this run, when given. */
  readonly run?: string;
  /** How many calls are left; absent for any number. */
  readonly usesLeft?: number;
  readonly expiresAt?: number;
  readonly by: string;
  /** Where it was given: `terminal`, `cli`, … */
  readonly channel: string;
  readonly at: number;
  /** The ticket it was given with, and the digest of that one's arguments. */
  readonly approval?: { readonly id: string; readonly argsDigest: string };
}

/** Which grants are meant: those that have every member given here. */
export interface GrantFilter {
  readonly id?: string;
  readonly principal?: string;
  readonly server?: string;
  readonly serverName?: string;
  readonly tool?: string;
  readonly run?: string;
}

export interface GrantTable {
  /** Those in force, oldest first: not revoked, not expired, not used up. */
  active(filter?: GrantFilter): Promise<readonly Grant[]>;
  add(grant: Grant, audit: AuditEntry): Promise<void>;
  /** Takes one use; false when the grant is no longer in force, and then it must not be used. */
  use(id: string): Promise<boolean>;
  /**
   * Ends those meant, except such as have the digest `keep`; resolves with how many. Tickets they were given with are cancelled where
   * their call was not made yet.
   */
  revoke(filter: GrantFilter, options: { readonly why: string; readonly keep?: string }): Promise<number>;
}

export type ApprovalState =
  /** Waits for somebody. */
  | 'pending'
  /** Ends without a call. */
  | 'denied'
  | 'expired'
  | 'cancelled'
  /** May be dispatched, once. */
  | 'approved'
  /** Somebody is sending it. */
  | 'dispatching'
  /** Its call is over. */
  | 'done'
  /** Its call surely did not reach the server. */
  | 'failed'
  /** It was sent and nobody knows what became of it. */
  | 'outcome-unknown';

/** A call that waits to be decided. */
export interface ApprovalTicket {
  readonly id: string;
  readonly principal: string;
  readonly run: string;
  readonly serverName: string;
  readonly server: string;
  readonly tool: string;
  /** Digest of the whole intent: the same call by the same principal is the same ticket. */
  readonly intentDigest: string;
  readonly definitionDigest: string;
  readonly policyVersion: string;
  /** The arguments as they will be sent. */
  readonly args: JsonObject;
  /** What is shown besides: the description, why it asks, where the data came from. Untrusted text. */
  readonly shown: JsonObject;
  readonly because: string;
  readonly createdAt: number;
  /** Undecided then, it is denied; approved and not dispatched by then, it is asked anew. */
  readonly expiresAt: number;
}

export interface Approval extends ApprovalTicket {
  readonly state: ApprovalState;
  readonly decidedBy?: string;
  readonly channel?: string;
  readonly decidedAt?: number;
  /** Why it was denied, in the decider's words. */
  readonly message?: string;
  /** What the approver made of the arguments; decided afresh before they are sent. */
  readonly editedArgs?: JsonObject;
  readonly dispatchedAt?: number;
  readonly outcome?: string;
}

export interface ApprovalDecision {
  readonly verdict: 'approve' | 'deny';
  readonly by: string;
  readonly channel: string;
  readonly message?: string;
  readonly editedArgs?: JsonObject;
  /** What is allowed from now on, with the approval. */
  readonly grant?: Grant;
  /** Until when the approval counts, where that is before the ticket's own end. */
  readonly expiresAt?: number;
}

export interface ApprovalTable {
  /** Keeps the ticket; when the same call of the same principal is pending, approved or dispatching already, resolves with that one. */
  open(ticket: ApprovalTicket, audit: AuditEntry): Promise<Approval>;
  get(id: string): Promise<Approval | undefined>;
  /** Newest first; at most 1,000 when no limit is given. */
  list(filter?: { readonly states?: readonly ApprovalState[]; readonly limit?: number }): Promise<readonly Approval[]>;
  /**
   * Moves `pending` to its end, with the grant and the audit record. Exactly one decider wins; the others get what was decided.
   * Undefined when there is no such ticket.
   */
  decide(
    id: string,
    decision: ApprovalDecision,
    audit: AuditEntry,
  ): Promise<{ readonly won: boolean; readonly approval: Approval } | undefined>;
  /** Takes a pending ticket back. */
  cancel(id: string, audit: AuditEntry): Promise<void>;
  /** Moves `approved` to `dispatching`, owned by this store; false when somebody else has it, or it is not approved. */
  claim(id: string): Promise<boolean>;
  /** Moves `dispatching` of this owner to its end. */
  finish(id: string, end: { readonly state: 'done' | 'failed' | 'outcome-unknown'; readonly outcome: string }): Promise<void>;
}

/** A call, written before its first byte is sent. */
export interface JournalEntry {
  readonly id: string;
  readonly run: string;
  readonly principal: string;
  /** `library`, `call`, `run`, `chat`, … */
  readonly route: string;
  readonly serverName: string;
  readonly server: string;
  readonly tool: string;
  readonly definitionDigest: string;
  readonly intentDigest: string;
  /** The arguments, with what is secret replaced by keyed digests. */
  readonly args: JsonObject;
  /** What the decision was made on, so that another policy can be tried on it: annotations, trust, taint. */
  readonly facts: JsonObject;
  readonly because: string;
  readonly approval?: string | undefined;
  readonly at: number;
}

/** `unsent`: surely not carried out. `unknown`: sent, and nobody knows what became of it. */
export type JournalState = 'begun' | 'done' | 'unsent' | 'unknown';

export interface JournalRecord extends JournalEntry {
  readonly state: JournalState;
  /** Type of the outcome: `ok`, `tool-error`, `timeout`, … */
  readonly outcome?: string;
  readonly endedAt?: number;
  /** Of the result, in JSON. */
  readonly bytes?: number;
}

export interface JournalEnd {
  readonly state: Exclude<JournalState, 'begun'>;
  readonly outcome: string;
  readonly at: number;
  readonly bytes?: number;
}

export interface JournalTable {
  /**
   * Keeps the call and its audit record, which may be one value. When it rejects, the call must not be sent. Undefined where it is done
   * already.
   */
  begin(entry: JournalEntry, audit: AuditEntry): Promise<void> | undefined;
  end(id: string, end: JournalEnd, audit: AuditEntry): Promise<void> | undefined;
  /**
   * Finds calls and tickets whose owner is gone: `begun` becomes `unknown`, `dispatching` becomes `outcome-unknown`, each with an
   * audit record. Resolves with those calls; each is reported to one caller only.
   */
  recover(): Promise<readonly JournalRecord[]>;
  /** Newest first; at most 1,000 when no limit is given. */
  list(filter?: { readonly state?: JournalState; readonly limit?: number }): Promise<readonly JournalRecord[]>;
}

/** What is written to the audit. `body` is JSON without secrets; a store reads the three members and nothing else. */
export interface AuditEntry {
  readonly at: number;
  /** `call`, `refusal`, `outcome`, `approval`, `grant`, `trust`, … */
  readonly kind: string;
  readonly body: JsonObject;
}

/** One link of the chain: `hash` is SHA-256 over the canonical form of all the other members. */
export interface AuditRecord extends AuditEntry {
  /** 1, 2, 3, … without a gap. */
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

/** The end of the chain, kept apart from its records so that a chain that was cut is found out. */
export interface AuditHead {
  readonly seq: number;
  readonly hash: string;
  /** HMAC over both with the key that the store was opened with, which is not in the store. */
  readonly seal: string;
}

export interface AuditTable {
  append(entry: AuditEntry): Promise<AuditRecord>;
  /** In order, from `after` (exclusive) on, in pages: at most `limit` of them, or 1,000. */
  read(options?: { readonly after?: number; readonly limit?: number }): Promise<readonly AuditRecord[]>;
  /** The last ones, oldest first. */
  tail(count: number): Promise<readonly AuditRecord[]>;
  head(): Promise<AuditHead | undefined>;
}

/** The revision that a server was last spoken to in, for one principal. */
export interface EraTable {
  get(server: string, principal: string): Promise<string | undefined>;
  set(server: string, principal: string, revision: string, at: number): Promise<void>;
}

/** Lists and results that stay fresh beyond the process. The principal is part of the key. */
export interface ListingKey {
  readonly server: string;
  readonly principal: string;
  readonly method: string;
  readonly argument: string;
}

export interface ListingTable {
  get(key: ListingKey, now: number): Promise<JsonObject | undefined>;
  set(key: ListingKey, body: JsonObject, freshUntil: number): Promise<void>;
  drop(server: string, method?: string): Promise<void>;
}
