// Holds docs/specification-tests.md and the tests it names together: each file is there and has each title, and every decision
// is there too.
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = new URL('../../docs/specification-tests.md', import.meta.url);
const rows = readFileSync(page, 'utf8')
  .split('\n')
  .filter((line) => /^\| S?\d+ \|/.test(line))
  .map((line) => {
    const [, number = '', statement = '', place = '', tests = ''] = line.split(' | ').join('|').split('|');
    return { number: number.trim(), statement, place, tests: tests.trim().split('<br>') };
  });

test('the page has rows, and each number once', () => {
  expect(rows.length).toBeGreaterThan(80);
  expect(new Set(rows.map(({ number }) => number)).size).toBe(rows.length);
});

test.each(rows)('what row $number names is there', ({ statement, place, tests }) => {
  expect(statement.trim()).not.toBe('');
  expect(place.trim()).not.toBe('');
  expect(tests.length).toBeGreaterThan(0);
  for (const named of tests) {
    const [, target = '', title] = /^\[[^\]]+\]\(([^)]+)\)(?:: (`.+`))?$/.exec(named) ?? [];
    const file = new URL(target, page);
    expect([named, existsSync(file)]).toEqual([named, true]);
    if (title === undefined) continue;
    // Between two ticks a title may hold single ones.
    const text = title.startsWith('``') ? title.slice(2, -2).trim() : title.slice(1, -1);
    const isThere = ["'", '"'].some((quote) => readFileSync(file, 'utf8').includes(`${quote}${text}${quote}`));
    expect([named, isThere]).toEqual([named, true]);
  }
});
