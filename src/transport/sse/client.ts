// The client end of HTTP+SSE, the deprecated transport of 2024-11-05: one stream that brings everything, and an address it names
// to which every message is posted. The line is the stream; it is never resumed.
// @see 2024-11-05 basic/transports, "HTTP with SSE"
import { isParleyError, ParleyError } from '../../errors.ts';
import { limitOf, overLimit, systemClock, type Clock } from '../../base/index.ts';
import {
  abortError,
  seconds,
  type Channel,
  type ChannelTerms,
  type Ending,
  type JsonLimits,
  type Message,
  type Origin,
  type Problem,
  type Receiver,
  type SendOptions,
  type Transport,
} from '../../jsonrpc/index.ts';
import type { StreamEvent } from '../framing/event-stream.ts';
import type { Authorizer } from '../http/authorizer.ts';
import { Endpoint } from '../http/endpoint.ts';
import { headerSource, serverUrl, targetOf, type HeaderSource } from '../http/headers.ts';
import { readEvents } from '../http/reading.ts';
import { faultOf, readRefusal, replyIn } from '../http/refusal.ts';
import type { HttpAnswer } from '../http/request.ts';

export interface SseTransportOptions extends JsonLimits {
  /** Where the stream is opened. A user name and password in it are sent as basic authorization. */
  readonly url: string | URL;
  /** The user's own headers. Those that the transport sets itself are refused. */
  readonly headers?: HeaderSource;
  /** Gives every request its credentials, and is shown every 401 and 403 before they are a fault. */
  readonly authorizer?: Authorizer;
  /** Milliseconds to connect. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until the stream names the address to post to. Default 10,000. */
  readonly openTimeoutMs?: number;
  /** Milliseconds until a posted message is accepted, unless it is a request. Default 30,000. */
  readonly answerTimeoutMs?: number;
  /** Bytes of one message. Default 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Messages being posted at once. Default 256. */
  readonly maxExchanges?: number;
  readonly clock?: Clock;
}

/** Some servers answer the POST of a request only when the work is done. */
const REQUEST_TIMEOUT_MS = 600_000;
/** What may come before `start`. */
const MAX_EARLY = 1_000;

/**
 * Returns a transport to an MCP server over HTTP+SSE.
 * @throws ParleyError `config-invalid` when the URL or a header cannot be used
 */
export function sseTransport(options: SseTransportOptions): Transport {
  const url = serverUrl(options.url);
  const target = targetOf(url);
  const headers = headerSource(url, options.headers);
  return {
    kind: 'sse',
    target,
    async open({ signal } = {}) {
      if (signal?.aborted) throw abortError(signal, `Opening ${target}`);
      const channel = new SseChannel(new Endpoint(url, target, headers, options), url, options);
      await channel.open(signal);
      return channel;
    },
  };
}

class SseChannel implements Channel {
  readonly kind = 'sse';
  readonly #endpoint: Endpoint;
  readonly #target: string;
  readonly #url: URL;
  readonly #options: SseTransportOptions;
  readonly #clock: Clock;
  readonly #stream = new AbortController();
  readonly #posts = new Set<AbortController>();
  readonly #named: Promise<void>;
  #name!: () => void;
  #postUrl: URL | undefined;
  #receiver: Receiver | undefined;
  #early: ((receiver: Receiver) => void)[] = [];
  #ending: Ending | undefined;

  constructor(endpoint: Endpoint, url: URL, options: SseTransportOptions) {
    this.#endpoint = endpoint;
    this.#target = endpoint.target;
    this.#url = url;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#named = new Promise((resolve) => (this.#name = resolve));
  }

