// Permission rules: `server/tool`, with what arguments must be and when it holds. docs/rules.md has the language.
// A rule that cannot be read, or can never match, is a fault of the whole policy and never ignored: it may have been the one that
// denies.
import { canonical, digest } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { HostConfig, Rules, ServerSettings, Source } from '../config/index.ts';
import { oneLine } from '../trust/index.ts';
import { readArgument, type ArgumentTest } from './argument.ts';
import type { Care } from './care.ts';
import { readConditions, type Circumstances, type Conditions } from './conditions.ts';
import { createCursor, type Cursor } from './cursor.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { LOCAL_PLACES, type Places } from './places.ts';
import { decoded } from './under.ts';
import { STEP_UP } from './value.ts';

export type Effect = 'allow' | 'ask' | 'deny';

/** What a rule can be about. */
export type TargetKind = 'tool' | 'resource' | 'prompt';

/** What a rule is held against: one call, one resource or one prompt, and its circumstances. */
export interface Subject extends Circumstances {
  readonly kind: TargetKind;
  /** The tool's or prompt's name, or the resource's URI. */
  readonly name: string;
  /** A resource has one argument, `uri`. */
  readonly args: JsonObject;
}

/** A rule that was read. */
export interface Rule {
  readonly effect: Effect;
  /** As written. */
  readonly text: string;
  readonly source: Source;
  /** The glob over servers' names. */
  readonly server: string;
  readonly matches: (subject: Subject) => boolean;
  /** True when it is about the subject but for an argument at this path, which it looks at. */
  readonly dependsOn: (subject: Subject, path: readonly string[]) => boolean;
  /** True when it looks at what the server says of its tool. */
  readonly needsTrust: boolean;
  /** True when it allows whatever the run has read. */
  readonly evenTainted: boolean;
}

/** All rules, ready to decide with. */
export interface RuleSet {
  readonly rules: readonly Rule[];
  /** Which calls may be made twice. */
  readonly repeatable: readonly Rule[];
  /** Why nothing may run: what could not be read, each with its file and key. Empty for a policy that holds. */
  readonly problems: readonly string[];
  /** Digest of all that counts in a decision about a server: the rules, and what the user said about it. */
  readonly version: (server: string) => string;
}

const LONGEST = 512;
const SYNTAX = 'Write server/tool, or server/tool(argument: value) when …: see docs/rules.md';

/**
 * The policy of a configuration. Never throws: what is wrong in it is among its problems, and then it denies everything.
 */
export function readRules(config: Pick<HostConfig, 'rules' | 'servers'>, places: Places = LOCAL_PLACES): RuleSet {
  const problems = config.rules.unread.map((file) => `The rules of ${file} cannot be read.`);
  const read = (effect: Effect, written: Rules[Effect]): readonly Rule[] =>
    written.flatMap(({ rule, source }) => {
      try {
        const parsed = parseRule(effect, rule, source, places);
        refuseUntrusted(parsed, config.servers);
        return isForAnother(parsed, config.servers) ? [] : [parsed];
      } catch (error) {
        problems.push((error as Error).message);
        return [];
      }
    });
  const { deny, ask, allow, repeatable = [] } = config.rules;
  return {
    rules: [...read('deny', deny), ...read('ask', ask), ...read('allow', allow)],
    repeatable: read('allow', repeatable),
    problems,
    version: versions(config),
  };
}

/** Equal for configurations that decide alike; the order of rules and the files they stand in are not part of it. */
function versions({ rules, servers }: Pick<HostConfig, 'rules' | 'servers'>): RuleSet['version'] {
  const texts = (list: Rules[Effect] = []) => list.map(({ rule, source }) => canonical([rule, source.scope])).sort();
  const { allow, ask, deny, repeatable, unread } = rules;
  const all = {
    format: 1,
    allow: texts(allow),
    ask: texts(ask),
    deny: texts(deny),
    repeatable: texts(repeatable),
    complete: unread.length === 0,
  };
  const known = new Map<string, string>();
  return (name) => {
    const version = known.get(name) ?? digest({ ...all, server: saidOf(servers.find((server) => server.name === name)) });
    known.set(name, version);
    return version;
  };
}

function saidOf(server: ServerSettings | undefined): unknown {
  if (server === undefined) return null;
  const { trusted, reviewedTools, private: marked } = server;
  return { trusted, reviewedTools: [...reviewedTools].sort(), private: marked };
}

/** True for a rule that allows by name what the user's own server of that name may do, where a project has put another in its place. */
function isForAnother({ effect, server, source: { scope } }: Rule, servers: HostConfig['servers']): boolean {
  if (effect !== 'allow' || (scope !== 'user' && scope !== 'machine') || isGlob(server)) return false;
  return servers.some(({ name, hidesUsers }) => name === server && hidesUsers === true);
}

/** What a server that is not trusted says of its tools does not count, so that a rule that allows by it can never match. */
function refuseUntrusted(rule: Rule, servers: HostConfig['servers']): void {
  if (rule.effect !== 'allow' || !rule.needsTrust || isGlob(rule.server)) return;
  const server = servers.find(({ name }) => name === rule.server);
  if (server === undefined || server.trusted) return;
  // A project that takes the name of a server of the user's does not break the user's rules, and neither of them the administrator's.
  const { scope } = server.source;
  if (scope === 'project' || (rule.source.scope === 'machine' && scope !== 'machine')) return;
  throw fault(
    rule,
    `can never match: server "${rule.server}" is not trusted, so what it says of its tools does not count`,
    'Trust it, or drop the condition',
  );
}

/**
 * One rule. The first `/` parts the server from the tool; `resource:URI` and `prompt:NAME` stand in a tool's place.
 * @throws ParleyError `config-invalid`
 */
