import fc from 'fast-check';
import { expect, it } from 'vitest';
import { modelName, parseName } from './names.ts';

/** Names made of the pieces that names are confused by. */
const tricky = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '_',
      '__',
      '-',
      '.',
      '/',
      ':',
      ' ',
      'é',
      '🧀',
      '\ud800',
      '_0123456789',
      '0123456789',
      'x'.repeat(40),
    ),
    {
      maxLength: 8,
    },
  )
  .map((pieces) => pieces.join(''));
const name = fc.oneof(tricky, fc.string({ unit: 'binary', maxLength: 128 }), fc.stringMatching(/^[a-z_]{1,70}$/));

it('fits what every model API takes', () => {
  fc.assert(
    fc.property(name, name, (server, tool) => {
      expect(modelName(server, tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    }),
    { numRuns: 1_000 },
  );
});

it('differs for different tools', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, name), { maxLength: 60, selector: (pair) => JSON.stringify(pair) }), (tools) => {
      expect(new Set(tools.map(([server, tool]) => modelName(server, tool))).size).toBe(tools.length);
    }),
    { numRuns: 300 },
  );
});

it('differs however the border between server and tool is moved', () => {
  fc.assert(
    fc.property(tricky, tricky, tricky, (one, two, three) => {
      const left = modelName(one, `${two}__${three}`);
      const right = modelName(`${one}__${two}`, three);
      expect(left).not.toBe(right);
    }),
  );
});

it('differs from every name that imitates a hashed one', () => {
  fc.assert(
    fc.property(name, name, (server, tool) => {
      const hashed = modelName(server, tool);
      const [, first, rest] = /^(.*?)__(.*)$/.exec(hashed) ?? [];
      fc.pre(first !== undefined && rest !== undefined && (first !== server || rest !== tool));
      expect(modelName(first, rest)).not.toBe(hashed);
    }),
    { numRuns: 1_000 },
  );
});

it('finds server and tool again in every way people write them', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[a-z][a-z._-]{0,9}$/), { minLength: 1, maxLength: 6 }),
      name.filter((text) => text !== ''),
      fc.constantFrom('__', ':', '/', '.'),
      (servers, tool, separator) => {
        const server = servers[0] as string;
        expect(parseName(server + separator + tool, new Set(servers))).toContainEqual({ server, name: tool });
      },
    ),
  );
});
