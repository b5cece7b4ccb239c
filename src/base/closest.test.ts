import { expect, test } from 'vitest';
import { closest, didYouMean } from './closest.ts';

test('a typing error finds the name it was meant for', () => {
  const names = ['github', 'weather', 'filesystem'];
  expect(closest('gihtub', names)).toEqual(['github']);
  expect(closest('GITHUB', names)).toEqual(['github']);
  expect(closest('filesytem', names)).toEqual(['filesystem']);
  expect(closest('wirte', ['write', 'wired'])).toEqual(['write']);
});

test('a piece of a name finds it, and a name with something more finds the shorter one', () => {
  expect(closest('weather', ['get_weather', 'set_clock'])).toEqual(['get_weather']);
  expect(closest('get_weather_now', ['get_weather'])).toEqual(['get_weather']);
});

test('the nearest come first, equals by name, and three at most', () => {
  expect(closest('abcdef', ['abcdxx', 'abcdex', 'abcdef'])).toEqual(['abcdef', 'abcdex', 'abcdxx']);
  expect(closest('note', ['notes', 'noted', 'node', 'nope', 'nose'])).toEqual(['node', 'nope', 'nose']);
});

test('nothing comes close to a name that is wholly different', () => {
  expect(closest('weather', ['github', 'clock'])).toEqual([]);
  expect(closest('weather', [])).toEqual([]);
});

test('the clause for a message quotes the names, or is empty', () => {
  expect(didYouMean('gihtub', ['github'])).toBe(' Did you mean "github"?');
  expect(didYouMean('nose', ['note', 'node'])).toBe(' Did you mean "node" or "note"?');
  expect(didYouMean('weather', ['clock'])).toBe('');
});
