// One session of Streamable HTTP up to 2025-11-25: a channel made of many requests. Replies, and what is related to a request,
// go out on the response to the POST that brought it; all else on the standing stream a client opens by GET.
import type { ServerResponse } from 'node:http';
import { ParleyError } from '../../errors.ts';
import type { Clock, Timer } from '../../base/index.ts';
import { SERVING } from '../../base/serving.ts';
import type {
  Ending,
  Message,
  Notification,
  Origin,
  Receiver,
  Request,
  RequestId,
  SendOptions,
  Failure,
  Success,
} from '../../jsonrpc/index.ts';
import { Inbox } from './inbox.ts';
import type { Readable } from './media.ts';
import { Outlet, type ReadingLimits } from './outlet.ts';
import { Post } from './post.ts';
import type { SessionChannel } from './profile.ts';
import { refuse, sendAccepted } from './respond.ts';
import { EventStream, History } from './stream.ts';

export interface SessionOptions extends ReadingLimits {
  readonly clock: Clock;
  /** Milliseconds without a connection of the client after which the session ends. */
  readonly idleMs: number;
  readonly maxHeldEvents: number;
  readonly maxHeldBytes: number;
  readonly onEnd: () => void;
}

/** One POST of a session, checked. */
export interface Posted {
  readonly messages: readonly (Request | Notification | Success | Failure)[];
  readonly shape: 'one' | 'many';
  readonly readable: Readable;
  readonly priming: 'send' | 'omit';
}

const EVENT_ID = /^(\d{1,15})-(\d{1,15})$/;
const SENT = Promise.resolve();

export class Session implements SessionChannel {
  readonly kind = 'http';
  readonly id: string;
  /** Who opened it; nobody else may use it. */
  readonly principal: string;
  readonly #options: SessionOptions;
  readonly #inbox = new Inbox();
  readonly #history: History;
  readonly #streams = new Map<number, EventStream>();
  readonly #standing: EventStream;
  /** By the requests that wait for a reply. */
  readonly #posts = new Map<RequestId, Post>();
  #opening: Post | undefined;
  #priming: 'send' | 'omit' = 'send';
  #nextStream = 1;
  #connections = 0;
  #idleSince: number;
  #idleTimer!: Timer;

  constructor(id: string, principal: string, options: SessionOptions) {
    this.id = id;
    this.principal = principal;
    this.#options = options;
    this.#history = new History(options.maxHeldEvents, options.maxHeldBytes);
    this.#standing = new EventStream(0, this.#history);
    this.#streams.set(0, this.#standing);
    this.#idleSince = options.clock.now();
    this.#watchIdle(options.idleMs);
  }

  start(receiver: Receiver): void {
    this.#inbox.start(receiver);
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    const { ending } = this.#inbox;
    if (ending !== undefined) return Promise.reject(ending.error);
    if ('method' in message) {
      const post = options?.relatedTo === undefined ? undefined : this.#posts.get(options.relatedTo);
      return post?.sendAhead(message) ?? this.#sendStanding(message);
    }
    const id = message.id ?? undefined;
    const post = id === undefined ? undefined : this.#posts.get(id);
    if (id === undefined || post === undefined) {
      return Promise.reject(
        new ParleyError('closed', 'The request of this reply is not open: it was answered, dismissed or never made.'),
      );
    }
    this.#posts.delete(id);
    post.reply(id, message);
    if (post === this.#opening) {
      this.#opening = undefined;
      // The client was refused and never learns the id.
      if ('error' in message) void this.close();
    }
    return SENT;
  }

  dismiss(id: RequestId): void {
    const post = this.#posts.get(id);
    this.#posts.delete(id);
    post?.dismiss(id);
  }

  detach(id: RequestId, retryMs: number): void {
    this.#posts.get(id)?.detach(retryMs);
  }

  async close(): Promise<void> {
    this.end({ by: 'closed', error: new ParleyError('closed', 'The session was closed by this side.') });
  }

