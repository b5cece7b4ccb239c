// Our server in a process of its own, spoken to line by line (2026-07-28, basic/transports/stdio).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { modernParams } from '../../src/server/fixtures/raw-client.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { closing } from './fixtures/servers.ts';

const open = closing();

interface Answer extends JsonObject {
  readonly id?: unknown;
  readonly method?: string;
}

function start() {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../contracts/server.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const lines: string[] = [];
  const waiting: { fits: (message: Answer) => boolean; resolve: (message: Answer) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    const message = JSON.parse(line) as Answer;
    const at = waiting.findIndex(({ fits }) => fits(message));
    if (at >= 0) waiting.splice(at, 1)[0]?.resolve(message);
  });
  open({
    close: () => {
      child.stdin.end();
      return closed;
    },
  });
  const next = (fits: (message: Answer) => boolean) => new Promise<Answer>((resolve) => waiting.push({ fits, resolve }));
  return {
    lines,
    closed,
    next,
    end: () => child.stdin.end(),
    write: (text: string | Buffer) => void child.stdin.write(text),
    ask(id: string | number, method: string, params: JsonObject = modernParams()): Promise<Answer> {
      const answered = next((message) => message.id === id && message.method === undefined);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return answered;
    },
  };
}

test('every line of its output is one message without a line end in it, whatever it carries, and however the input is cut (“Messages”)', async () => {
  const server = start();
  const text = 'line\nfeed\r\n \u2028 "quoted" 世界 😀';
  const request = `${JSON.stringify({ jsonrpc: '2.0', id: 'cut', method: 'tools/call', params: modernParams({ name: 'echo', arguments: { text } }) })}\r\n`;
  const answered = server.next(({ id }) => id === 'cut');
  for (const byte of Buffer.from(request)) server.write(Buffer.of(byte));
  expect(await answered).toMatchObject({ result: { content: [{ text }] } });
  const both = [server.next(({ id }) => id === 1), server.next(({ id }) => id === 2)];
  server.write(
    [1, 2].map((id) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'server/discover', params: modernParams() })}\n`).join(''),
  );
  expect(await Promise.all(both)).toMatchObject(Array(2).fill({ result: { supportedVersions: ['2026-07-28'] } }));
  expect(server.lines).toHaveLength(3);
  for (const line of server.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
});

test('it asks a modern client nothing by itself: what it needs is in the result (“Receiving Messages”)', async () => {
  const server = start();
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const answer = await server.ask(1, 'tools/call', modernParams({ name: 'asks' }, { capabilities }));
  expect(answer).toMatchObject({ result: { resultType: 'input_required', inputRequests: expect.any(Object) as object } });
  await server.ask(2, 'server/discover');
  expect(server.lines.map((line) => JSON.parse(line) as Answer).filter(({ method }) => method !== undefined)).toEqual([]);
});

test('a cancelled request is stopped, and nothing more is said of it (“Cancellation”)', async () => {
  const server = start();
  void server.ask(1, 'tools/call', modernParams({ name: 'waits' }));
  await server.ask(2, 'server/discover');
  server.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })}\n`);
  // Neither an unknown id nor one that was answered is a reason to say anything.
  for (const requestId of [2, 'other', null]) {
    server.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })}\n`);
  }
  const stopped = await server.ask(3, 'tools/call', modernParams({ name: 'cancelled' }));
  expect(stopped).toMatchObject({ result: { content: [{ text: '["waits"]' }] } });
  expect(server.lines.map((line) => (JSON.parse(line) as Answer).id)).toEqual([2, 3]);
});

test('what is no message is answered or passed over, and the next request is served (basic/index, “Responses”)', async () => {
  const server = start();
  const noise = [
    '',
    'hello',
    '42',
    'null',
    '[]',
    '{}',
    '{"jsonrpc":"2.0","id":99,"result":{}}',
    '{"jsonrpc":"2.0","method":"unknown/notification"}',
  ];
  server.write(noise.map((line) => `${line}\n`).join(''));
  expect(await server.ask(1, 'server/discover')).toHaveProperty('result');
  const others = server.lines
    .map((line) => JSON.parse(line) as { id?: unknown; error?: { code: number } })
    .filter(({ id }) => id !== 1);
  for (const { error } of others) expect([-32700, -32600]).toContain(error?.code);
});

test('it ends by itself when its input does, with a request under way as well (“Shutdown”)', async () => {
  const server = start();
  void server.ask(1, 'tools/call', modernParams({ name: 'waits' }));
  await server.ask(2, 'server/discover');
  server.end();
  expect(await server.closed).toEqual([0, null]);
});
