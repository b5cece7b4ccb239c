// Asks and answers over one channel: ids, the pending table, cancellation, progress, and answers to what the peer asks.
// Knows JSON-RPC only; the few MCP conventions it needs come in as `Conventions`.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { limitOf, overLimit, Stop, systemClock, type Clock, type Limits } from '../base/index.ts';
import type { Channel, Ending, Origin, Problem, SendOptions } from './channel.ts';
import {
  rpcCode,
  sort,
  type ErrorObject,
  type Incoming,
  type JsonObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
} from './message.ts';
import { Flood } from './flood.ts';
import { abortError, Pending, type Entry, type Progress } from './pending.ts';

/** Messages of one batch that are read. */
const MAX_BATCH = 100;

type Invalid = Extract<Incoming, { kind: 'invalid' }>;

/** What a peer is held to. */
export type PeerLimits = Pick<
  Limits,
  'maxInFlight' | 'maxAnswering' | 'maxNotificationsPerSecond' | 'maxFloodPerSecond' | 'maxProgress'
>;

/** How a protocol on top of JSON-RPC says the things JSON-RPC has no word for. */
export interface Conventions {
  /** The notification that asks the peer to stop work on our request `id`. */
  cancel(id: RequestId, reason: string): { readonly method: string; readonly params: JsonObject };
  /** The id of the peer's request that this notification cancels, or undefined when it is no cancellation. */
  cancelled(notification: Notification): { readonly id: unknown; readonly reason?: string } | undefined;
  /** The token and progress of a progress notification, or undefined when it is none. */
  progress(notification: Notification): { readonly token: unknown; readonly progress: Progress } | undefined;
  /** `params` with the wish for progress under `token`. */
  wantProgress(params: JsonObject | undefined, token: RequestId): JsonObject;
}

export interface PeerOptions extends PeerLimits {
  readonly conventions: Conventions;
  /**
   * Answers what the peer asks. A thrown RpcError is answered as such, anything else as -32603 without its text; undefined
   * drops the request unanswered. Without a handler every request is answered -32601.
   */
  readonly onRequest?: RequestHandler;
  /** Hears every notification that is neither progress nor cancellation of a known request. Like the two below, must not throw. */
  readonly onNotification?: (notification: Notification, origin: Origin | undefined) => void;
  readonly onProblem?: (problem: Problem) => void;
  readonly onFault?: (error: unknown, request: Request) => void;
  readonly clock?: Clock;
  /** Milliseconds a request waits when its own options do not say. Defaults 60,000 and 600,000. */
  readonly timeoutMs?: number;
  readonly maxMs?: number;
  /** Whether to ask is what the peer is there for, as a client is, or counts as one more thing it says by itself. Default `freely`. */
  readonly asks?: 'freely' | 'seldom';
}

export type RequestHandler = (
  request: Request,
  context: RequestContext,
) => Promise<JsonObject | undefined> | JsonObject | undefined;

export interface RequestContext {
  /** Aborts when the peer cancels the request or the line ends. Made when it is first wanted, for it costs as much as a small answer. */
  readonly signal: AbortSignal;
  readonly isCancelled: boolean;
  readonly origin: Origin | undefined;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without reply or progress. Infinity waits for ever. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds in all. */
  readonly maxMs?: number | undefined;
  /** Hears progress in order, before the reply. When it throws, the request is given up and rejects with `internal`. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** How the peer is told that we stopped waiting. Default `tell`. */
  readonly onGiveUp?: GiveUp | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly relatedTo?: RequestId | undefined;
  /** Hears the id as soon as it is known. */
  readonly onId?: ((id: RequestId) => void) | undefined;
}

/** `tell`: by a notification. `abandon`: by dropping the exchange where there is one, else by a notification. `silent`: not at all. */
export type GiveUp = 'tell' | 'abandon' | 'silent';