  /** Opens the stream and resolves when it has named the address to post to. On a fault nothing is left open. */
  async open(signal: AbortSignal | undefined): Promise<void> {
    const { openTimeoutMs = 10_000 } = this.#options;
    const timer = this.#clock.after(openTimeoutMs, () => {
      const message = `${this.#target} did not name an address to post to within ${seconds(openTimeoutMs)}.`;
      this.#lose(new ParleyError('timeout', message, { details: { afterMs: openTimeoutMs } }));
    });
    const onAbort = () => this.#lose(abortError(signal!, `Opening ${this.#target}`));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      void this.#read(await this.#endpoint.openStream({ signal: this.#stream.signal }));
      await this.#named;
      if (this.#ending !== undefined) throw this.#ending.error;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    for (const tell of this.#early.splice(0)) tell(receiver);
  }

  async send(message: Message, { headers }: SendOptions = {}): Promise<void> {
    if (this.#ending !== undefined) throw this.#ending.error;
    const maxExchanges = limitOf('maxExchanges', this.#options.maxExchanges);
    if (this.#posts.size >= maxExchanges) {
      const what = `${maxExchanges} messages are being posted to ${this.#target} already; this one was not sent.`;
      throw overLimit('maxExchanges', maxExchanges + 1, what, maxExchanges, { unsent: true });
    }
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    const control = new AbortController();
    this.#posts.add(control);
    try {
      const answer = await this.#endpoint.post(message, {
        signal: control.signal,
        headers,
        url: this.#postUrl!,
        headersTimeoutMs: id === undefined ? this.#endpoint.answerTimeoutMs : REQUEST_TIMEOUT_MS,
      });
      if (answer.status < 300) {
        answer.discard();
        return;
      }
      const refused = await readRefusal(answer, undefined);
      const reply = id === undefined ? undefined : replyIn(refused, id);
      if (reply === undefined || id === undefined) throw faultOf(refused, this.#target, 'message');
      this.#deliver(reply, { requestId: id, status: answer.status });
    } finally {
      this.#posts.delete(control);
    }
  }

  adopt({ headers }: ChannelTerms): void {
    this.#endpoint.stick(headers);
  }

  close(): Promise<void> {
    this.#end({ by: 'closed', error: new ParleyError('closed', `The connection to ${this.#target} was closed.`) });
    return this.#endpoint.close();
  }

  async #read(answer: HttpAnswer): Promise<void> {
    const reader = {
      message: (value: unknown) => this.#deliver(value),
      problem: (problem: Problem) => this.#tell((receiver) => receiver.problem(problem)),
      other: ({ event, data }: StreamEvent) => {
        if (event === 'endpoint') this.#takeAddress(data);
      },
    };
    const options = {
      maxMessageBytes: limitOf('maxMessageBytes', this.#options.maxMessageBytes),
      maxJsonDepth: this.#options.maxJsonDepth,
      maxJsonValues: this.#options.maxJsonValues,
      refusing: 'message',
      clock: this.#clock,
    } as const;
    try {
      await readEvents(answer, reader, options);
      this.#lose(new ParleyError('server-stopped', `${this.#target} ended the stream.`));
    } catch (error) {
      const cause = isParleyError(error) ? error : new ParleyError('internal', 'The stream could not be read.', { cause: error });
      this.#lose(cause);
    }
  }

  #takeAddress(text: string): void {
    const refuse = (why: string) =>
      this.#lose(
        new ParleyError('protocol-violation', `${this.#target} named an address to post to ${why}; the line was closed.`),
      );
    if (this.#postUrl !== undefined) return refuse('twice');
    // A relative address would inherit the user name and password of its base, which travel as a header already.
    const base = this.#url.origin + this.#url.pathname;
    const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
    if (url?.origin !== this.#url.origin) return refuse('that is not of its own origin');
    if (url.username !== '' || url.password !== '') return refuse('with a user name in it');
    url.hash = '';
    this.#postUrl = url;
    this.#name();
  }

  #deliver(value: unknown, origin?: Origin): void {
    this.#tell((receiver) => receiver.message(value, origin));
  }

  /** Tells the receiver, or keeps it until there is one. */
  #tell(tell: (receiver: Receiver) => void): void {
    // A chunk may hold more than what ended the line.
    if (this.#ending !== undefined) return;
    if (this.#receiver !== undefined) return tell(this.#receiver);
    if (this.#early.length < MAX_EARLY) return void this.#early.push(tell);
    this.#lose(new ParleyError('limit', `${this.#target} sent more than ${MAX_EARLY} messages before anyone listened.`));
  }

  #lose(error: ParleyError): void {
    this.#end({ by: 'lost', error });
    void this.#endpoint.close();
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    const tell = (receiver: Receiver) => receiver.end(ending);
    if (this.#receiver === undefined) this.#early.push(tell);
    this.#ending = ending;
    this.#stream.abort(ending.error);
    for (const control of this.#posts) control.abort(ending.error);
    this.#name();
    if (this.#receiver !== undefined) tell(this.#receiver);
  }
}
