// The port through which a listener learns who makes a request, and whether they may: asked before anything of a body, a session
// or a method is looked at. The listener knows neither schemes nor tokens, and hands no credential on.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { rpcCode, isObject, type Identity, type JsonObject } from '../../jsonrpc/index.ts';
import { refuse, sendJson } from './respond.ts';

/** The head of a request that has arrived. */
export interface Arrival {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, with those that `headers` keeps only one of. */
  readonly rawHeaders: readonly string[];
}

/** Why a request is not served; the message quotes nothing that was sent. */
export interface GateRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Admission = { readonly identity: Identity } | { readonly refusal: GateRefusal };

/** A message by what it asks for. */
export interface AskedMethod {
  readonly method: string;
  readonly params: JsonObject;
}

/** Decides who comes in. */
export interface Gate {
  /** The document of a path that anybody may read; undefined for any other path. */
  document(path: string): JsonObject | undefined;
  /** Resolves with who makes the request, or why it is refused. What it rejects with is answered 500. */
  admit(arrival: Arrival, options: { readonly signal: AbortSignal }): Promise<Admission>;
  /** Why `identity` may not ask for all of `asked`, which is empty for a request without a body; undefined when it may. */
  permit(identity: Identity, asked: readonly AskedMethod[]): GateRefusal | undefined;
}

/** Credentials that whoever serves a request must not see: they are for the gate alone. */
const CREDENTIALS = ['authorization', 'dpop', 'cookie', 'proxy-authorization'];

/** Answers a request for a document of the gate; false when its path has none. */
export function answerDocument(
  gate: Gate | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): boolean {
  const document = gate?.document(path);
  if (document === undefined) return false;
  if (request.method === 'GET') sendJson(response, 200, JSON.stringify(document), { 'Cache-Control': 'max-age=300' });
  else refuse(response, 405, 'Only GET is served here.', { headers: { Allow: 'GET' } });
  return true;
}

/** Calls `serve` once the gate has let the request in, with nobody when there is no gate; otherwise says why not. */
export function passGate(
  gate: Gate | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  serve: (identity: Identity | undefined) => void,
  options: { readonly fail: (error: unknown) => void },
): void {
  if (gate === undefined) return serve(undefined);
  const { method = '', url: target = '', headers, rawHeaders } = request;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  gate
    .admit({ method, target, headers, rawHeaders }, { signal: gone.signal })
    .then((admission) => {
      if (response.destroyed) return;
      if ('refusal' in admission) refuseAtGate(response, admission.refusal);
      else serve(admission.identity);
    })
    .catch((error: unknown) => options.fail(error));
}

/** True when the gate lets `identity` ask for what `value` says; otherwise the response is a refusal. */
export function isPermitted(
  gate: Gate | undefined,
  identity: Identity | undefined,
  value: unknown,
  response: ServerResponse,
): boolean {
  if (gate === undefined || identity === undefined) return true;
  const refusal = gate.permit(identity, askedIn(value));
  if (refusal !== undefined) refuseAtGate(response, refusal);
  return refusal === undefined;
}

/** The headers that may be handed on. */
export function handedOn(headers: IncomingHttpHeaders, identity: Identity | undefined): IncomingHttpHeaders {
  if (identity === undefined) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name)));
}

function askedIn(value: unknown): AskedMethod[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.flatMap((item) => {
    if (!isObject(item) || typeof item['method'] !== 'string') return [];
    const { method, params } = item;
    return [{ method, params: isObject(params) ? params : {} }];
  });
}

function refuseAtGate(response: ServerResponse, { status, message, headers }: GateRefusal): void {
  refuse(response, status, message, {
    ...(status >= 500 && { code: rpcCode.internalError }),
    ...(headers !== undefined && { headers }),
  });
}
