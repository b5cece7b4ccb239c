// What the server end of HTTP is told by the protocol above it, and what it hands to whoever answers.
import type { IncomingHttpHeaders } from 'node:http';
import type { Channel, ErrorObject, Failure, RequestId } from '../../jsonrpc/index.ts';

/** The protocol's part in serving HTTP. All three are called synchronously and must not throw. */
export interface HttpProfile {
  /** Says how a POSTed value is served. Called after the checks of Host, Origin, content type, size and JSON. */
  inspect(value: unknown, headers: IncomingHttpHeaders): Inspection;
  /** The HTTP status of an error that is the first thing sent on a `single` exchange. */
  status(error: ErrorObject): number;
  /** Says why a GET or DELETE that names a session is refused for its headers; absent, none is. */
  check?(headers: IncomingHttpHeaders): Refusal | undefined;
}

export type Inspection =
  /** A stateless exchange: this POST gets a channel of its own. */
  | { readonly kind: 'single' }
  /** Opens a session: a new channel, whose id goes out with the answer. */
  | SessionInspection<'open'>
  /** Belongs to the session that its Mcp-Session-Id header names. */
  | SessionInspection<'session'>
  | ({ readonly kind: 'refuse' } & Refusal);

interface SessionInspection<Kind extends string> {
  readonly kind: Kind;
  /** `omit` for revisions whose clients take an event without data for a broken message. Default `send`. */
  readonly priming?: 'send' | 'omit';
}

export interface Refusal {
  readonly status: number;
  readonly reply: Failure;
}

/** Takes a channel a client opened; whoever takes it calls `start`. */
export type Accept = (channel: SessionChannel, context: AcceptContext) => void;

export interface AcceptContext {
  /** `single`: one request or notification and its answer. `session` and `sse`: a line until it ends. */
  readonly era: 'single' | 'session' | 'sse';
  /** Of the request that opened the channel, names in lower case. */
  readonly headers: IncomingHttpHeaders;
}

/** A channel that can let go of the connection on which it answers a request, where that is possible. */
export interface SessionChannel extends Channel {
  /**
   * Closes the connection on which request `id` waits, so that the client comes back for the answer after `retryMs`
   * milliseconds; until then the answer is kept. Does nothing when the client could not come back.
   * @see 2025-11-25 basic/transports, "Sending Messages to the Server", 6
   */
  detach?(id: RequestId, retryMs: number): void;
}
