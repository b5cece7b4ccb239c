// Watches a server for changes: by `subscriptions/listen` streams, opened again after a loss (2026-07-28,
// patterns/subscriptions), or by the standing notifications and `resources/subscribe` of the legacy era.
import { isParleyError, RpcError } from '../errors.ts';
import { backoff, type Clock, type Timer } from '../base/index.ts';
import { isObject, type JsonObject, type Notification, type RequestId } from '../jsonrpc/index.ts';
import { metaKey, metaOf, method, notification, type SubscriptionFilter } from '../protocol/index.ts';

/** A change a server announced. */
export type Change =
  | { readonly type: 'tools-changed' | 'prompts-changed' | 'resources-changed' }
  | { readonly type: 'resource-updated'; readonly uri: string }
  | { readonly type: 'task-changed'; readonly taskId: string };

/** A standing wish to hear of changes; they arrive in the session's `news`. */
export interface Watch {
  /** Resolves with the part of the wish the server agreed to; with an empty one when it agreed to nothing. */
  readonly acknowledged: Promise<SubscriptionFilter>;
  /** Stops it. Idempotent; never rejects. */
  close(): Promise<void>;
}

/** Reads a change notification; undefined for any other. */
export function readChange(message: Notification): Change | undefined {
  switch (message.method) {
    case notification.toolsChanged:
      return { type: 'tools-changed' };
    case notification.promptsChanged:
      return { type: 'prompts-changed' };
    case notification.resourcesChanged:
      return { type: 'resources-changed' };
    case notification.resourceUpdated: {
      const uri = message.params?.['uri'];
      return typeof uri === 'string' ? { type: 'resource-updated', uri } : undefined;
    }
    case notification.taskChanged: {
      const taskId = message.params?.['taskId'];
      return typeof taskId === 'string' ? { type: 'task-changed', taskId } : undefined;
    }
    default:
      return undefined;
  }
}

function wants(filter: SubscriptionFilter, change: Change): boolean {
  switch (change.type) {
    case 'tools-changed':
      return filter.toolsListChanged === true;
    case 'prompts-changed':
      return filter.promptsListChanged === true;
    case 'resources-changed':
      return filter.resourcesListChanged === true;
    case 'resource-updated':
      // A subscribed folder may announce its members, so the URI itself is not compared.
      return (filter.resourceSubscriptions?.length ?? 0) > 0;
    case 'task-changed':
      return filter.taskIds?.includes(change.taskId) === true;
    default:
      return change satisfies never;
  }
}

/** Everything that may have changed unheard while a stream was down. */
function missed(filter: SubscriptionFilter): Change[] {
  return [
    ...(filter.toolsListChanged ? [{ type: 'tools-changed' } as const] : []),
    ...(filter.promptsListChanged ? [{ type: 'prompts-changed' } as const] : []),
    ...(filter.resourcesListChanged ? [{ type: 'resources-changed' } as const] : []),
    ...(filter.resourceSubscriptions ?? []).map((uri) => ({ type: 'resource-updated', uri }) as const),
    ...(filter.taskIds ?? []).map((taskId) => ({ type: 'task-changed', taskId }) as const),
  ];
}

/** What a listener needs of its session. */
export interface ListenPort {
  readonly clock: Clock;
  /** Sends `subscriptions/listen` without a time-out; resolves when the server ends it. */
  request(name: string, params: JsonObject, options: { signal: AbortSignal; onId: (id: RequestId) => void }): Promise<JsonObject>;
  emit(change: Change): void;
  /** Says once why changes are no longer heard. */
  lost(why: string): void;
}

/** Streams that ended without having lived this long count as failures. */
const HEALTHY_MS = 30_000;
const MAX_FAILURES = 5;

/** The listen streams of one session. */
export class Listeners {
  readonly #port: ListenPort;
  readonly #streams = new Map<RequestId, Stream>();
  readonly #open = new Set<Stream>();

  constructor(port: ListenPort) {
    this.#port = port;
  }

