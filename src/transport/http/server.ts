// The server end of Streamable HTTP: takes POST, GET and DELETE on one path, for every era at once, and hands out channels.
// What is served how is the profile's business; nothing here knows a method or a revision.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ParleyError } from '../../errors.ts';
import { silent, systemClock, type Clock, type Log } from '../../base/index.ts';
import { SERVING, servingLimit } from '../../base/serving.ts';
import { rpcCode, sort, type Identity, type Message, type Origin, type RequestId } from '../../jsonrpc/index.ts';
import { createSseEndpoints, type SseEndpoints } from '../sse/server.ts';
import { readJson } from './body.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { answerDocument, handedOn, isPermitted, passGate, type Gate } from './gate.ts';
import { createGuard, type Guard, type GuardOptions } from './guard.ts';
import { openServer, type ListenOptions, type OpenServer } from './listen.ts';
import { readable, type Readable } from './media.ts';
import type { ReadingLimits } from './outlet.ts';
import type { Accept, HttpProfile, Refusal } from './profile.ts';
import { refuse, sendAccepted, sendJson } from './respond.ts';
import { Session, type SessionOptions } from './session.ts';

export interface HttpListenerOptions extends GuardOptions {
  /** Takes each channel that a client opens. */
  readonly accept: Accept;
  readonly profile: HttpProfile;
  /** Default `/mcp`. */
  readonly path?: string;
  /** True adds the endpoints of the deprecated HTTP+SSE transport, `/sse` and `/messages`. */
  readonly sse?: boolean;
  /** Bytes of a body. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /** Bytes that a client may be behind on a stream before it is cut off. Default 4 MiB. */
  readonly maxBufferedBytes?: number;
  /** Milliseconds in which a client must take something of what was written last. Default 60,000. */
  readonly takeMs?: number;
  /** Sessions at once. Default 1,024. */
  readonly maxSessions?: number;
  /** Sessions at once of one who was let in by the gate. Default 64. */
  readonly maxSessionsEach?: number;
  /** Milliseconds after which a session without a connection ends. Default 30 minutes. */
  readonly sessionIdleMs?: number;
  /** What a session keeps of its streams for clients that come back. Defaults 1,000 events and 4 MiB. */
  readonly maxHeldEvents?: number;
  readonly maxHeldBytes?: number;
  /** Who may come in, and as whom. Default: everybody who passes the checks of Host and Origin, as nobody in particular. */
  readonly gate?: Gate;
  /** Says who makes a request that was authenticated before, where no gate does; a session serves only who opened it. */
  readonly principal?: (request: IncomingMessage) => string;
  readonly clock?: Clock;
  /** A new session id that cannot be guessed: visible ASCII. */
  readonly newId?: () => string;
  readonly log?: Log;
}

export interface HttpListener {
  /** Sessions that are open, of both transports. */
  readonly sessions: number;
  /** Requests that stand alone and are being answered. */
  readonly exchanges: number;
  /** Serves one request of any `node:http` server. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Makes a server of its own and resolves when it listens. A host that is not of loopback needs `allowedHosts`.
   * @throws ParleyError `usage` when it cannot listen there
   */
  listen(options?: ListenOptions): Promise<{ readonly url: string; readonly port: number }>;
  /** Ends the channels, then the connections of its own server; bounded in time. Idempotent; never rejects. */
  close(): Promise<void>;
}

const MAX_HEADER_FIELDS = SERVING.maxHeaderFields.default;
const MAX_BATCH = SERVING.maxBatch.default;
const SESSION_ID = 'mcp-session-id';
const CLOSING = 'The server is closing. Try again later.';
const UNKNOWN_SESSION = 'This session is not known here: it is over or never was. Start a new one.';
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1']);

/**
 * Creates the server end of Streamable HTTP.
 * @throws ParleyError `usage` for a host or origin that is none, or a limit that is none
 * @see 2026-07-28 basic/transports/streamable-http · 2025-11-25 basic/transports
 */
export function createHttpListener(options: HttpListenerOptions): HttpListener {
  return new Listener(options);
}

