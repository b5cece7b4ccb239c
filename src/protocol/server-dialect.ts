// What one era does differently, seen from a server: the twin of ClientDialect. Above it a server knows the newest model only.
import type { RpcError } from '../errors.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import type { ClientMethod } from './method.ts';
import type { Era, LegacyRevision, ModernRevision, Revision } from './revision.ts';
import type { Caching, ClientCapabilities, Implementation, InputRequest, LoggingLevel } from './schema/index.ts';

/** Who the server says it is, and how long its lists may be reused when a result does not say so itself. */
export interface ServerTerms {
  readonly server: Implementation;
  readonly caching: Required<Caching>;
}

/** What a client says of itself: once in its handshake, or with each request. */
export interface ClientFacts {
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities;
}

/** A modern request's own facts. */
export interface ModernFacts extends ClientFacts {
  readonly revision: ModernRevision;
  /** Log messages below it, or all when it is undefined, are not wanted. */
  readonly logLevel: LoggingLevel | undefined;
}

/** What an `initialize` request settles. */
export interface SessionFacts extends ClientFacts {
  readonly revision: LegacyRevision;
}

/** Headers of an HTTP request, names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What a server does in one revision. */
export interface ServerDialect {
  readonly era: Era;
  readonly revision: Revision;
  /** How a client is asked for input: by requests on its line, or by results that ask for another round. */
  readonly asks: 'requests' | 'rounds';
  has(method: string): method is ClientMethod;
  /** A result of the newest model, as this revision wants it on the wire. */
  encode(method: ClientMethod, result: JsonObject): JsonObject;
  /** A notification's params as this revision wants them. */
  inform(notification: string, params: JsonObject): JsonObject;
  /**
   * A request for input as this revision wants it.
   * @throws RpcError when the client did not declare that it answers such requests, or the revision has no form for this one
   */
  ask(request: InputRequest, capabilities: ClientCapabilities): InputRequest;
  /** The error for a resource that does not exist. */
  resourceNotFound(uri: string): RpcError;
}
