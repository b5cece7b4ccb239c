// Marks that tell a person what to look at twice in a text: an imitation of Parley's own questions, and links that lead elsewhere.
// They change nothing of a text and decide nothing.
import { canonicalHost, hostsIn } from './links.ts';
import { isPlain, written } from './visible.ts';

/** Words of the questions that Parley asks, and of questions like them; all in small letters, over any white space. */
const QUESTIONS = [
  'a tool is about to be called',
  'allow it\\?',
  'allow this call',
  'why you are asked',
  'this call has the digest',
  'you can allow this one call only',
  'to allow it for this run covers',
  'enter denies',
  '(?:allow|approve|permit|confirm|continue|proceed)\\b[^\\n]{0,60}[\\[(](?:y(?:es)?/n(?:o)?|o|a|y)[\\])]',
].map((question) => question.replaceAll(' ', '\\s{1,8}'));
const QUESTION = new RegExp(`\\b(?:${QUESTIONS.join('|')})`);
/** One word of each of them, and of our own lines: where none stands there is no imitation in plain letters. */
const A_WORD_OF_THEM = /called|allow|asked|digest|denies|approve|permit|confirm|continue|proceed|parley/i;
/** A line that begins as what the command itself says on standard error. */
const OWN_LINE = /^\s{0,8}parley:\s/m;

/** Letters of other scripts that look like those of ours. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аαɑ',
    b: 'ЬƄ',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еєҽ',
    g: 'ɡ',
    h: 'һ',
    i: 'іιıɩӏ',
    j: 'ј',
    k: 'кκ',
    l: 'ⅼ',
    m: 'м',
    n: 'п',
    o: 'оοօ',
    p: 'рρ',
    q: 'ԛ',
    r: 'г',
    s: 'ѕ',
    t: 'тτ',
    u: 'υս',
    v: 'ѵν',
    w: 'ԝѡ',
    x: 'хχ',
    y: 'уγ',
  }).flatMap(([letter, likes]) => Array.from(likes, (like): [string, string] => [like, letter])),
);
const LOOKALIKE = new RegExp(`[${[...LOOKALIKES.keys()].join('')}]`, 'gu');
/** The same, and capitals that look like ours. */
const MASKS = new RegExp(`[${[...LOOKALIKES.keys()].join('')}АВЕКМНОРСТУХЅІЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]`, 'gu');
const LOOKALIKE_ONCE = new RegExp(MASKS.source, 'u');
const UNSEEN = /[\p{Cf}\p{Mn}\p{Default_Ignorable_Code_Point}]/gu;

/** Characters of one text that are looked at: more than any person reads. */
const LOOKED_AT = 1_000_000;

/** True for text of which a look says that it imitates nothing, hides nothing and holds no link. */
export function isInnocent(text: string): boolean {
  return isPlain(text) && !text.includes('/') && !text.includes('\\') && !A_WORD_OF_THEM.test(text);
}

/** True when the text holds what Parley asks people, also in letters that only look like it. */
export function imitatesQuestion(whole: string): boolean {
  // What has no white space is a picture or the like.
  if (!/\s/.test(whole)) return false;
  const text = whole.slice(0, LOOKED_AT).toLowerCase();
  const isLatin = /^[\x20-\x7e\s]*$/.test(text);
  const plain = isLatin ? text : text.normalize('NFKD').toLowerCase().replace(UNSEEN, '').replace(LOOKALIKE, likeLatin);
  return QUESTION.test(plain) || OWN_LINE.test(plain);
}

/**
 * The text with letters of other scripts written out as `\u{…}` where they pass for ours: in a word or a host that has letters of ours,
 * in each part whose foreign letters are all such.
 */
export function unmasked(text: string): string {
  if (!LOOKALIKE_ONCE.test(text)) return text;
  return text.replace(/[\p{L}\p{M}\p{N}._-]+/gu, (token) => {
    if (!/[a-z]/i.test(token)) return token;
    return token.replace(/[^._-]+/g, (part) =>
      /\P{ASCII}/u.test(part.replace(MASKS, '')) ? part : part.replace(MASKS, written),
    );
  });
}

function likeLatin(letter: string): string {
  return LOOKALIKES.get(letter) ?? letter;
}

/** Hosts that the links in a text lead to, but for `own`; `images` are those that a reader might load by itself. */
export function foreignLinks(
  text: string,
  own: readonly string[],
): { readonly hosts: readonly string[]; readonly images: readonly string[] } {
  const known = new Set(own.map(canonicalHost));
  const { links, images } = hostsIn(text);
  const foreign = (hosts: readonly string[]) => hosts.filter((host) => !known.has(host));
  return { hosts: foreign(links), images: foreign(images) };
}
