// One configuration file: read within bounds, parsed, and refused where a key is doubled or dangerous.
// A file that cannot be used is one diagnostic; it never throws and never stops the others.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Node } from 'jsonc-parser';
import { type Diagnostic, type DiagnosticLevel, quoted } from './diagnostic.ts';
import { locate, parseJsonc, type Path } from './jsonc.ts';
import { againstMachineFile } from './machine-file.ts';
import type { Scope } from './shape.ts';

const MAX_BYTES = 1024 * 1024;
/** Absent on some systems, whatever the types say. */
const O_NONBLOCK = (constants as Partial<typeof constants>).O_NONBLOCK ?? 0;
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

/** A file to read. `standard`: `.mcp.json`, which other applications read too. `parley`: may hold Parley's own settings. */
export interface DocumentPlace {
  readonly file: string;
  readonly scope: Scope;
  readonly form: 'standard' | 'parley';
}

/** A parsed file. Objects in `value` have no prototype. */
export interface Document extends DocumentPlace {
  readonly value: unknown;
  /** Adds a diagnostic about the key at `path`. */
  report(level: DiagnosticLevel, path: Path, message: string): void;
  /** True when something at or below `path` was refused while parsing; it has been reported. */
  spoiled(path: Path): boolean;
}

/** The file as a document. `absent` when there is none; `broken` when it cannot be used, which `diagnostics` then says. */
export function readDocument(place: DocumentPlace, diagnostics: Diagnostic[]): Document | 'absent' | 'broken' {
  const problem = place.scope === 'machine' ? againstMachineFile(place.file) : undefined;
  const read = problem === undefined ? readText(place.file) : { problem };
  if (read === undefined) return 'absent';
  if (typeof read !== 'string') {
    diagnostics.push({ level: 'error', file: place.file, path: '', message: `The file is not used: ${read.problem}` });
    return 'broken';
  }
  return parseDocument(place, read, diagnostics);
}

/** The same for text that is at hand. */
export function parseDocument(place: DocumentPlace, text: string, diagnostics: Diagnostic[]): Document | 'broken' {
  const parsed = parseJsonc(text);
  if ('problem' in parsed) {
    diagnostics.push({
      level: 'error',
      file: place.file,
      path: '',
      ...parsed.position,
      message: `The file is not used: ${parsed.problem}`,
    });
    return 'broken';
  }
  const { root } = parsed;
  const report = (level: DiagnosticLevel, path: Path, message: string) => {
    const server = (path[0] === 'mcpServers' || path[0] === 'servers') && typeof path[1] === 'string' ? { server: path[1] } : {};
    diagnostics.push({ level, file: place.file, path: path.join('.'), ...locate(root, text, path), ...server, message });
  };
  const faults: { path: Path; message: string }[] = [];
  const value = plain(root, [], faults);
  for (const { path, message } of faults) report('error', path, message);
  if (faults.some(({ path }) => path.length < 2)) return 'broken';
  const spoiled = (path: Path) => faults.some((fault) => path.every((segment, at) => fault.path[at] === segment));
  return { ...place, value, report, spoiled };
}

/** The text of a regular file of at most 1 MiB without its byte order mark, undefined when there is none, or what stands against it. */
export function readText(file: string): string | undefined | { readonly problem: string } {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for ever.
    descriptor = openSync(file, constants.O_RDONLY | O_NONBLOCK);
    const facts = fstatSync(descriptor);
    if (!facts.isFile()) return { problem: 'it is not a regular file.' };
    if (facts.size > MAX_BYTES) return { problem: `it is larger than ${MAX_BYTES} bytes.` };
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(descriptor));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return {
      problem:
        code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8 text.' : `it cannot be read (${code ?? String(error)}).`,
    };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The tree as data, without keys that are forbidden or come twice: those are faults. */
function plain(node: Node, path: Path, faults: { path: Path; message: string }[]): unknown {
  if (node.type === 'array') return (node.children ?? []).map((child, at) => plain(child, [...path, at], faults));
  if (node.type !== 'object') return node.value as unknown;
  const record = Object.create(null) as Record<string, unknown>;
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = keyNode.value as string;
    const at = [...path, key];
    if (FORBIDDEN.has(key)) faults.push({ path: at, message: `The key ${quoted(key)} is never allowed. Remove it.` });
    else if (key in record) faults.push({ path: at, message: `The key ${quoted(key)} stands here twice. Keep one of them.` });
    else record[key] = plain(valueNode, at, faults);
  }
  return record;
}
