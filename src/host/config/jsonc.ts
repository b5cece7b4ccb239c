// JSON with comments and trailing commas, read into a tree with bounds, and places in it as line and column.
import { createScanner, findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

export type Path = readonly (string | number)[];

/** Both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The scanner's token kinds; the package's own enum is gone at run time. */
export const TOKEN = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  space: 15,
  end: 17,
} as const;

const DEPTH = 64;

/** The tree, or what is wrong and where. Nesting beyond 64 is refused before the recursive parser sees it. */
export function parseJsonc(text: string): { readonly root: Node } | { readonly problem: string; readonly position: Position } {
  const refuse = (problem: string, offset: number) => ({ problem, position: positionAt(text, offset) });
  if ((createScanner(text, true).scan() as number) === TOKEN.end) return refuse('it is empty. Write {}, or delete it.', 0);
  const deep = tooDeepAt(text);
  if (deep !== undefined) return refuse(`values are nested more than ${DEPTH} deep.`, deep);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (root !== undefined && error === undefined) return { root };
  const problem = error && PROBLEMS[printParseErrorCode(error.error)];
  return refuse(problem ?? 'this is not JSON.', error?.offset ?? 0);
}

/** Line and column of an offset. */
function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) as string).length + 1 };
}

/** Where the key at `path` stands, or the nearest key above it. */
export function locate(root: Node, text: string, path: Path): Position {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node !== undefined) return positionAt(text, node.parent?.type === 'property' ? node.parent.offset : node.offset);
  }
  return positionAt(text, root.offset);
}

function tooDeepAt(text: string): number | undefined {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== TOKEN.end; token = scanner.scan()) {
    if (token === TOKEN.openBrace || token === TOKEN.openBracket) depth++;
    if (token === TOKEN.closeBrace || token === TOKEN.closeBracket) depth--;
    if (depth > DEPTH) return scanner.getTokenOffset();
  }
  return undefined;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this word is not JSON. Text stands in double quotes.',
  InvalidNumberFormat: 'this is not a number.',
  PropertyNameExpected: 'a key in double quotes should stand here.',
  ValueExpected: 'a value is missing here.',
  ColonExpected: 'a colon is missing after the key.',
  CommaExpected: 'a comma is missing before this.',
  CloseBraceExpected: 'a "}" is missing.',
  CloseBracketExpected: 'a "]" is missing.',
  EndOfFileExpected: 'there is something after the end of the value.',
  InvalidCommentToken: 'this is not a comment.',
  UnexpectedEndOfComment: 'a comment is not closed.',
  UnexpectedEndOfString: 'a text is not closed on its line.',
  UnexpectedEndOfNumber: 'a number is cut off.',
  InvalidUnicode: 'a \\u escape needs four hexadecimal digits.',
  InvalidEscapeCharacter: 'a backslash in a text must be written twice.',
  InvalidCharacter: 'a text holds a control character; write it as an escape.',
};
