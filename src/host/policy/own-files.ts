// Parley's own folders: no call may name what is in them, whatever a rule allows. Whoever could write there would allow himself
// everything; whoever could read there has the sign-ins and the key of the audit.
import { readdirSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Places } from './places.ts';
import { compileUnder } from './under.ts';

/** Why a call must not be made; undefined when it names nothing of Parley's own. */
export type OwnFiles = (server: string, args: JsonObject) => string | undefined;

/** Characters that part one word from the next in a command line. */
const BETWEEN_WORDS = /[\s"'`;|&<>()=,]+/;

/**
 * Looks for paths into `folders` among all texts of a call: as they stand, through links, in other spellings, and as words of a command
 * line that names the folder. What a program makes of a text by itself is not seen.
 */
export function createOwnFiles(folders: readonly string[], places: Places): OwnFiles {
  if (folders.length === 0) return () => undefined;
  const tests = folders.map((folder) => compileUnder(folder, places, 'generous'));
  const names = folders.map((folder) => basename(folder).toLowerCase());
  const isOwn = (path: string, server: string) =>
    isPath(path) && (tests.some((test) => test(path, server)) || isLinkedToOne(path, folders));

  function namesOne(text: string, server: string): boolean {
    const base = isPath(text) ? undefined : places.workingDirectory(server);
    if (isOwn(base === undefined ? text : resolve(base, text), server)) return true;
    const lower = text.toLowerCase();
    return names.some((name) => lower.includes(name)) && text.split(BETWEEN_WORDS).some((word) => isOwn(word, server));
  }

  return (server, args) => {
    const found = textIn(args, (text) => namesOne(text, server));
    return found === undefined
      ? undefined
      : `It names what is Parley's own, which no call may touch: ${JSON.stringify(found.slice(0, 120))}.`;
  };
}

/** What is surely meant as a place on this machine; other texts may be anything. */
function isPath(text: string): boolean {
  return isAbsolute(text) || /^(?:~(?:[\\/]|$)|file:|[a-z]:[\\/]|[$%][^\s]*[\\/])/i.test(text.trim());
}

/** True for another name of one of the files. */
function isLinkedToOne(path: string, folders: readonly string[]): boolean {
  const file = statOf(path);
  if (file === undefined || !file.isFile() || file.nlink < 2n) return false;
  return folders.some((folder) =>
    filesIn(folder).some((own) => {
      const found = statOf(own);
      return found?.ino === file.ino && found.dev === file.dev;
    }),
  );
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false, bigint: true });
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** The first text, names of members too, that is looked for. */
function textIn(value: unknown, isIt: (text: string) => boolean): string | undefined {
  if (typeof value === 'string') return isIt(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = (!Array.isArray(value) && isIt(name) ? name : undefined) ?? textIn(member, isIt);
    if (found !== undefined) return found;
  }
  return undefined;
}
