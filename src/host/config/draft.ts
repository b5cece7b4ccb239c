// A configuration file while it is being changed: its text, edited in place, and the way back to the disk.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, relative, sep } from 'node:path';
import { ParleyError } from '../../errors.ts';
import { type Diagnostic, formatDiagnostic, quoted } from './diagnostic.ts';
import { type DocumentPlace, parseDocument, readText } from './document.ts';
import { isRecord } from './fields.ts';
import type { ConfigPaths } from './paths.ts';
import { removeMember, setMember } from './text-edit.ts';
import { writeWhole } from './write.ts';

export interface Draft extends DocumentPlace {
  /** The value at a path, or undefined. */
  get(path: readonly string[]): unknown;
  /** Sets the value at a path; a key that stands there twice is left once. */
  set(path: readonly string[], value: unknown): void;
  /** Removes the value at a path, however often it stands there. */
  remove(path: readonly string[]): void;
  /** Writes the file when it changed. True when it did. */
  save(): boolean;
}

/** The file as a draft; one that does not exist yet begins empty. @throws ParleyError `config-invalid` when it cannot be edited. */
export function openDraft(place: DocumentPlace, paths: ConfigPaths): Draft {
  const { file, scope } = place;
  const read = readText(file);
  if (typeof read === 'object') throw new ParleyError('config-invalid', `${file} is not changed: ${read.problem}`);
  const heading = scope === 'local' ? `// This user's own settings for the project ${quoted(paths.root)}.\n` : '';
  const original = read ?? `${heading}{}\n`;
  let text = original;
  const parse = () => {
    const diagnostics: Diagnostic[] = [];
    const document = parseDocument(place, text, diagnostics);
    if (document !== 'broken' && isRecord(document.value)) return { document, root: document.value };
    const [first = { level: 'error', file, path: '', message: 'The file must hold an object.' } as const] = diagnostics;
    throw new ParleyError('config-invalid', `${formatDiagnostic(first)} Correct it by hand, then try again.`);
  };
  parse();
  const get = (path: readonly string[]) =>
    path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), parse().root);
  const remove = (path: readonly string[]) => {
    for (let before = ''; before !== text;) [before, text] = [text, removeMember(text, path)];
  };
  return {
    ...place,
    get,
    set(path, value) {
      const blocked = path.slice(0, -1).findIndex((_, at) => !isRecord(get(path.slice(0, at + 1)) ?? {}));
      if (blocked !== -1) {
        throw new ParleyError(
          'config-invalid',
          `${file} is not changed: ${quoted(path[blocked] as string)} in it must be an object.`,
        );
      }
      if (parse().document.spoiled(path)) remove(path);
      text = setMember(text, path, value);
    },
    remove,
    save() {
      if (text === original) return false;
      if (scope === 'project') refuseOutside(paths.root, file);
      try {
        writeWhole(file, text, { access: scope === 'project' ? 'shared' : 'private' });
      } catch (error) {
        const { code = 'unknown' } = error as NodeJS.ErrnoException;
        throw new ParleyError('config-invalid', `${file} could not be written (${code}). The old file is untouched.`, {
          cause: error,
        });
      }
      return true;
    },
  };
}

/** A project must not lead a write to a file elsewhere by way of a link. */
function refuseOutside(root: string, file: string): void {
  let existing = file;
  while (!existsSync(existing)) existing = dirname(existing);
  const inside = relative(realpathSync(root), realpathSync(existing));
  if (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return;
  throw new ParleyError('config-invalid', `${file} is not changed: it is a link to a place outside the project.`);
}
