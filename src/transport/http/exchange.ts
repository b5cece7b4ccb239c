// One POST that stands alone: a channel on which one request, or one notification, arrives and whose only way back is the
// response to that POST. Plain JSON until something is sent before the reply; then a stream, which the reply ends.
import type { ServerResponse } from 'node:http';
import { ParleyError } from '../../errors.ts';
import type { Clock } from '../../base/index.ts';
import {
  rpcCode,
  type Ending,
  type ErrorObject,
  type Message,
  type Notification,
  type Origin,
  type Receiver,
  type Request,
  type RequestId,
  type SendOptions,
} from '../../jsonrpc/index.ts';
import { encodeEvent } from '../framing/event-stream.ts';
import type { Readable } from './media.ts';
import { Outlet, type ReadingLimits } from './outlet.ts';
import type { SessionChannel } from './profile.ts';
import { expectTaken, refuse, sendJson } from './respond.ts';

export interface ExchangeOptions extends ReadingLimits {
  readonly clock: Clock;
  /** The HTTP status of an error reply. */
  readonly status: (error: ErrorObject) => number;
  /** The exchanges that are open: it adds itself and takes itself out. */
  readonly open: Set<Exchange>;
}

const SENT = Promise.resolve();

// One for all: making an error for each exchange would cost as much as the rest of it.
const ANSWERED: Ending = {
  by: 'closed',
  error: new ParleyError('closed', 'The exchange is over: what was to be answered has been answered.'),
};

export class Exchange implements SessionChannel {
  readonly kind = 'http';
  readonly #message: Request | Notification;
  /** Undefined for a notification, which gets no reply. */
  readonly #id: RequestId | undefined;
  readonly #origin: Origin;
  readonly #response: ServerResponse;
  readonly #readable: Readable;
  readonly #options: ExchangeOptions;
  #receiver: Receiver | undefined;
  #outlet: Outlet | undefined;
  #ending: Ending | undefined;

  constructor(
    message: Request | Notification,
    origin: Origin,
    response: ServerResponse,
    readable: Readable,
    options: ExchangeOptions,
  ) {
    this.#message = message;
    this.#id = 'id' in message ? message.id : undefined;
    this.#origin = origin;
    this.#response = response;
    this.#readable = readable;
    this.#options = options;
    if (this.#id === undefined) return;
    options.open.add(this);
    // Its own stream closed by the client cancels a request; here the two cannot be confused.
    response.on('close', () => {
      if (this.#ending !== undefined) return;
      this.#end({
        by: 'lost',
        error: new ParleyError('aborted', 'The client closed the connection before its answer was sent.'),
      });
    });
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    if (this.#ending !== undefined) return receiver.end(this.#ending);
    receiver.message(this.#message, this.#origin);
    if (this.#id === undefined) this.#end(ANSWERED);
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    if (this.#ending !== undefined) return Promise.reject(this.#ending.error);
    if (this.#id === undefined) return Promise.reject(new ParleyError('usage', 'A notification gets no answer.'));
    if ('method' in message) return this.#sendAhead(message, options?.relatedTo);
    if (message.id !== this.#id) {
      return Promise.reject(new ParleyError('usage', 'The reply has another id than the request of this exchange.'));
    }
    return this.#reply(message, 'error' in message ? this.#options.status(message.error) : 200);
  }

  async close(): Promise<void> {
    if (this.#ending !== undefined) return;
    if (this.#outlet !== undefined) this.#outlet.end();
    else if (this.#id !== undefined) {
      refuse(this.#response, 503, 'The request was given up. Try again later.', { code: rpcCode.internalError, id: this.#id });
    }
    this.#end({ by: 'closed', error: new ParleyError('closed', 'The exchange was closed before its request was answered.') });
  }

  #sendAhead(message: Request | Notification, relatedTo: RequestId | undefined): Promise<void> {
    if ('id' in message)
      return Promise.reject(new ParleyError('unsupported', 'A single exchange carries no requests to the client.'));
    if (relatedTo !== undefined && relatedTo !== this.#id) {
      return Promise.reject(
        new ParleyError('usage', 'The notification belongs to another request than the one of this exchange.'),
      );
    }
    if (this.#readable === 'json') {
      return Promise.reject(
        new ParleyError('unsupported', 'The client does not accept a stream, so nothing can go ahead of the reply.'),
      );
    }
    return this.#write(message);
  }

  #reply(message: Message, status: number): Promise<void> {
    let sent: Promise<void> = SENT;
    if (this.#outlet === undefined && (this.#readable !== 'stream' || status !== 200)) {
      sendJson(this.#response, status, JSON.stringify(message));
      expectTaken(this.#response, this.#options.takeMs);
    } else {
      sent = this.#write(message);
      this.#outlet?.end();
    }
    this.#end(ANSWERED);
    return sent;
  }

  #write(message: Message): Promise<void> {
    this.#outlet ??= new Outlet(this.#response, this.#options);
    if (this.#outlet.write(encodeEvent({ event: 'message', data: JSON.stringify(message) }))) return this.#outlet.ready();
    const error = new ParleyError('limit', 'The client does not read its stream; it was cut off.', {
      details: { limit: 'maxBufferedBytes', allowed: this.#options.maxBufferedBytes },
    });
    this.#end({ by: 'lost', error });
    return Promise.reject(error);
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#options.open.delete(this);
    this.#receiver?.end(ending);
  }
}
