import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createIntent, type ApprovalRequest, type ApprovalScope, type Proposal } from '../host/index.ts';
import { terminalApprover } from './ask.ts';
import type { Terminal } from './terminal.ts';

/** A person who types `keys` as soon as the question is there; `undefined` closes the terminal. */
function ask(
  keys: string | undefined,
  options: { readonly widest?: ApprovalScope; readonly before?: string; readonly proposals?: readonly Proposal[] } = {},
) {
  const stdin = new PassThrough();
  const stderr = new PassThrough();
  let shown = '';
  let lines = keys?.split('\n').slice(0, -1) ?? [];
  stderr.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (!shown.endsWith('(Enter denies): ')) return;
    const [line, ...more] = lines;
    lines = more;
    if (line === undefined) stdin.end();
    else stdin.write(`${line}\n`);
  });
  if (options.before !== undefined) stdin.write(options.before);
  const request: ApprovalRequest = {
    intent: createIntent({ server: 'orders', tool: { name: 'refund', inputSchema: { type: 'object' } }, args: { cents: 1 } }),
    because: 'No rule covers it.',
    trusted: false,
    widest: options.widest ?? 'run',
    proposals: options.proposals ?? [],
  };
  return terminalApprover({ stdin, stderr } as unknown as Terminal, 'ann').ask(request);
}

test.each([
  ['o\n', { type: 'allow', scope: 'once' }],
  ['once\n', { type: 'allow', scope: 'once' }],
  ['r\n', { type: 'allow', scope: 'run' }],
  ['d\n', { type: 'deny', by: 'person' }],
  ['\n', { type: 'deny', by: 'person' }],
  ['yes\n', { type: 'deny', by: 'person' }],
  [undefined, { type: 'deny', by: 'person' }],
  ['a\n', { type: 'deny', by: 'person' }],
  ['e\n{"cents":2}\n', { type: 'allow', scope: 'once', args: { cents: 2 } }],
  ['e\n{"cents":\n', { type: 'deny', by: 'person' }],
  ['e\n\n', { type: 'deny', by: 'person' }],
])('the answer %j is %j', async (keys, verdict) => {
  expect(await ask(keys)).toEqual({ ...verdict, who: 'ann', channel: 'terminal' });
});

const pattern = { args: { '/cents': { from: 0, to: 5 } } };
test.each([
  ['a\n1\n', { type: 'allow', scope: 'always', pattern }],
  ['a\n1 7d\n', { type: 'allow', scope: 'until', pattern, at: expect.any(Number) as number }],
  ['a\n1 31d\n', { type: 'deny', by: 'person' }],
  ['a\n2\n', { type: 'deny', by: 'person' }],
  ['a\n\n', { type: 'deny', by: 'person' }],
])('the answer %j to what may be allowed for good is %j', async (keys, verdict) => {
  const proposals = [{ label: 'these arguments, with cents from 0 to 5', pattern }];
  expect(await ask(keys, { proposals })).toMatchObject(verdict);
});

test('what was not offered is not given', async () => {
  expect(await ask('r\n', { widest: 'once' })).toMatchObject({ type: 'deny', by: 'person' });
});

test('what was typed before the question is no answer', async () => {
  expect(await ask('\n', { before: 'o\n' })).toMatchObject({ type: 'deny', by: 'person' });
});

test('a question that is taken back rejects with the reason', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const terminal = { stdin: new PassThrough(), stderr: new PassThrough().resume() } as unknown as Terminal;
  const request: ApprovalRequest = {
    intent: createIntent({ server: 's', tool: { name: 't', inputSchema: { type: 'object' } }, args: {} }),
    because: '',
    trusted: false,
    widest: 'once',
  };
  const asked = terminalApprover(terminal, 'ann').ask(request, { signal: stop.signal });
  stop.abort(reason);
  await expect(asked).rejects.toBe(reason);
});