/** What arrived and was not used, counted. */
export interface PeerStats {
  /** Replies to requests whose caller had given up. */
  stale: number;
  /** Second replies to a request that was answered. */
  duplicate: number;
  /** Replies with an id that was never used. */
  unknown: number;
  /** Values that are not JSON-RPC. */
  invalid: number;
  /** Progress nobody waits for, that does not increase, or that was too much. */
  progress: number;
  /** Notifications, requests and faults that came too fast. */
  flooded: number;
}

export interface Peer {
  readonly stats: Readonly<PeerStats>;
  /** Requests of ours that wait for a reply. */
  readonly inFlight: number;
  /**
   * Sends a request and resolves with its result object, as the peer sent it.
   * @throws RpcError what the peer answered · ParleyError `timeout`, `aborted`, `closed`, `limit`, `protocol-violation`, or the
   * channel's own report when the line or the exchange was lost
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /** Sends a notification; resolves when it was handed over. */
  notify(method: string, params?: JsonObject, options?: SendOptions): Promise<void>;
  /** Resolves when the line is over, with the reason. */
  readonly ended: Promise<Ending>;
  /** Closes the channel; whatever still waits is rejected with `closed`. */
  close(): Promise<void>;
}

export function createPeer(channel: Channel, options: PeerOptions): Peer {
  return new LinePeer(channel, options);
}

class LinePeer implements Peer {
  readonly stats: PeerStats = { stale: 0, duplicate: 0, unknown: 0, invalid: 0, progress: 0, flooded: 0 };
  readonly ended: Promise<Ending>;
  readonly #channel: Channel;
  readonly #options: PeerOptions;
  readonly #pending: Pending<JsonObject>;
  readonly #flood: Flood;
  readonly #answering = new Map<RequestId, Answering>();
  readonly #maxInFlight: number;
  readonly #timeoutMs: number;
  readonly #maxMs: number;
  readonly #asks: 'freely' | 'seldom';
  #nextId = 1;
  #ending: Ending | undefined;
  #resolveEnded!: (ending: Ending) => void;

  constructor(channel: Channel, options: PeerOptions) {
    this.#channel = channel;
    this.#options = options;
    const { clock = systemClock } = options;
    this.#pending = new Pending(clock, options.maxProgress);
    this.#flood = new Flood(options, clock);
    this.#maxInFlight = limitOf('maxInFlight', options.maxInFlight);
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#maxMs = options.maxMs ?? 600_000;
    this.#asks = options.asks ?? 'freely';
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    channel.start({
      message: (value, origin) => this.#receive(value, origin),
      problem: (problem) => this.#problem(problem),
      end: (ending) => this.#end(ending),
    });
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  request(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    const { signal } = options;
    if (this.#ending !== undefined) return Promise.reject(unsent(this.#ending.error));
    if (signal?.aborted) return Promise.reject(abortError(signal, method));
    if (this.#pending.size >= this.#maxInFlight) return Promise.reject(tooManyInFlight(method, this.#maxInFlight));
    return new Promise<JsonObject>((resolve, reject) => {
      const id = this.#nextId++;
      const entry = this.#entry(id, method, options, resolve, reject);
      this.#pending.add(id, signal === undefined ? entry : this.#untilAborted(signal, id, entry));
      options.onId?.(id);
      const wire = options.onProgress === undefined ? params : this.#options.conventions.wantProgress(params, id);
      this.#send(
        wire === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params: wire },
        options,
      ).catch((error: unknown) => this.#pending.forget(id)?.reject(asFault(error, `${method} could not be sent`)));
    });
  }

  #entry(
    id: RequestId,
    method: string,
    { timeoutMs, maxMs, onProgress, onGiveUp = 'tell' }: RequestOptions,
    settle: (result: JsonObject) => void,
    reject: (error: Error) => void,
  ): Entry<JsonObject> {
    return {
      method,
      settle,
      reject,
      timeoutMs: timeoutMs ?? this.#timeoutMs,
      maxMs: maxMs ?? Math.max(this.#maxMs, timeoutMs ?? 0),
      onProgress: onProgress && ((progress) => this.#tellProgress(id, method, onProgress, progress)),
      onGiveUp: (error) => this.#tellPeer(id, onGiveUp, error),
    };
  }

  /** The entry, which gives up its request when the signal aborts and lets go of the signal when it is over. */
  #untilAborted(signal: AbortSignal, id: RequestId, entry: Entry<JsonObject>): Entry<JsonObject> {
    const onAbort = () => this.#giveUp(id, abortError(signal, entry.method));
    signal.addEventListener('abort', onAbort, { once: true });
    const { method, timeoutMs, maxMs, onProgress, onGiveUp } = entry;
    const settle = (result: JsonObject) => {
      signal.removeEventListener('abort', onAbort);
      entry.settle(result);
    };
    const reject = (error: Error) => {
      signal.removeEventListener('abort', onAbort);
      entry.reject(error);
    };
    return { method, settle, reject, timeoutMs, maxMs, onProgress, onGiveUp };
  }

  /** A listener's fault is its request's, never the line's. */
  #tellProgress(id: RequestId, method: string, onProgress: (progress: Progress) => void, progress: Progress): void {
    try {
      onProgress(progress);
    } catch (cause) {
      const message = `The progress listener of ${method} threw; the request was given up.`;
      this.#giveUp(id, new ParleyError('internal', message, { cause }));
    }
  }

  #giveUp(id: RequestId, error: ParleyError): void {
    const entry = this.#pending.forget(id);
    if (entry === undefined) return;
    entry.onGiveUp(error);
    entry.reject(error);
  }

