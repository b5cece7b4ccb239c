// A line for one request and its answer, as modern clients use on HTTP. Made anew for each request, so it holds only what one
// needs; its end before the answer is the client's way to cancel.
import { ParleyError } from '../errors.ts';
import {
  sort,
  type Channel,
  type JsonObject,
  type Message,
  type Origin,
  type Request,
  type RequestId,
} from '../jsonrpc/index.ts';
import type { Cancellation, WayBack } from './call.ts';
import type { Core } from './core.ts';

const NOWHERE: Origin = {};

export class SingleExchange implements WayBack, Cancellation {
  readonly #core: Core;
  readonly #channel: Channel;
  #controller: AbortController | undefined;
  /** Why the line ended before the answer. */
  #cancelled: ParleyError | undefined;
  #answered = false;

  constructor(core: Core, channel: Channel) {
    this.#core = core;
    this.#channel = channel;
  }

  start(onEnd: () => void): void {
    this.#channel.start({
      message: (value, origin) => {
        const incoming = sort(value);
        // Notifications mean nothing here (transports/streamable-http, "Sending Messages").
        if (incoming.kind === 'request') void this.#answer(incoming.message, origin);
      },
      problem: ({ kind, message, excerpt }) => this.#core.log('warn', message, { kind, untrusted: excerpt }),
      end: ({ error }) => {
        if (!this.#answered) {
          this.#cancelled = error;
          this.#controller?.abort(error);
        }
        onEnd();
      },
    });
  }

  get isCancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  notify(method: string, params: JsonObject, relatedTo?: RequestId): Promise<void> {
    return this.#channel.send({ jsonrpc: '2.0', method, params }, relatedTo === undefined ? undefined : { relatedTo });
  }

  request(): Promise<JsonObject> {
    return Promise.reject(new ParleyError('unsupported', 'A line for one request carries none to the client.'));
  }

  detach(): void {
    // There is nothing to come back to.
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  async #answer(request: Request, origin: Origin | undefined): Promise<void> {
    const { id } = request;
    let reply: Message;
    let finished = () => {};
    try {
      finished = this.#core.begin();
      reply = { jsonrpc: '2.0', id, result: await this.#core.serve(request, origin ?? NOWHERE, this, this) };
    } catch (error) {
      const { code, message, data } = this.#core.failure(error, request, this);
      reply = { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } };
    }
    finished();
    if (this.isCancelled) return;
    this.#answered = true;
    this.#channel.send(reply).catch((error: unknown) => {
      this.#core.log('warn', `The answer to ${request.method} could not be delivered.`, { error });
    });
  }
}
