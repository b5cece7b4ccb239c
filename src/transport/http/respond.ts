// Short answers with a body of JSON. Every refusal of the transport is a JSON-RPC error with a message of ours, never one
// that quotes the client.
import type { ServerResponse } from 'node:http';
import { rpcCode, type Failure, type RequestId } from '../../jsonrpc/index.ts';

/** Ends a response with JSON text, unless it is beyond use. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Ends a response that has nothing to say but that what was posted has been taken. */
export function sendAccepted(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = 202;
  response.end();
}

export interface RefuseOptions {
  /** The JSON-RPC code. Default -32600. */
  readonly code?: number;
  /** The id of the request that is refused, when it is known. */
  readonly id?: RequestId | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ends a response with a JSON-RPC error. */
export function refuse(response: ServerResponse, status: number, message: string, options: RefuseOptions = {}): void {
  const { code = rpcCode.invalidRequest, id, headers } = options;
  const error = { code, message };
  const reply: Failure = id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
  sendJson(response, status, JSON.stringify(reply), headers);
}

/** Cuts a connection whose client takes nothing of what was written last for `idleMs` milliseconds. */
export function expectTaken(response: ServerResponse, idleMs: number): void {
  if (response.writableLength === 0) return;
  response.setTimeout(idleMs, () => response.destroy());
  // The time-out is the socket's: it must not outlive the response, and not undo what Node sets when that has gone out.
  response.prependOnceListener('finish', () => response.setTimeout(0));
}
