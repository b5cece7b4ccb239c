// The client end of Streamable HTTP: every message is a POST, and every request has an exchange of its own, answered by JSON or
// by a stream of events. Sessions, the standing stream and resuming begin with `adopt`, so a server without a handshake never
// meets them. No request is ever sent twice.
// @see the specification, "Streamable HTTP", 2026-07-28 and 2025-11-25
import { isParleyError, ParleyError } from '../../errors.ts';
import { limitOf, overLimit, Stop, systemClock, type Clock, type Timer } from '../../base/index.ts';
import {
  abortError,
  isObject,
  isRequestId,
  seconds,
  type Channel,
  type ChannelTerms,
  type Ending,
  type JsonLimits,
  type Message,
  type Problem,
  type Receiver,
  type Request,
  type RequestId,
  type SendOptions,
  type Transport,
} from '../../jsonrpc/index.ts';
import type { Authorizer } from './authorizer.ts';
import { Cursor } from './cursor.ts';
import { Endpoint, sessionOf } from './endpoint.ts';
import { headerSource, serverUrl, targetOf, type HeaderSource } from './headers.ts';
import { Meter, type MeterLimits } from './meter.ts';
import { connectStream, EVENT_STREAM, json, readEvents } from './reading.ts';
import { faultOf, readRefusal, replyIn } from './refusal.ts';
import type { HttpAnswer } from './request.ts';

export interface HttpTransportOptions extends JsonLimits {
  /** The MCP endpoint. A user name and password in it are sent as basic authorization. */
  readonly url: string | URL;
  /** The user's own headers. Those that the transport sets itself are refused. */
  readonly headers?: HeaderSource;
  /** Gives every request its credentials, and is shown every 401 and 403 before they are a fault. */
  readonly authorizer?: Authorizer;
  /** Milliseconds to connect. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until anything but a request is answered; a request waits as long as its caller. Default 30,000. */
  readonly answerTimeoutMs?: number;
  /** Bytes of one message, decoded. Default 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Bytes that one reply stream may bring in a minute. Default 64 MiB. */
  readonly maxStreamBytes?: number;
  /** Events that one reply stream may bring in a minute. Default 10,000. */
  readonly maxStreamEvents?: number;
  /** Requests in flight at once, and likewise other messages. Default 256. */
  readonly maxExchanges?: number;
  readonly clock?: Clock;
  /** The jitter of delays: a number from 0 to 1. */
  readonly random?: () => number;
}

/** How long a server may take to end a stream after the reply, so that the socket can be used again. At most twice as long. */
const AFTER_REPLY_MS = 1_000;
/** What the farewell to a session may take. */
const FAREWELL_MS = 2_000;

/**
 * Returns a transport to an MCP server over Streamable HTTP. Opening it sends nothing.
 * @throws ParleyError `config-invalid` when the URL or a header cannot be used
 */
export function httpTransport(options: HttpTransportOptions): Transport {
  const url = serverUrl(options.url);
  const target = targetOf(url);
  const headers = headerSource(url, options.headers);
  return {
    kind: 'http',
    target,
    open: async ({ signal } = {}) => {
      if (signal?.aborted) throw abortError(signal, `Opening ${target}`);
      return new HttpChannel(new Endpoint(url, target, headers, options), options);
    },
  };
}

/** A request of ours, from its POST until its reply came and its streams are gone. */
interface Exchange {
  readonly id: RequestId;
  readonly control: Stop;
  /** When its reply came. */
  answeredAt: number | undefined;
  /** True once its answer is there to the last byte, so that nothing can go on after the reply. */
  isWhole: boolean;
  /** Set while the reply can only come on the standing stream. */
  onAnswered?: () => void;
}

class HttpChannel implements Channel {
  readonly kind = 'http';
  readonly #endpoint: Endpoint;
  readonly #target: string;
  readonly #options: HttpTransportOptions;
  readonly #clock: Clock;
  readonly #maxExchanges: number;
  readonly #maxMessageBytes: number;
  readonly #streamLimits: MeterLimits;
  readonly #exchanges = new Map<RequestId, Exchange>();
  /** What else is under way: messages that expect no reply, and the standing stream. */
  readonly #others = new Set<AbortController>();
  /** Set when a reply came. Runs out by itself and looks then for exchanges that go on: none is worth a timer of its own. */
  #grace: Timer | undefined;
  readonly #started: Promise<void>;
  #start!: () => void;
  #receiver: Receiver | undefined;
  #adopted = false;
  #session: string | undefined;
  #standing: 'unasked' | 'kept' | 'gone' = 'unasked';
  #ending: Ending | undefined;
  #closing: Promise<void> | undefined;

