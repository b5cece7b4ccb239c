// Changes to JSON text that leave everything else as it is: comments, spaces, line ends and trailing commas.
// Only the member that is set or removed is touched, with the comma it needs and the comment on its own line.
import { applyEdits, createScanner, type Edit, findNodeAtLocation, type Node } from 'jsonc-parser';
import { ParleyError } from '../../errors.ts';
import { parseJsonc, TOKEN } from './jsonc.ts';

/** The text with the member at `path` set to `value`; objects on the way are made. The text must be valid. */
export function setMember(text: string, path: readonly string[], value: unknown): string {
  const root = treeOf(text);
  const present = findNodeAtLocation(root, [...path]);
  if (present !== undefined) {
    const edit = {
      offset: present.offset,
      length: present.length,
      content: render(value, indentOf(text, present.offset), styleOf(text)),
    };
    return checked(applyEdits(text, [edit]));
  }
  let depth = path.length - 1;
  while (findNodeAtLocation(root, path.slice(0, depth)) === undefined) depth--;
  const parent = findNodeAtLocation(root, path.slice(0, depth)) as Node;
  if (parent.type !== 'object') throw new ParleyError('config-invalid', `"${path.slice(0, depth).join('.')}" is not an object.`);
  const inner = path.slice(depth + 1).reduceRight((content: unknown, key) => ({ [key]: content }), value);
  return checked(applyEdits(text, insertion(text, parent, path[depth] as string, inner)));
}

/** The text without the member at `path`; unchanged when there is none. The text must be valid. */
export function removeMember(text: string, path: readonly string[]): string {
  const property = findNodeAtLocation(treeOf(text), [...path])?.parent;
  return property?.parent === undefined ? text : checked(applyEdits(text, removal(text, property.parent, property)));
}

function insertion(text: string, parent: Node, key: string, value: unknown): Edit[] {
  const style = styleOf(text);
  const outer = indentOf(text, parent.offset);
  const last = parent.children?.at(-1);
  if (last === undefined) {
    const body = member(key, value, outer + style.unit, style);
    const bodyLine = style.eol + outer + style.unit + body;
    const [from, to] = [parent.offset + 1, endOf(parent) - 1];
    const comment = lastCommentEnd(text, from, to);
    if (comment === undefined) return [{ offset: from, length: to - from, content: bodyLine + style.eol + outer }];
    const closed = /[\r\n]/.test(text.slice(comment, to)) ? '' : style.eol + outer;
    return [{ offset: comment, length: 0, content: bodyLine + closed }];
  }
  const comma = commaAfter(text, endOf(last));
  const after = comma === undefined ? endOf(last) : comma + 1;
  const first = (parent.children as Node[])[0] as Node;
  const trailing = comma === undefined ? '' : ',';
  if (!/[\r\n]/.test(text.slice(parent.offset, first.offset))) {
    const body = `${JSON.stringify(key)}: ${renderInline(value)}`;
    return [{ offset: after, length: 0, content: `${comma === undefined ? ', ' : ' '}${body}${trailing}` }];
  }
  const indent = indentOf(text, first.offset);
  const line = style.eol + indent + member(key, value, indent, style) + trailing;
  const lineEnd = sameLineEnd(text, after);
  if (comma !== undefined) return [{ offset: lineEnd, length: 0, content: line }];
  if (lineEnd === after) return [{ offset: after, length: 0, content: `,${line}` }];
  return [
    { offset: after, length: 0, content: ',' },
    { offset: lineEnd, length: 0, content: line },
  ];
}

function removal(text: string, parent: Node, property: Node): Edit[] {
  const siblings = parent.children as Node[];
  const at = siblings.indexOf(property);
  const comma = commaAfter(text, endOf(property));
  let start = property.offset;
  let end = comma === undefined ? endOf(property) : comma + 1;
  const edits: Edit[] = [];
  const previous = siblings[at - 1];
  // A last member takes away the comma before it, unless the list is one that ends with a comma anyway.
  if (comma === undefined && previous !== undefined) {
    edits.push({ offset: commaAfter(text, endOf(previous)) as number, length: 1, content: '' });
  }
  const lineStart = spacesBefore(text, start);
  const lineEnd = sameLineEnd(text, end);
  const [lineBreak = ''] = /^[ \t]*(?:\r\n|\r|\n)/.exec(text.slice(lineEnd)) ?? [];
  const [spaces = ''] = /^[ \t]*/.exec(text.slice(end)) ?? [];
  if (lineBreak !== '' && '\r\n'.includes(text[lineStart - 1] ?? '\n')) [start, end] = [lineStart, lineEnd + lineBreak.length];
  else if (comma !== undefined) end += spaces.length;
  else start = lineStart;
  // What is left of an object without members or comments is `{}`.
  const [open, close] = [parent.offset + 1, endOf(parent) - 1];
  if (siblings.length === 1 && (text.slice(open, start) + text.slice(end, close)).trim() === '') [start, end] = [open, close];
  edits.push({ offset: start, length: end - start, content: '' });
  return edits;
}

interface Style {
  readonly unit: string;
  readonly eol: string;
}

/** The indentation and line end that the text uses. */
function styleOf(text: string): Style {
  const [, unit = '  '] = /\n([ \t]+)["/]/.exec(text) ?? [];
  return { unit: unit.startsWith('\t') ? '\t' : unit, eol: text.includes('\r\n') ? '\r\n' : '\n' };
}

function member(key: string, value: unknown, indent: string, style: Style): string {
  return `${JSON.stringify(key)}: ${render(value, indent, style)}`;
}

/** Objects a member a line; lists on one line. */
function render(value: unknown, indent: string, style: Style): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return renderInline(value);
  const inner = indent + style.unit;
  const members = Object.entries(value).map(([key, content]) => inner + member(key, content, inner, style));
  return members.length === 0 ? '{}' : `{${style.eol}${members.join(`,${style.eol}`)}${style.eol}${indent}}`;
}

function renderInline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderInline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, content]) => `${JSON.stringify(key)}: ${renderInline(content)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

/** The spaces that begin the line on which `offset` is. */
function indentOf(text: string, offset: number): string {
  const start = Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? '';
}

/** Where the spaces begin that end at `offset`. */
function spacesBefore(text: string, offset: number): number {
  let start = offset;
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start--;
  return start;
}

/** Where the comma after `from` stands, or undefined when the object ends first. */
function commaAfter(text: string, from: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(from);
  return (scanner.scan() as number) === TOKEN.comma ? scanner.getTokenOffset() : undefined;
}

/** The end of the last comment that begins on the same line after `from`; `from` itself when there is none. */
function sameLineEnd(text: string, from: number): number {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let end = from;
  for (let token: number = scanner.scan(); ; token = scanner.scan()) {
    if (token === TOKEN.lineComment || token === TOKEN.blockComment) end = scanner.getPosition();
    else if (token !== TOKEN.space) return end;
  }
}

function lastCommentEnd(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let end: number | undefined;
  for (let token: number = scanner.scan(); scanner.getPosition() <= to && token !== TOKEN.end; token = scanner.scan()) {
    if (token === TOKEN.lineComment || token === TOKEN.blockComment) end = scanner.getPosition();
  }
  return end;
}

function treeOf(text: string): Node {
  const parsed = parseJsonc(text);
  if ('root' in parsed) return parsed.root;
  throw new ParleyError('config-invalid', `${parsed.position.line}:${parsed.position.column} ${parsed.problem}`);
}

/** A last look before anything is written: an edit must never leave a file that cannot be read. */
function checked(text: string): string {
  treeOf(text);
  return text;
}
