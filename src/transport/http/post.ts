// The answer to one POST of a session that holds requests: plain JSON when the replies are all there is to send, a stream as
// soon as something goes ahead of them. A client that disconnects does not cancel; what a stream carried waits for it.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/index.ts';
import type { Failure, Message, RequestId, Success } from '../../jsonrpc/index.ts';
import type { Readable } from './media.ts';
import { Outlet, type ReadingLimits } from './outlet.ts';
import { expectTaken, refuse, sendJson } from './respond.ts';
import type { EventStream } from './stream.ts';

export interface PostOptions {
  readonly limits: ReadingLimits & { readonly clock: Clock };
  /** The requests that wait for a reply. */
  readonly waiting: Set<RequestId>;
  /** `many`: they came as an array, so JSON replies are one too. */
  readonly shape: 'one' | 'many';
  readonly readable: Readable;
  readonly priming: 'send' | 'omit';
  /** Sent with the answer, unless that is a failure in plain JSON. */
  readonly headers: Readonly<Record<string, string>>;
  readonly newStream: () => EventStream;
  /** Called when the client left before it could know of any stream: there is no way to answer it. */
  readonly onUnreachable?: (() => void) | undefined;
}

export class Post {
  readonly #options: PostOptions;
  #response: ServerResponse | undefined;
  #stream: EventStream | undefined;
  #replies: Message[] = [];

  constructor(response: ServerResponse, options: PostOptions) {
    this.#response = response;
    this.#options = options;
    response.on('close', () => {
      this.#response = undefined;
      if (this.#stream === undefined && options.waiting.size > 0) options.onUnreachable?.();
    });
  }

  /** Takes the reply to one of the requests. */
  reply(id: RequestId, message: Success | Failure): void {
    if (this.#stream === undefined) this.#replies.push(message);
    else void this.#stream.push(message);
    this.dismiss(id);
  }

  /** Takes it that a request will get no reply, or has got it. The last one ends the response. */
  dismiss(id: RequestId): void {
    const { waiting } = this.#options;
    waiting.delete(id);
    if (waiting.size > 0) return;
    if (this.#stream !== undefined) return this.#stream.end();
    this.#finish();
  }

  /** Sends a message ahead of the replies. Undefined when there is no stream for it and none can be opened. */
  sendAhead(message: Message): Promise<void> | undefined {
    return this.#openStream()?.push(message);
  }

  /** Closes the connection and lets the client come back for the rest. */
  detach(retryMs: number): void {
    // Without priming the client is one that does not come back.
    if (this.#options.priming === 'omit') return;
    const stream = this.#openStream();
    stream?.prime(retryMs);
    stream?.release();
  }

  /** Ends the response because the session is over. */
  end(): void {
    this.#options.waiting.clear();
    if (this.#stream !== undefined) this.#stream.end();
    else if (this.#response !== undefined) refuse(this.#response, 404, 'The session is over. Start a new one.');
  }

  #finish(): void {
    const response = this.#response;
    if (response === undefined) return;
    const { shape, readable, headers, limits } = this.#options;
    const [first] = this.#replies;
    if (first === undefined) {
      // All of it was cancelled. An answer is due nevertheless, and a stream may be empty.
      new Outlet(response, { ...limits, headers }).end();
    } else if (readable === 'stream') {
      this.#openStream()?.end();
    } else {
      const body = shape === 'many' ? this.#replies : first;
      sendJson(response, 200, JSON.stringify(body), 'error' in first ? undefined : headers);
      expectTaken(response, limits.takeMs);
    }
  }

  #openStream(): EventStream | undefined {
    if (this.#stream !== undefined) return this.#stream;
    const response = this.#response;
    if (response === undefined || this.#options.readable === 'json') return undefined;
    const stream = this.#options.newStream();
    this.#stream = stream;
    const { limits, headers } = this.#options;
    const outlet = new Outlet(response, { ...limits, headers, onClose: () => stream.disconnected(outlet) });
    stream.connect(outlet);
    if (this.#options.priming === 'send') stream.prime();
    for (const reply of this.#replies) void stream.push(reply);
    this.#replies = [];
    return stream;
  }
}
