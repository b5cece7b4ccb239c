// JSON-RPC 2.0 messages and the one check every incoming value passes. Knows nothing of MCP.
import { limitOf } from '../base/index.ts';

/** A JSON object as it was parsed; its members are whatever the peer sent. */
export type JsonObject = { readonly [key: string]: unknown };

/** Ids are compared by type and value: `1` and `"1"` are different. Never null. */
export type RequestId = string | number;

export interface Request {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface Notification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface Success {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly result: JsonObject;
}

export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface Failure {
  readonly jsonrpc: '2.0';
  /** Absent or null when the peer could not read the id of what it refuses. */
  readonly id?: RequestId | null;
  readonly error: ErrorObject;
}

export type Message = Request | Notification | Success | Failure;

/** JSON-RPC's own error codes (section 5.1). */
export const rpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** An incoming value, sorted. `invalid` keeps the id when there is a usable one, so that a waiting caller can be told. */
export type Incoming =
  | { readonly kind: 'request'; readonly message: Request }
  | { readonly kind: 'notification'; readonly message: Notification }
  | { readonly kind: 'success'; readonly message: Success }
  | { readonly kind: 'failure'; readonly message: Failure }
  | {
      readonly kind: 'invalid';
      readonly why: string;
      readonly id: RequestId | undefined;
      /** True when it has a method, so a reply with -32600 is due. */
      readonly asks: boolean;
    };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a string, or a number that is a safe integer. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/**
 * Sorts one parsed value. Extra members are allowed; `"error": null` beside a result, `"result": null` beside an error and
 * a failure without an id are accepted, since peers in use send them.
 */
export function sort(value: unknown): Incoming {
  if (!isObject(value)) return invalid('not a JSON object', undefined, 'reply');
  const { id, method, params, result, error } = value;
  const usableId = isRequestId(id) ? id : undefined;
  if (value['jsonrpc'] !== '2.0') {
    return invalid('"jsonrpc" is not "2.0"', usableId, method === undefined ? 'reply' : 'asks');
  }
  if (method !== undefined) {
    if (typeof method !== 'string') return invalid('"method" is not a string', usableId, 'asks');
    if (params !== undefined && !isObject(params)) return invalid('"params" is not an object', usableId, 'asks');
    if (!('id' in value)) return { kind: 'notification', message: value as unknown as Notification };
    if (usableId === undefined) return invalid('"id" is not a string or an integer', undefined, 'asks');
    // It is kept while it is answered, and goes into the answer.
    if (typeof usableId === 'string' && usableId.length > limitOf('maxRequestId', undefined)) {
      return invalid('"id" is too long', undefined, 'asks');
    }
    return { kind: 'request', message: value as unknown as Request };
  }
  if (error !== undefined && error !== null) {
    if (result !== undefined && result !== null) return invalid('both "result" and "error"', usableId, 'reply');
    if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string') {
      return invalid('"error" has no integer code and string message', usableId, 'reply');
    }
    if (usableId === undefined && id !== undefined && id !== null) {
      return invalid('"id" is not a string or an integer', undefined, 'reply');
    }
    return { kind: 'failure', message: value as unknown as Failure };
  }
  if (result === undefined) return invalid('neither method, result nor error', usableId, 'reply');
  if (usableId === undefined) return invalid('a result without a usable id', undefined, 'reply');
  if (typeof result !== 'object' || result === null) return invalid('"result" is not an object', usableId, 'reply');
  return { kind: 'success', message: value as unknown as Success };
}

function invalid(why: string, id: RequestId | undefined, nature: 'asks' | 'reply'): Incoming {
  return { kind: 'invalid', why, id, asks: nature === 'asks' };
}
