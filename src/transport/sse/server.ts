// The server end of the deprecated HTTP+SSE transport: a stream for each client, and a path to which it posts. The session
// is the stream: when that is gone, so is the line.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ParleyError } from '../../errors.ts';
import { silent, systemClock, type Clock, type Log } from '../../base/index.ts';
import { servingLimit } from '../../base/serving.ts';
import {
  rpcCode,
  type Channel,
  type Ending,
  type Identity,
  type Message,
  type Origin,
  type Receiver,
} from '../../jsonrpc/index.ts';
import { encodeEvent } from '../framing/event-stream.ts';
import { readJson } from '../http/body.ts';
import { handedOn, isPermitted, passGate, type Gate } from '../http/gate.ts';
import { createGuard, type GuardOptions } from '../http/guard.ts';
import { Inbox } from '../http/inbox.ts';
import { readable } from '../http/media.ts';
import { Outlet, type ReadingLimits } from '../http/outlet.ts';
import type { Accept } from '../http/profile.ts';
import { refuse, sendAccepted } from '../http/respond.ts';

export interface SseEndpointsOptions extends GuardOptions {
  readonly accept: Accept;
  /** Where clients open their stream. Default `/sse`. */
  readonly path?: string;
  /** Where they post. Default `/messages`. */
  readonly messagePath?: string;
  /** Bytes of a body. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /** Bytes that a client may be behind before it is cut off. Default 4 MiB. */
  readonly maxBufferedBytes?: number;
  /** Milliseconds in which a client must take something of what was written last. Default 60,000. */
  readonly takeMs?: number;
  /** Sessions at once. Default 1,024. */
  readonly maxSessions?: number;
  /** Sessions at once of one who was let in by the gate. Default 64. */
  readonly maxSessionsEach?: number;
  /** Who may come in, and as whom. Default: everybody who passes the checks of Host and Origin, as nobody in particular. */
  readonly gate?: Gate;
  /** Says who makes a request that was authenticated before, where no gate does; a session serves only who opened it. */
  readonly principal?: (request: IncomingMessage) => string;
  readonly clock?: Clock;
  /** A new session id that cannot be guessed: characters that need no escape in a URL. */
  readonly newId?: () => string;
  readonly log?: Log;
}

export interface SseEndpoints {
  /** Sessions that are open. */
  readonly sessions: number;
  /** Serves a request to one of the two paths; false when it is to another. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Ends all sessions. Idempotent; never rejects. */
  close(): Promise<void>;
}

/**
 * Creates the two endpoints.
 * @throws ParleyError `usage` for a host or origin that is none, or a limit that is none
 * @see 2024-11-05 basic/transports, "HTTP with SSE"
 */
