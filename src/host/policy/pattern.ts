// Regular expressions in rules: matched in linear time, whatever the text, and refused when no text could ever match.
import type { RE2JS } from 're2js';
import { re2 } from '../../base/re2.ts';
import type { Care } from './care.ts';

const LONGEST = 256;
const LARGEST = 2_000;

/** Operations of a compiled expression, as re2js numbers them. */
const OP = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nop: 7, rune: 8 } as const;
const BEGIN_TEXT = 4;
const END_TEXT = 8;

/**
 * A test for a text. In a rule that allows, the expression must cover all of it; else it is enough that it is found somewhere,
 * and `.` goes over line ends.
 * @throws Error that says what is wrong, to go behind "has a regular expression that"
 */
export function compilePattern(source: string, flags: '' | 'i', care: Care): (text: string) => boolean {
  if (source.length > LONGEST) throw new Error(`is longer than ${LONGEST} characters`);
  // Taken for a plain "k" otherwise.
  if (/(?:^|[^\\])(?:\\\\)*\\k/.test(source)) throw new Error('has a back reference');
  const { CASE_INSENSITIVE, DOTALL } = re2();
  const compiled = compile(source, (flags === 'i' ? CASE_INSENSITIVE : 0) | (care === 'generous' ? DOTALL : 0));
  if (compiled.programSize() > LARGEST) throw new Error('is too large to be matched here');
  if (!canMatch(compiled)) throw new Error('no text can match');
  return care === 'strict' ? (text) => compiled.testExact(text) : (text) => compiled.test(text);
}

function compile(source: string, flags: number): RE2JS {
  try {
    const engine = re2();
    return engine.compile(engine.translateRegExp(source), flags);
  } catch {
    throw new Error('cannot be read, or not be matched in linear time');
  }
}

interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
}

/**
 * False when the end of the program cannot be reached: by way of a class without a character, or a beginning behind a character,
 * or a character behind the end. Borders of words and lines are taken as passable.
 */
function canMatch({ re2Input }: RE2JS): boolean {
  const { inst, start } = re2Input.prog as { readonly inst: readonly Instruction[]; readonly start: number };
  const seen = new Set<string>();
  /** Instructions to look at, with whether a character was taken before, and whether none may follow. */
  const open: [at: number, taken: boolean, ended: boolean][] = [[start, false, false]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const key = next.join();
    if (seen.has(key)) continue;
    seen.add(key);
    const [at, taken, ended] = next;
    const { op, out, arg, runes } = inst[at] as Instruction;
    switch (op) {
      case OP.match:
        return true;
      case OP.fail:
        break;
      case OP.alt:
      case OP.altMatch:
        open.push([out, taken, ended], [arg, taken, ended]);
        break;
      case OP.capture:
      case OP.nop:
        open.push([out, taken, ended]);
        break;
      case OP.emptyWidth:
        if ((arg & BEGIN_TEXT) === 0 || !taken) open.push([out, taken, ended || (arg & END_TEXT) !== 0]);
        break;
      default:
        if (!ended && (op !== OP.rune || runes.length > 0)) open.push([out, true, false]);
    }
  }
  return false;
}
