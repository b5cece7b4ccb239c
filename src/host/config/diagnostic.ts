// What is wrong with a configuration file, as values: reading never throws for what somebody wrote.
// Text from a file is quoted and escaped in every message, and no value of `env` or `headers` gets into one.

/** `error`: a file, entry or rule is not used. `warning`: a part was ignored or changed. `notice`: worth knowing. */
export type DiagnosticLevel = 'error' | 'warning' | 'notice';

/** One thing to say about one place in one file. */
export interface Diagnostic {
  readonly level: DiagnosticLevel;
  readonly file: string;
  /** The key it is about, such as `mcpServers.github.url`; '' for the file as a whole. */
  readonly path: string;
  /** Both count from 1. */
  readonly line?: number;
  readonly column?: number;
  /** The server it is about. */
  readonly server?: string;
  readonly message: string;
}

/** `file:line:column message`, or `file: message` where there is no place. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, message } = diagnostic;
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column ?? 1} ${message}`;
}

/** `text` in double quotes on one line, at most 80 characters of it, with everything that does not print escaped. */
export function quoted(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return JSON.stringify(short).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) as number).toString(16)}}`);
}

/** What kind of JSON value it is, in words for a message. Never the value itself: it may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : 'a text';
  return typeof value === 'number' ? 'this number' : 'true or false';
}