export function createSseEndpoints(options: SseEndpointsOptions): SseEndpoints {
  const { accept, path = '/sse', messagePath = '/messages', log = silent } = options;
  const maxBodyBytes = servingLimit('maxBodyBytes', options.maxBodyBytes);
  const maxSessions = servingLimit('maxSessions', options.maxSessions);
  const maxSessionsEach = servingLimit('maxSessionsEach', options.maxSessionsEach);
  const maxBufferedBytes = servingLimit('maxBufferedBytes', options.maxBufferedBytes);
  const takeMs = servingLimit('takeMs', options.takeMs);
  const { gate, principal = () => '', newId = () => randomBytes(32).toString('hex'), clock = systemClock } = options;
  const guard = createGuard(options);
  const sessions = new Map<string, { readonly line: SseLine; readonly principal: string }>();

  const principalOf = (request: IncomingMessage, identity: Identity | undefined) => identity?.principal ?? principal(request);

  function open(request: IncomingMessage, response: ServerResponse, identity: Identity | undefined): void {
    if (!isPermitted(gate, identity, undefined, response)) return;
    const form = readable(request.headers.accept);
    if (form === undefined || form === 'json') return refuse(response, 406, 'Accept must allow text/event-stream.');
    const own = () => [...sessions.values()].filter((session) => session.principal === identity?.principal).length;
    if (sessions.size >= maxSessions || (identity !== undefined && own() >= maxSessionsEach))
      return refuse(response, 503, 'There are too many sessions. Try again later.');
    const id = newId();
    const line = new SseLine(response, { clock, maxBufferedBytes, takeMs, onEnd: () => sessions.delete(id) });
    sessions.set(id, { line, principal: principalOf(request, identity) });
    line.announce(`${messagePath}?sessionId=${id}`);
    try {
      accept(line, { era: 'sse', headers: handedOn(request.headers, identity) });
    } catch (error) {
      log('error', 'A stream could not be served.', { error });
      void line.close();
    }
  }

  function post(request: IncomingMessage, response: ServerResponse, query: string, identity: Identity | undefined): void {
    const id = new URLSearchParams(query).get('sessionId');
    if (id === null) return refuse(response, 400, 'The sessionId is missing in the query.');
    const session = sessions.get(id);
    if (session?.principal !== principalOf(request, identity))
      return refuse(response, 404, 'This session is not known here: its stream is closed.');
    readJson(request, response, maxBodyBytes, (value) => {
      if (!isPermitted(gate, identity, value, response)) return;
      const headers = handedOn(request.headers, identity);
      if (session.line.take(value, identity === undefined ? { headers } : { headers, identity })) sendAccepted(response);
      else refuse(response, 503, 'The session is not ready yet.');
    });
  }

  return {
    get sessions() {
      return sessions.size;
    },
    handle(request, response) {
      const [pathname, query = ''] = (request.url ?? '').split('?', 2);
      if (pathname !== path && pathname !== messagePath) return false;
      const refusal = guard.refusal(request);
      const method = pathname === path ? 'GET' : 'POST';
      if (refusal !== undefined) refuse(response, 403, refusal);
      else if (guard.answerCors(request, response)) return true;
      else if (request.method !== method) refuse(response, 405, `Only ${method} is served here.`, { headers: { Allow: method } });
      else {
        const serve = (identity: Identity | undefined) => {
          if (pathname === path) open(request, response, identity);
          else post(request, response, query, identity);
        };
        passGate(gate, request, response, serve, {
          fail(error) {
            log('error', 'A request could not be served.', { error });
            refuse(response, 500, 'Internal error', { code: rpcCode.internalError });
          },
        });
      }
      return true;
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ line }) => line.close()));
    },
  };
}

class SseLine implements Channel {
  readonly kind = 'sse';
  readonly #inbox = new Inbox();
  readonly #outlet: Outlet;
  readonly #options: SseLineOptions;

  constructor(response: ServerResponse, options: SseLineOptions) {
    this.#options = options;
    this.#outlet = new Outlet(response, {
      ...options,
      onClose: () => this.#end({ by: 'lost', error: new ParleyError('closed', 'The client closed its stream.') }),
    });
  }

  /** Tells the client where to post. */
  announce(uri: string): void {
    this.#outlet.write(encodeEvent({ event: 'endpoint', data: uri }));
  }

  /** Takes a posted value. False when there is no room for it. */
  take(value: unknown, origin: Origin): boolean {
    if (!this.#inbox.hasRoom(1)) return false;
    this.#inbox.take(value, origin);
    return true;
  }

  start(receiver: Receiver): void {
    this.#inbox.start(receiver);
  }

  async send(message: Message): Promise<void> {
    if (this.#inbox.ending !== undefined) throw this.#inbox.ending.error;
    if (this.#outlet.write(encodeEvent({ event: 'message', data: JSON.stringify(message) }))) return this.#outlet.ready();
    const error = new ParleyError('limit', 'The client does not read its stream; it was cut off.', {
      details: { limit: 'maxBufferedBytes', allowed: this.#options.maxBufferedBytes },
    });
    this.#end({ by: 'lost', error });
    throw error;
  }

  async close(): Promise<void> {
    this.#end({ by: 'closed', error: new ParleyError('closed', 'The line was closed by this side.') });
    this.#outlet.end();
  }

  #end(ending: Ending): void {
    if (this.#inbox.ending !== undefined) return;
    this.#options.onEnd();
    this.#inbox.end(ending);
  }
}

interface SseLineOptions extends ReadingLimits {
  readonly clock: Clock;
  readonly onEnd: () => void;
}