class Listener implements HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #guard: Guard;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #maxBodyBytes: number;
  readonly #limits: ReadingLimits;
  readonly #maxSessions: number;
  readonly #maxSessionsEach: number;
  readonly #keeping: Pick<SessionOptions, 'idleMs' | 'maxHeldEvents' | 'maxHeldBytes'>;
  readonly #exchangeOptions: ExchangeOptions;
  readonly #sse: SseEndpoints | undefined;
  readonly #sessions = new Map<string, Session>();
  readonly #exchanges = new Set<Exchange>();
  #server: Promise<OpenServer> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#guard = createGuard(options);
    const { path = '/mcp', ...shared } = options;
    this.#path = path;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silent;
    this.#maxBodyBytes = servingLimit('maxBodyBytes', options.maxBodyBytes);
    this.#limits = {
      maxBufferedBytes: servingLimit('maxBufferedBytes', options.maxBufferedBytes),
      takeMs: servingLimit('takeMs', options.takeMs),
    };
    this.#maxSessions = servingLimit('maxSessions', options.maxSessions);
    this.#maxSessionsEach = servingLimit('maxSessionsEach', options.maxSessionsEach);
    this.#keeping = {
      idleMs: servingLimit('sessionIdleMs', options.sessionIdleMs),
      maxHeldEvents: servingLimit('maxHeldEvents', options.maxHeldEvents),
      maxHeldBytes: servingLimit('maxHeldBytes', options.maxHeldBytes),
    };
    this.#exchangeOptions = {
      clock: this.#clock,
      ...this.#limits,
      status: (error) => options.profile.status(error),
      open: this.#exchanges,
    };
    this.#sse = options.sse === true ? createSseEndpoints(shared) : undefined;
  }

  get sessions(): number {
    return this.#sessions.size + (this.#sse?.sessions ?? 0);
  }

  get exchanges(): number {
    return this.#exchanges.size;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#attempt(response, () => this.#route(request, response));
  }

  async listen(options: ListenOptions = {}): Promise<{ url: string; port: number }> {
    const { host = '127.0.0.1' } = options;
    if (this.#server !== undefined || this.#closed !== undefined) {
      throw new ParleyError('usage', 'This listener was started or closed before. Create another.');
    }
    if (!LOOPBACK.has(host) && this.#options.allowedHosts === undefined) {
      throw new ParleyError('usage', `Listening on ${host} needs allowedHosts: the host names by which clients reach it.`);
    }
    this.#server = openServer((request, response) => this.handle(request, response), {
      ...options,
      clock: this.#clock,
      log: this.#log,
    });
    const { origin, port } = await this.#server;
    return { url: origin + this.#path, port };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const finish = async () => {
      await Promise.all([...this.#exchanges, ...this.#sessions.values()].map((channel) => channel.close()));
      await this.#sse?.close();
    };
    // One that could not listen has nothing to close.
    const server = await this.#server?.catch(() => undefined);
    if (server === undefined) await finish();
    else await server.close(finish);
  }

  #route(request: IncomingMessage, response: ServerResponse): void {
    // Names and values.
    if (request.rawHeaders.length > 2 * MAX_HEADER_FIELDS) {
      return refuse(response, 431, `There are more than ${String(MAX_HEADER_FIELDS)} header fields.`);
    }
    const refusal = this.#guard.refusal(request);
    if (refusal !== undefined) return refuse(response, 403, refusal);
    if (this.#guard.answerCors(request, response)) return;
    if (this.#closed !== undefined) return refuse(response, 503, CLOSING, { code: rpcCode.internalError });
    const { gate } = this.#options;
    const path = pathOf(request);
    if (answerDocument(gate, request, response, path)) return;
    if (path !== this.#path) {
      if (this.#sse?.handle(request, response) === true) return;
      return refuse(response, 404, 'There is no MCP endpoint at this path.');
    }
    const serve = (identity: Identity | undefined) => this.#dispatch(request, response, identity);
    passGate(gate, request, response, serve, { fail: (error) => this.#fail(response, error) });
  }

  #dispatch(request: IncomingMessage, response: ServerResponse, identity: Identity | undefined): void {
    switch (request.method) {
      case 'POST':
        return this.#post(request, response, identity);
      case 'GET':
        return this.#withSession(request, response, identity, (session) => this.#listenStanding(session, request, response));
      case 'DELETE':
        return this.#withSession(request, response, identity, (session) => {
          session.end({ by: 'lost', error: new ParleyError('closed', 'The client ended the session.') });
          response.writeHead(204).end();
        });
      default:
        refuse(response, 405, 'This method is not served here.', { headers: { Allow: 'GET, POST, DELETE' } });
    }
  }

  #post(request: IncomingMessage, response: ServerResponse, identity: Identity | undefined): void {
    const form = readable(request.headers.accept);
    if (form === undefined) return refuse(response, 406, 'Accept must allow application/json or text/event-stream.');
    readJson(request, response, this.#maxBodyBytes, (value) =>
      this.#attempt(response, () => {
        if (isPermitted(this.#options.gate, identity, value, response)) this.#serve(value, form, request, response, identity);
      }),
    );
  }

  /** A fault in the profile or in `accept` costs one request, never the process. */
  #attempt(response: ServerResponse, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(response, error);
    }
  }

  #fail(response: ServerResponse, error: unknown): void {
    this.#log('error', 'A request could not be served.', { error });
    refuse(response, 500, 'Internal error', { code: rpcCode.internalError });
  }

  #serve(
    value: unknown,
    form: Readable,
    request: IncomingMessage,
    response: ServerResponse,
    identity: Identity | undefined,
  ): void {
    if (this.#closed !== undefined) return refuse(response, 503, CLOSING, { code: rpcCode.internalError });
    const { profile, accept } = this.#options;
    const headers = handedOn(request.headers, identity);
    const origin: Origin = identity === undefined ? { headers } : { headers, identity };
    const inspection = profile.inspect(value, headers);
    if (inspection.kind === 'refuse') return refuseAs(response, inspection);
    const messages = readMessages(value);
    if (messages === undefined) {
      return refuse(response, 400, 'The body is not a JSON-RPC message.', { id: usableId(value) });
    }
    const [first] = messages;
    const only = Array.isArray(value) ? undefined : first;
    switch (inspection.kind) {
      case 'single': {
        if (only === undefined || !('method' in only))
          return refuse(response, 400, 'The body must be one request or notification.');
        const exchange = new Exchange(only, origin, response, form, this.#exchangeOptions);
        accept(exchange, { era: 'single', headers });
        if (!('id' in only)) sendAccepted(response);
        return;
      }
      case 'open': {
        if (only === undefined || !('method' in only && 'id' in only)) {
          return refuse(response, 400, 'A session is opened by one request.');
        }
        const { priming = 'send' } = inspection;
        const session = this.#open(request, response, identity);
        return session?.post(origin, response, { messages, shape: 'one', readable: form, priming }, 'opening');
      }
      case 'session': {
        const session = this.#find(request, identity);
        if (session === undefined) {
          if (headers[SESSION_ID] === undefined) return refuse(response, 400, 'The Mcp-Session-Id header is missing.');
          return refuse(response, 404, UNKNOWN_SESSION);
        }
        const { priming = 'send' } = inspection;
        const shape = only === undefined ? 'many' : 'one';
        return session.post(origin, response, { messages, shape, readable: form, priming });
      }
      default:
        inspection satisfies never;
    }
  }

  #open(request: IncomingMessage, response: ServerResponse, identity: Identity | undefined): Session | undefined {
    const { accept } = this.#options;
    const principal = this.#principal(request, identity);
    const own = () => [...this.#sessions.values()].filter((session) => session.principal === principal).length;
    if (this.#sessions.size >= this.#maxSessions || (identity !== undefined && own() >= this.#maxSessionsEach)) {
      refuse(response, 503, 'There are too many sessions. Try again later.');
      return undefined;
    }
    const id = this.#options.newId?.() ?? randomBytes(32).toString('hex');
    const session = new Session(id, principal, {
      clock: this.#clock,
      ...this.#limits,
      ...this.#keeping,
      onEnd: () => this.#sessions.delete(id),
    });
    this.#sessions.set(id, session);
    try {
      accept(session, { era: 'session', headers: handedOn(request.headers, identity) });
    } catch (error) {
      void session.close();
      throw error;
    }
    return session;
  }

  /** Serves a GET or DELETE for the session it names. Without one it comes from an era that has no sessions. */
  #withSession(
    request: IncomingMessage,
    response: ServerResponse,
    identity: Identity | undefined,
    serve: (session: Session) => void,
  ): void {
    if (!isPermitted(this.#options.gate, identity, undefined, response)) return;
    if (request.headers[SESSION_ID] === undefined) {
      return refuse(response, 405, 'Only POST is served without a session.', { headers: { Allow: 'POST' } });
    }
    const session = this.#find(request, identity);
    if (session === undefined) return refuse(response, 404, UNKNOWN_SESSION);
    const refusal = this.#options.profile.check?.(request.headers);
    if (refusal !== undefined) return refuseAs(response, refusal);
    serve(session);
  }

  #listenStanding(session: Session, request: IncomingMessage, response: ServerResponse): void {
    const { accept, 'last-event-id': lastEventId } = request.headers;
    const form = readable(accept);
    if (accept === undefined || form === undefined || form === 'json') {
      return refuse(response, 406, 'Accept must allow text/event-stream.');
    }
    session.listen(response, lastEventId === undefined || lastEventId === '' ? undefined : String(lastEventId));
  }

  /** The session a request names, when it is its own. */
  #find(request: IncomingMessage, identity: Identity | undefined): Session | undefined {
    const session = this.#sessions.get(String(request.headers[SESSION_ID]));
    return session?.principal === this.#principal(request, identity) ? session : undefined;
  }

  #principal(request: IncomingMessage, identity: Identity | undefined): string {
    return identity?.principal ?? this.#options.principal?.(request) ?? '';
  }
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The messages of a body: one, or a batch. Undefined when any of it is no JSON-RPC. */
function readMessages(value: unknown): Message[] | undefined {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  if (items.length === 0 || items.length > MAX_BATCH) return undefined;
  const messages: Message[] = [];
  for (const item of items) {
    const incoming = sort(item);
    if (incoming.kind === 'invalid') return undefined;
    messages.push(incoming.message);
  }
  return messages;
}

function usableId(value: unknown): RequestId | undefined {
  const incoming = sort(value);
  return incoming.kind === 'invalid' ? incoming.id : undefined;
}

function refuseAs(response: ServerResponse, { status, reply }: Refusal): void {
  sendJson(response, status, JSON.stringify(reply));
}
