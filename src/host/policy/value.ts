// What an argument must be: one or more alternatives, each an exact JSON scalar, a glob, a range, or a word with what belongs to it.
import type { Care } from './care.ts';
import { QUOTED, type Cursor } from './cursor.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { compilePattern } from './pattern.ts';
import type { Places } from './places.ts';
import { compileUnder } from './under.ts';
import { compileHost } from './url-host.ts';

/** A test for the value of an argument of a call to `server`. */
export type ValueTest = (value: unknown, server: string) => boolean;

export interface Reading {
  readonly care: Care;
  readonly places: Places;
}

const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const RANGE = new RegExp(`^(?=.*\\d)(${NUMBER})?\\s*\\.\\.\\s*(${NUMBER})?$`);
const COMPARISON = new RegExp(`^([<>]=?)\\s*(${NUMBER})$`);
/** A `..` step in a path or URL, plain or percent-encoded. */
export const STEP_UP = /(^|[\\/]|%2f|%5c)(\.|%2e){2}([\\/]|%2f|%5c|$)/i;

/**
 * Reads alternatives up to a `,` or a `)` that belongs to none of them.
 * @throws Error that says what is wrong, to go behind "The rule"
 */
export function readValue(cursor: Cursor, reading: Reading): ValueTest {
  const tests: ValueTest[] = [];
  do tests.push(readAlternative(cursor, reading));
  while (cursor.take(/\|/) !== undefined);
  const [only] = tests;
  return only !== undefined && tests.length === 1 ? only : (value, server) => tests.some((test) => test(value, server));
}

function readAlternative(cursor: Cursor, reading: Reading): ValueTest {
  const expression = cursor.take(/matches\s+\/((?:[^/\\]|\\.)*)\/(i?)(?=\s*(?:[,|)]|$))/);
  if (expression !== undefined) return patternTest(expression[1] as string, expression[2] as '' | 'i', reading.care);
  if (cursor.take(/matches\s+(?=\/)/) !== undefined) {
    throw new Error('has a regular expression that does not end: write matches /…/, with \\/ for a slash inside');
  }
  const word = cursor.take(/(under|host)\s+(?=\S)/)?.[1];
  const quoted = cursor.take(QUOTED)?.[0];
  const text = quoted === undefined ? cursor.takeBare() : unquoted(quoted);
  if (text === '' && quoted === undefined) throw new Error('has no value in its parentheses');
  if (word === 'under') return underTest(text, reading);
  if (word === 'host') return hostTest(text, reading.care);
  return quoted === undefined ? bareTest(text, reading.care) : anywhere(reading.care, (value) => value === text);
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new Error('has a value that is neither a JSON text, number, true, false, null nor a pattern');
  }
}

function bareTest(text: string, care: Care): ValueTest {
  if (/^["[{]/.test(text)) throw new Error('has a value that is neither a JSON text, number, true, false, null nor a pattern');
  if (/^[<>]/.test(text) || RANGE.test(text)) return spelled(care, rangeTest(text));
  let scalar: unknown = text;
  try {
    scalar = JSON.parse(text);
  } catch {
    if (isGlob(text)) return globTest(text, care);
  }
  return typeof scalar === 'string' || scalar === null
    ? anywhere(care, (value) => value === scalar)
    : spelled(care, (value) => value === scalar);
}

function globTest(glob: string, care: Care): ValueTest {
  // What a `..` leads to depends on who follows it, so a pattern never allows one: /srv/data/* does not mean /srv/data/../../etc.
  return anywhere(
    care,
    (value) => typeof value === 'string' && !(care === 'strict' && STEP_UP.test(value)) && matchesGlob(glob, value),
  );
}

function rangeTest(text: string): ValueTest {
  const [, sign, bound] = COMPARISON.exec(text) ?? [];
  if (sign !== undefined) {
    const limit = Number(bound);
    const compare = {
      '<': (n: number) => n < limit,
      '<=': (n: number) => n <= limit,
      '>': (n: number) => n > limit,
      '>=': (n: number) => n >= limit,
    };
    const test = compare[sign as keyof typeof compare];
    return (value) => typeof value === 'number' && test(value);
  }
  const [, from, to] = RANGE.exec(text) ?? [];
  if (from === undefined && to === undefined) throw new Error(`compares with "${text.slice(0, 40)}", which is no number`);
  const [least, most] = [Number(from ?? -Infinity), Number(to ?? Infinity)];
  if (least > most) throw new Error(`can never match: no number is in ${text}`);
  return (value) => typeof value === 'number' && value >= least && value <= most;
}

function patternTest(source: string, flags: '' | 'i', care: Care): ValueTest {
  const test = told('has a regular expression that', () => compilePattern(source, flags, care));
  return anywhere(care, (value) => typeof value === 'string' && test(value));
}

function underTest(folder: string, { care, places }: Reading): ValueTest {
  const test = told('has a folder that', () => compileUnder(folder, places, care));
  return anywhere(care, (value, server) => typeof value === 'string' && test(value, server));
}

function hostTest(host: string, care: Care): ValueTest {
  const test = told('has a host that', () => compileHost(host, care));
  return anywhere(care, (value) => typeof value === 'string' && test(value));
}

/** For a rule that asks or denies, one value somewhere in a list or an object is enough. */
function anywhere(care: Care, test: ValueTest): ValueTest {
  if (care === 'strict') return test;
  const holds: ValueTest = (value, server) =>
    typeof value === 'object' && value !== null
      ? Object.values(value).some((member) => holds(member, server))
      : test(value, server);
  return holds;
}

/** The same, and a text that spells a number or a truth value may be taken for it. */
function spelled(care: Care, test: ValueTest): ValueTest {
  if (care === 'strict') return test;
  return anywhere(care, (value, server) => test(value, server) || (typeof value === 'string' && test(spelledOut(value), server)));
}

function spelledOut(text: string): unknown {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === 'false') return word === 'true';
  return word === '' ? undefined : Number(word);
}

function told<T>(before: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`${before} ${(error as Error).message}`, { cause: error });
  }
}
