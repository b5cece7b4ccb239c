// Ranked search over many entries: an index of their words, built once. Text of servers is only compared, never shown or run.
import type { Entry } from './entry.ts';

/** Characters of a description that are looked at. */
const DESCRIPTION = 1_000;
/** Words of a query that count. */
const WORDS = 8;
/** A piece of a name counts from this length on; shorter ones are in every name. */
const PIECE = 3;

/** Where a word stands: in the name, in the title or the server's name, in the description. */
const FIELDS = 3;
/** What a word of the query is worth by the field it was found in: as a whole word, and as the beginning of one. */
const WHOLE_WORD = [12, 6, 3] as const;
const WORD_START = [9, 4, 2] as const;
const NAME_PIECE = 7;
/** More than any one word is worth, so that an entry with more of the words comes first. */
const ANY_WORD = 20;
/** More than all words together, so that a name that begins with the query comes before, and the name itself comes first. */
const NAME_START = 1_000;
const NAME = 2_000;

/** Finds entries by text, best first; equally good ones keep the order they were given in. */
export type Search<E> = (text: string, limit: number) => readonly E[];

/** A search over `entries`. */
export function createSearch<E extends Entry>(entries: readonly E[]): Search<E> {
  const names = entries.map((entry) => entry.name.toLowerCase());
  const places = indexWords(entries);
  const vocabulary = [...places.keys()].sort();

  /** For each entry, what `word` is worth in it; 0 where it does not occur. */
  function worthOf(word: string): Uint8Array {
    const worth = new Uint8Array(entries.length);
    for (let at = firstFrom(vocabulary, word); vocabulary[at]?.startsWith(word); at++) {
      const found = vocabulary[at] as string;
      const values = found === word ? WHOLE_WORD : WORD_START;
      for (const place of places.get(found) as number[]) {
        const entry = Math.floor(place / FIELDS);
        worth[entry] = Math.max(worth[entry] as number, values[place % FIELDS] as number);
      }
    }
    if (word.length >= PIECE) {
      names.forEach((name, entry) => {
        if ((worth[entry] as number) < NAME_PIECE && name.includes(word)) worth[entry] = NAME_PIECE;
      });
    }
    return worth;
  }

  return (text, limit) => {
    const whole = text.trim().toLowerCase();
    if (whole === '') return [];
    const worths = [...new Set(wordsOf(text))].slice(0, WORDS).map(worthOf);
    const ranks: number[] = [];
    names.forEach((name, entry) => {
      let score = name === whole ? NAME : name.startsWith(whole) ? NAME_START : 0;
      for (const worth of worths) if (worth[entry] !== 0) score += ANY_WORD + (worth[entry] as number);
      // One number for score and position, because sorting numbers is fast.
      if (score > 0) ranks.push(score * entries.length + (entries.length - 1 - entry));
    });
    const best = Float64Array.from(ranks).sort().reverse().subarray(0, Math.max(0, limit));
    return Array.from(best, (rank) => entries[entries.length - 1 - (rank % entries.length)] as E);
  };
}

/** Each word with its places, packed as entry × FIELDS + field. A word counts once an entry, in its best field. */
function indexWords(entries: readonly Entry[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  entries.forEach((entry, at) => {
    const seen = new Set<string>();
    const { title = '', description = '' } = entry.definition;
    [entry.name, `${entry.server} ${title}`, description.slice(0, DESCRIPTION)].forEach((text, field) => {
      for (const word of wordsOf(text)) {
        if (seen.has(word)) continue;
        seen.add(word);
        const known = places.get(word);
        if (known === undefined) places.set(word, [at * FIELDS + field]);
        else known.push(at * FIELDS + field);
      }
    });
  });
  return places;
}

/** Lower-case words; `getUser_v2` has get, user and v2. */
function wordsOf(text: string): string[] {
  const parted = text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').toLowerCase();
  return parted.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The index of the first of the sorted `words` that is not before `word`. */
function firstFrom(words: readonly string[], word: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] as string) < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