  /** Ends the session: every connection of it, and the channel. */
  end(ending: Ending): void {
    if (this.#inbox.ending !== undefined) return;
    this.#inbox.end(ending);
    this.#idleTimer.cancel();
    for (const post of new Set(this.#posts.values())) post.end();
    this.#posts.clear();
    for (const stream of [...this.#streams.values()]) stream.end();
    this.#options.onEnd();
  }

  /** Takes the messages of a POST. `opening`: it is the one that opened this session, and the answer carries the id. */
  post(origin: Origin, response: ServerResponse, posted: Posted, opening?: 'opening'): void {
    const { messages, readable, shape, priming } = posted;
    const waiting = new Set<RequestId>();
    for (const message of messages) {
      if (!('method' in message && 'id' in message)) continue;
      if (this.#posts.has(message.id) || waiting.has(message.id)) {
        return refuse(response, 400, 'A request with this id is still being answered.', { id: message.id });
      }
      waiting.add(message.id);
    }
    if (!this.#inbox.hasRoom(messages.length)) return refuse(response, 503, 'The session is not ready yet.');
    this.#count(response);
    this.#priming = priming;
    const hasRequests = waiting.size > 0;
    if (hasRequests) {
      const post = new Post(response, {
        limits: this.#options,
        waiting,
        shape,
        readable,
        priming,
        headers: opening === undefined ? {} : { 'Mcp-Session-Id': this.id },
        newStream: () => this.#newStream(),
        onUnreachable:
          opening === undefined ? undefined : () => this.end(lost('The client left before it learned the id of its session.')),
      });
      for (const id of waiting) this.#posts.set(id, post);
      if (opening !== undefined) this.#opening = post;
    }
    for (const message of messages) this.#inbox.take(message, origin);
    if (!hasRequests) sendAccepted(response);
  }

  /** Opens the standing stream on a GET, or resumes the stream that `lastEventId` is of. */
  listen(response: ServerResponse, lastEventId: string | undefined): void {
    let stream = this.#standing;
    let after: number | undefined;
    if (lastEventId !== undefined) {
      const found = this.#find(lastEventId);
      // The specification has no answer for an id that cannot be resumed from. It cannot be 404, which ends the session, nor a
      // stream that goes on without what was lost: the client must learn that its reply will not come.
      if (found === undefined) {
        return refuse(response, 400, 'The stream of this Last-Event-ID cannot be resumed: what came after it is no longer held.');
      }
      [stream, after] = found;
    } else if (stream.isConnected) {
      return refuse(
        response,
        409,
        'The session has its standing stream open already. Close that one, or resume it by Last-Event-ID.',
      );
    }
    this.#count(response);
    const outlet = new Outlet(response, { ...this.#options, onClose: () => stream.disconnected(outlet) });
    outlet.flush();
    stream.connect(outlet, after);
    if (lastEventId === undefined && this.#priming === 'send') stream.prime();
  }

  #sendStanding(message: Message): Promise<void> {
    const sent = this.#standing.push(message);
    if (this.#standing.unsent > SERVING.maxUnsent.default) this.#standing.skipUnsent();
    return sent;
  }

  #newStream(): EventStream {
    const number = this.#nextStream++;
    const stream = new EventStream(number, this.#history, () => this.#streams.delete(number));
    this.#streams.set(number, stream);
    return stream;
  }

  #find(eventId: string): [stream: EventStream, after: number] | undefined {
    const [, streamNumber, eventNumber] = EVENT_ID.exec(eventId) ?? [];
    const stream = this.#streams.get(Number(streamNumber));
    const after = Number(eventNumber);
    return stream?.canResume(after) === true ? [stream, after] : undefined;
  }

  #count(response: ServerResponse): void {
    this.#connections++;
    response.on('close', () => {
      this.#connections--;
      this.#idleSince = this.#options.clock.now();
    });
  }

  #watchIdle(afterMs: number): void {
    const { clock, idleMs } = this.#options;
    this.#idleTimer = clock.after(afterMs, () => {
      const leftMs = this.#connections > 0 ? idleMs : idleMs - (clock.now() - this.#idleSince);
      if (leftMs > 0) this.#watchIdle(leftMs);
      else
        this.end({
          by: 'closed',
          error: new ParleyError('closed', 'The session was closed: its client did not come for too long.'),
        });
    });
    this.#idleTimer.hold('release');
  }
}

function lost(why: string): Ending {
  return { by: 'lost', error: new ParleyError('closed', why) };
}
