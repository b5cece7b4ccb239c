// What stands behind `when`: what the tool is, who calls and on which way, and what the run has read. A condition that cannot be
// told never lets a rule allow, and always lets it ask or deny.
import { didYouMean } from '../../base/index.ts';
import type { ToolAnnotations } from '../../protocol/index.ts';
import { taintFor, type TaintMark } from '../trust/index.ts';
import type { Care } from './care.ts';
import { matchesGlob } from './glob.ts';

/** The ways on which a call can come. */
export const ROUTES = ['library', 'call', 'run', 'chat', 'approvals', 'console', 'gateway', 'app'] as const;

/** The circumstances that conditions look at. */
export interface Circumstances {
  /** The configured server's name. */
  readonly server: string;
  /** What a trusted server says of the tool; undefined where that does not count, or where it is no tool. */
  readonly hints: ToolAnnotations | undefined;
  readonly principal: string;
  readonly route: string;
  /** What the run has read. */
  readonly taint: readonly TaintMark[];
}

export interface Conditions {
  readonly hold: (circumstances: Circumstances) => boolean;
  /** True when they look at what the server says of its tool. */
  readonly needTrust: boolean;
}

/** What each hint comes to with the defaults of the specification. `destructive` and `idempotent` mean nothing where it only reads. */
const HINTS = {
  'read-only': (hints: ToolAnnotations) => hints.readOnlyHint === true,
  destructive: (hints: ToolAnnotations) => hints.readOnlyHint !== true && hints.destructiveHint !== false,
  idempotent: (hints: ToolAnnotations) => hints.readOnlyHint === true || hints.idempotentHint === true,
  'open-world': (hints: ToolAnnotations) => hints.openWorldHint !== false,
} as const;

const TAINT = {
  tainted: ({ taint, server }: Circumstances) => taintFor(taint, server).untrusted.length > 0,
  private: ({ taint, server }: Circumstances) => taintFor(taint, server).private.length > 0,
} as const;

type Hint = keyof typeof HINTS;
type Taint = keyof typeof TAINT;

/** One condition; `wanted` is false behind `not`. */
interface Condition {
  readonly word: string;
  readonly wanted: boolean;
  readonly holds: (circumstances: Circumstances) => boolean;
}

/**
 * Reads what stands behind `when`: conditions with `and` between them.
 * @throws Error that says what is wrong, to go behind "The rule"
 */
export function readConditions(text: string, care: Care): Conditions {
  const conditions = text.split(/\s+and\s+/).map((each) => readCondition(each.trim(), care));
  const words = conditions.map(({ word }) => word);
  const twice = words.find((word, at) => words.indexOf(word) !== at);
  if (twice !== undefined) throw new Error(`has the condition "${twice}" twice`);
  const hints = conditions.filter(({ word }) => Object.hasOwn(HINTS, word));
  if (hints.length > 0 && !canHold(hints)) throw new Error('can never match: no tool is all that its conditions say');
  return { hold: (circumstances) => conditions.every(({ holds }) => holds(circumstances)), needTrust: hints.length > 0 };
}

function readCondition(text: string, care: Care): Condition {
  const [, not, word = '', values = ''] = /^(not\s+)?(\S*)\s*(.*)$/.exec(text) ?? [];
  const wanted = not === undefined;
  const said = (holds: Condition['holds']): Condition => ({
    word,
    wanted,
    holds: (circumstances) => holds(circumstances) === wanted,
  });
  if (word === 'route' || word === 'principal') {
    const list = values.split('|').map((value) => value.trim());
    if (list.includes('')) throw new Error(`has the condition "${word}" without a name behind it`);
    if (word === 'principal') return said(({ principal }) => list.some((glob) => matchesGlob(glob, principal)));
    const unknown = list.find((route) => !(ROUTES as readonly string[]).includes(route));
    if (unknown !== undefined) throw new Error(`can never match: there is no route "${unknown}".${didYouMean(unknown, ROUTES)}`);
    return said(({ route }) => list.includes(route));
  }
  if (values !== '') throw new Error(`has "${values.slice(0, 40)}" behind the condition "${word}"`);
  if (Object.hasOwn(HINTS, word)) return { word, wanted, holds: hintTest(word as Hint, wanted, care) };
  if (Object.hasOwn(TAINT, word)) {
    // Else one more thing read could turn a denial into an approval.
    if (wanted === (care === 'strict')) {
      throw new Error(
        care === 'strict'
          ? `cannot allow because of "${word}": write "not ${word}"`
          : `cannot hold back because of "not ${word}": write "${word}"`,
      );
    }
    return said(TAINT[word as Taint]);
  }
  const known = [...Object.keys(HINTS), ...Object.keys(TAINT), 'route', 'principal'];
  throw new Error(
    `has the condition "${word.slice(0, 40)}", which is none.${didYouMean(word, known)} There are ${known.join(', ')}`,
  );
}

function hintTest(hint: Hint, wanted: boolean, care: Care): Condition['holds'] {
  return ({ hints }) => (hints === undefined ? care === 'generous' : HINTS[hint](hints) === wanted);
}

/** True when some tool is all that the conditions on hints say. */
function canHold(conditions: readonly Condition[]): boolean {
  const values = [true, false];
  return values.some((readOnlyHint) =>
    values.some((destructiveHint) =>
      values.some((idempotentHint) =>
        values.some((openWorldHint) =>
          conditions.every(({ holds }) =>
            holds({
              server: '',
              hints: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
              principal: '',
              route: '',
              taint: [],
            }),
          ),
        ),
      ),
    ),
  );
}
