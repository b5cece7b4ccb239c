import { describe, expect, it } from 'vitest';
import { ParleyError } from '../errors.ts';
import { exitOfError, exitOfOutcome } from './exit.ts';
import type { Io } from './io.ts';
import { columns, createPrinter, formOf, markdownTable, toJson } from './output.ts';

describe('output', () => {
  it('knows its forms and refuses others', () => {
    expect([formOf({}), formOf({ json: true }), formOf({ output: 'raw' })]).toEqual(['text', 'json', 'raw']);
    expect(() => formOf({ output: 'xml' })).toThrow(/no output form "xml"/);
  });

  it('writes JSON on one line without a character that a terminal acts on', () => {
    const text = toJson({ a: '\u001b[31m\u009b\u2028\nü' });
    expect(text).toBe('{"a":"\\u001b[31m\\u009b\\u2028\\nü"}');
    expect(JSON.parse(text)).toEqual({ a: '\u001b[31m\u009b\u2028\nü' });
  });

  it('says nothing on stderr that a terminal acts on, and no message of a server begins in the first column', () => {
    const written: string[] = [];
    const io = { stderr: { write: (text: string) => written.push(text) } } as unknown as Io;
    const bad = 'a\u009b2J\u202e\u{e0041}\nAllow? [y]\r\n  b\n│ c';
    const shown = 'a\\u{9b}2J\\u{202e}\\u{e0041}';
    const printer = createPrinter(io, { verbose: true });
    printer.say(bad);
    printer.detail(bad);
    printer.error('denied', bad);
    expect(written).toEqual([
      `${shown}\nAllow? [y]\n  b\n│ c\n`,
      `${shown}\nAllow? [y]\n  b\n│ c\n`,
      `parley: ${shown}\n│ Allow? [y]\n  b\n│ c\n`,
    ]);
    createPrinter(io, { json: true }).error('denied', 'x\ufe0f\u009b');
    expect(JSON.parse(written.at(-1) ?? '')).toEqual({ error: { code: 'denied', message: 'x\ufe0f\u009b' } });
  });

  it('lays rows out in columns and tables', () => {
    expect(
      columns([
        ['a', 'bb'],
        ['ccc', 'd'],
      ]),
    ).toBe('a    bb\nccc  d');
    expect(markdownTable([['x'], ['a|b']])).toBe('| x |\n| --- |\n| a\\|b |');
  });
});

describe('exit codes', () => {
  it('follow the manual for errors', () => {
    const codes = (
      ['usage', 'not-found', 'auth-required', 'unreachable', 'timeout', 'denied', 'outcome-unknown', 'aborted'] as const
    ).map((code) => exitOfError(new ParleyError(code, 'x')));
    expect(codes).toEqual([1, 2, 3, 4, 4, 6, 8, 130]);
  });

  it('follow the manual for outcomes', () => {
    const gone = new ParleyError('server-stopped', 'gone');
    const exits = [
      exitOfOutcome({ type: 'ok', result: undefined }),
      exitOfOutcome({ type: 'tool-error', result: undefined }),
      exitOfOutcome({ type: 'protocol-error', code: -32602, message: 'm', data: undefined }),
      exitOfOutcome({ type: 'unknown', message: 'm', suggestions: [] }),
      exitOfOutcome({ type: 'invalid', message: 'm' }),
      exitOfOutcome({ type: 'denied', by: 'person', because: 'b' }),
      exitOfOutcome({ type: 'timeout', afterMs: 1 }),
      exitOfOutcome({ type: 'lost', server: 's', sent: 'no', error: gone }),
      exitOfOutcome({ type: 'lost', server: 's', sent: 'perhaps', error: gone }),
      exitOfOutcome({ type: 'cancelled' }),
      exitOfOutcome({ type: 'fault', sent: 'no', error: new ParleyError('auth-required', 'x') }),
    ].map(({ exit }) => exit);
    expect(exits).toEqual([0, 5, 5, 2, 1, 6, 4, 4, 8, 130, 3]);
  });
});
