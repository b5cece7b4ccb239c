// The difference between two definitions for a person to read: where something changed, what it was and what it is. Everything in it
// is made visible, for it is a server's text.
import { canonical } from '../../base/index.ts';
import { visible } from '../trust/index.ts';

/** Lines that one difference may take; the digest tells apart what is longer. */
const MOST_LINES = 400;

/**
 * The lines of a difference, without line ends and without a gutter. A line that begins with `@` says where, `-` was and `+` is.
 * `undefined` for a definition that there was not, or is no more.
 */
export function changeLines(before: unknown, after: unknown): readonly string[] {
  const lines: string[] = [];
  walk(before, after, '', lines);
  const more = lines.length - MOST_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MOST_LINES), `@ and ${more} more lines`];
}

function walk(before: unknown, after: unknown, path: string, lines: string[]): void {
  if (before !== undefined && after !== undefined && canonical(before) === canonical(after)) return;
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      walk(own(before, key), own(after, key), `${path}/${key}`, lines);
    }
    return;
  }
  lines.push(`@ ${path === '' ? '/' : visible(path)}`);
  const [was, is] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < was.length && start < is.length && was[start] === is[start]) start++;
  let end = 0;
  while (end < was.length - start && end < is.length - start && was.at(-1 - end) === is.at(-1 - end)) end++;
  lines.push(...was.slice(start, was.length - end).map((line) => `- ${line}`));
  lines.push(...is.slice(start, is.length - end).map((line) => `+ ${line}`));
}

function linesOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return visible(text, { multiline: true }).split('\n');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
