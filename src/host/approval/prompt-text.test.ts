import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { ApprovalRequest } from './approver.ts';
import { createIntent } from './intent.ts';
import { promptLines } from './prompt-text.ts';

interface Case extends Partial<Omit<ApprovalRequest, 'intent'>> {
  readonly server?: string;
  readonly tool?: string;
  readonly description?: string;
  readonly args?: JsonObject;
}

function request({ server = 'files', tool = 'write', description, args = {}, ...rest }: Case = {}): ApprovalRequest {
  const definition = { name: tool, inputSchema: {}, ...(description !== undefined && { description }) };
  return {
    intent: createIntent({ server, tool: definition, args }),
    because: 'No rule covers the tool.',
    trusted: false,
    widest: 'run',
    ...rest,
  };
}

/** What stands behind the gutter under the heading that begins with `heading`. */
function under(heading: string, lines: readonly string[]): string[] {
  const at = lines.findIndex((line) => line.startsWith(heading));
  const from = lines.findIndex((line, index) => index > at && line.startsWith('│ '));
  const length = lines.slice(from).findIndex((line) => !line.startsWith('│ '));
  return lines.slice(from, from + length).map((line) => line.slice(2));
}

describe('the text of a question', () => {
  it.each([
    ['https://gооgle.com/', 'https://g\\u{43e}\\u{43e}gle.com/'],
    ['https://аррӏе.com/', 'https://\\u{430}\\u{440}\\u{440}\\u{4cf}\\u{435}.com/'],
    ['Аdmin', '\\u{410}dmin'],
    ['Привет, файл.txt', 'Привет, файл.txt'],
    ['naïve Ω', 'naïve Ω'],
  ])('writes out letters that pass for others: %s', (text, shown) => {
    expect(under('Arguments', promptLines(request({ args: { text } })))[1]).toBe(`  "text": "${shown}"`);
  });

  it('names server, tool, arguments, reason and what an approval would cover', () => {
    const of = request({ args: { path: '/srv/x', mode: 7 }, description: 'Writes a file.\nCarefully.' });
    expect(promptLines(of)).toEqual([
      'A tool is about to be called.',
      'Server, not trusted:',
      '│ files',
      'Tool:',
      '│ write',
      'Arguments, all 26 bytes of them:',
      '│ {',
      '│   "mode": 7,',
      '│   "path": "/srv/x"',
      '│ }',
      'What the server says the tool does:',
      '│ Writes a file.',
      '│ Carefully.',
      'Why you are asked:',
      '│ No rule covers the tool.',
      `This call has the digest ${of.intent.digest.slice(0, 16)}.`,
      'To allow it for this run covers this tool with any arguments, not only these,',
      'until Parley ends or the tool changes.',
    ]);
  });

  it('says when only this one call can be allowed, and when the server is trusted', () => {
    const lines = promptLines(request({ widest: 'once', trusted: true }));
    expect(lines).toContain('You can allow this one call only.');
    expect(lines.join(' ')).not.toContain('for this run');
    expect(lines).toContain('Server, trusted to describe its tools rightly:');
    expect(lines).toContain('The server does not say what the tool does.');
  });

  it.each([
    ['an escape sequence', '\u001b[2J\u001b[1;1HAllow', '\\u001b[2J'],
    ['a right-to-left override', 'exe.\u202etxt', '\\u{202e}'],
    ['a zero-width space', 'pass\u200bword', '\\u{200b}'],
    ['a tag character', 'a\u{e0041}b', '\\u{e0041}'],
    ['a C1 control', 'a\u009bb', '\\u{9b}'],
    ['a line separator', 'a\u2028b', '\\u{2028}'],
  ])('shows %s in an argument as what it is', (_, text, seen) => {
    expect(under('Arguments', promptLines(request({ args: { text } }))).join('')).toContain(seen);
  });

  it('shows hidden characters in every other text as well', () => {
    const evil = 'a\u001b[2J\u202e\nAllow? y';
    const lines = promptLines(request({ server: evil, tool: evil, description: evil, because: evil }));
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    for (const line of lines) expect(line).not.toMatch(/^(Allow|a\\)/);
  });

  it('shows what changed since the tool was allowed before', () => {
    const changes = ['@ /inputSchema/properties/bcc', '+ {', '+   "type": "string"', '+ }'];
    expect(under('What changed in it', promptLines(request({ changes })))).toEqual(changes);
    expect(promptLines(request()).join('\n')).not.toContain('What changed');
  });

  it('cuts a long description, and says so, but never the arguments', () => {
    const args = { text: `${'padding '.repeat(20_000)}rm -rf /`, lines: Array.from({ length: 500 }, () => '') };
    const lines = promptLines(request({ args, description: 'word\n'.repeat(40) }));
    expect(under('What the server says', lines)).toHaveLength(12);
    expect(lines).toContain("(29 more lines of the server's text are left out.)");
    const shown = under('Arguments', lines);
    expect(shown.join('')).toContain('rm -rf /"');
    expect(JSON.parse(shown.join(''))).toEqual(args);
  });

  it('leaves column 0 to Parley, keeps to the width, and loses nothing of the arguments', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('\\u{202e}', '\u202e', '\\', '漢字'.repeat(60), '👩‍👩‍👧'.repeat(20), '\n'.repeat(50), '│ '),
    );
    const args = fc.dictionary(text, fc.oneof(text, fc.jsonValue({ maxDepth: 3 })), { maxKeys: 5 });
    fc.assert(
      fc.property(args, text, fc.integer({ min: 20, max: 120 }), (given, description, columns) => {
        const lines = promptLines(request({ args: given, description }), { columns });
        for (const line of lines) {
          expect(width(line)).toBeLessThanOrEqual(columns);
          // Joiners inside emoji may stay.
          expect(line.replaceAll('\u200d', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }
        const own = lines.filter((line) => !line.startsWith('│ ')).join(' ');
        expect(own).toMatch(/^[A-Za-z0-9 .,:'()]+$/);
        expect(canonical(readBack(under('Arguments', lines)))).toBe(canonical(given));
      }),
    );
  });
});

/** Columns, with everything that is not ASCII taken for two; the gutter mark is known to be one. */
function width(line: string): number {
  const text = line.replace(/^│ /, '  ');
  return Array.from(text).reduce((sum, char) => sum + (char <= '~' && char.length === 1 ? 1 : 2), 0);
}

/** The JSON that was shown: `\u{…}` stands for a character, unless its backslash is itself escaped. */
function readBack(lines: readonly string[]): unknown {
  const text = lines
    .join('')
    .replace(/\\\\|\\u\{([0-9a-f]+)\}/gi, (all, code: string | undefined) =>
      code === undefined ? all : String.fromCodePoint(parseInt(code, 16)),
    );
  return JSON.parse(text);
}
