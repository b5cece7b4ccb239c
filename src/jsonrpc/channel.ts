// The two ports every transport implements: a Transport can be opened again and again, a Channel is one open line.
import type { ParleyError } from '../errors.ts';
import type { Message, RequestId } from './message.ts';

/** A way to reach one peer. Holds no open line itself, so a probe, a reconnect and a restart are all: open again. */
export interface Transport {
  /** For people: the command line or URL, without secrets. */
  readonly target: string;
  readonly kind: 'stdio' | 'http' | 'sse' | 'memory';
  /**
   * Opens one line.
   * @throws ParleyError `unreachable`, `auth-required`, `http-status`, `not-mcp`, `timeout` or `aborted`
   */
  open(options?: OpenOptions): Promise<Channel>;
}

export interface OpenOptions {
  readonly signal?: AbortSignal;
}

/** One open line: messages out, messages in, until it ends. Delivery begins with `start`, which is called once. */
export interface Channel {
  readonly kind: Transport['kind'];
  /** Starts delivery. Whatever arrived before is delivered first. */
  start(receiver: Receiver): void;
  /**
   * Hands one message over. Resolves when it was handed over, or, on a transport with an exchange for each message,
   * when the exchange was accepted. Rejects with a ParleyError when it was not delivered or when its exchange ended
   * without a reply; a transport with one shared line reports its loss by `Receiver.end` alone.
   */
  send(message: Message, options?: SendOptions): Promise<void>;
  /** Present where each request has an exchange of its own: drops the one of request `id`, which tells the peer to stop. */
  abandon?(id: RequestId): void;
  /** Present where each of the peer's requests has a response of its own: ends the one of request `id`, which gets no reply. */
  dismiss?(id: RequestId): void;
  /**
   * Present where a handshake changes how later messages travel (Streamable HTTP up to 2025-11-25): headers for every later
   * message, and whether to keep a standing stream open for what the server sends by itself.
   */
  adopt?(terms: ChannelTerms): void;
  /** Ends the line, bounded in time, and waits until nothing of it is left. Idempotent; never rejects. */
  close(): Promise<void>;
}

export interface ChannelTerms {
  readonly headers: Readonly<Record<string, string>>;
  readonly standingStream: boolean;
}

export interface SendOptions {
  /** Extra headers, where the transport has headers. Values are ready for the wire. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The peer's request that a notification or request of ours belongs to: where each request has a stream, it goes there. */
  readonly relatedTo?: RequestId | undefined;
}

/** What the holder of a channel is told. All three are called synchronously and must not throw. */
export interface Receiver {
  /** One parsed JSON value; the receiver checks that it is JSON-RPC. */
  message(value: unknown, origin?: Origin): void;
  /** Something arrived that is not JSON, or was dropped for its size. The line goes on. */
  problem(problem: Problem): void;
  /** The line is over; nothing else will be called. */
  end(ending: Ending): void;
}

/** Where a message came from, on transports that have more than one stream. */
export interface Origin {
  /** The request of ours on whose stream it arrived. */
  readonly requestId?: RequestId;
  /** The HTTP status it came with, when not 200. */
  readonly status?: number;
  /** Server end of HTTP: the request's headers in lower case. Without credentials when `identity` is there. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  /** Who was authenticated. */
  readonly identity?: Identity;
}

/** Who makes a request, as credentials that were checked say. Holds none of them. */
export interface Identity {
  /** One text for this one and nobody else, never empty: sessions, tasks and sealed states are good for nobody else. */
  readonly principal: string;
  /** Who vouches for it. */
  readonly issuer: string;
  /** On whose behalf, where it is not the client's own. */
  readonly subject?: string;
  /** Through which client. */
  readonly clientId?: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970 from when on it has to be shown anew. */
  readonly expiresAt?: number;
  /** All that the credentials say. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface Problem {
  readonly kind: 'noise' | 'oversized' | 'malformed' | 'undelivered';
  /** Says what it was and what was done; no peer text. */
  readonly message: string;
  /** The first bytes of it, as text. Untrusted. */
  readonly excerpt?: string;
  /** The waiting request it surely belonged to. */
  readonly requestId?: RequestId;
  /** The limit it went past: what the waiting request is told. */
  readonly breach?: ParleyError;
}

/** How a line ended. `error` is what requests still waiting are told. */
export interface Ending {
  /** `closed`: by our own `close()`. `lost`: by the peer or the line. */
  readonly by: 'closed' | 'lost';
  readonly error: ParleyError;
}