  open(filter: SubscriptionFilter): Watch {
    const stream = new Stream(filter, this.#port, this.#streams);
    this.#open.add(stream);
    return {
      acknowledged: stream.acknowledged,
      close: () => {
        this.#open.delete(stream);
        stream.close();
        return Promise.resolve();
      },
    };
  }

  /** Takes a notification that belongs to a stream. False when it does not, or was not asked for there. */
  take(message: Notification): boolean {
    const cancelled = message.method === notification.cancelled;
    const id = cancelled ? message.params?.['requestId'] : metaOf(message.params)[metaKey.subscriptionId];
    const stream = this.#streams.get(id as RequestId);
    return stream?.take(message) ?? false;
  }

  close(): void {
    for (const stream of this.#open) stream.close();
    this.#open.clear();
  }
}

class Stream {
  readonly acknowledged: Promise<SubscriptionFilter>;
  readonly #filter: SubscriptionFilter;
  readonly #port: ListenPort;
  readonly #streams: Map<RequestId, Stream>;
  #acknowledge!: (filter: SubscriptionFilter) => void;
  #agreed: SubscriptionFilter | undefined;
  #everAgreed = false;
  #closed = false;
  /** In a row, since the stream last did its work: ends that were faults, and such that the server wanted. */
  #failures = 0;
  #ends = 0;
  #openedAt = 0;
  #current: AbortController | undefined;
  #timer: Timer | undefined;

  constructor(filter: SubscriptionFilter, port: ListenPort, streams: Map<RequestId, Stream>) {
    this.#filter = filter;
    this.#port = port;
    this.#streams = streams;
    this.acknowledged = new Promise((resolve) => (this.#acknowledge = resolve));
    this.#listen();
  }

  take(message: Notification): boolean {
    if (message.method === notification.cancelled) {
      this.#current?.abort();
      return true;
    }
    if (message.method === notification.acknowledged) {
      const honoured = message.params?.['notifications'];
      this.#agreed = isObject(honoured) ? honoured : {};
      this.#acknowledge(this.#agreed);
      // After a gap the lists may have changed unheard.
      if (this.#everAgreed) for (const change of missed(this.#agreed)) this.#port.emit(change);
      this.#everAgreed = true;
      return true;
    }
    const change = readChange(message);
    if (change === undefined || this.#agreed === undefined || !wants(this.#filter, change)) return false;
    this.#calm();
    this.#port.emit(change);
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#current?.abort();
    this.#acknowledge({});
  }

  #listen(): void {
    const controller = new AbortController();
    this.#current = controller;
    this.#agreed = undefined;
    this.#openedAt = this.#port.clock.now();
    let streamId: RequestId | undefined;
    const request = this.#port.request(
      method.listen,
      { notifications: this.#filter },
      {
        signal: controller.signal,
        onId: (id) => {
          streamId = id;
          this.#streams.set(id, this);
        },
      },
    );
    void request.then(
      () => this.#ended(streamId, undefined),
      (error: unknown) => this.#ended(streamId, error),
    );
  }

  #ended(id: RequestId | undefined, error: unknown): void {
    if (id !== undefined) this.#streams.delete(id);
    if (this.#closed) return;
    // The server refuses, or the whole line is gone: then there is nothing to open again.
    if (error instanceof RpcError) return this.#giveUp('the server does not offer change notifications');
    if (isParleyError(error, 'closed') || isParleyError(error, 'auth-required')) return this.#giveUp(error.message);
    if (this.#port.clock.now() - this.#openedAt >= HEALTHY_MS) this.#calm();
    // A server may end a stream that it began (patterns/subscriptions, "Graceful Closure"): that only slows us down.
    const attempt = error === undefined && this.#agreed !== undefined ? ++this.#ends : ++this.#failures;
    if (this.#failures > MAX_FAILURES) return this.#giveUp('the stream of changes broke again and again');
    this.#timer = this.#port.clock.after(backoff(attempt), () => this.#listen());
    this.#timer.hold('release');
  }

  #calm(): void {
    this.#failures = 0;
    this.#ends = 0;
  }

  #giveUp(why: string): void {
    this.#acknowledge({});
    this.#port.lost(why);
  }
}
