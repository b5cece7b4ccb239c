import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { AgentEvent, CallStart, ModelReply } from '../agent/index.ts';
import type { Io } from './io.ts';
import { createPrinter, type OutputOptions } from './output.ts';
import { terminalApprover } from './ask.ts';
import { createScreen } from './screen.ts';

const REPLY: ModelReply = { text: '', toolCalls: [], finish: 'stop' };
const CALL: CallStart = { n: 1, turn: 1, id: 'a', name: 'orders__get', arguments: { id: '1\u001b[2J' } };

const result = (call: CallStart, more: object = {}): AgentEvent => {
  const entry = { ...call, status: 'ok' as const, summary: 'Done.', durationMs: 4, because: 'It was approved.', ...more };
  return { type: 'result', entry, reply: { status: entry.status, summary: entry.summary, parts: [], preview: '│ a lamp' } };
};

/** A screen whose output streams are terminals, or are not. */
function open(options: OutputOptions & { readonly terminal?: boolean } = {}) {
  const { terminal = true } = options;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY: terminal }));
  const io = { stdout, stderr, interactive: terminal } as unknown as Io;
  const approver = terminal ? terminalApprover(io, 'ann') : undefined;
  const screen = createScreen(
    { io, printer: createPrinter(io, options), approver },
    { quiet: options.quiet === true, nameOf: (name) => name.replace('__', '/') },
  );
  const read = (stream: PassThrough | undefined) => ((stream?.read() as Buffer | null) ?? '').toString();
  return { screen, out: () => read(stdout), err: () => read(stderr) };
}

test('text appears as it comes, up to its last white space, with nothing hidden in it', () => {
  const { screen, out } = open();
  screen.observe({ type: 'text', delta: 'It is a \u001b[3' });
  expect(out()).toBe('It is a ');
  screen.observe({ type: 'text', delta: '1mlamp' });
  expect(out()).toBe('');
  screen.observe({ type: 'reply', reply: { ...REPLY, text: 'It is a \u001b[31mlamp' } });
  expect(out()).toBe('\\u{1b}[31mlamp\n');
  expect(screen.hasShown('It is a \u001b[31mlamp')).toBe(true);
  expect(screen.hasShown('Stopped after 1 turns.')).toBe(false);
});

test('a word without an end is shown all the same', () => {
  const { screen, out } = open();
  screen.observe({ type: 'text', delta: 'x'.repeat(5_000) });
  expect(out()).toHaveLength(5_000);
});

test('text that came only as a whole is shown as a whole', () => {
  const { screen, out } = open();
  screen.observe({ type: 'reply', reply: { ...REPLY, text: 'A lamp.\n' } });
  expect(out()).toBe('A lamp.\n');
});

test.each([{ terminal: false }, { json: true }, { quiet: true }])('with %j the answer is left to the end', (options) => {
  const { screen, out, err } = open(options);
  screen.observe({ type: 'text', delta: 'A lamp. ' });
  screen.observe({ type: 'reply', reply: { ...REPLY, text: 'A lamp. ' } });
  expect(out() + err()).toBe('');
  expect(screen.hasShown('A lamp. ')).toBe(false);
});

test('a call, its permission, its result and the table of calls are lines of their own', () => {
  const { screen, err } = open();
  screen.observe({ type: 'call', call: CALL });
  screen.observe(result(CALL));
  screen.observe({ type: 'call', call: { ...CALL, n: 2 } });
  screen.observe(
    result({ ...CALL, n: 2 }, { status: 'denied', summary: 'Declined by the user.', because: 'No rule\ncovers it.' }),
  );
  expect(err()).toBe(
    [
      '→ orders/get {"id":"1\\u001b[2J"}',
      '← orders/get: ok, 4 ms (allowed: It was approved.)',
      '│ a lamp',
      '→ orders/get {"id":"1\\u001b[2J"}',
      '← orders/get: Declined by the user. (denied: No rule covers it.)',
      '│ a lamp',
      '',
    ].join('\n'),
  );
  screen.sayCalls();
  expect(err()).toBe(
    [
      '',
      '#  tool        outcome  time  why',
      '1  orders/get  ok       4 ms  It was approved.',
      '2  orders/get  denied   4 ms  No rule covers it.',
      '',
    ].join('\n'),
  );
  screen.sayCalls();
  expect(err()).toBe('');
});

test('an answer that is cut off is said to be', () => {
  const { screen, err } = open();
  screen.observe({ type: 'reply', reply: { ...REPLY, text: 'And so', finish: 'length' } });
  expect(err()).toContain('cut off');
});

test('nothing is written while a question stands, and nothing of it is lost', async () => {
  const { screen, err } = open();
  const answers: ((answer: string) => void)[] = [];
  const ask = () => screen.hold(() => new Promise<string>((resolve) => answers.push(resolve)));
  const [first, second] = [ask(), ask()];
  screen.observe({ type: 'call', call: CALL });
  screen.observe({ type: 'progress', call: CALL, progress: { progress: 1 } });
  answers[0]?.('yes');
  expect(await first).toBe('yes');
  screen.observe(result(CALL));
  expect(err()).toBe('');
  answers[1]?.('no');
  expect(await second).toBe('no');
  expect(err()).toMatch(/^→ orders\/get .*\n← orders\/get: ok/);
});
