// Makes text from elsewhere safe to look at. What comes out of here holds nothing that a terminal acts on and nothing that a
// reader cannot see.

/** Controls, formats (bidi, zero-width, soft hyphen, tags), halves of surrogate pairs, line separators, and whatever has no glyph. */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`;

/** Joiners and variation selectors where emoji need them: one, right behind what it varies. */
const EMOJI_USE = [
  String.raw`(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\p{Extended_Pictographic}\uFE0F)\u200D(?=\p{Extended_Pictographic})`,
  String.raw`\p{Extended_Pictographic}[\uFE0E\uFE0F]`,
  String.raw`[0-9#*]\uFE0F(?=\u20E3)`,
].join('|');

const LAYOUT = String.raw`[\n\t]`;
const LINE_ENDS = String.raw`\r(?=\n)`;

/** Joiners that words of some scripts need, and marks that mixed writing directions need: one, behind something that shows. */
const SCRIPT_USE = String.raw`(?:[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])[\u200C-\u200F\u061C]`;

const IN_LINE = new RegExp(`${HIDDEN}(?<!${EMOJI_USE})`, 'gu');
const IN_TEXT = new RegExp(`${HIDDEN}(?<!${LAYOUT}|${EMOJI_USE})`, 'gu');
const FOR_NOBODY = new RegExp(`${HIDDEN}(?<!${LAYOUT}|${LINE_ENDS}|${EMOJI_USE}|${SCRIPT_USE})`, 'gu');

const CONTROL = new RegExp(String.raw`\p{Cc}(?<!${LAYOUT}|${LINE_ENDS})`, 'u');
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;
/** A second alphabet without glyphs, in which whole sentences can be hidden. */
const TAG = /[\u{E0000}-\u{E007F}]/u;
const INVISIBLE = new RegExp(`${HIDDEN}(?<!\\p{Cc}|${BIDI.source}|${TAG.source}|${EMOJI_USE})`, 'u');

/**
 * The text with everything hidden written out as `\u{…}`. With `multiline`, line ends and tabs stay, and CR LF becomes LF. A
 * backslash stays as it is, so that doing it twice changes nothing more.
 */
export function visible(text: string, options: { readonly multiline?: boolean } = {}): string {
  if (options.multiline !== true) return text.replace(IN_LINE, written);
  return text.replaceAll('\r\n', '\n').replace(IN_TEXT, written);
}

/** The text in one line of at most `most` characters, cut with "…"; runs of white space are one space. */
export function oneLine(text: string, most: number): string {
  // What is far beyond the end need not be looked at.
  const line = visible(
    text
      .slice(0, 8 * most)
      .replace(/\s+/g, ' ')
      .trim(),
  );
  if (line.length <= most) return line;
  // The cut may part a joiner from what it joins.
  return `${visible(cut(line, most - 1)).slice(0, most - 1)}…`;
}

/** The text, made visible, with each line behind a bar, so that the first column is ours; an empty text has no line. */
export function gutter(text: string): string {
  if (text === '') return '';
  return visible(text, { multiline: true })
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `${GUTTER}${line}`)
    .join('\n');
}

export const GUTTER = '│ ';

/** The text without what no person would see in it, for a model: what remains hidden is only what some scripts need. */
export function stripHidden(text: string): string {
  return text.replace(FOR_NOBODY, '');
}

export type Hidden = 'control' | 'bidi' | 'invisible' | 'tag';

/** True for text of letters, digits and signs of ASCII in lines, as most is: it hides nothing. */
export function isPlain(text: string): boolean {
  return /^[\x20-\x7e\n\t]*$/.test(text);
}

/** The kinds of hidden characters in a text of several lines. */
export function hiddenIn(text: string): readonly Hidden[] {
  if (isPlain(text)) return [];
  const kinds: Hidden[] = [];
  if (CONTROL.test(text)) kinds.push('control');
  if (BIDI.test(text)) kinds.push('bidi');
  if (INVISIBLE.test(text)) kinds.push('invisible');
  if (TAG.test(text)) kinds.push('tag');
  return kinds;
}

/** The first `length` UTF-16 units, or one less where that would halve a character. */
export function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** A character as its number. */
export function written(char: string): string {
  return `\\u{${(char.codePointAt(0) as number).toString(16)}}`;
}
