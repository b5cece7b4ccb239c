// One HTTP address that messages are sent to: which headers go along with a POST, GET or DELETE. Whether there is a session, and
// what an answer leads to, is decided by the channel.
import { ParleyError } from '../../errors.ts';
import { type Clock, type StopSignal } from '../../base/index.ts';
import type { Message } from '../../jsonrpc/index.ts';
import { askAuthorized, type AuthorizedRequest, type Authorizer } from './authorizer.ts';
import { lowerCased, type HeaderProvider, type Headers } from './headers.ts';
import { EVENT_STREAM } from './reading.ts';
import { faultOf, readRefusal } from './refusal.ts';
import { HttpLine, type HttpAnswer, type HttpAsk } from './request.ts';

export interface EndpointOptions {
  readonly connectTimeoutMs?: number;
  /** Milliseconds until a GET or DELETE is answered. Default 30,000. */
  readonly answerTimeoutMs?: number;
  readonly authorizer?: Authorizer;
  readonly clock?: Clock;
}

/** How one message travels. */
export interface Posting {
  readonly signal: StopSignal;
  readonly session?: string | undefined;
  /** Headers of this message alone. */
  readonly headers?: Headers | undefined;
  /** Where to, when not to the endpoint itself; of the same origin. */
  readonly url?: URL;
  /** Milliseconds until the answer's headers. Default: no bound but the signal. */
  readonly headersTimeoutMs?: number;
}

const MAX_SESSION_ID = 1_024;
const ACCEPT = `application/json, ${EVENT_STREAM}`;

export class Endpoint {
  readonly target: string;
  readonly answerTimeoutMs: number;
  readonly #url: URL;
  readonly #userHeaders: HeaderProvider;
  readonly #authorizer: Authorizer | undefined;
  readonly #line: HttpLine;
  #sticky: Headers = {};
  /** What went along with the last POST, and what it was made of: it is the same nearly always. */
  #common: { readonly given: Headers; readonly session: string | undefined; readonly headers: Headers } | undefined;

  constructor(url: URL, target: string, userHeaders: HeaderProvider, options: EndpointOptions) {
    this.target = target;
    this.answerTimeoutMs = options.answerTimeoutMs ?? 30_000;
    this.#url = url;
    this.#userHeaders = userHeaders;
    this.#authorizer = options.authorizer;
    this.#line = new HttpLine(url, target, options);
  }

  /** Sends `headers` with everything from now on. */
  stick(headers: Headers): void {
    this.#sticky = lowerCased(headers);
    this.#common = undefined;
  }

  /**
   * POSTs one message and resolves with the answer, whatever its status; the answer's body must be read or discarded. May throw at
   * once what it would else reject with.
   */
  post(message: Message, posting: Posting): Promise<HttpAnswer> {
    const given = this.#userHeaders(posting.signal);
    if (given instanceof Promise) return given.then((headers) => this.#post(message, posting, headers));
    return this.#post(message, posting, given);
  }

  #post(message: Message, { signal, session, headers, url, headersTimeoutMs }: Posting, given: Headers): Promise<HttpAnswer> {
    if (this.#common?.given !== given || this.#common.session !== session) {
      const common = { ...this.#headers(given, session), accept: ACCEPT, 'content-type': 'application/json' };
      this.#common = { given, session, headers: common };
    }
    const ask = {
      method: 'POST',
      url: url ?? this.#url,
      headers: this.#common.headers,
      own: headers && lowerCased(headers),
      body: JSON.stringify(message),
      signal,
      headersTimeoutMs,
    } as const;
    if (this.#authorizer === undefined) return this.#line.ask(ask);
    return this.#ask(ask, { by: url === undefined ? 'user' : 'server', operation: operationOf(message) });
  }

  /**
   * GETs an event stream, after the event `lastEventId` when there is one.
   * @throws ParleyError what the answer means when it is no event stream, or what `HttpLine.ask` throws
   */
  async openStream(options: {
    signal: StopSignal;
    session?: string | undefined;
    lastEventId?: string | undefined;
  }): Promise<HttpAnswer> {
    const { signal, session, lastEventId } = options;
    const headers = this.#headers(await this.#userHeaders(signal), session);
    headers['accept'] = EVENT_STREAM;
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    const answer = await this.#ask({
      method: 'GET',
      url: this.#url,
      headers,
      signal,
      headersTimeoutMs: this.answerTimeoutMs,
    });
    if (answer.status >= 300) throw faultOf(await readRefusal(answer, session), this.target, 'stream');
    if (answer.mediaType === EVENT_STREAM) return answer;
    answer.discard();
    throw new ParleyError('not-mcp', `${this.target} answered a GET with something that is no event stream.`);
  }

  /** DELETEs the session; any answer will do. */
  async endSession(session: string, signal: StopSignal): Promise<void> {
    const headers = this.#headers(await this.#userHeaders(signal), session);
    const answer = await this.#ask({
      method: 'DELETE',
      url: this.#url,
      headers,
      signal,
      headersTimeoutMs: this.answerTimeoutMs,
    });
    answer.discard();
  }

  /** Destroys every socket and resolves when they are gone. */
  close(): Promise<void> {
    return this.#line.close();
  }

  #ask(
    ask: HttpAsk,
    about: Pick<AuthorizedRequest, 'by' | 'operation'> = { by: 'user', operation: ask.method },
  ): Promise<HttpAnswer> {
    const authorizer = this.#authorizer;
    if (authorizer === undefined) return this.#line.ask(ask);
    return askAuthorized(authorizer, ask, about, (authorized) => this.#line.ask(authorized));
  }

  /** What goes along with everything, to be added to. */
  #headers(given: Headers, session: string | undefined): Record<string, string> {
    // Some servers refuse whoever does not say what it is.
    const headers: Record<string, string> = { 'user-agent': 'parley', ...given, ...this.#sticky };
    if (session !== undefined) headers['mcp-session-id'] = session;
    return headers;
  }
}

function operationOf(message: Message): string {
  if (!('method' in message)) return 'reply';
  const name = message.params?.['name'] ?? message.params?.['uri'];
  return typeof name === 'string' ? `${message.method} ${name}` : message.method;
}

/** The session id of a successful answer: visible ASCII, as the specification has it. */
export function sessionOf({ status, headers }: HttpAnswer): string | undefined {
  const id = headers['mcp-session-id'];
  if (status >= 300 || typeof id !== 'string' || id.length > MAX_SESSION_ID) return undefined;
  return /^[\x21-\x7e]+$/.test(id) ? id : undefined;
}
