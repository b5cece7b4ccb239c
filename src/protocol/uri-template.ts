// URI templates (RFC 6570, all operators; values are strings and lists): from values to a URI, and back from a URI to values.
// Templates and URIs may be hostile: matching takes time in proportion to their lengths and never uses a regular expression
// made from either.
import { ParleyError } from '../errors.ts';

const MAX_TEMPLATE_BYTES = 2_048;
const MAX_EXPRESSIONS = 32;
/** A longer URI matches no template. */
const MAX_URI_LENGTH = 8_192;

export type TemplateValue = string | readonly string[];

export interface UriTemplate {
  readonly text: string;
  /** Each name once, in order of appearance. */
  readonly variables: readonly string[];
  /** The URI for these values; a variable that is absent, or an empty list, leaves its place out. */
  expand(values: Readonly<Record<string, TemplateValue>>): string;
  /**
   * The values `uri` stands for, or undefined when the template cannot have made it. Exploded variables (`{/path*}`) are lists,
   * all others strings. Percent-encoding is undone after the parts are told apart, so `%2F` never splits, and a value may hold any
   * character, "/" and ".." among them. `{x}` and `{+x}` need at least one character; what the other operators introduce may be
   * missing, and named parameters (`{?a,b}`) stand in any order. Reserved characters other than "/", "?" and "#" are accepted
   * unencoded. Where several readings are possible, earlier variables are as short as can be.
   */
  match(uri: string): Record<string, string | string[]> | undefined;
}

interface Variable {
  readonly name: string;
  readonly explode: boolean;
  /** Characters of the value that are used. */
  readonly prefix: number | undefined;
}

interface Operator {
  readonly first: string;
  readonly separator: string;
  /** `none`: values only. `bare`: an empty value is its name alone. `pair`: always `name=value`. */
  readonly names: 'none' | 'bare' | 'pair';
  /** Reserved characters stay as they are. */
  readonly reserved: boolean;
  /** Characters a match of this operator never takes in. */
  readonly ends: string;
}

// RFC 6570, appendix A.
const OPERATORS: Readonly<Record<string, Operator>> = {
  '': { first: '', separator: ',', names: 'none', reserved: false, ends: '/?#' },
  '+': { first: '', separator: ',', names: 'none', reserved: true, ends: '' },
  '#': { first: '#', separator: ',', names: 'none', reserved: true, ends: '' },
  '.': { first: '.', separator: '.', names: 'none', reserved: false, ends: '/?#' },
  '/': { first: '/', separator: '/', names: 'none', reserved: false, ends: '/?#' },
  ';': { first: ';', separator: ';', names: 'bare', reserved: false, ends: '/?#' },
  '?': { first: '?', separator: '&', names: 'pair', reserved: false, ends: '#' },
  '&': { first: '&', separator: '&', names: 'pair', reserved: false, ends: '#' },
};

interface Expression {
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

/** A literal (already as a URI has it), or an expression. */
type Part = string | Expression;

const VARIABLE = /^((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)(?::([1-9][0-9]{0,3})|(\*))?$/;

/** The template that `text` writes. @throws ParleyError `usage` when it is none, `limit` when it is too large */
export function parseTemplate(text: string): UriTemplate {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TEMPLATE_BYTES) throw tooLarge('bytes', MAX_TEMPLATE_BYTES, bytes);
  const parts = partsOf(text);
  const variables = [
    ...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : part.variables.map(({ name }) => name)))),
  ];
  const steps = stepsOf(parts);
  return {
    text,
    variables,
    expand: (values) => parts.map((part) => (typeof part === 'string' ? part : expand(part, values))).join(''),
    match: (uri) => match(steps, uri),
  };
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let expressions = 0;
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('{', at);
    const literal = text.slice(at, open === -1 ? undefined : open);
    if (literal.includes('}')) throw malformed('has a "}" without its "{"');
    if (literal !== '') parts.push(normal(literal));
    if (open === -1) break;
    const close = text.indexOf('}', open);
    if (close === -1) throw malformed('has a "{" without its "}"');
    if (++expressions > MAX_EXPRESSIONS) throw tooLarge('expressions', MAX_EXPRESSIONS, expressions);
    parts.push(expressionOf(text.slice(open + 1, close)));
    at = close + 1;
  }
  return parts;
}

