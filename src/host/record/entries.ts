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

/** Writes down what happens to calls. Nothing here touches a store. */
export function createEntries(redact: Redact, now: () => number) {
  /** What every record of an intent says; `more` is a record's own, and `call` the id of a call that is made. */
  function bodyOf(
    intent: CallIntent,
    args: JsonObject,
    because: string,
    by: AllowedBy | string,
    more: BodyMore = {},
  ): JsonObject {
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
      // Behind the others: a spread in front of them costs more than all of them.
      ...(taint.length > 0 && { taint }),
      ...(call !== undefined && { call }),
      ...(editedFrom !== undefined && { editedFrom }),
      ...(approval !== undefined && { approval }),
    };
  }

  return {
    /** A call that is about to be sent. */
    begin(id: string, allowed: Allowed, server: ServerFacts): { readonly entry: JournalEntry; readonly audit: AuditEntry } {
      const { intent, because, by, editedFrom } = allowed;
      const at = now();
      const args = redact(intent.args);
      const ticket = by.type === 'approval' ? by.id : undefined;
      const { principal, run, route, tool, definitionDigest, definition, policyVersion, taint } = intent;
      return {
        entry: {
          id,
          run,
          principal,
          route,
          serverName: intent.server,
          server: intent.serverDigest,
          tool,
          definitionDigest,
          intentDigest: intent.digest,
          args,
          facts: {
            trusted: server.trusted,
            reviewed: server.reviewed,
            annotations: definition.annotations ?? null,
            policyVersion,
            taint,
          },
          because,
          at,
          ...(ticket !== undefined && { approval: ticket }),
        },
        audit: { at, kind: 'call', body: bodyOf(intent, args, because, by, { call: id, editedFrom }) },
      };
    },

    /** How a call ended. */
    end(
      id: string,
      { state, outcome, bytes }: Omit<JournalEnd, 'at'>,
      durationMs: number,
    ): { readonly end: JournalEnd; readonly audit: AuditEntry } {
      const at = now();
      const size = bytes === undefined ? undefined : { bytes };
      const body = { call: id, state, outcome, ms: Math.round(durationMs), ...size };
      return { end: { state, outcome, at, ...size }, audit: { at, kind: 'outcome', body } };
    },

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
