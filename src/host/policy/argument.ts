// The arguments a rule is about: `limit`, `options.limit`, `/options/limit`, `"any name"`, and `paths.*` for each of a list.
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Care } from './care.ts';
import { QUOTED, type Cursor } from './cursor.ts';
import { readValue, type Reading, type ValueTest } from './value.ts';

/** Stands for each member of a list or an object. */
const EACH = Symbol('each');
type Step = string | typeof EACH;

export interface ArgumentTest {
  /** Equal for two ways to write the same argument. */
  readonly key: string;
  readonly holds: (args: JsonObject, server: string) => boolean;
  /** True when it looks at what is at this path, or at something in it or around it. */
  readonly reaches: (path: readonly string[]) => boolean;
}

/**
 * Reads `name: value`.
 * @throws Error that says what is wrong, to go behind "The rule"
 */
export function readArgument(cursor: Cursor, reading: Reading): ArgumentTest {
  const quoted = cursor.take(new RegExp(`${QUOTED.source}(?=\\s*:)`))?.[0];
  const written = quoted ?? cursor.take(/[^:,()]*(?=:)/)?.[0].trim();
  if (cursor.take(/:/) === undefined || written === undefined) {
    throw new Error('does not end in "(argument: value)"; a text that holds "," or "|" or ")" stands in double quotes');
  }
  if (written === '') throw new Error('has no argument name in its parentheses');
  const name = quoted === undefined ? written : (JSON.parse(quoted) as string);
  const steps = quoted === undefined ? stepsOf(name) : [name];
  const test = readValue(cursor, reading);
  // A name with dots may also be one argument's own.
  const alone = quoted === undefined && !name.startsWith('/') && steps.length > 1 ? name : undefined;
  return {
    key: JSON.stringify(steps.map((step) => (step === EACH ? [] : step))),
    reaches: (path) =>
      path.every((name, at) => at >= steps.length || steps[at] === EACH || steps[at] === name) || path[0] === alone,
    holds: (args, server) => {
      const nested = () => holdsAt(args, steps, { test, server, care: reading.care });
      if (alone === undefined || !Object.hasOwn(args, alone)) return nested();
      const own = test(args[alone], server);
      const [first] = steps;
      if (reading.care === 'generous') return own || nested();
      return own && (!Object.hasOwn(args, first as string) || nested());
    },
  };
}

function stepsOf(name: string): readonly Step[] {
  if (name.startsWith('/')) {
    return name
      .slice(1)
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  const steps = name.split('.');
  if (steps.length > 1 && steps.includes(''))
    throw new Error('has an argument with an empty step; a name with dots in it stands in double quotes');
  return steps.map((step) => (step === '*' ? EACH : step));
}

interface Aim {
  readonly test: ValueTest;
  readonly server: string;
  readonly care: Care;
}

/** An argument that is absent is matched by nothing. */
function holdsAt(value: unknown, steps: readonly Step[], aim: Aim): boolean {
  const [step, ...rest] = steps;
  if (step === undefined) return aim.test(value, aim.server);
  if (typeof value !== 'object' || value === null) return false;
  if (step !== EACH) return Object.hasOwn(value, step) && holdsAt((value as JsonObject)[step], rest, aim);
  const members = Object.values(value);
  const fits = (member: unknown) => holdsAt(member, rest, aim);
  return aim.care === 'strict' ? members.length > 0 && members.every(fits) : members.some(fits);
}
