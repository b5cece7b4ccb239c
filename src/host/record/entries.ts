// What is written of a call: before it is sent, when it is over, and when it was refused. One body for the audit, and the journal's
// entry from the same values. No secret and no text of a result goes in.
import type { AuditEntry, JournalEnd, JournalEntry } from '../../store/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { writtenTool, type CallIntent } from '../approval/index.ts';
import type { Redact } from './redact.ts';

/** Who or what allowed a call. */
export type AllowedBy =
  /** A rule, a trusted server's hints, the list of reviewed tools. */
  | { readonly type: 'policy'; readonly rule?: string; readonly place?: string }
  | { readonly type: 'grant'; readonly id: string; readonly by: string; readonly channel: string }
  | { readonly type: 'approval'; readonly id?: string; readonly by: string; readonly channel: string };

/** A call that may be made. */
export interface Allowed {
  readonly intent: CallIntent;
  /** For people. */
  readonly because: string;
  readonly by: AllowedBy;
  /** The digest of the call that was asked about, where the approver changed its arguments. */
  readonly editedFrom?: string;
}

/** What is recorded about the server of a call besides its name. */
export interface ServerFacts {
  readonly trusted: boolean;
  readonly reviewed: boolean;
}

/** What some records of an intent say besides. */
interface BodyMore {
  readonly call?: string;
  readonly editedFrom?: string | undefined;
  readonly approval?: string | undefined;
}

/** What every record of an intent says; `more` is a record's own, and `call` the id of a call that is made. */
function bodyOf(intent: CallIntent, args: JsonObject, because: string, by: AllowedBy | string, more: BodyMore = {}): JsonObject {
  const { principal, run, route, server, serverDigest, tool, definitionDigest, digest, policyVersion, taint } = intent;
  const { call, editedFrom, approval } = more;
  return {
    principal,
    run,
    route,
    server,
    identity: serverDigest,
    tool: writtenTool(tool),
    definition: definitionDigest,
    digest,
    policy: policyVersion,
    args,
    because,
    by,
    ...(taint.length > 0 && { taint }),
    ...(call !== undefined && { call }),
    ...(editedFrom !== undefined && { editedFrom }),
    ...(approval !== undefined && { approval }),
  };
}

/**
 * A call that is about to be sent: the journal's entry, and what the audit says of it. It keeps no more than what both are made of,
 * since most are never read.
 */
class BegunCall implements JournalEntry, AuditEntry {
  readonly id: string;
  readonly at: number;
  readonly args: JsonObject;
  readonly #allowed: Allowed;
  readonly #server: ServerFacts;

  constructor(id: string, at: number, args: JsonObject, allowed: Allowed, server: ServerFacts) {
    this.id = id;
    this.at = at;
    this.args = args;
    this.#allowed = allowed;
    this.#server = server;
  }

  get run() {
    return this.#allowed.intent.run;
  }
  get principal() {
    return this.#allowed.intent.principal;
  }
  get route() {
    return this.#allowed.intent.route;
  }
  get serverName() {
    return this.#allowed.intent.server;
  }
  get server() {
    return this.#allowed.intent.serverDigest;
  }
  get tool() {
    return this.#allowed.intent.tool;
  }
  get definitionDigest() {
    return this.#allowed.intent.definitionDigest;
  }
  get intentDigest() {
    return this.#allowed.intent.digest;
  }
  get because() {
    return this.#allowed.because;
  }
  get facts() {
    const { definition, policyVersion, taint } = this.#allowed.intent;
    const { trusted, reviewed } = this.#server;
    return { trusted, reviewed, annotations: definition.annotations ?? null, policyVersion, taint };
  }
  get approval() {
    const { by } = this.#allowed;
    return by.type === 'approval' ? by.id : undefined;
  }

  get kind() {
    return 'call';
  }
  get body() {
    const { intent, because, by, editedFrom } = this.#allowed;
    return bodyOf(intent, this.args, because, by, { call: this.id, editedFrom });
  }

  /** The journal's entry. */
  toJSON(): JournalEntry {
    const { id, run, principal, route, serverName, server, tool, definitionDigest, intentDigest, args, facts, because } = this;
    const entry = { id, run, principal, route, serverName, server, tool, definitionDigest, intentDigest, args, facts, because };
    return { ...entry, approval: this.approval, at: this.at };
  }
}

/** How a call ended: for the journal, its members; for the audit, with its id and its time. */
class EndedCall implements JournalEnd, AuditEntry {
  readonly state: JournalEnd['state'];
  readonly outcome: string;
  readonly bytes?: number;
  readonly at: number;
  readonly #call: string;
  readonly #ms: number;

  constructor(call: string, at: number, { state, outcome, bytes }: Omit<JournalEnd, 'at'>, ms: number) {
    this.state = state;
    this.outcome = outcome;
    if (bytes !== undefined) this.bytes = bytes;
    this.at = at;
    this.#call = call;
    this.#ms = ms;
  }

  get kind() {
    return 'outcome';
  }
  get body(): JsonObject {
    const { state, outcome, bytes } = this;
    return { call: this.#call, state, outcome, ms: this.#ms, ...(bytes !== undefined && { bytes }) };
  }
}

/** Writes down what happens to calls. Nothing here touches a store. */
export function createEntries(redact: Redact, now: () => number) {
  return {
    /** A call that is about to be sent. */
    begin: (id: string, allowed: Allowed, server: ServerFacts): JournalEntry & AuditEntry =>
      new BegunCall(id, now(), redact(allowed.intent.args), allowed, server),

    /** How a call ended. */
    end: (id: string, ended: Omit<JournalEnd, 'at'>, durationMs: number): JournalEnd & AuditEntry =>
      new EndedCall(id, now(), ended, Math.round(durationMs)),

    /** A resource or prompt that is about to be asked for. */
    read({ intent, because, by }: Allowed): AuditEntry {
      return { at: now(), kind: 'read', body: bodyOf(intent, redact(intent.args), because, by) };
    },

    /** What was not sent, and who said no. */
    refusal(intent: CallIntent, because: string, by: string, ticket: string | undefined): AuditEntry {
      return { at: now(), kind: 'refusal', body: bodyOf(intent, redact(intent.args), because, by, { approval: ticket }) };
    },
  };
}

export type Entries = ReturnType<typeof createEntries>;
