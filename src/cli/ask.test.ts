import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createIntent, type ApprovalRequest, type ApprovalScope } from '../host/index.ts';
import { terminalApprover } from './ask.ts';
import type { Terminal } from './terminal.ts';

/** A person who types `keys` as soon as the question is there; `undefined` closes the terminal. */
function ask(keys: string | undefined, options: { readonly widest?: ApprovalScope; readonly before?: string } = {}) {
  const stdin = new PassThrough();
  const stderr = new PassThrough();
  let shown = '';
  stderr.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (!shown.includes('(Enter denies): ')) return;
    stderr.removeAllListeners('data').resume();
    if (keys === undefined) stdin.end();
    else stdin.write(keys);
  });
  if (options.before !== undefined) stdin.write(options.before);
  const request: ApprovalRequest = {
    intent: createIntent({ server: 'orders', tool: { name: 'refund', inputSchema: { type: 'object' } }, args: { cents: 1 } }),
    because: 'No rule covers it.',
    trusted: false,
    widest: options.widest ?? 'run',
  };
  return terminalApprover({ stdin, stderr } as unknown as Terminal).ask(request);
}

test.each([
  ['o\n', { type: 'allow', scope: 'once' }],
  ['once\n', { type: 'allow', scope: 'once' }],
  ['r\n', { type: 'allow', scope: 'run' }],
  ['d\n', { type: 'deny', by: 'person' }],
  ['\n', { type: 'deny', by: 'person' }],
  ['yes\n', { type: 'deny', by: 'person' }],
  [undefined, { type: 'deny', by: 'person' }],
])('the answer %j is %j', async (keys, verdict) => {
  expect(await ask(keys)).toEqual(verdict);
});

test('what was not offered is not given', async () => {
  expect(await ask('r\n', { widest: 'once' })).toEqual({ type: 'deny', by: 'person' });
});

test('what was typed before the question is no answer', async () => {
  expect(await ask('\n', { before: 'o\n' })).toEqual({ type: 'deny', by: 'person' });
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
  const asked = terminalApprover(terminal).ask(request, { signal: stop.signal });
  stop.abort(reason);
  await expect(asked).rejects.toBe(reason);
});
