// Parley's own folders and files: no call may name them or what is in them, whatever a rule allows. Whoever could write there would
// allow himself everything; whoever could read there has the sign-ins and the key of the audit.
import { lstatSync, opendirSync, readdirSync, statSync, type Dir } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { systemClock } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Places } from './places.ts';
import { compileUnderAny, placesIn } from './under.ts';

/** Why a call must not be made; undefined when it names nothing of Parley's own. */
export type OwnFiles = (server: string, args: JsonObject) => string | undefined;

/** Characters that part one word from the next in a command line. */
const BETWEEN_WORDS = /[\s"'`;|&<>()=,]+/;

/** Characters that a program puts before a path in one word with it, as `@file` and `host:file`. */
const BEFORE_PATH = /[@:[\]{}]+/;

/** Characters of a name; no disk has one that is longer. */
const LONGEST_NAME = 255;

/** Names of one folder that are kept, and milliseconds for which they are. */
const MOST_NAMES = 1_000;
const MOMENT_MS = 20;

/** Words of one text that are looked for on the disk; others are read only. */
const MOST_WORDS = 64;

/**
 * Looks for paths into `folders` among all texts of a call: as they stand, through links, in other spellings, and as words of a command
 * line that names the folder. What a program makes of a text by itself is not seen.
 */
export function createOwnFiles(folders: readonly string[], places: Places): OwnFiles {
  if (folders.length === 0) return () => undefined;
  const leadsThere = compileUnderAny(folders, places);
  const nowhere: Places = { ...places, realpath: () => undefined };
  const readsSo = compileUnderAny([...folders, ...folders.flatMap((folder) => realOf(folder, places))], nowhere);
  const names = folders.map((folder) => basename(folder).toLowerCase());
  const entries = createEntries();
  const isOwn = (path: string, server: string) =>
    leadsThere(path, server) || placesIn(path).some((place) => isLinkedToOne(place, folders));

  /** The whole text, as a place. */
  function isPlace(text: string, server: string): boolean {
    if (isPath(text)) return isOwn(text, server);
    const base = places.workingDirectory(server);
    return (
      base !== undefined && placesIn(text).some((place) => mayBeIn(base, place, entries) && isOwn(resolve(base, place), server))
    );
  }

  /** The word that names it, and nothing else of the text: it is written down. */
  function nameIn(text: string, server: string): string | undefined {
    const words = () => text.split(BETWEEN_WORDS).filter((word) => word !== '');
    const parts = () => words().flatMap((word) => [word, ...word.split(BEFORE_PATH).slice(1)]);
    if (isPlace(text, server)) return words()[0] ?? text;
    const isAbout = (part: string) => names.some((name) => part.toLowerCase().includes(name));
    if (!isAbout(text)) return undefined;
    const paths = [...new Set(parts())].filter((word) => isPath(word) && isAbout(word));
    return paths.find((path, at) => (at < MOST_WORDS ? isOwn : readsSo)(path, server));
  }

  return (server, args) => {
    const found = firstIn(args, (text) => nameIn(text, server));
    return found === undefined
      ? undefined
      : `It names what is Parley's own, which no call may touch: ${JSON.stringify(found.slice(0, 120))}.`;
  };
}

/** What is surely meant as a place on this machine; other texts may be anything. */
function isPath(text: string): boolean {
  return isAbsolute(text) || /^(?:~(?:[\\/]|$)|file:|[a-z]:[\\/]|[$%][^\s]*[\\/])/i.test(text.trim());
}

function realOf(folder: string, { realpath }: Places): readonly string[] {
  try {
    return [realpath(folder) ?? folder];
  } catch {
    return [];
  }
}

/** False for what surely leads nowhere from `base`, as most words do. */
function mayBeIn(base: string, text: string, entries: Entries): boolean {
  const [first = ''] = text.trim().split('/', 1);
  if (first === '' || first.startsWith('.') || /[\\%:~$]|\.\./.test(text)) return true;
  return first.length <= LONGEST_NAME && entries.mayHave(base, first);
}

interface Entries {
  /** False when the folder surely has no entry of this name. */
  mayHave(folder: string, name: string): boolean;
}

/**
 * What there is in folders, read once for all the texts that are looked at in one moment: asking for each costs more than all else that
 * is done for a call. Whoever is quick enough to use that could as well change a link between the decision and the call.
 */
function createEntries(): Entries {
  const listed = new Map<string, { readonly at: number; readonly names: ReadonlySet<string> | undefined }>();
  return {
    mayHave(folder, name) {
      const at = systemClock.now();
      let listing = listed.get(folder);
      if (listing === undefined || at - listing.at > MOMENT_MS) {
        listing = { at, names: namesIn(folder) };
        listed.set(folder, listing);
      }
      return listing.names?.has(name.toLowerCase()) ?? exists(`${folder}/${name}`);
    },
  };
}

/** The names in a folder, in lower case; undefined where they are too many, or others may lead to the same entries. */
function namesIn(path: string): ReadonlySet<string> | undefined {
  if (process.platform !== 'linux') return undefined;
  let folder: Dir;
  try {
    folder = opendirSync(path, { bufferSize: MOST_NAMES });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Set() : undefined;
  }
  const names = new Set<string>();
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (names.size === MOST_NAMES) return undefined;
      names.add(entry.name.toLowerCase());
    }
    return names;
  } catch {
    return undefined;
  } finally {
    folder.closeSync();
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
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
    // It may be a file by itself.
    return [folder];
  }
}

/** What is found first among all texts, names of members too. */
function firstIn(value: unknown, find: (text: string) => string | undefined): string | undefined {
  if (typeof value === 'string') return find(value);
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = (Array.isArray(value) ? undefined : find(name)) ?? firstIn(member, find);
    if (found !== undefined) return found;
  }
  return undefined;
}
