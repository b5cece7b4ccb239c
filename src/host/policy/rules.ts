// Permission rules: `server/tool` with globs, and optionally one argument: `files/write(path: /srv/data/*)`.
// A rule that cannot be read is an error and never ignored, since it may have been the one that denies.
import { ParleyError } from '../../errors.ts';
import type { CallIntent } from '../approval/index.ts';
import type { Rules, Source } from '../config/index.ts';
import { oneLine } from '../trust/index.ts';
import { isGlob, matchesGlob } from './glob.ts';

export type Effect = 'allow' | 'ask' | 'deny';

type Scalar = string | number | boolean | null;

/** A rule that was read. */
export interface Rule {
  readonly effect: Effect;
  /** As written. */
  readonly text: string;
  readonly source: Source;
  /** Globs over the server's and the tool's name. */
  readonly server: string;
  readonly tool: string;
  /** What one argument must be: exactly this value, or a text that the glob covers. */
  readonly argument?: { readonly name: string } & ({ readonly value: Scalar } | { readonly glob: string });
}

/** All rules. `complete` is false when some could not be read: then nothing may run. */
export interface RuleSet {
  readonly rules: readonly Rule[];
  readonly complete: boolean;
}

const LONGEST = 512;
/** A `..` step in a path or URL, plain or percent-encoded. */
const STEP_UP = /(^|[\\/]|%2f|%5c)(\.|%2e){2}([\\/]|%2f|%5c|$)/i;

/**
 * The rules of a configuration, ready to decide with.
 * @throws ParleyError `config-invalid` that names the first rule that cannot be read, and its file
 */
export function readRules({ allow, ask, deny, complete }: Rules): RuleSet {
  const read = (effect: Effect, written: Rules[Effect]) => written.map(({ rule, source }) => parseRule(effect, rule, source));
  return { rules: [...read('deny', deny), ...read('ask', ask), ...read('allow', allow)], complete };
}

/**
 * One rule. The first `/` parts server from tool. After the argument's name and a colon stands a JSON scalar, which must be equal
 * in type and value, or any other text, which is a glob over a string.
 * @throws ParleyError `config-invalid`
 */
export function parseRule(effect: Effect, text: string, source: Source): Rule {
  const fail = (why: string) =>
    new ParleyError(
      'config-invalid',
      `The ${effect} rule "${oneLine(text, 80)}" (${placeOf(source)}) ${why}. Write server/tool or server/tool(argument: value).`,
    );
  if (text.length > LONGEST) throw fail(`is longer than ${LONGEST} characters`);
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) throw fail('holds characters that cannot be seen');
  const open = text.indexOf('(');
  const names = (open === -1 ? text : text.slice(0, open)).trim();
  const slash = names.indexOf('/');
  if (slash === -1) throw fail('has no "/" between server and tool');
  const server = names.slice(0, slash).trim();
  const tool = names.slice(slash + 1).trim();
  if (server === '' || tool === '') throw fail(`names no ${server === '' ? 'server' : 'tool'}`);
  if (names.includes(')')) throw fail('has a ")" without its "("');
  const rule = { effect, text: text.trim(), source, server, tool };
  if (open === -1) return rule;
  const inside = /^\(([^:]*):(.*)\)$/.exec(text.slice(open).trim());
  if (inside === null) throw fail('does not end in "(argument: value)"');
  const name = (inside[1] as string).trim();
  const value = (inside[2] as string).trim();
  if (name === '' || value === '') throw fail(`has no ${name === '' ? 'argument name' : 'value'} in its parentheses`);
  const scalar = parseScalar(value);
  if (scalar === 'not a scalar') throw fail('has a value that is neither a JSON text, number, true, false, null nor a pattern');
  return { ...rule, argument: { name, ...scalar } };
}

/** True when the rule is about this call. An argument that is absent, or a list or an object, is matched by no pattern. */
export function ruleMatches(rule: Rule, { server, tool, args }: CallIntent): boolean {
  if (!matchesGlob(rule.server, server) || !matchesGlob(rule.tool, tool)) return false;
  const { argument } = rule;
  if (argument === undefined) return true;
  if (!Object.hasOwn(args, argument.name)) return false;
  const value = args[argument.name];
  if ('value' in argument) return value === argument.value;
  if (typeof value !== 'string') return false;
  // What a `..` leads to depends on who follows it, so a pattern never allows one: /srv/data/* does not mean /srv/data/../../etc.
  return !(rule.effect === 'allow' && STEP_UP.test(value)) && matchesGlob(argument.glob, value);
}

/** Where a rule stands, for people. */
export function placeOf({ key, file }: Source): string {
  return key === '' ? file : `${key} in ${file}`;
}

function parseScalar(text: string): { readonly value: Scalar } | { readonly glob: string } | 'not a scalar' {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (/^["[{]/.test(text)) return 'not a scalar';
    return isGlob(text) ? { glob: text } : { value: text };
  }
  return typeof value === 'object' && value !== null ? 'not a scalar' : { value: value as Scalar };
}
