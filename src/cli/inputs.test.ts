import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ElicitFormParams, FormSchema } from '../protocol/index.ts';
import { terminalInputs } from './inputs.ts';
import type { Terminal } from './terminal.ts';

/** A person who answers each prompt (a text that ends in ": ") with the next of `answers`. */
function person(answers: readonly string[]) {
  const stdin = new PassThrough();
  const stderr = new PassThrough();
  const left = [...answers];
  let shown = '';
  let at = 0;
  stderr.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (!shown.slice(at).includes('): ')) return;
    at = shown.length;
    const answer = left.shift();
    if (answer === undefined) stdin.end();
    else setImmediate(() => stdin.write(`${answer}\n`));
  });
  const inputs = terminalInputs({ stdin, stderr } as unknown as Terminal, 'orders');
  return { inputs, left, text: () => shown };
}

const context = { signal: new AbortController().signal };
const form = (properties: FormSchema['properties'], required: string[] = []): ElicitFormParams => ({
  message: 'Please \u202efill in\u001b[31m',
  requestedSchema: { type: 'object', properties, required },
});

const fields = {
  name: { type: 'string', minLength: 2 },
  age: { type: 'integer', minimum: 0, default: 30 },
  loud: { type: 'boolean' },
  colour: {
    type: 'string',
    oneOf: [
      { const: 'r', title: 'Red' },
      { const: 'g', title: 'Green' },
    ],
  },
  tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
} as const satisfies FormSchema['properties'];

describe('a form at the terminal', () => {
  it('is filled in field by field, asked again until it fits, and leaves out what was left empty', async () => {
    const { inputs, left, text } = person(['y', 'A', 'Ann', 'x', '', 'yes', 'blue', 'g', 'a, b']);
    const result = await inputs.elicitForm?.(form(fields, ['name', 'age']), context);
    expect(result).toEqual({ action: 'accept', content: { name: 'Ann', loud: true, colour: 'g', tags: ['a', 'b'] } });
    expect(left).toEqual([]);
    expect(text()).toContain('Server "orders" asks you for 5 values.');
    expect(text()).toContain('r (Red), g (Green)');
    expect(text()).toContain('│ Please \\u{202e}fill in\\u{1b}[31m');
  });

  it('is declined by Enter, by no, and by the end of the input', async () => {
    for (const answers of [[''], ['n'], []]) {
      expect(await person(answers).inputs.elicitForm?.(form(fields), context)).toEqual({ action: 'decline' });
    }
  });

  it('can be stopped at any field, and then nothing is given', async () => {
    expect(await person(['y', 'Ann', '!']).inputs.elicitForm?.(form(fields), context)).toEqual({ action: 'cancel' });
  });

  it('with too many fields is declined without a question', async () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, { type: 'string' } as const]));
    expect(await person([]).inputs.elicitForm?.(form(many), context)).toEqual({ action: 'decline' });
  });

  it('waits for its turn when another is being filled in', async () => {
    const { inputs } = person(['y', 'one', 'y', 'two']);
    const ask = () => inputs.elicitForm?.(form({ word: { type: 'string' } }), context);
    const [first, second] = await Promise.all([ask(), ask()]);
    expect([first?.content, second?.content]).toEqual([{ word: 'one' }, { word: 'two' }]);
  });
});

describe('an address to visit', () => {
  it('is shown whole with its host, and nothing is opened', async () => {
    const url = 'https://bank.example.evil.test/login?next=%2F';
    const { inputs, text } = person(['y']);
    expect(await inputs.elicitUrl?.({ mode: 'url', message: 'Sign in', url }, context)).toEqual({ action: 'accept' });
    expect(text()).toContain('The address, at bank.example.evil.test:');
    expect(text()).toContain(url);
    expect(await person(['']).inputs.elicitUrl?.({ mode: 'url', message: 'Sign in', url }, context)).toEqual({
      action: 'decline',
    });
  });
});
