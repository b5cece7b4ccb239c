// Whether the HTTP headers that mirror parts of a message say what the message says
// (2026-07-28, transports/streamable-http, "Server Validation"). What the body says is what counts; a difference is refused.
import { lowerCase } from '../base/index.ts';
import { RpcError } from '../errors.ts';
import type { JsonObject, Request } from '../jsonrpc/index.ts';
import { mcpCode } from './code.ts';
import { at, decodeHeaderValue, headerName, type ParamHeader } from './header.ts';
import { factsOf } from './method.ts';
import type { RequestHeaders } from './server-dialect.ts';

/** What a header field may hold (RFC 9110, section 5.5), less the bytes that have no agreed meaning. */
const SAFE = /^[\t\x20-\x7e]*$/;
const DECIMAL = /^[+-]?\d+(?:\.\d+)?$/;

/** The one value of a header; undefined when it is absent. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[lowerCase(name)];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** @throws RpcError -32020 when Mcp-Method or Mcp-Name is missing where it is required, or differs */
export function checkStandardHeaders(headers: RequestHeaders, request: Request): void {
  if (headerOf(headers, headerName.method) !== request.method) throw mismatch(headerName.method, '"method"');
  const nameParam = factsOf(request.method)?.nameParam;
  const expected = nameParam === undefined ? undefined : request.params?.[nameParam];
  if (typeof expected === 'string' && readHeader(headers, headerName.name) !== expected) {
    throw mismatch(headerName.name, `"params.${String(nameParam)}"`);
  }
}

/** @throws RpcError -32020 when a header of `wanted` is missing, superfluous or differs from its argument */
export function checkParamHeaders(headers: RequestHeaders, wanted: readonly ParamHeader[], args: JsonObject): void {
  for (const { header, path } of wanted) {
    if (!agrees(readHeader(headers, header), at(args, path))) throw mismatch(header, `the argument "${path.join('.')}"`);
  }
}

/** The decoded value; undefined when the header is absent, null when no value can be had from it. */
function readHeader(headers: RequestHeaders, name: string): string | null | undefined {
  const raw = headerOf(headers, name);
  if (raw === undefined) return undefined;
  return (SAFE.test(raw) ? decodeHeaderValue(raw) : undefined) ?? null;
}

function agrees(said: string | null | undefined, value: unknown): boolean {
  if (typeof value === 'string') return said === value;
  if (typeof value === 'boolean') return said === String(value);
  if (Number.isSafeInteger(value)) return typeof said === 'string' && DECIMAL.test(said) && Number(said) === value;
  // Absent, null, or of a type that no header carries: then there must be no header either.
  return said === undefined;
}

function mismatch(header: string, what: string): RpcError {
  return new RpcError(mcpCode.headerMismatch, `Header mismatch: ${header} is missing, malformed or differs from ${what}`);
}
