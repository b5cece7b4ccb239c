// What the arguments of a call must be like for a grant to cover it: for each JSON pointer one typed matcher. No text is searched in,
// and nothing is a pattern over characters. What is not sure is no match.
import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { canonical } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';

/** What one argument must be. */
export type Matcher =
  | { readonly exact: unknown }
  | { readonly oneOf: readonly unknown[] }
  | { readonly from?: number; readonly to?: number }
  /** An absolute path of this directory, or below it, also when every link is followed. */
  | { readonly under: string }
  /** A URL with this scheme, host and port, whose path is this one or below it. */
  | { readonly url: string };

/** By JSON pointer. A pointer that leads nowhere matches nothing. */
export interface ArgumentPattern {
  readonly args: Readonly<Record<string, Matcher>>;
  /** Absent: a call with any argument that no pointer covers is no match. */
  readonly rest?: 'free';
}

/** True when these are the arguments the pattern means. */
export function matchesPattern({ args: matchers, rest }: ArgumentPattern, args: JsonObject): boolean {
  const pointers = Object.entries(matchers);
  if (!pointers.every(([pointer, matcher]) => matches(matcher, at(args, pointer)))) return false;
  return rest === 'free' || isCovered(args, '', new Set(Object.keys(matchers)));
}

/** The pattern as it was kept, or undefined when it is none: what nobody can read covers nothing. */
export function readPattern(value: JsonObject): ArgumentPattern | undefined {
  const { args, rest } = value;
  if (!isObject(args) || (rest !== undefined && rest !== 'free')) return undefined;
  return Object.values(args).every(isMatcher) ? (value as unknown as ArgumentPattern) : undefined;
}

/** One way to allow more than this call, in words and as a pattern. */
export interface Proposal {
  readonly label: string;
  readonly pattern: ArgumentPattern;
}

/**
 * What a person may be offered to allow from now on, the narrowest first: these very arguments; the same but for paths, URLs and
 * numbers, which may be others like them; and, for a tool whose server says that it is harmless, any arguments.
 */
export function proposals(call: { readonly args: JsonObject; readonly harmless: boolean }): readonly Proposal[] {
  const { args, harmless } = call;
  const each = Object.entries(args).map(([name, value]) => ({ pointer: `/${escaped(name)}`, name, value, wide: widened(value) }));
  const exact = Object.fromEntries(each.map(({ pointer, value }) => [pointer, { exact: value }]));
  const wide = each.flatMap(({ name, wide: found }) => (found === undefined ? [] : [`${name} ${found.words}`]));
  const wider = Object.fromEntries(each.map(({ pointer, value, wide: found }) => [pointer, found?.matcher ?? { exact: value }]));
  return [
    { label: 'exactly these arguments', pattern: { args: exact } },
    ...(wide.length === 0 ? [] : [{ label: `these arguments, with ${wide.join(', ')}`, pattern: { args: wider } }]),
    ...(harmless ? [{ label: 'any arguments', pattern: { args: {}, rest: 'free' as const } }] : []),
  ];
}

function widened(value: unknown): { readonly words: string; readonly matcher: Matcher } | undefined {
  if (typeof value === 'number' && value > 0) return { words: `from 0 to ${value}`, matcher: { from: 0, to: value } };
  if (typeof value !== 'string') return undefined;
  if (isPlainPath(value) && dirname(value) !== sep) {
    const under = dirname(value);
    return { words: `anywhere under ${under}`, matcher: { under } };
  }
  const url = plainUrl(value);
  return url === undefined ? undefined : { words: `anywhere at ${url.origin}`, matcher: { url: `${url.origin}/` } };
}

function isMatcher(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { exact, oneOf, from, to, under, url, ...others } = value;
  if (Object.keys(others).length > 0 || Object.keys(value).length === 0) return false;
  const isRange = (end: unknown) => end === undefined || typeof end === 'number';
  const isText = (text: unknown) => text === undefined || typeof text === 'string';
  if (!isRange(from) || !isRange(to) || !isText(under) || !isText(url)) return false;
  if (oneOf !== undefined && !Array.isArray(oneOf)) return false;
  const kinds = [exact, oneOf, from ?? to, under, url].filter((kind) => kind !== undefined);
  return kinds.length === 1;
}

function matches(matcher: Matcher, found: { readonly value: unknown } | undefined): boolean {
  if (found === undefined) return false;
  const { value } = found;
  if ('exact' in matcher) return canonical(value) === canonical(matcher.exact);
  if ('oneOf' in matcher) return matcher.oneOf.some((one) => canonical(one) === canonical(value));
  if ('under' in matcher) return typeof value === 'string' && isUnder(value, matcher.under);
  if ('url' in matcher) return typeof value === 'string' && isBelow(value, matcher.url);
  const { from = -Infinity, to = Infinity } = matcher;
  return typeof value === 'number' && value >= from && value <= to;
}

/** What a JSON pointer leads to (RFC 6901). */
function at(args: JsonObject, pointer: string): { readonly value: unknown } | undefined {
  let value: unknown = args;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return { value };
}

/** True when every argument is covered by a pointer to it, or to what it is part of. */
function isCovered(value: unknown, pointer: string, pointers: ReadonlySet<string>): boolean {
  if (pointer !== '' && pointers.has(pointer)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.entries(value);
  // The whole of the arguments may be empty; an empty object inside of them is an argument.
  if (members.length === 0) return pointer === '';
  return members.every(([name, member]) => isCovered(member, `${pointer}/${escaped(name)}`, pointers));
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** An absolute path that says what it says: no step up or in place, nothing doubled, nothing that a shell or a kernel reads another way. */
function isPlainPath(path: string): boolean {
  if (!isAbsolute(path) || /[\0\\~]/.test(path) || /^\/(proc|dev)(\/|$)/.test(path)) return false;
  // Trailing dots and spaces, and what follows a colon, are dropped on some systems.
  return path
    .split('/')
    .slice(1)
    .every((step) => step !== '' && !/[. ]$|:/.test(step));
}

/** True when the path is the directory or below it by its text, and by where its links lead to on this machine. */
function isUnder(path: string, root: string): boolean {
  if (!isPlainPath(path) || !isPlainPath(root)) return false;
  const below = (inner: string, outer: string) => inner === outer || inner.startsWith(outer + sep);
  return below(path, root) && below(real(path), real(root));
}

/** The path with its links followed, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), basename(path));
  }
}

/** A URL that every reader reads alike: written in plain characters, without a user, and without steps in its path. */
function plainUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || text.includes('\\')) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '' || url.hostname.endsWith('.')) return undefined;
  return /\/\.{1,2}(\/|$|\?|#)|%2e|%2f|%5c/i.test(text) ? undefined : url;
}

function isBelow(text: string, root: string): boolean {
  const url = plainUrl(text);
  const top = plainUrl(root);
  if (url === undefined || top === undefined || url.origin !== top.origin) return false;
  const path = top.pathname.endsWith('/') ? top.pathname : `${top.pathname}/`;
  return url.pathname === top.pathname || url.pathname.startsWith(path);
}
