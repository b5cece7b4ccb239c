import { describe, expect, test } from 'vitest';
import { gutter, hiddenIn, oneLine, stripHidden, visible } from './visible.ts';

describe('visible text', () => {
  test.each([
    ['plain', 'héllo wörld 中文 😀', 'héllo wörld 中文 😀'],
    ['a colour', '\x1b[31mred\x1b[0m', '\\u{1b}[31mred\\u{1b}[0m'],
    ['a C1 control', '\x9b2J', '\\u{9b}2J'],
    ['delete', 'a\x7f', 'a\\u{7f}'],
    ['an overwritten line', 'bad\rgood', 'bad\\u{d}good'],
    ['an override', 'a\u202eb', 'a\\u{202e}b'],
    ['a zero-width space', 'a\u200bb', 'a\\u{200b}b'],
    ['a soft hyphen', 'a\u00adb', 'a\\u{ad}b'],
    ['a tag', '\u{e0041}', '\\u{e0041}'],
    ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
    ['half a pair', '\ud83d!', '\\u{d83d}!'],
    ['a Hangul filler', '\u3164', '\\u{3164}'],
    ['a backslash', 'C:\\users\\u{1b}', 'C:\\users\\u{1b}'],
    ['a heart', '❤\ufe0f', '❤\ufe0f'],
    ['a heart with a message', '❤\ufe0f\ufe0f\ufe00', '❤\ufe0f\\u{fe0f}\\u{fe00}'],
    ['a selector on a letter', 'a\ufe0f', 'a\\u{fe0f}'],
    ['a keycap', '1\ufe0f\u20e3', '1\ufe0f\u20e3'],
    ['a family', '👩\u200d👩🏽\u200d💻', '👩\u200d👩🏽\u200d💻'],
    ['a joiner between letters', 'a\u200db', 'a\\u{200d}b'],
    ['a line end', 'a\nb\tc', 'a\\u{a}b\\u{9}c'],
  ])('%s', (_name, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  test('of several lines keeps line ends and tabs, and no carriage return', () => {
    expect(visible('a\r\nb\tc\rd\n', { multiline: true })).toBe('a\nb\tc\\u{d}d\n');
    expect(visible('a\r\r\n', { multiline: true })).toBe('a\\u{d}\n');
  });
});

test('one line is cut with an ellipsis and has single spaces', () => {
  expect(oneLine('  a \n\t b  ', 10)).toBe('a b');
  expect(oneLine('abcdef', 6)).toBe('abcdef');
  expect(oneLine('abcdefg', 6)).toBe('abcde…');
  expect(oneLine('👩👩', 3)).toBe('👩…');
});

test('the gutter stands before each line, also of a copy of the gutter', () => {
  expect(gutter('a\n│ b\n\nc\n')).toBe('│ a\n│ │ b\n│ \n│ c');
  expect(gutter('')).toBe('');
  expect(gutter('\n')).toBe('│ ');
});

test('a model gets no hidden text, but words of all scripts as they are written', () => {
  const tags = [...'ignore'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('');
  expect(stripHidden(`a${tags}b\u200b\u202ec\x1b[0m\r\n`)).toBe('abc[0m\r\n');
  expect(stripHidden('می\u200cخواهم क\u094d\u200dष')).toBe('می\u200cخواهم क\u094d\u200dष');
  expect(stripHidden('a\u200c\u200d\u200c\u200d')).toBe('a\u200c');
});

test('hidden characters are found by kind', () => {
  expect(hiddenIn('plain\r\n\ttext ❤\ufe0f é')).toEqual([]);
  expect(hiddenIn('\x1b')).toEqual(['control']);
  expect(hiddenIn('é\r')).toEqual(['control']);
  expect(hiddenIn('\u202e')).toEqual(['bidi']);
  expect(hiddenIn('\u{e0041}')).toEqual(['tag']);
  expect(hiddenIn('\u{e0100}')).toEqual(['invisible']);
  expect(hiddenIn('\x1b\u200f\u200b')).toEqual(['control', 'bidi', 'invisible']);
});