export function parseRule(effect: Effect, text: string, source: Source, places: Places = LOCAL_PLACES): Rule {
  const care: Care = effect === 'allow' ? 'strict' : 'generous';
  try {
    if (text.length > LONGEST) throw new Error(`is longer than ${LONGEST} characters`);
    if (/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) throw new Error('holds characters that cannot be seen');
    const cursor = createCursor(text);
    const target = readTarget(cursor, effect);
    const args = readArguments(cursor, care, places);
    if (target.kind === 'resource' && args.some(({ key }) => key !== '["uri"]'))
      throw new Error('is about a resource, and those have the argument "uri" alone');
    const { conditions, evenTainted } = readTail(cursor, effect);
    const applies = (subject: Subject) => target.matches(subject) && (conditions === undefined || conditions.hold(subject));
    return {
      effect,
      text: text.trim(),
      source,
      server: target.server,
      needsTrust: conditions?.needTrust === true,
      evenTainted,
      matches: (subject) => applies(subject) && args.every(({ holds }) => holds(subject.args, subject.server)),
      dependsOn: (subject, path) => applies(subject) && args.some(({ reaches }) => reaches(path)),
    };
  } catch (error) {
    throw fault({ effect, text, source }, (error as Error).message, SYNTAX);
  }
}

function fault({ effect, text, source }: Pick<Rule, 'effect' | 'text' | 'source'>, why: string, remedy: string): ParleyError {
  return new ParleyError('config-invalid', `The ${effect} rule "${oneLine(text, 80)}" (${placeOf(source)}) ${why}. ${remedy}.`);
}

interface Target {
  readonly server: string;
  /** Undefined where it is about everything that a server has. */
  readonly kind: TargetKind | undefined;
  readonly matches: (subject: Subject) => boolean;
}

function readTarget(cursor: Cursor, effect: Effect): Target {
  const written = cursor.take(/(?:(?!\s+(?:when|even)\s)[^(])*/)?.[0] ?? '';
  const slash = written.indexOf('/');
  if (slash === -1) throw new Error('has no "/" between server and tool');
  const server = written.slice(0, slash).trim();
  const what = written.slice(slash + 1).trim();
  if (server === '' || what === '') throw new Error(`names no ${server === '' ? 'server' : 'tool'}`);
  if (written.includes(')')) throw new Error('has a ")" without its "("');
  const [, word, rest] = /^(resource|prompt):(.*)$/.exec(what) ?? [];
  if (rest?.trim() === '') throw new Error(`names no ${String(word)}`);
  // All of a server's tools are all that it has, for a rule that holds back.
  const kind = what === '*' && effect !== 'allow' ? undefined : ((word ?? 'tool') as TargetKind);
  if (/\s/.test(word === undefined ? `${server}${what}` : server))
    throw new Error('has white space in the name of a server or tool');
  const isServer = globTest(server);
  const isWritten = globTest((rest ?? what).trim());
  // One resource can be written in many ways, and a server may take any of them.
  const isResource = (uri: string) =>
    effect === 'allow' ? isWritten(uri) && !STEP_UP.test(uri) : spellingsOf(uri).some(isWritten);
  const isName = word === 'resource' ? isResource : isWritten;
  return {
    server,
    kind,
    matches: (subject) => isServer(subject.server) && (kind === undefined || (kind === subject.kind && isName(subject.name))),
  };
}

function readArguments(cursor: Cursor, care: Care, places: Places): readonly ArgumentTest[] {
  if (cursor.take(/\(/) === undefined) return [];
  const args: ArgumentTest[] = [];
  do args.push(readArgument(cursor, { care, places }));
  while (cursor.take(/,/) !== undefined);
  if (cursor.take(/\)/) === undefined) throw new Error('does not end in "(argument: value)"');
  const keys = args.map(({ key }) => key);
  if (new Set(keys).size < keys.length)
    throw new Error('names an argument twice; alternatives stand behind one another, with "|" between');
  return args;
}

function readTail(
  cursor: Cursor,
  effect: Effect,
): { readonly conditions: Conditions | undefined; readonly evenTainted: boolean } {
  const written = cursor.take(/when\s+(.*?)(?=\s+even\s|\s*$)/)?.[1];
  const conditions = written === undefined ? undefined : readConditions(written, effect === 'allow' ? 'strict' : 'generous');
  const evenTainted = cursor.take(/even\s+when\s+tainted(?=\s*$)/) !== undefined;
  if (!cursor.done) throw new Error(`does not end in "(argument: value)" or "when …", but in "${cursor.rest.slice(0, 40)}"`);
  if (evenTainted && effect !== 'allow')
    throw new Error('holds back, and does so whatever the run has read: drop "even when tainted"');
  if (evenTainted && /\b(?:tainted|private)\b/.test(written ?? ''))
    throw new Error('contradicts itself: "even when tainted" behind a condition on what the run has read');
  return { conditions, evenTainted };
}

function globTest(glob: string): (text: string) => boolean {
  if (glob === '*') return () => true;
  return isGlob(glob) ? (text) => matchesGlob(glob, text) : (text) => text === glob;
}

/** A URI as it is and as URLs are written, both also without what is encoded in it. */
function spellingsOf(uri: string): readonly string[] {
  const trimmed = uri.trim();
  if (!URL.canParse(trimmed)) return [uri];
  const url = new URL(trimmed);
  url.pathname = url.pathname.replace(/\/{2,}/g, '/');
  return [uri, url.href, decoded(uri), decoded(url.href)];
}

/** Where a rule stands, for people. */
export function placeOf({ key, file }: Source): string {
  return key === '' ? file : `${key} in ${file}`;
}
