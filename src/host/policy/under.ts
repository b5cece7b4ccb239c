// `under /srv/data`: is this path in that folder? Decided on where both really are, with links followed. A path that could be read
// in two ways is in the folder for a rule that asks or denies when one of them is, and for one that allows when all are.
import { isAbsolute, normalize, parse, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Care } from './care.ts';
import type { Places } from './places.ts';

/** Characters that no reader sees, or that some file systems do not compare. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u;
const ALL_UNSEEN = new RegExp(UNSEEN.source, 'gu');
const ENCODED_STEP = /%(?:2e|2f|5c)/i;
/** Places whose links mean something else to each process. */
const PROCESS_BOUND = /^\/+(?:proc|dev)(?:\/|$)/;

/** What a shell or a program may put something else for: another user's home, a variable; and what ends a text early. */
const UNKNOWN = /^(?:~[\w.-]*(?=[\\/]|$)|\$[A-Za-z_{(]|%[A-Za-z_()]+%)|\0/;

/** Stands for what may be anywhere. */
const UNRESOLVABLE = '\0';

/** No system takes a longer text for a place. */
const LONGEST_PATH = 32_768;

/** The server matters to relative paths only: each has a working directory of its own. */
export type UnderTest = (value: string, server: string) => boolean;

/**
 * A test for paths, also as `file:` URLs.
 * @throws Error when the folder is neither absolute nor below `~`; to go behind "has a folder that"
 */
export function compileUnder(folder: string, places: Places, care: Care): UnderTest {
  const root = /^~(?=\/|$)/.test(folder) ? places.home + folder.slice(1) : folder;
  if (!isAbsolute(root)) throw new Error('is not absolute: begin it with "/" or "~/"');
  return care === 'strict'
    ? (value) => surelyUnder(value, root, places)
    : (value, server) => perhapsUnder(value, server, [root], places);
}

/** A generous test for paths into any of the absolute folders. */
export function compileUnderAny(folders: readonly string[], places: Places): UnderTest {
  return (value, server) => perhapsUnder(value, server, folders, places);
}

function surelyUnder(value: string, root: string, { realpath }: Places): boolean {
  const path = value.startsWith('file:') ? fromUrl(value) : value;
  if (path === undefined || !isPlain(path)) return false;
  try {
    const folder = real(normalize(root), realpath);
    return readings(path).every((reading) => contains(folder, real(reading, realpath)));
  } catch {
    return false;
  }
}

/** True for an absolute path that every program reads alike. */
function isPlain(path: string): boolean {
  return (
    isAbsolute(path) &&
    !path.startsWith('//') &&
    !UNSEEN.test(path) &&
    path === path.normalize('NFC') &&
    !ENCODED_STEP.test(path) &&
    !PROCESS_BOUND.test(path) &&
    (sep === '\\' || !path.includes('\\')) &&
    path.split(/[\\/]/).every((step) => /^\.{1,2}$/.test(step) || !/[. ]$/.test(step))
  );
}

function perhapsUnder(
  value: string,
  server: string,
  roots: readonly string[],
  { home, realpath, workingDirectory }: Places,
): boolean {
  try {
    const folders = roots.flatMap((root) => [normalize(root), real(normalize(root), realpath)]).map(folded);
    return spellings(value).some((text) => {
      const whole = /^~(?=\/|$)/.test(text) ? home + text.slice(1) : text;
      const base = isAbsolute(whole) ? '' : workingDirectory(server);
      // What cannot be resolved may be anywhere.
      if (base === undefined || UNKNOWN.test(whole)) return true;
      return readings(base === '' ? whole : `${base}/${whole}`)
        .flatMap((reading) => [normalize(reading), real(reading, realpath)])
        .map(folded)
        .some((path) => folders.some((folder) => contains(folder, path)));
    });
  } catch {
    return true;
  }
}

/** The text itself, or where it is too long for any system what programs may make of it that is not. */
export function placesIn(text: string): readonly string[] {
  return text.length <= LONGEST_PATH ? [text] : spellings(text);
}

/**
 * The text without its `.` and `..`, as programs take them out, where it is too long with them; undefined when it is too long even so.
 * In a time that grows as the text does: the platform's own takes a long text apart again for each step.
 */
function shortened(text: string): string | undefined {
  if (text.length <= LONGEST_PATH) return text;
  // A program in C reads no further.
  const [whole = ''] = text.split('\0', 1);
  const kept: string[] = [];
  for (const step of whole.split('/')) {
    if (step === '..') kept.pop();
    else if (step !== '.' && step !== '') kept.push(step);
  }
  const short = `${whole.startsWith('/') ? '/' : ''}${kept.join('/')}`;
  return short.length <= LONGEST_PATH ? short : undefined;
}

/** What a program may take the text for; nothing where that is too long to be a place. */
function spellings(value: string): readonly string[] {
  const trimmed = value.trim();
  if (/^file:/i.test(trimmed)) {
    // A file: URL that is none may be anywhere.
    return [shortened(fromUrl(trimmed) ?? UNRESOLVABLE)].filter((place) => place !== undefined);
  }
  const texts = [trimmed, trimmed.replaceAll('\\', '/')];
  return [...new Set([...texts, ...texts.map(decoded)])].flatMap((text) => shortened(text) ?? []);
}

/** What can be decoded is, as lenient programs do it. */
export function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

function fromUrl(text: string): string | undefined {
  // What the URL's parser would take out silently is left to nobody's reading.
  if (!/^file:\/\/\//i.test(text) || UNSEEN.test(text)) return undefined;
  try {
    return fileURLToPath(text);
  } catch {
    return undefined;
  }
}

/** As the system reads it, step by step, and as programs do that take `..` out of the text first. */
function readings(path: string): readonly string[] {
  return /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path) ? [path, normalize(path)] : [path];
}

/** Where the path really is. What does not exist yet will be in the deepest folder that does. */
function real(path: string, realpath: Places['realpath']): string {
  const whole = realpath(path);
  if (whole !== undefined) return whole;
  const { root } = parse(path);
  const steps = path
    .slice(root.length)
    .split(sep)
    .filter((step) => step !== '' && step !== '.');
  // From the top, since what is taken for a path may be a text with thousands of slashes.
  let prefix = root;
  let found = realpath(root) ?? root;
  let known = 0;
  for (const step of steps) {
    prefix += known === 0 ? step : sep + step;
    const next = realpath(prefix);
    if (next === undefined) break;
    found = next;
    known++;
  }
  return normalize([found, ...steps.slice(known)].join(sep));
}

function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The path as a lenient file system compares it: without case, composition, unseen characters, and ends that Windows drops. */
function folded(path: string): string {
  return path
    .normalize('NFKC')
    .toLowerCase()
    .replace(ALL_UNSEEN, '')
    .split(sep)
    .map((step, at) => (at === 0 ? step : step.replace(/(?<=.):.*$/, '').replace(/(?<=[^. ])[. ]+$/, '')))
    .join(sep);
}
