// The names models get for tools, and what the names people type may mean. Pure text; never looks at what is on offer.
import { digest } from '../../base/index.ts';

/** Longest name that every model API takes. */
const LONGEST = 64;
/** Server names that hold no `__` and do not end in `_`: after them, the first `__` is surely ours. */
const PLAIN_SERVER = /^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$/;
const PLAIN_TOOL = /^[A-Za-z0-9_-]+$/;
/** How every hashed name ends and no plain one. It begins with a digit, so that `get_repository` stays a plain name. */
const HASHED = /_[0-9][0-9a-z]{9}$/;
/** Numbers below it have, in base 36 and ten places, a decimal digit first. */
const SUFFIXES = 10n * 36n ** 9n;

/**
 * The stable name of a tool for models: matches `^[a-zA-Z0-9_-]{1,64}$`, differs for different tools, and depends on these two
 * names alone. `server__tool` where that is possible; else the cleaned text, cut, with ten base-36 characters of a SHA-256 over
 * both.
 */
export function modelName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  if (plain.length <= LONGEST && PLAIN_SERVER.test(server) && PLAIN_TOOL.test(tool) && !HASHED.test(plain)) return plain;
  const suffix = (BigInt(`0x${digest([server, tool])}`) % SUFFIXES).toString(36).padStart(10, '0');
  const cleaned = plain.slice(0, 2 * LONGEST).replace(/[^A-Za-z0-9_-]/gu, '_');
  return `${cleaned.slice(0, LONGEST - 1 - suffix.length)}_${suffix}`;
}

/** No server's name is looked for beyond this many characters: a typed name may be of any length. */
const LONGEST_SERVER = 256;

/** One reading of a typed name. Without a server it is a bare name. */
export interface NameReading {
  readonly server: string | undefined;
  readonly name: string;
}

/**
 * All readings of a name as people type it: `server__tool`, `server:tool`, `server/tool`, `server.tool` for each of the known
 * servers, the longest server name first, and last the whole text as a bare name, since names may hold separators themselves.
 */
export function parseName(text: string, servers: { has(server: string): boolean }): readonly NameReading[] {
  const readings: NameReading[] = [{ server: undefined, name: text }];
  for (const { index, 1: separator } of text.matchAll(/(?=(__|[:/.]))/g)) {
    if (index > LONGEST_SERVER) break;
    const server = text.slice(0, index);
    const name = text.slice(index + (separator as string).length);
    if (name !== '' && servers.has(server)) readings.unshift({ server, name });
  }
  return readings;
}