function expressionOf(text: string): Expression {
  const sign = Object.hasOwn(OPERATORS, text.charAt(0)) ? text.charAt(0) : '';
  const variables = text
    .slice(sign.length)
    .split(',')
    .map((spec): Variable => {
      const [, name, prefix, star] = VARIABLE.exec(spec) ?? [];
      if (name === undefined) throw malformed('has an expression that names no variable as RFC 6570 has it');
      return { name, explode: star !== undefined, prefix: prefix === undefined ? undefined : Number(prefix) };
    });
  return { operator: OPERATORS[sign] as Operator, variables };
}

function expand({ operator, variables }: Expression, values: Readonly<Record<string, TemplateValue>>): string {
  const { first, separator, names, reserved } = operator;
  const encoded = (value: string) => encode(value, reserved ? 'reserved' : 'unreserved');
  const named = (name: string, value: string) => {
    if (names === 'none') return value;
    return value === '' && names === 'bare' ? name : `${name}=${value}`;
  };
  const pieces = variables.flatMap(({ name, explode, prefix }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) return [];
    if (typeof value === 'string') {
      const used = prefix === undefined ? value : Array.from(value).slice(0, prefix).join('');
      return [named(name, encoded(used))];
    }
    if (explode) return value.map((item) => named(name, encoded(item)));
    return value.length === 0 ? [] : [named(name, value.map(encoded).join(','))];
  });
  return pieces.length === 0 ? '' : first + pieces.join(separator);
}

/** What matching goes through, one after the other: fixed text, or a run of characters that stands for variables. */
type Step = { readonly fixed: string } | Run;

interface Run {
  /** What the run begins with. */
  readonly lead: string;
  readonly optional: boolean;
  /** Characters needed after the lead. */
  readonly least: number;
  /** Characters it never holds. */
  readonly ends: string;
  /** One variable, or the named parameters of a query. */
  readonly reads:
    { readonly value: Variable; readonly separator: string } | { readonly named: Variable[]; readonly separator: string };
}

function stepsOf(parts: readonly Part[]): Step[] {
  const steps: Step[] = [];
  for (const part of parts) {
    if (typeof part === 'string') {
      steps.push({ fixed: part });
      continue;
    }
    const { operator, variables } = part;
    const { first, separator, names, ends } = operator;
    if (names === 'none') {
      for (const [index, value] of variables.entries()) {
        const lead = index === 0 ? first : separator;
        const least = lead === '' ? 1 : 0;
        const within = value.explode ? ends.replace(separator, '') : ends;
        steps.push({ lead, optional: lead !== '', least, ends: within, reads: { value, separator } });
      }
      continue;
    }
    const before = steps.at(-1);
    // `{?a}{&b}` is one list of parameters: which belongs to which expression cannot be seen in a URI.
    if (before !== undefined && 'reads' in before && 'named' in before.reads && before.reads.separator === first) {
      before.reads.named.push(...variables);
    } else {
      steps.push({ lead: first, optional: true, least: 1, ends, reads: { named: [...variables], separator } });
    }
  }
  return steps;
}

function match(steps: readonly Step[], given: string): Record<string, string | string[]> | undefined {
  if (given.length > MAX_URI_LENGTH) return undefined;
  const uri = normal(given);
  const first = steps[0];
  if (first !== undefined && 'fixed' in first && !uri.startsWith(first.fixed)) return undefined;
  const tails = tailsOf(steps, uri);
  if (tails[0]?.[0] !== 1) return undefined;
  const found = new Map<string, string | string[]>();
  let at = 0;
  for (const [index, step] of steps.entries()) {
    if ('fixed' in step) {
      at += step.fixed.length;
      continue;
    }
    const end = endOf(step, uri, at, tails[index + 1] as Uint8Array);
    if (end === undefined) continue;
    if (!read(step, uri.slice(at + step.lead.length, end), found)) return undefined;
    at = end;
  }
  return Object.fromEntries(found);
}

