// A dialect is everything one era does differently, seen from a client here and from a server in server-dialect.ts. Above it
// Parley speaks the newest model only. The one place that knows the eras' folders.
import type { ChannelTerms, GiveUp, JsonObject } from '../jsonrpc/index.ts';
import type { RpcError } from '../errors.ts';
import { legacyClient } from './legacy/client.ts';
import { legacyServer } from './legacy/server.ts';
import type { ClientMethod } from './method.ts';
import { modernClient } from './modern/client.ts';
import { modernServer } from './modern/server.ts';
import { isModernRevision, type Era, type Revision } from './revision.ts';
import type { ClientCapabilities, Implementation, InputRequest, LoggingLevel, Task } from './schema/index.ts';
import type { ServerDialect, ServerTerms } from './server-dialect.ts';

export { readInitialize, sessionHabits, type SessionHabits } from './legacy/server.ts';
export { readModern } from './modern/server.ts';

/** Who the client says it is, and what it can be asked. */
export interface ClientTerms {
  readonly client: Implementation;
  readonly capabilities: ClientCapabilities;
}

/** A result, the wish for input before there is one, or the task that will have one (SEP-2663). */
export type Decoded = Answered | InputWanted;

/** What ends the rounds of input. */
export type Answered =
  { readonly type: 'complete'; readonly result: JsonObject } | { readonly type: 'task'; readonly task: Task };

/** An input-required result (2026-07-28, patterns/mrtr). `state` goes back byte for byte. */
export interface InputWanted {
  readonly type: 'input';
  readonly requests: ReadonlyMap<string, InputRequest>;
  readonly state: string | undefined;
}

/** The answers to an InputWanted, for the next attempt at the same request. */
export interface InputAnswers {
  readonly responses: ReadonlyMap<string, JsonObject>;
  readonly state: string | undefined;
}

export interface EncodeOptions {
  readonly logLevel?: LoggingLevel | undefined;
  readonly answers?: InputAnswers | undefined;
}

/** What a client does in one revision. */
export interface ClientDialect {
  readonly era: Era;
  readonly revision: Revision;
  /** The method that shows a server is alive. */
  readonly pulse: ClientMethod;
  /** Changes come on `subscriptions/listen` streams, or by themselves with `resources/subscribe` for single resources. */
  readonly watches: 'listen' | 'standing';
  /** How a server learns that a request is given up. */
  readonly giveUp: GiveUp;
  /** Whether a server may send requests of its own. */
  readonly serverAsks: 'requests' | 'rounds';
  /** What a transport adopts once the handshake is done, where there is one. */
  readonly adopts: ChannelTerms | undefined;
  has(method: ClientMethod): boolean;
  /** Params as this revision wants them on the wire. */
  encode(params: JsonObject | undefined, options: EncodeOptions): JsonObject | undefined;
  /** Headers for a transport that has some. */
  headers(method: string, params: JsonObject | undefined): Record<string, string> | undefined;
  /** @throws ParleyError `protocol-violation` for a result this revision does not allow */
  decode(method: string, result: JsonObject): Decoded;
  /** The wish for input that an error stands for, in revisions that have such an error. */
  decodeError(error: RpcError): InputWanted | undefined;
}

export function clientDialect(revision: Revision, terms: ClientTerms): ClientDialect {
  return isModernRevision(revision) ? modernClient(revision, terms) : legacyClient(revision);
}

export function serverDialect(revision: Revision, terms: ServerTerms): ServerDialect {
  return isModernRevision(revision) ? modernServer(revision, terms) : legacyServer(revision, terms);
}
