// Goes over a JSON Schema before it is compiled: its size, where its subschemas are, and what its local references point to.
// The schema is a peer's: nothing here recurses, and nothing is looked up that is not the schema's own.
import { ParleyError } from '../errors.ts';
import { LIMITS, overLimit, type LimitName } from '../base/index.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';

const MAX_SIZE = LIMITS.maxSchemaSize.default;
const MAX_DEPTH = LIMITS.maxSchemaDepth.default;
const MAX_SUBSCHEMAS = LIMITS.maxSubschemas.default;

/** Keywords whose value is a schema, a list of schemas, or a map of schemas; `items` and `dependencies` may be either of two. */
const ONE = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const LIST = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'];
const MAP = ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'];

/** Keywords that apply their schemas to the very value the schema is applied to. */
const IN_PLACE = new Set(['allOf', 'anyOf', 'dependencies', 'dependentSchemas', 'else', 'if', 'not', 'oneOf', 'then']);

/** @throws ParleyError `limit` when the schema is larger or deeper than is compiled here */
export function measure(schema: JsonObject): void {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 1 }];
  let size = 0;
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value, depth } = next;
    if (depth > MAX_DEPTH) throw tooLarge('maxSchemaDepth', depth);
    if (typeof value !== 'object' || value === null) {
      size += typeof value === 'string' ? value.length + 3 : String(value).length + 1;
    } else if (Array.isArray(value)) {
      size += value.length + 2;
      if (size <= MAX_SIZE) for (const item of value as unknown[]) rest.push({ value: item, depth: depth + 1 });
    } else {
      size += 2;
      for (const [key, member] of Object.entries(value)) {
        size += key.length + 3;
        rest.push({ value: member, depth: depth + 1 });
      }
    }
    if (size > MAX_SIZE) throw tooLarge('maxSchemaSize', size);
  }
}

/** A subschema, open to change. */
export type Subschema = Record<string, unknown>;

/**
 * All subschemas of `root`, itself first, with those that only a local reference makes one.
 * @throws ParleyError `unsupported` for a local reference to nothing, or for a schema that holds itself without looking any deeper
 * into the value; `limit` for too many subschemas
 */
export function subschemas(root: Subschema): readonly Subschema[] {
  const found = new Set<Subschema>([root]);
  const inPlace = new Map<Subschema, Subschema[]>();
  const references: { readonly from: Subschema; readonly to: string }[] = [];
  const anchors = new Map<string, Subschema>();
  let scoped = false;
  // A set may grow while it is gone over: what is added comes last.
  for (const schema of found) {
    if (found.size > MAX_SUBSCHEMAS) throw tooLarge('maxSubschemas', found.size);
    if (schema !== root && typeof schema['$id'] === 'string') scoped = true;
    for (const key of ['$anchor', '$dynamicAnchor']) {
      if (typeof schema[key] === 'string') anchors.set(schema[key], schema);
    }
    const edges: Subschema[] = [];
    inPlace.set(schema, edges);
    for (const { keyword, child } of children(schema)) {
      found.add(child);
      if (IN_PLACE.has(keyword)) edges.push(child);
    }
    for (const key of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const to = schema[key];
      if (typeof to !== 'string') continue;
      if (key === '$dynamicRef' && !to.startsWith('#')) throw notLocal(to);
      if (to.startsWith('#')) references.push({ from: schema, to });
      const target = to === '#' ? root : to.startsWith('#/') ? pointed(root, to) : undefined;
      if (isObject(target)) found.add(target);
    }
  }
  // Inside a subschema with an `$id` of its own, "#" means that one; the compiler knows which, and refuses what is not there.
  if (!scoped) {
    for (const { from, to } of references) {
      const target = to === '#' ? root : to.startsWith('#/') ? pointed(root, to) : anchors.get(to.slice(1));
      if (target === undefined) throw notLocal(to);
      if (isObject(target)) inPlace.get(from)?.push(target);
    }
    refuseCycles(inPlace);
  }
  return [...found];
}

function* children(schema: Subschema): Generator<{ readonly keyword: string; readonly child: Subschema }> {
  for (const keyword of ONE) {
    const child = schema[keyword];
    if (isObject(child)) yield { keyword, child };
  }
  for (const keyword of LIST) {
    const list = schema[keyword];
    if (Array.isArray(list)) for (const child of list as unknown[]) if (isObject(child)) yield { keyword, child };
  }
  for (const keyword of MAP) {
    const map = schema[keyword];
    if (isObject(map)) for (const child of Object.values(map)) if (isObject(child)) yield { keyword, child };
  }
}

/** The value a JSON pointer in a fragment leads to (RFC 6901); only own members count. */
function pointed(root: Subschema, fragment: string): unknown {
  let value: unknown = root;
  for (const part of fragment.split('/').slice(1)) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    } catch {
      return undefined;
    }
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Subschema)[key];
  }
  return typeof value === 'boolean' || isObject(value) ? value : undefined;
}

/** Takes away, again and again, what nothing left points to; what then remains stands in a circle. */
function refuseCycles(edges: ReadonlyMap<Subschema, readonly Subschema[]>): void {
  const pointing = new Map<Subschema, number>();
  for (const targets of edges.values()) for (const target of targets) pointing.set(target, (pointing.get(target) ?? 0) + 1);
  const free = [...edges.keys()].filter((schema) => !pointing.has(schema));
  let taken = 0;
  for (let schema = free.pop(); schema !== undefined; schema = free.pop()) {
    taken++;
    for (const target of edges.get(schema) ?? []) {
      const left = (pointing.get(target) ?? 0) - 1;
      pointing.set(target, left);
      if (left === 0) free.push(target);
    }
  }
  if (taken < edges.size) {
    throw new ParleyError('unsupported', 'The schema refers to itself in a circle, so no value can be checked against it.');
  }
}

/** The error for a reference that leads to nothing in the schema's own text. */
export function notLocal(reference: string): ParleyError {
  const kind = reference.startsWith('#') ? 'points to nothing in the schema' : 'leads out of the schema and is never fetched';
  return new ParleyError('unsupported', `The schema cannot be used: its $ref ${printable(reference)} ${kind}.`);
}

/** A short piece of a peer's text for a message: printable ASCII in quotes, all else escaped. */
export function printable(text: string): string {
  const short = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return JSON.stringify(short).replace(/[^\x20-\x7e…]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function tooLarge(limit: LimitName, observed: number): ParleyError {
  const allowed = LIMITS[limit].default;
  return overLimit(limit, observed, `The schema is too large to be checked against: ${limit} is ${allowed}.`);
}
