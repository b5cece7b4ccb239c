import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expand } from './expand.ts';

const literal = fc.string({ unit: 'binary' }).map((text) => text.replace(/\$+\{/g, '{'));
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
const placeholder = fc.oneof(
  name.map((id) => `\${${id}}`),
  name.map((id) => `\${env:${id}}`),
  fc.tuple(name, fc.stringMatching(/^[a-z ]{0,8}$/)).map(([id, fallback]) => `\${${id}:-${fallback}}`),
  name.map((id) => `\${input:${id}}`),
  fc.constantFrom('${workspaceFolder}', '${userHome}'),
);

describe('expand', () => {
  it('never changes text without a placeholder', () => {
    fc.assert(
      fc.property(literal, (text) => {
        expect(expand(text, () => 'X')).toBe(text);
      }),
    );
  });

  it('replaces every placeholder, once, and keeps all between', () => {
    // No `$` before a placeholder: that is the escape.
    const between = literal.map((text) => text.replace(/\$+$/, ''));
    fc.assert(
      fc.property(between, fc.array(fc.tuple(placeholder, between)), (head, tail) => {
        const calls: string[] = [];
        const answer = () => {
          calls.push('x');
          return '<>';
        };
        const result = expand(head + tail.flat().join(''), answer);
        expect(result).toBe(head + tail.map(([, text]) => `<>${text}`).join(''));
        expect(result).not.toContain('${');
        expect(calls).toHaveLength(tail.length);
      }),
    );
  });

  it('gives back any text whose placeholders are all escaped', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            literal.map((text) => text.replaceAll('$', '')),
            placeholder,
          ),
        ),
        (parts) => {
          const text = parts.join('');
          expect(
            expand(
              text.replaceAll('${', () => '$${'),
              () => 'X',
            ),
          ).toBe(text);
        },
      ),
    );
  });
});
