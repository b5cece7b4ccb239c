// What became of a definition since somebody looked at it: nothing, other words for the same thing, or something to look at again.
// A pure function over two definitions; it trusts no text and shows none but in one line, made visible.
import { canonical } from '../../base/index.ts';
import { isObject } from '../../jsonrpc/index.ts';
import { hiddenIn, oneLine } from '../trust/index.ts';

/** What can be reviewed. Instructions are one text. */
export type Reviewable = 'tool' | 'prompt' | 'instructions';

/**
 * `text`: only words for readers changed, and none that lead elsewhere. `changed`: a parameter, a hint or a schema is another, or
 * the words now name a URL or another tool, or hide something. `reasons` are for people, in no particular number.
 */
export interface Comparison {
  readonly type: 'same' | 'text' | 'changed';
  readonly reasons: readonly string[];
}

/** Members that are for readers, in a definition and in a schema. What follows from them is for the reader to judge. */
const DEFINITION_TEXT = new Set(['title', 'description', 'icons', '_meta']);
const SCHEMA_TEXT = new Set(['title', 'description', '$comment', 'examples']);
/** Keywords whose members are names and not keywords, and those whose value is data. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const DATA = new Set(['const', 'enum', 'default', 'required', 'dependentRequired']);

type Role = 'definition' | 'schema' | 'names' | 'data';

/** A definition without its texts, and its texts. */
interface Parts {
  readonly shape: unknown;
  readonly texts: readonly string[];
}

/**
 * Compares a definition with the one that was reviewed. `others` are the names of the other tools there are: a text that begins to
 * speak of one of them wants a look.
 */
export function compareDefinitions(
  before: unknown,
  after: unknown,
  options: { readonly others?: readonly string[] } = {},
): Comparison {
  if (canonical(before) === canonical(after)) return { type: 'same', reasons: [] };
  const [was, is] = [partsOf(before), partsOf(after)];
  const reasons = [...shapeReasons(was.shape, is.shape), ...textReasons(was.texts, is.texts, options.others ?? [])];
  return reasons.length > 0 ? { type: 'changed', reasons } : { type: 'text', reasons: ['only its words are others'] };
}

function partsOf(definition: unknown): Parts {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  const keep = (value: unknown, role: Role): unknown => {
    if (role === 'data' || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => keep(item, role));
    const members = Object.entries(value).filter(([key, member]) => {
      const isText = role === 'definition' ? DEFINITION_TEXT.has(key) : role === 'schema' && SCHEMA_TEXT.has(key);
      if (isText) collect(member);
      return !isText;
    });
    // Through fromEntries, so that a member named __proto__ stays one.
    return Object.fromEntries(members.map(([key, member]) => [key, keep(member, roleOf(role, key))]));
  };
  if (typeof definition === 'string') return { shape: null, texts: [definition] };
  return { shape: keep(definition, 'definition'), texts };
}

function roleOf(role: Role, key: string): Role {
  switch (role) {
    case 'definition':
      return key === 'inputSchema' || key === 'outputSchema' ? 'schema' : 'definition';
    case 'schema':
      return NAMED.has(key) ? 'names' : DATA.has(key) ? 'data' : 'schema';
    case 'names':
      return 'schema';
    case 'data':
      return 'data';
  }
}

function shapeReasons(before: unknown, after: unknown): readonly string[] {
  if (canonical(before) === canonical(after)) return [];
  const [was, is] = [members(before), members(after)];
  return differing(was, is).flatMap((key) => {
    switch (key) {
      case 'inputSchema':
        return parameterReasons(members(was[key]), members(is[key]));
      case 'arguments':
        return ['its arguments are others'];
      case 'annotations':
        return hintReasons(members(was[key]), members(is[key]));
      case 'outputSchema':
        return ['the schema of its result is another'];
      default:
        return [`its ${quoted(key)} is another`];
    }
  });
}

function parameterReasons(was: Members, is: Members): readonly string[] {
  const [before, after] = [members(was['properties']), members(is['properties'])];
  const added = Object.keys(after).filter((name) => !Object.hasOwn(before, name));
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const others = Object.keys(after).filter(
    (name) => Object.hasOwn(before, name) && canonical(before[name]) !== canonical(after[name]),
  );
  const reasons = [
    ...added.map((name) => `it has a new parameter ${quoted(name)}`),
    ...gone.map((name) => `its parameter ${quoted(name)} is gone`),
    ...others.map((name) => `its parameter ${quoted(name)} takes other values`),
  ];
  return reasons.length > 0 ? reasons : ['what it takes for its arguments is another'];
}

function hintReasons(was: Members, is: Members): readonly string[] {
  return differing(was, is).map((hint) => `its ${quoted(hint)} was ${said(was[hint])} and is ${said(is[hint])}`);
}

/** A URL with a scheme or what is taken for one, or an address to write to. */
const URLS = /\b(?:[a-z][a-z0-9+.-]{1,30}:\/\/|mailto:|www\.)[^\s"'`<>()[\]{}]+/gi;
const WORDS = /[\p{L}\p{N}_][\p{L}\p{N}_./-]*/gu;
/** A name that is an ordinary word too is meant as a name only where it is marked as one. */
const PLAIN = /^\p{Ll}+$/u;
const MARKED = /[`"'](\p{Ll}+)[`"']|(?<!\p{Ll})(\p{Ll}+) tool/gu;

function textReasons(was: readonly string[], is: readonly string[], others: readonly string[]): readonly string[] {
  if (canonical(was) === canonical(is)) return [];
  const [before, after] = [was.join('\n'), is.join('\n')];
  const urls = fresh(before.match(URLS), after.match(URLS)).map((url) => `its words name ${quoted(url)}`);
  const tools = fresh(mentions(before, others), mentions(after, others)).map((name) => `its words name the tool ${quoted(name)}`);
  const hidden = fresh(hiddenIn(before), hiddenIn(after)).map((kind) => `its words hold ${kind} characters`);
  return [...urls, ...tools, ...hidden];
}

/** The names that a text speaks of, also with their server before them, in any of the ways to write that. */
function mentions(text: string, names: readonly string[]): readonly string[] {
  const words = new Set((text.match(WORDS) ?? []).flatMap((word) => [word.replace(/[./-]+$/, ''), ...word.split(/__|[./]/)]));
  const marked = new Set(Array.from(text.matchAll(MARKED), ([, inQuotes, asTool]) => inQuotes ?? asTool));
  return names.filter((name) => (PLAIN.test(name) ? marked : words).has(name));
}

function fresh(before: readonly string[] | null, after: readonly string[] | null): readonly string[] {
  const known = new Set(before);
  return [...new Set(after)].filter((item) => !known.has(item));
}

type Members = Readonly<Record<string, unknown>>;

/** The members without what every object has: what a server calls `toString` is a member of its own, or none. */
function members(value: unknown): Members {
  return Object.assign(Object.create(null) as object, isObject(value) ? value : {});
}

/** The names of the members that are not the same in both. */
function differing(was: Members, is: Members): readonly string[] {
  const isSame = (key: string) => key in was === key in is && canonical(was[key]) === canonical(is[key]);
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((key) => !isSame(key));
}

function said(value: unknown): string {
  return value === undefined ? 'not said' : oneLine(canonical(value), 40);
}

function quoted(text: string): string {
  return `"${oneLine(text, 80)}"`;
}
