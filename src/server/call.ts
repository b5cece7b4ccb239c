// One request while it is being answered: what it says, in which dialect, by whom, and the way back to that client.
import type { Identity, JsonObject, Request, RequestId, RequestOptions } from '../jsonrpc/index.ts';
import { RpcError } from '../errors.ts';
import { rpcCode } from '../jsonrpc/index.ts';
import type { ClientFacts, InputRequest, LoggingLevel, RequestHeaders, ServerDialect } from '../protocol/index.ts';
import type { Sealer } from './seal.ts';

export interface Call {
  readonly request: Request;
  /** Empty when the request has none. */
  readonly params: JsonObject;
  readonly dialect: ServerDialect;
  readonly facts: ClientFacts;
  /** The least severe level the client wants to hear of; undefined for none. */
  readonly logLevel: LoggingLevel | undefined;
  readonly headers: RequestHeaders | undefined;
  readonly identity: Identity | undefined;
  readonly principal: string | undefined;
  readonly cancellation: Cancellation;
  readonly line: WayBack;
  readonly sealer: Sealer;
  /** There when the call may go on as a task. */
  readonly task?: TaskSide;
}

/** What a task is to the handler that runs in it. */
export interface TaskSide {
  /** Resolves with what the client answered; the handler waits for it. */
  ask(key: string, question: InputRequest): Promise<JsonObject>;
  /** True when the call's own answer is still to be given, which it then is. */
  takeAnswer(): boolean;
  /** Tells how far the work is. */
  report(message: string): void;
}

/** Whether the client still waits. The signal is made when it is first wanted, for it costs as much as a small answer. */
export interface Cancellation {
  readonly isCancelled: boolean;
  readonly signal: AbortSignal;
}

/** The way to the client. */
export interface WayBack {
  notify(method: string, params: JsonObject, relatedTo?: RequestId): Promise<void>;
  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<JsonObject>;
  /** Lets go of the connection on which request `id` is answered; the client comes back after `retryMs`. */
  detach(id: RequestId, retryMs: number): void;
}

export function invalidParams(why: string, data?: unknown): RpcError {
  return new RpcError(rpcCode.invalidParams, `Invalid params: ${why}`, data);
}

/** @throws RpcError -32602 when the param is not a string */
export function stringParam(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw invalidParams(`"${name}" is missing or not a string`);
  return value;
}
