// Taking members out of one object of a file, with a complaint for each that has the wrong kind.
import { didYouMean } from '../../base/index.ts';
import { type DiagnosticLevel, kindOf, quoted } from './diagnostic.ts';
import type { Document } from './document.ts';
import type { Path } from './jsonc.ts';

/** A bound on a number of milliseconds that timers can still hold: about 24 days. */
export const LONGEST_MS = 2_147_483_647;

/** One object of a file. Each getter gives undefined both for an absent member and for a wrong one, which it reports. */
export interface Fields {
  readonly document: Document;
  readonly record: Readonly<Record<string, unknown>>;
  has(key: string): boolean;
  text(key: string): string | undefined;
  texts(key: string): string[] | undefined;
  /** Names to texts. */
  map(key: string): Record<string, string> | undefined;
  /** The members of an object; what is wrong in there counts for this one too. */
  object(key: string): Fields | undefined;
  flag(key: string): boolean | undefined;
  integer(key: string, bounds: { readonly least: number; readonly most: number }): number | undefined;
  /** Says why the object cannot be used as it is. */
  fail(key: string | Path, message: string): void;
  report(level: DiagnosticLevel, key: string | Path, message: string): void;
  /** A notice for every member whose name is not in `known`. */
  expectOnly(known: readonly string[]): void;
  /** True once anything failed. */
  readonly failed: boolean;
}

/**
 * The members of `record`, which stands at `path`. Messages begin with `subject`, such as `Server "github"`; `failing` is called
 * when one of them is wrong.
 */
export function createFields(
  document: Document,
  path: Path,
  record: Readonly<Record<string, unknown>>,
  subject: string,
  { failing }: { readonly failing?: () => void } = {},
): Fields {
  let failed = false;
  const at = (key: string | Path) => [...path, ...(typeof key === 'string' ? [key] : key)];
  const report: Fields['report'] = (level, key, message) => document.report(level, at(key), `${subject}: ${message}`);
  const fail: Fields['fail'] = (key, message) => {
    failed = true;
    failing?.();
    report('error', key, message);
  };
  const take = <T>(key: string, wanted: string, fits: (value: unknown) => value is T): T | undefined => {
    const value = record[key];
    if (value === undefined || fits(value)) return value;
    fail(key, `"${key}" must be ${wanted}, not ${kindOf(value)}.`);
    return undefined;
  };
  /** Names each member that is not a text. True when there is none. */
  const areTexts = (key: string, members: readonly (readonly [string | number, unknown])[]) => {
    const others = members.filter(([, member]) => typeof member !== 'string');
    for (const [name, member] of others) {
      fail([key, name], `${quoted(`${key}.${name}`)} must be a text, not ${kindOf(member)}. Put it in double quotes.`);
    }
    return others.length === 0;
  };
  return {
    document,
    record,
    has: (key) => key in record,
    text: (key) => take(key, 'a text', (value): value is string => typeof value === 'string' && value.trim() !== ''),
    texts(key) {
      const list = take(key, 'a list of texts', (value) => Array.isArray(value));
      return list !== undefined && areTexts(key, [...list.entries()]) ? (list as string[]) : undefined;
    },
    map(key) {
      const map = take(key, 'an object of names and texts', isRecord);
      return map !== undefined && areTexts(key, Object.entries(map)) ? (map as Record<string, string>) : undefined;
    },
    object(key) {
      const members = take(key, 'an object', isRecord);
      if (members === undefined) return undefined;
      const failsToo = () => {
        failed = true;
        failing?.();
      };
      return createFields(document, at(key), members, `${subject}, "${key}"`, { failing: failsToo });
    },
    flag: (key) => take(key, 'true or false', (value) => typeof value === 'boolean'),
    integer: (key, { least, most }) =>
      take(
        key,
        `a whole number from ${least} to ${most}`,
        (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most,
      ),
    fail,
    report,
    expectOnly(known) {
      for (const key of Object.keys(record)) {
        if (known.includes(key)) continue;
        report('notice', key, `the key ${quoted(key)} is not known and has no effect.${didYouMean(key, known)}`);
      }
    },
    get failed() {
      return failed;
    },
  };
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a key that sets some wait, whatever its unit. */
export function isTimeoutName(key: string): boolean {
  return /time[-_]?out/i.test(key);
}
