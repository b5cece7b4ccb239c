// HTTP headers that mirror parts of a message (2026-07-28, transports/streamable-http, "Request Metadata").
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { factsOf } from './method.ts';

export const headerName = {
  version: 'MCP-Protocol-Version',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  /** Followed by the name that the tool's schema gives in `x-mcp-header`. */
  paramPrefix: 'Mcp-Param-',
} as const;

const PREFIX = '=?base64?';
const SUFFIX = '?=';
const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Levels of a schema that are looked at. */
const MAX_DEPTH = 64;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The value as a header may carry it: plain where that is safe, else Base64 between the specification's markers. */
export function encodeHeaderValue(value: string): string {
  if (value === '') return '';
  const ambiguous = value.startsWith(PREFIX) && value.endsWith(SUFFIX);
  if (PLAIN.test(value) && !ambiguous) return value;
  return `${PREFIX}${Buffer.from(value, 'utf8').toString('base64')}${SUFFIX}`;
}

/** The value a header stands for; undefined when it has the markers but no valid Base64 of UTF-8 between them. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

/** The standard headers of a request in `revision`. */
export function standardHeaders(revision: string, method: string, params: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = { [headerName.version]: revision, [headerName.method]: method };
  const nameParam = factsOf(method)?.nameParam;
  const name = nameParam === undefined ? undefined : params?.[nameParam];
  if (typeof name === 'string') headers[headerName.name] = encodeHeaderValue(name);
  return headers;
}

/** One argument of a tool that travels in a header too: the header's full name and the path of the argument. */
export interface ParamHeader {
  readonly header: string;
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

/**
 * The argument headers a tool's input schema asks for, or why the schema's annotations are invalid; a client on HTTP must then
 * leave the tool out.
 */
export function paramHeaders(inputSchema: JsonObject): readonly ParamHeader[] | { readonly invalid: string } {
  // Hardly any tool has one, and lists are long.
  if (!mentions(inputSchema, 0)) return NONE;
  const found: ParamHeader[] = [];
  const seen = new Set<string>();
  const reachable = new Set<unknown>();
  const problem = collect(inputSchema, [], found, seen, reachable) ?? misplaced(inputSchema, reachable, 0);
  return problem === undefined ? found : { invalid: problem };
}

const NONE: readonly ParamHeader[] = [];
const ANNOTATION = 'x-mcp-header';

/** True when the annotation's name is anywhere in `node`, down to where no look is taken at it. */
function mentions(node: object, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  // An array is not walked by its keys: each would be made a text.
  if (Array.isArray(node)) return node.some((item) => isHolder(item) && mentions(item, depth + 1));
  if (ANNOTATION in node) return true;
  for (const key in node) {
    const child: unknown = node[key as never];
    if (isHolder(child) && mentions(child, depth + 1)) return true;
  }
  return false;
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Walks `properties` chains only: annotations anywhere else are misplaced. */
function collect(
  schema: JsonObject,
  path: string[],
  found: ParamHeader[],
  seen: Set<string>,
  reachable: Set<unknown>,
): string | undefined {
  const properties = schema['properties'];
  if (!isObject(properties) || path.length > 32) return undefined;
  for (const [key, property] of Object.entries(properties)) {
    if (!isObject(property)) continue;
    const at = [...path, key];
    reachable.add(property);
    if ('x-mcp-header' in property) {
      const name = property['x-mcp-header'];
      const type = property['type'];
      const where = `x-mcp-header of "${at.join('.')}"`;
      if (typeof name !== 'string' || name === '') return `${where} is empty or not a string`;
      if (!TOKEN.test(name)) return `${where} is not a header name`;
      if (type !== 'string' && type !== 'integer' && type !== 'boolean') return `${where} is on a type that no header can carry`;
      if (seen.has(name.toLowerCase())) return `${where} repeats the header "${name}"`;
      seen.add(name.toLowerCase());
      found.push({ header: `${headerName.paramPrefix}${name}`, path: at, type });
    }
    const problem = collect(property, at, found, seen, reachable);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Where schemas hold instances rather than schemas: an annotation's name there means nothing. */
const INSTANCES = new Set(['const', 'enum', 'default', 'examples']);

function misplaced(node: unknown, reachable: Set<unknown>, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(node)) {
    for (const item of node) {
      const problem = misplaced(item, reachable, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (!isObject(node)) return undefined;
  // A property may itself be called "x-mcp-header"; then its value is a schema, not a name.
  if ('x-mcp-header' in node && !reachable.has(node) && typeof node['x-mcp-header'] !== 'object') {
    return 'an x-mcp-header stands where the value cannot be reached by properties alone';
  }
  for (const [key, child] of Object.entries(node)) {
    if (INSTANCES.has(key)) continue;
    const problem = misplaced(child, reachable, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The headers for these arguments; an argument that is absent or null has none. */
export function argumentHeaders(wanted: readonly ParamHeader[], args: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of wanted) {
    const value = at(args, path);
    if (typeof value === 'string') headers[header] = encodeHeaderValue(value);
    else if (typeof value === 'boolean' || Number.isSafeInteger(value)) headers[header] = String(value);
  }
  return headers;
}

/** The value at a chain of own properties. */
export function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}
