// The limits of a configuration: what a file sets, and whose word counts. The user may set each up to its ceiling, for all servers
// or for one, and where the administrator set it, only lower it; a project may only lower what would hold without it.
import { didYouMean, LIMITS, type LimitName, type Limits } from '../../base/index.ts';
import { kindOf, quoted } from './diagnostic.ts';
import { type Fields, isRecord } from './fields.ts';
import type { Scope } from './shape.ts';

const NAMES = Object.keys(LIMITS) as LimitName[];

/** What `limits` says, where it makes sense; undefined when it says nothing. */
export function readLimits(fields: Fields): Limits | undefined {
  const value = fields.record['limits'];
  if (value === undefined) return undefined;
  if (!isRecord(value)) {
    fields.fail('limits', `"limits" must be an object of names and numbers, not ${kindOf(value)}.`);
    return undefined;
  }
  const limits: { [K in LimitName]?: number } = {};
  for (const [key, asked] of Object.entries(value)) {
    const name = NAMES.find((known) => known === key);
    if (name === undefined) {
      fields.report(
        'warning',
        ['limits', key],
        `there is no limit ${quoted(key)}, so it has no effect.${didYouMean(key, NAMES)}`,
      );
    } else if (LIMITS[name].ceiling === LIMITS[name].default) {
      fields.report('warning', ['limits', key], `"limits.${key}" is ignored: it is always ${LIMITS[name].default}.`);
    } else if (typeof asked !== 'number' || !Number.isSafeInteger(asked) || asked < 1 || asked > LIMITS[name].ceiling) {
      const given = typeof asked === 'number' ? String(asked) : kindOf(asked);
      fields.fail(['limits', key], `"limits.${key}" must be a whole number from 1 to ${LIMITS[name].ceiling}, not ${given}.`);
    } else {
      limits[name] = asked;
    }
  }
  return limits;
}

/** Whose word a limit is, and what the administrator said of it and of others. */
interface Speaker {
  readonly scope: Scope;
  readonly machine: Limits;
}

/** What holds where `below` held and `asked` is said too: by a project as far as it lowers, by a user as far as the administrator lets. */
export function joinLimits(
  below: Limits,
  asked: Limits | undefined,
  { scope, machine }: Speaker,
  complain: (name: LimitName, message: string) => void,
): Limits {
  const joined: { [K in LimitName]?: number } = { ...below };
  for (const [name, value] of Object.entries(asked ?? {}) as [LimitName, number][]) {
    const most = scope === 'project' ? (below[name] ?? LIMITS[name].default) : machine[name];
    if (most === undefined || value <= most) joined[name] = value;
    else complain(name, `"limits.${name}" is ignored: ${onlyLowers(scope, most)}`);
  }
  return joined;
}

/** Why a number above `most` is not taken. */
export function onlyLowers(scope: Scope, most: number): string {
  if (scope === 'project') return `a project may only lower it, and it is ${most}.`;
  return `the administrator of this machine set it to ${most}, and it may only be lowered.`;
}
