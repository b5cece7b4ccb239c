// The table of all that is known to go wrong with peers, in `kinds.json`: each kind names the tests that show what becomes of it,
// by file and the beginning of their titles, or says why there is none yet. `npm run test:hostile` runs them and counts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Kind {
  readonly id: string;
  readonly what: string;
  /** Must hold before any release. */
  readonly star?: true;
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  readonly later?: string;
}

/** One place in the sources, and what makes it weaker; the named test must then fail. */
interface Mutation {
  readonly id: string;
  readonly weakening: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly test: { readonly file: string; readonly title: string };
}

const root = join(import.meta.dirname, '../..');
const kinds = JSON.parse(readFileSync(join(import.meta.dirname, 'kinds.json'), 'utf8')) as readonly Kind[];

const mutations = JSON.parse(readFileSync(join(import.meta.dirname, 'mutations.json'), 'utf8')) as readonly Mutation[];

/** Whether a title begins as `text` does, up to what a row fills into it. */
function beginning(text: string): (title: string) => boolean {
  const at = text.search(/%[sijdo]/);
  const fixed = text.slice(0, at);
  return (title) => text.startsWith(title) || (at > 0 && title.startsWith(fixed));
}

it('Each kind is there once, and has tests or a reason to have none', () => {
  const ids = kinds.map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  for (const { id, tests, later } of kinds) {
    expect([id, (tests === undefined) !== (later === undefined)]).toEqual([id, true]);
    expect([id, tests === undefined || Object.values(tests).flat().length > 0]).toEqual([id, true]);
  }
});

it('Each test that a kind names is there', () => {
  const missing = kinds.flatMap(({ id, tests = {} }) =>
    Object.entries(tests).flatMap(([file, titles]) => {
      const source = readFileSync(join(root, file), 'utf8');
      const known = ["'", '"', '`'].flatMap((quote) => source.split(quote)).map(beginning);
      return titles.filter((title) => !known.some((begins) => begins(title))).map((title) => `${id}: ${file}: ${title}`);
    }),
  );
  expect(missing).toEqual([]);
});

it('Each kind that must hold before any release has a weakening of the sources that its test must notice', () => {
  const starred = kinds.filter(({ star, tests }) => star && tests !== undefined).map(({ id }) => id);
  expect(mutations.map(({ id }) => id).sort()).toEqual(starred.sort());
  for (const { id, file, from, to } of mutations) {
    expect([id, from !== to, readFileSync(join(root, file), 'utf8').split(from).length]).toEqual([id, true, 2]);
  }
});
