import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTemplate } from './uri-template.ts';

const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });

test('what a simple template expands, it matches back, whatever the values hold', () => {
  fc.assert(
    fc.property(value, value, fc.array(value, { minLength: 1, maxLength: 4 }), value, (a, b, path, q) => {
      const template = parseTemplate('scheme://{a}/x/{b}{/path*}{?q}');
      const values = { a, b, path, q };
      expect(template.match(template.expand(values))).toEqual(values);
    }),
  );
});

test('values that were matched expand to a URI that stands for the same values', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '?', '=', '&', 'q', '%', '2'), maxLength: 20 }), (rest) => {
      const template = parseTemplate('s:/{a}{/b*}{?q}');
      const values = template.match(`s:/${rest}`);
      if (values !== undefined) expect(template.match(template.expand(values))).toEqual(values);
    }),
    { numRuns: 2_000 },
  );
});

test('any text is a template or refused with a code, and any URI is matched or not', () => {
  const text = fc.string({
    unit: fc.constantFrom('{', '}', '+', '/', '?', '&', ';', '.', '#', ',', '*', ':', '1', 'a', 'b', '%', 'é'),
    maxLength: 30,
  });
  fc.assert(
    fc.property(text, text, (written, uri) => {
      let template;
      try {
        template = parseTemplate(written);
      } catch (error) {
        expect(error).toHaveProperty('code', 'usage');
        return;
      }
      const values = template.match(uri);
      for (const name of Object.keys(values ?? {})) expect(template.variables).toContain(name);
    }),
    { numRuns: 2_000 },
  );
});
