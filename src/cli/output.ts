// How results reach the user: one JSON value, lines of JSON, Markdown or text on stdout; everything else on stderr.
import { ParleyError } from '../errors.ts';
import { GUTTER, gutter, visible } from '../host/index.ts';
import type { Io } from './io.ts';

export const FORMS = ['text', 'markdown', 'json', 'raw', 'ndjson'] as const;
export type Form = (typeof FORMS)[number];

export interface OutputOptions {
  readonly output?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** One result in the forms that make sense for it; a form that is missing falls back to `text`, `ndjson` to `json`. */
export interface Result {
  readonly json: unknown;
  readonly text: () => string;
  readonly markdown?: () => string;
  /** Only the content, with nothing around it and nothing escaped. */
  readonly raw?: () => string;
  readonly ndjson?: () => readonly unknown[];
}

export interface Printer {
  readonly form: Form;
  /** Prints the result of the command: once. */
  result(result: Result): void;
  /** One value on a line of its own, in form `ndjson` only. */
  event(value: unknown): void;
  /** A line for the person, on stderr; silent with `--quiet`. */
  say(line: string): void;
  /** A line for the person who asked for more with `--verbose`. */
  detail(line: string): void;
  /** What went wrong: a line of JSON when the form is JSON, else a sentence. */
  error(code: string, message: string, details?: ErrorDetails): void;
}

export interface ErrorDetails {
  /** What the server wrote about it. Untrusted. */
  readonly stderr?: string | undefined;
  /** The ticket that waits for an answer; the sentence names it too. */
  readonly ticket?: string | undefined;
}

export function formOf({ output, json }: OutputOptions): Form {
  if (json === true) return 'json';
  const form = output ?? 'text';
  if ((FORMS as readonly string[]).includes(form)) return form as Form;
  throw new ParleyError('usage', `There is no output form "${form}". Use one of ${FORMS.join(', ')}.`);
}

export function createPrinter(io: Io, options: OutputOptions): Printer {
  const form = formOf(options);
  const out = (text: string) => void io.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  // Whatever a line was made of, a terminal acts on nothing in it.
  const err = (text: string) => void io.stderr.write(`${visible(text, { multiline: true })}\n`);
  return {
    form,
    result(result) {
      if (form === 'json') out(toJson(result.json));
      else if (form === 'ndjson') for (const value of result.ndjson?.() ?? [result.json]) out(toJson(value));
      else
        out(
          (form === 'markdown' ? (result.markdown ?? result.text) : form === 'raw' ? (result.raw ?? result.text) : result.text)(),
        );
    },
    event(value) {
      if (form === 'ndjson') out(toJson(value));
    },
    say(line) {
      if (options.quiet !== true) err(line);
    },
    detail(line) {
      if (options.verbose === true) err(line);
    },
    error(code, message, details = {}) {
      const { stderr } = details;
      if (form === 'json' || form === 'ndjson') io.stderr.write(`${toJson({ error: { code, message, ...details } })}\n`);
      else err(`parley: ${behindBar(message)}${stderr === undefined ? '' : `\n${gutter(stderr)}`}`);
    },
  };
}

/** A message may hold a server's own lines: none of them begins in the first column, which is Parley's. */
function behindBar(message: string): string {
  return message.replace(/\r?\n(?=[^\s│])/g, `\n${GUTTER}`);
}

/**
 * JSON on one line. Controls and formats (directions, zero widths, tags) that JSON allows unescaped are escaped too: a terminal
 * never acts on them, and a reader sees that they are there.
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => character.split('').map(escaped).join(''));
}

/** One UTF-16 unit as JSON writes it when it is escaped. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Rows as columns of text, the last one as wide as it likes. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Rows as a Markdown table; the first one is its head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}
