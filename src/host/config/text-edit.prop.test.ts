import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { removeMember, setMember } from './text-edit.ts';

const KEYS = ['a', 'b', 'c', 'd'];
type Tree = number | { [key: string]: Tree };

/** Space or a comment with a number of its own, as it may stand between any two tokens. */
const gap = fc.array(
  fc.oneof(
    fc.constantFrom('', ' ', '\n', '\n  ', '\r\n\t'),
    fc.nat(999).map((n) => `/* c${n} */`),
    fc.nat(999).map((n) => `// c${n}\n`),
  ),
  { maxLength: 3 },
);
const gaps = fc.infiniteStream(gap.map((parts) => parts.join('')));
const tree = fc.letrec<{ node: Tree; object: { [key: string]: Tree } }>((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, fc.nat(9), tie('object')),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie('node'), { maxKeys: 4, noNullPrototype: true }),
})).object;
const path = fc.array(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 3 });

/** The tree as JSON with whatever the stream puts between its tokens, sometimes with a trailing comma. */
function print(value: Tree, stream: Iterator<string>, trailing: boolean): string {
  const space = () => stream.next().value as string;
  if (typeof value === 'number') return `${space()}${value}${space()}`;
  const members = Object.entries(value).map(([key, member]) => `${space()}"${key}"${space()}:${print(member, stream, trailing)}`);
  return `${space()}{${members.join(',')}${trailing && members.length > 0 ? `,${space()}` : space()}}${space()}`;
}

function lookup(value: Tree | undefined, keys: readonly string[]): Tree | undefined {
  return keys.reduce<Tree | undefined>((node, key) => (typeof node === 'object' ? node[key] : undefined), value);
}

const comments = (text: string) => text.match(/c\d+/g) ?? [];

describe('an edit of text', () => {
  it('sets the value, changes no other and keeps every comment outside of it', () => {
    fc.assert(
      fc.property(tree, gaps, fc.boolean(), path, (before, stream, trailing, keys) => {
        const blocked = keys.slice(0, -1).some((_, at) => typeof lookup(before, keys.slice(0, at + 1)) === 'number');
        fc.pre(!blocked);
        const text = print(before, stream, trailing);
        const after = setMember(text, keys, { new: true });
        const expected = structuredClone(before);
        let node = expected;
        for (const key of keys.slice(0, -1)) node = (node[key] ??= {}) as { [key: string]: Tree };
        node[keys.at(-1) as string] = { new: true } as unknown as Tree;
        expect(parse(after)).toEqual(expected);
        if (lookup(before, keys) === undefined) expect(comments(after)).toEqual(comments(text));
      }),
      { numRuns: 500 },
    );
  });

  it('removes the value and no other', () => {
    fc.assert(
      fc.property(tree, gaps, fc.boolean(), path, (before, stream, trailing, keys) => {
        const text = print(before, stream, trailing);
        const after = removeMember(text, keys);
        const expected = structuredClone(before);
        const parent = lookup(expected, keys.slice(0, -1));
        if (typeof parent === 'object') delete parent[keys.at(-1) as string];
        expect(parse(after)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('undoes itself: adding a member and removing it gives the same value and the same comments', () => {
    fc.assert(
      fc.property(tree, gaps, fc.boolean(), (before, stream, trailing) => {
        const text = print(before, stream, trailing);
        const after = removeMember(setMember(text, ['new'], 1), ['new']);
        expect(parse(after)).toEqual(before);
        expect(comments(after)).toEqual(comments(text));
      }),
    );
  });
});
