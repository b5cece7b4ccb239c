// The limits of a configuration: what a file sets, and whose word counts. The user may set each up to its ceiling, for all servers
// or for one; a project may only lower what would hold without it.
import { didYouMean, LIMITS, type LimitName, type Limits } from '../../base/index.ts';
import { kindOf, quoted } from './diagnostic.ts';
import { type Fields, isRecord } from './fields.ts';

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

/** What holds where `below` held and `asked` is said too: by the user as it is, by a project as far as it lowers. */
export function joinLimits(
  below: Limits,
  asked: Limits | undefined,
  by: 'user' | 'project',
  complain: (name: LimitName, message: string) => void,
): Limits {
  if (asked === undefined || by === 'user') return { ...below, ...asked };
  const joined: { [K in LimitName]?: number } = { ...below };
  for (const [name, value] of Object.entries(asked) as [LimitName, number][]) {
    const holds = below[name] ?? LIMITS[name].default;
    if (value <= holds) joined[name] = value;
    else complain(name, `"limits.${name}" is ignored: a project may only lower it, and it is ${holds}.`);
  }
  return joined;
}