/** For each step and position, 1 where this step and those after it can take in all the rest of the URI. */
function tailsOf(steps: readonly Step[], uri: string): Uint8Array[] {
  let next = new Uint8Array(uri.length + 1);
  next[uri.length] = 1;
  const tails = [next];
  for (const step of steps.toReversed()) {
    const tail = new Uint8Array(uri.length + 1);
    // Whether the run can go on, or end, at the position in hand and at the one before (to its right).
    let here = 0;
    const inside = 'fixed' in step ? undefined : new Uint8Array(uri.length + 2);
    for (let at = uri.length; at >= 0; at--) {
      if ('fixed' in step) {
        tail[at] = next[at + step.fixed.length] === 1 && uri.startsWith(step.fixed, at) ? 1 : 0;
        continue;
      }
      const goesOn = at < uri.length && !step.ends.includes(uri.charAt(at)) ? here : 0;
      here = next[at] === 1 ? 1 : goesOn;
      (inside as Uint8Array)[at] = step.least === 0 ? here : goesOn;
      const present = (inside as Uint8Array)[at + step.lead.length] === 1 && uri.startsWith(step.lead, at);
      tail[at] = present || (step.optional && next[at] === 1) ? 1 : 0;
    }
    tails.unshift(tail);
    next = tail;
  }
  return tails;
}

/** Where the run that begins at `at` ends at the earliest so that the rest still fits; undefined when it is left out. */
function endOf(run: Run, uri: string, at: number, next: Uint8Array): number | undefined {
  if (!uri.startsWith(run.lead, at)) return undefined;
  const start = at + run.lead.length;
  for (let end = start; end <= uri.length; end++) {
    if (end - start >= run.least && next[end] === 1) return end;
    if (run.ends.includes(uri.charAt(end))) return undefined;
  }
  return undefined;
}

/** Puts what the run says into `found`; false when it contradicts the template. */
function read(run: Run, text: string, found: Map<string, string | string[]>): boolean {
  if ('value' in run.reads) {
    const { value, separator } = run.reads;
    return put(value, value.explode ? text.split(separator) : [text], found);
  }
  const { named, separator } = run.reads;
  const values = new Map<Variable, string[]>();
  for (const pair of text.split(separator)) {
    const equals = pair.indexOf('=');
    const name = equals === -1 ? pair : pair.slice(0, equals);
    const variable = named.find((candidate) => candidate.name === name);
    if (variable === undefined) return false;
    const value = equals === -1 ? '' : pair.slice(equals + 1);
    const before = values.get(variable);
    if (before === undefined) values.set(variable, [value]);
    else if (variable.explode) before.push(value);
    else return false;
  }
  return [...values].every(([variable, texts]) => put(variable, texts, found));
}

function put({ name, explode, prefix }: Variable, texts: readonly string[], found: Map<string, string | string[]>): boolean {
  const values: string[] = [];
  for (const text of texts) {
    const value = decode(text);
    if (value === undefined) return false;
    values.push(value);
  }
  const value = explode ? values : (values[0] as string);
  const before = found.get(name);
  if (typeof value === 'string' && prefix !== undefined && Array.from(value).length > prefix) return false;
  if (before === undefined) {
    found.set(name, value);
    return true;
  }
  // A variable that stands twice has one value; a prefix (`{x:1}`) only begins it.
  if (typeof before === 'string' && typeof value === 'string') {
    if (prefix !== undefined) return before.startsWith(value);
    found.set(name, value);
    return value.startsWith(before);
  }
  return JSON.stringify(before) === JSON.stringify(value);
}

/** Percent-encodes what may not stand in a URI; `reserved` keeps the reserved characters and what is encoded already. */
function encode(text: string, keep: 'unreserved' | 'reserved'): string {
  const other = keep === 'unreserved' ? /[^A-Za-z0-9\-._~]+/g : /[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+|%(?![0-9A-Fa-f]{2})/g;
  return text.replace(other, (run) => Buffer.from(run).toString('hex').toUpperCase().replace(/../g, '%$&'));
}

/** A URI, or a part of one, in the one spelling that literals are compared in. */
function normal(uri: string): string {
  return encode(uri, 'reserved').replace(/%[0-9A-Fa-f]{2}/g, (triplet) => triplet.toUpperCase());
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function malformed(why: string): ParleyError {
  return new ParleyError('usage', `The URI template ${why}. Write it as RFC 6570 has it, for example "file:///{+path}".`);
}

function tooLarge(what: string, allowed: number, observed: number): ParleyError {
  return new ParleyError('limit', `The URI template has ${observed} ${what}; ${allowed} are allowed. Use a shorter one.`, {
    details: { limit: `uriTemplate.${what}`, allowed, observed },
  });
}
