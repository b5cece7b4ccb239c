import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { removeMember, setMember } from './text-edit.ts';

const lines = (...all: string[]) => `${all.join('\n')}\n`;

describe('setMember', () => {
  it('adds after the last member and leaves its neighbours, their comments and their spacing alone', () => {
    const before = lines(
      '{',
      '  // top',
      '  "mcpServers": {',
      '    /* b */ "b": {"url":"u"  }, // about b',
      '    "a": { "command": "x" } // about a',
      '    // the end',
      '  }',
      '}',
    );
    expect(setMember(before, ['mcpServers', 'c'], { command: 'y', args: ['1', '2'], env: {} })).toBe(
      lines(
        '{',
        '  // top',
        '  "mcpServers": {',
        '    /* b */ "b": {"url":"u"  }, // about b',
        '    "a": { "command": "x" }, // about a',
        '    "c": {',
        '      "command": "y",',
        '      "args": ["1", "2"],',
        '      "env": {}',
        '    }',
        '    // the end',
        '  }',
        '}',
      ),
    );
  });

  it('keeps the habit of trailing commas, four spaces and the line ends of Windows', () => {
    const before = '{\r\n    "mcpServers": {\r\n        "a": {}, // a\r\n    },\r\n}\r\n';
    expect(setMember(before, ['mcpServers', 'b'], { url: 'u' })).toBe(
      '{\r\n    "mcpServers": {\r\n        "a": {}, // a\r\n        "b": {\r\n            "url": "u"\r\n        },\r\n    },\r\n}\r\n',
    );
  });

  it('keeps tabs', () => {
    expect(setMember('{\n\t"a": 1\n}', ['b'], { c: 2 })).toBe('{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}');
  });

  it.each([
    ['{}', '{\n  "m": {\n    "a": 1\n  }\n}'],
    ['{ }\n', '{\n  "m": {\n    "a": 1\n  }\n}\n'],
    ['{\n}\n', '{\n  "m": {\n    "a": 1\n  }\n}\n'],
    ['{\n  // none yet\n}\n', '{\n  // none yet\n  "m": {\n    "a": 1\n  }\n}\n'],
    ['{ /* none */ }', '{ /* none */\n  "m": {\n    "a": 1\n  }\n }'],
    ['// head\n{"m": {}} // tail\n', '// head\n{"m": {\n  "a": 1\n}} // tail\n'],
    ['{"m": {"b": 2}}', '{"m": {"b": 2, "a": 1}}'],
    ['{"m": {"b": 2,}}', '{"m": {"b": 2, "a": 1,}}'],
    ['{"m": {"b": 2 // two\n}}', '{"m": {"b": 2, "a": 1 // two\n}}'],
    ['{"m": {"a": 0 /* nil */}}', '{"m": {"a": 1 /* nil */}}'],
  ])('sets m.a in %j', (before, after) => {
    expect(setMember(before, ['m', 'a'], 1)).toBe(after);
  });

  it('refuses a text that is broken, and a way through a value that is no object', () => {
    for (const text of ['{', '', '[1]', '{"m": 5}']) {
      expect(() => setMember(text, ['m', 'a'], 1)).toThrow(
        expect.toSatisfy((error) => isParleyError(error, 'config-invalid')) as Error,
      );
    }
  });
});

describe('removeMember', () => {
  const text = lines(
    '{',
    '  "m": {',
    '    // one',
    '    "a": { "x": 1 }, // a',
    '    "b": [1], /* b */',
    '    // three',
    '    "c": 3 // c',
    '    // end',
    '  }',
    '}',
  );

  it('takes a member with its line, and only the comma that goes with it', () => {
    expect(removeMember(text, ['m', 'a'])).toBe(text.replace('    "a": { "x": 1 }, // a\n', ''));
    expect(removeMember(text, ['m', 'b'])).toBe(text.replace('    "b": [1], /* b */\n', ''));
    expect(removeMember(text, ['m', 'c'])).toBe(text.replace('    "c": 3 // c\n', '').replace('"b": [1],', '"b": [1]'));
  });

  it.each([
    ['{"a": 1, "b": 2, "c": 3}', 'a', '{"b": 2, "c": 3}'],
    ['{"a": 1, "b": 2, "c": 3}', 'b', '{"a": 1, "c": 3}'],
    ['{"a": 1, "b": 2, "c": 3}', 'c', '{"a": 1, "b": 2}'],
    ['{ "a": 1, "b": 2, }', 'b', '{ "a": 1, }'],
    ['{\n  "a": 1,\n}', 'a', '{}'],
    ['{ "a": 1 }', 'a', '{}'],
    ['{\n  // keep\n  "a": 1\n}', 'a', '{\n  // keep\n}'],
    ['{\n  "b": 2\n  , "a": 1\n}', 'b', '{\n  "a": 1\n}'],
    ['{\n  "b": 2\n  , "a": 1\n}', 'a', '{\n  "b": 2\n  \n}'],
    ['{"b": 2}', 'a', '{"b": 2}'],
  ])('from %j takes %s', (before, key, after) => {
    expect(removeMember(before, [key])).toBe(after);
  });
});