  notify(method: string, params?: JsonObject, options?: SendOptions): Promise<void> {
    if (this.#ending !== undefined) return Promise.reject(this.#ending.error);
    return this.#send(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params }, options);
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #send(message: Message, options?: SendOptions): Promise<void> {
    try {
      return this.#channel.send(message, options);
    } catch (error) {
      return Promise.reject(asFault(error, 'A message could not be sent'));
    }
  }

  #tellPeer(id: RequestId, how: GiveUp, error: ParleyError): void {
    const { conventions } = this.#options;
    if (how === 'tell' || (how === 'abandon' && this.#channel.abandon === undefined)) {
      const { method, params } = conventions.cancel(
        id,
        error.code === 'timeout' ? 'The time-out was reached.' : 'The caller cancelled.',
      );
      this.notify(method, params).catch(() => {
        // The line is gone, and with it the request.
      });
    }
    if (how !== 'silent') this.#channel.abandon?.(id);
  }

  #receive(value: unknown, origin: Origin | undefined): void {
    if (this.#ending !== undefined) return;
    const incoming = sort(value);
    switch (incoming.kind) {
      case 'success': {
        const entry = this.#pending.take(incoming.message.id);
        if (entry === undefined) this.#countUnused(incoming.message.id);
        else entry.settle(incoming.message.result);
        return;
      }
      case 'failure':
        this.#receiveFailure(incoming.message.id ?? origin?.requestId, incoming.message.error);
        return;
      case 'notification':
        this.#receiveNotification(incoming.message, origin);
        return;
      case 'request':
        this.#answer(incoming.message, origin);
        return;
      case 'invalid':
        if (Array.isArray(value) && value.length > 0) this.#receiveBatch(value, origin);
        else this.#receiveInvalid(incoming, origin);
        return;
      default:
        incoming satisfies never;
    }
  }

  #receiveFailure(id: RequestId | undefined, error: ErrorObject): void {
    // A peer that could not read our id answers without one: on a line with a single open request it can only mean that.
    const meant = id ?? this.#pending.only();
    const entry = meant === undefined ? undefined : this.#pending.take(meant);
    if (entry !== undefined) entry.reject(bounded(error));
    else if (id !== undefined) this.#countUnused(id);
    else if (!this.#floods()) {
      this.stats.unknown++;
      this.#report({
        kind: 'malformed',
        message: 'An error without an id arrived; it belongs to no request.',
        excerpt: error.message.slice(0, 200),
      });
    }
  }

  #receiveNotification(notification: Notification, origin: Origin | undefined): void {
    const { conventions, onNotification } = this.#options;
    if (this.#floods()) return;
    const progress = conventions.progress(notification);
    if (progress !== undefined) {
      const used = this.#pending.progress(progress.token as RequestId, progress.progress);
      if (!used) this.stats.progress++;
      return;
    }
    const cancelled = conventions.cancelled(notification);
    const answering = cancelled && this.#answering.get(cancelled.id as RequestId);
    if (answering !== undefined) {
      answering.cancel(new ParleyError('aborted', 'The peer cancelled the request.'));
      return;
    }
    if (!this.#flood.admits(notification.method)) return this.#drown();
    onNotification?.(notification, origin);
  }

  /** Reports what is wrong with something that arrived, unless that happens too often. */
  #report(problem: Problem): void {
    if (this.#flood.admits(problem.kind)) this.#options.onProblem?.(problem);
    else this.#drown();
  }

  /** Drops a notification or a report that came too fast; the first one is reported. */
  #drown(): void {
    if (this.stats.flooded++ > 0) return;
    const allowed = limitOf('maxNotificationsPerSecond', this.#options.maxNotificationsPerSecond);
    const what = `More than ${String(allowed)} notifications or faults of one kind came within a second; what is too much is dropped.`;
    const breach = overLimit('maxNotificationsPerSecond', allowed + 1, what, allowed);
    this.#options.onProblem?.({ kind: 'oversized', message: breach.message, breach });
  }

  /** Counts a message that answers nothing. True, and the line over, when the peer does not stop. */
  #floods(): boolean {
    const observed = this.#flood.count();
    if (observed === undefined) return false;
    const allowed = limitOf('maxFloodPerSecond', this.#options.maxFloodPerSecond);
    const what = `The peer sent more than ${String(allowed)} messages a second that answer nothing, for ten seconds, and was cut off.`;
    this.#end({ by: 'lost', error: overLimit('maxFloodPerSecond', observed, what, allowed) });
    void this.#channel.close();
    return true;
  }

  /** Allowed by 2025-03-26 only, but harmless to read in any revision. Each item stands for itself. */
  #receiveBatch(items: readonly unknown[], origin: Origin | undefined): void {
    for (const item of items.slice(0, MAX_BATCH)) {
      if (Array.isArray(item)) this.#receiveInvalid({ why: 'a batch in a batch', id: undefined, asks: false }, origin);
      else this.#receive(item, origin);
    }
    if (items.length > MAX_BATCH) {
      this.#report({
        kind: 'oversized',
        message: `A batch of ${items.length} messages arrived; those after the first ${MAX_BATCH} were dropped.`,
      });
    }
  }

  #receiveInvalid({ why, id, asks }: Omit<Invalid, 'kind'>, origin: Origin | undefined): void {
    if (this.#floods()) return;
    this.stats.invalid++;
    if (asks && this.#flood.isHigh) return void this.stats.flooded++;
    this.#report({ kind: 'malformed', message: `A message that is not JSON-RPC was dropped: ${why}.` });
    if (asks) {
      // Only under its own id: that of the stream is ours, and may be one of theirs as well.
      if (id !== undefined) {
        this.#reply({ jsonrpc: '2.0', id, error: { code: rpcCode.invalidRequest, message: `Invalid request: ${why}` } });
      }
      return;
    }
    const meant = id ?? origin?.requestId;
    const entry = meant === undefined ? undefined : this.#pending.take(meant);
    entry?.reject(new ParleyError('protocol-violation', `The answer to ${entry.method} is not valid JSON-RPC: ${why}.`));
  }

  #countUnused(id: RequestId): void {
    if (this.#floods()) return;
    if (this.#pending.wasForgotten(id)) this.stats.stale++;
    else if (typeof id === 'number' && id >= 1 && id < this.#nextId) this.stats.duplicate++;
    else this.stats.unknown++;
  }

  #answer(request: Request, origin: Origin | undefined): void {
    // Whoever asks faster than may be read need not be answered: that would cost more than the reading.
    if (this.#asks === 'seldom' && (this.#floods() || this.#flood.isHigh)) return void this.stats.flooded++;
    const { onRequest } = this.#options;
    const refuse = (code: number, message: string) => this.#reply({ jsonrpc: '2.0', id: request.id, error: { code, message } });
    if (onRequest === undefined) return refuse(rpcCode.methodNotFound, 'Method not found');
    if (this.#answering.has(request.id)) return refuse(rpcCode.invalidRequest, 'A request with this id is still being answered');
    if (this.#answering.size >= limitOf('maxAnswering', this.#options.maxAnswering))
      return refuse(rpcCode.internalError, 'Too many requests at once');
    const answering = new Answering(origin);
    this.#answering.set(request.id, answering);
    void this.#run(onRequest, request, answering);
  }

  async #run(handler: RequestHandler, request: Request, context: RequestContext): Promise<void> {
    let reply: Message | undefined;
    try {
      const result = await handler(request, context);
      if (result !== undefined) reply = { jsonrpc: '2.0', id: request.id, result };
    } catch (error) {
      reply = { jsonrpc: '2.0', id: request.id, error: this.#errorObject(error, request) };
    }
    this.#answering.delete(request.id);
    // A cancelled request gets no answer: the peer no longer waits.
    if (reply !== undefined && !context.isCancelled) this.#reply(reply);
    else this.#channel.dismiss?.(request.id);
  }

  #errorObject(error: unknown, request: Request): ErrorObject {
    if (error instanceof RpcError) {
      return error.data === undefined
        ? { code: error.code, message: error.message }
        : { code: error.code, message: error.message, data: error.data };
    }
    this.#options.onFault?.(error, request);
    return { code: rpcCode.internalError, message: 'Internal error' };
  }

  #reply(message: Message): void {
    if (this.#ending !== undefined) return;
    this.#send(message).catch((error: unknown) => {
      this.#report({ kind: 'undelivered', message: `An answer could not be delivered: ${asFault(error, 'unknown').message}` });
    });
  }

  #problem(problem: Problem): void {
    if (this.#ending !== undefined || this.#floods()) return;
    this.#report(problem);
    const entry = problem.requestId === undefined ? undefined : this.#pending.take(problem.requestId);
    entry?.reject(
      problem.breach ?? new ParleyError(problem.kind === 'oversized' ? 'limit' : 'protocol-violation', problem.message),
    );
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    for (const answering of this.#answering.values()) answering.cancel(ending.error);
    this.#answering.clear();
    this.#pending.failAll(() => ending.error);
    this.#resolveEnded(ending);
  }
}

/** A request of the peer that is being answered. */
class Answering implements RequestContext {
  readonly origin: Origin | undefined;
  readonly #stop = new Stop();

  constructor(origin: Origin | undefined) {
    this.origin = origin;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isCancelled(): boolean {
    return this.#stop.aborted;
  }

  cancel(reason: ParleyError): void {
    this.#stop.abort(reason);
  }
}

/** The error that a peer answered, within bounds: whoever keeps it keeps little. */
function bounded({ code, message, data }: ErrorObject): RpcError {
  const kept = data === undefined || JSON.stringify(data).length <= limitOf('maxErrorData', undefined) ? data : undefined;
  return new RpcError(code, message.slice(0, limitOf('maxErrorMessage', undefined)), kept);
}

/** The error of a line that was over before the request was made. */
function unsent({ code, message, details }: ParleyError): ParleyError {
  return new ParleyError(code, message, { details: { ...details, unsent: true }, retryable: true });
}

function tooManyInFlight(method: string, allowed: number): ParleyError {
  return new ParleyError('limit', `${method} was not sent: ${String(allowed)} requests are already in flight.`, {
    details: { limit: 'maxInFlight', allowed, observed: allowed + 1, unsent: true },
    retryable: true,
  });
}

function asFault(error: unknown, what: string): Error {
  if (isParleyError(error) || error instanceof RpcError) return error;
  return new ParleyError('internal', `${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
}