  constructor(endpoint: Endpoint, options: HttpTransportOptions) {
    this.#endpoint = endpoint;
    this.#target = endpoint.target;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#maxExchanges = limitOf('maxExchanges', options.maxExchanges);
    this.#maxMessageBytes = limitOf('maxMessageBytes', options.maxMessageBytes);
    const { maxStreamBytes, maxStreamEvents } = options;
    this.#streamLimits = {
      bytes: limitOf('maxStreamBytes', maxStreamBytes),
      events: limitOf('maxStreamEvents', maxStreamEvents),
    };
    this.#started = new Promise((resolve) => (this.#start = resolve));
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#start();
    if (this.#ending !== undefined) receiver.end(this.#ending);
  }

  send(message: Message, options: SendOptions = {}): Promise<void> {
    if (this.#ending !== undefined) return Promise.reject(this.#ending.error);
    // Nothing can arrive before something was sent, so nothing has to be held for the receiver.
    if (this.#receiver === undefined) return this.#started.then(() => this.send(message, options));
    return 'method' in message && 'id' in message ? this.#request(message, options) : this.#tell(message, options);
  }

  abandon(id: RequestId): void {
    this.#exchanges.get(id)?.control.abort(new ParleyError('aborted', 'The request was given up.'));
  }

  adopt({ headers, standingStream }: ChannelTerms): void {
    if (this.#ending !== undefined) return;
    this.#adopted = true;
    this.#endpoint.stick(headers);
    if (!standingStream || this.#standing !== 'unasked') return;
    this.#standing = 'kept';
    void this.#stand();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #request(message: Request, { headers }: SendOptions): Promise<void> {
    this.#checkRoom(this.#exchanges.size);
    const control = new Stop();
    const exchange: Exchange = { id: message.id, control, answeredAt: undefined, isWhole: false };
    this.#exchanges.set(message.id, exchange);
    try {
      // Before a handshake is adopted every request starts anew: it carries no session, and may be given one.
      const adopted = this.#adopted;
      const session = adopted ? this.#session : undefined;
      const answer = await this.#endpoint.post(message, { signal: control, session, headers });
      if (!adopted) this.#session = sessionOf(answer);
      await this.#takeAnswer(exchange, answer, session);
    } catch (error) {
      // What happens to the stream after the reply is nobody's concern.
      if (exchange.answeredAt === undefined) throw error;
    } finally {
      this.#exchanges.delete(message.id);
    }
  }

  /** Sends a notification or an answer of ours. Only the status of what comes back matters. */
  async #tell(message: Message, { headers }: SendOptions): Promise<void> {
    this.#checkRoom(this.#others.size);
    await this.#bounded(this.#endpoint.answerTimeoutMs, 'a message', async (signal) => {
      const session = this.#session;
      const answer = await this.#endpoint.post(message, { signal, session, headers });
      if (answer.status >= 300) throw faultOf(await readRefusal(answer, session), this.#target, 'message');
      answer.discard();
    });
  }

  #takeAnswer(exchange: Exchange, answer: HttpAnswer, session: string | undefined): Promise<void> {
    if (answer.status >= 300) return this.#takeRefusal(exchange, answer, session);
    return answer.mediaType === EVENT_STREAM ? this.#readReplyStream(exchange, answer) : this.#readReply(exchange, answer);
  }

  async #takeRefusal(exchange: Exchange, answer: HttpAnswer, session: string | undefined): Promise<void> {
    const refused = await readRefusal(answer, session);
    const reply = replyIn(refused, exchange.id);
    if (reply === undefined) throw faultOf(refused, this.#target, 'message');
    this.#deliver(reply, exchange, answer.status);
  }

  async #readReply(exchange: Exchange, answer: HttpAnswer): Promise<void> {
    const { status, mediaType } = answer;
    const text = await answer.text(this.#maxMessageBytes, 'fail');
    exchange.isWhole = true;
    if (text.trim() === '') return this.#awaitElsewhere(exchange);
    if (mediaType !== '' && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
      const message = `${this.#target} answered with a content type that is not MCP's. Check that the URL is an MCP endpoint.`;
      throw new ParleyError('not-mcp', message, { details: { status, body: text.slice(0, 2_048) } });
    }
    const value = json(text, this.#options);
    if (value === undefined) throw this.#violation('answered with a body that is not JSON');
    this.#deliver(value, exchange, status);
    if (exchange.answeredAt === undefined) throw this.#violation('answered a request with something that is not its reply');
  }

  /** The request was accepted and has no reply of its own: before 2026-07-28 it may come on the standing stream. */
  #awaitElsewhere(exchange: Exchange): Promise<void> {
    const { control } = exchange;
    return new Promise((resolve, reject) => {
      if (exchange.answeredAt !== undefined) return resolve();
      if (this.#standing !== 'kept') return reject(this.#violation('accepted a request without answering it'));
      exchange.onAnswered = resolve;
      control.addEventListener('abort', () => reject(control.reason));
    });
  }

  async #readReplyStream(exchange: Exchange, first: HttpAnswer): Promise<void> {
    const meter = new Meter(this.#streamLimits, this.#clock);
    const cursor = new Cursor(this.#options);
    for (let answer = first; ; answer = await this.#connect(cursor, exchange.control.signal)) {
      let cut: ParleyError | undefined;
      try {
        await this.#read(answer, cursor, { exchange, meter });
      } catch (error) {
        if (!isParleyError(error, 'server-stopped')) throw error;
        cut = error;
      }
      if (exchange.answeredAt !== undefined) return;
      if (!this.#adopted || cursor.lastEventId === undefined) {
        throw cut ?? new ParleyError('server-stopped', `${this.#target} ended the stream of a request before the reply.`);
      }
    }
  }

  /** Keeps a stream open for what the server says by itself, until the channel ends or there is no use in it. */
  async #stand(): Promise<void> {
    const control = new AbortController();
    this.#others.add(control);
    const cursor = new Cursor({ ...this.#options, unopened: true });
    let opened = false;
    try {
      for (;;) {
        const answer = await this.#connect(cursor, control.signal);
        opened = true;
        await this.#read(answer, cursor).catch((error: unknown) => {
          // Whatever cut it, it is opened again; only a stream that says too much is worth a word.
          if (isParleyError(error, 'limit')) this.#problem({ kind: 'oversized', message: error.message });
        });
      }
    } catch (error) {
      this.#others.delete(control);
      if (this.#ending === undefined) this.#loseStanding(error as ParleyError, opened);
    }
  }

  #loseStanding(error: ParleyError, opened: boolean): void {
    // On the first attempt the same status may only say that there is no such stream.
    if (opened && error.code === 'session-lost') return this.#end({ by: 'lost', error });
    this.#standing = 'gone';
    if (opened || ![404, 405].includes(error.details.status ?? 0)) {
      const message = `There is no standing stream: what the server says by itself will not arrive. ${error.message}`;
      this.#problem({ kind: 'undelivered', message });
    }
    const reason = opened ? error : this.#violation('accepted a request without answering it');
    for (const { onAnswered, control } of this.#exchanges.values()) if (onAnswered !== undefined) control.abort(reason);
  }

  #connect(cursor: Cursor, signal: AbortSignal): Promise<HttpAnswer> {
    const open = (lastEventId: string | undefined) => this.#endpoint.openStream({ signal, session: this.#session, lastEventId });
    return connectStream(cursor, open, { clock: this.#clock, signal, target: this.#target });
  }

  /** Delivers what a stream brings, until it ends; without an exchange it is the standing stream. */
  #read(answer: HttpAnswer, cursor: Cursor, of?: { readonly exchange: Exchange; readonly meter: Meter }): Promise<void> {
    const reader = {
      message: (value: unknown) => this.#deliver(value, of?.exchange),
      problem: (problem: Problem) => this.#problem(problem),
    };
    const { maxJsonDepth, maxJsonValues } = this.#options;
    const [maxMessageBytes, meter] = [this.#maxMessageBytes, of?.meter];
    return readEvents(answer, reader, { maxMessageBytes, maxJsonDepth, maxJsonValues, cursor, meter, clock: this.#clock });
  }

  #problem(problem: Problem): void {
    if (this.#ending === undefined) this.#receiver?.problem(problem);
  }

  #deliver(value: unknown, exchange: Exchange | undefined, status = 200): void {
    // A chunk may hold more than the message on which the receiver closed the channel.
    if (this.#ending !== undefined) return;
    if (Array.isArray(value)) for (const item of value as unknown[]) this.#answers(item, exchange);
    else this.#answers(value, exchange);
    if (exchange === undefined) this.#receiver?.message(value);
    else this.#receiver?.message(value, status === 200 ? { requestId: exchange.id } : { requestId: exchange.id, status });
  }

  /** Takes note of the exchange that `item` answers, if it is a reply; without an id it is that of the stream it came on. */
  #answers(item: unknown, exchange: Exchange | undefined): void {
    if (!isObject(item) || 'method' in item) return;
    const { id } = item;
    const answered = isRequestId(id) ? this.#exchanges.get(id) : (id ?? null) === null ? exchange : undefined;
    if (answered === undefined || answered.answeredAt !== undefined) return;
    answered.answeredAt = this.#clock.now();
    answered.onAnswered?.();
    if (!answered.isWhole && this.#grace === undefined) this.#startGrace();
  }

  #startGrace(): void {
    this.#grace = this.#clock.after(AFTER_REPLY_MS, () => this.#cutAnswered());
    // What goes on has a socket, and that keeps the process alive.
    this.#grace.hold('release');
  }

  /** Cuts the exchanges that have gone on for too long since their reply. */
  #cutAnswered(): void {
    this.#grace = undefined;
    const before = this.#clock.now() - AFTER_REPLY_MS;
    let othersGoOn = false;
    for (const { answeredAt = Infinity, control } of this.#exchanges.values()) {
      if (answeredAt <= before) control.abort(new ParleyError('closed', 'The stream of a request went on after the reply.'));
      else if (answeredAt !== Infinity) othersGoOn = true;
    }
    if (othersGoOn) this.#startGrace();
  }

  /** Runs `act` with a signal that aborts after `ms`, or when the channel ends. */
  async #bounded(ms: number, what: string, act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const control = new AbortController();
    const timer = this.#clock.after(ms, () => {
      const message = `${this.#target} did not accept ${what} within ${seconds(ms)}.`;
      control.abort(new ParleyError('timeout', message, { details: { afterMs: ms } }));
    });
    this.#others.add(control);
    try {
      await act(control.signal);
    } finally {
      timer.cancel();
      this.#others.delete(control);
    }
  }

  #checkRoom(inFlight: number): void {
    if (inFlight < this.#maxExchanges) return;
    const what = `${inFlight} messages to ${this.#target} are in flight already; this one was not sent.`;
    throw overLimit('maxExchanges', inFlight + 1, what, this.#maxExchanges, { unsent: true });
  }

  #violation(what: string): ParleyError {
    return new ParleyError('protocol-violation', `${this.#target} ${what}.`);
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#grace?.cancel();
    for (const { control } of this.#exchanges.values()) control.abort(ending.error);
    for (const control of this.#others) control.abort(ending.error);
    this.#receiver?.end(ending);
    this.#start();
    if (ending.by === 'lost') void this.close();
  }

  async #close(): Promise<void> {
    // A session that the server has forgotten needs no farewell, nor does one that was never taken up.
    const session = this.#ending === undefined && this.#adopted ? this.#session : undefined;
    this.#end({ by: 'closed', error: new ParleyError('closed', `The connection to ${this.#target} was closed.`) });
    if (session !== undefined) {
      const farewell = (signal: AbortSignal) => this.#endpoint.endSession(session, signal);
      await this.#bounded(FAREWELL_MS, 'the end of the session', farewell).catch(() => {
        // The server forgets sessions that nobody uses; there is nobody left to tell.
      });
    }
    await this.#endpoint.close();
  }
}
