import { PassThrough, Writable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { type Channel, type Message } from '../../jsonrpc/index.ts';
import { createFakeClock } from '../../testing/index.ts';
import { listen } from './fixtures/heard.ts';
import { stdioServerChannel, type StdioServerOptions } from './server.ts';

const opened: Channel[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((channel) => channel.close()));
});

function serve(options: StdioServerOptions = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const channel = stdioServerChannel({ input, output, ...options });
  opened.push(channel);
  const written = () => ((output.read() as Buffer | null)?.toString() ?? '').split('\n').filter((line) => line !== '');
  return { channel, input, output, written };
}

const answer: Message = { jsonrpc: '2.0', id: 1, result: {} };

test('messages travel both ways, and the end of the input loses the line', async () => {
  const { channel, input, written } = serve();
  const heard = listen(channel);
  input.write('{"jsonrpc":"2.0","id":1,"method":"a"}\n{"jsonrpc":"2.0",');
  input.end('"method":"b"}');
  await channel.send(answer);
  expect(await heard.ended).toMatchObject({ by: 'lost', error: { code: 'closed', message: 'The client closed the line.' } });
  expect(heard.messages).toMatchObject([{ method: 'a' }, { method: 'b' }]);
  expect(written()).toEqual([JSON.stringify(answer)]);
  await expect(channel.send(answer)).rejects.toBe((await heard.ended).error);
});

test('what cannot be read is answered, and an object that lacks its version is left to the peer', async () => {
  const { channel, input, output, written } = serve({ maxLineBytes: 100 });
  const heard = listen(channel);
  const requests = [
    '{oops',
    '{"id":2,"jsonrpc":"2.0","method":"x","params":[}',
    `{"id":3,"method":"x","params":"${'x'.repeat(100)}"}`,
  ];
  input.write(`${requests.join('\n')}\n{"id":4,"result":]}\n{"id":5,"method":"x"}\n`);
  await heard.until(() => heard.order.length === 5);
  await new Promise((resolve) => output.once('readable', resolve));
  expect(written().map((line) => JSON.parse(line) as unknown)).toEqual([
    { jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } },
    { jsonrpc: '2.0', id: 2, error: { code: -32700, message: 'Parse error' } },
    { jsonrpc: '2.0', id: 3, error: { code: -32600, message: 'The message is too large' } },
  ]);
  expect(heard.messages).toEqual([{ id: 5, method: 'x' }]);
});

test('a client that does not read stops the sender at its cap, and is lost in time', async () => {
  const clock = createFakeClock();
  const output = new Writable({ write() {} });
  const { channel } = serve({ output, clock, maxBacklogBytes: 100, drainMs: 1_000 });
  const heard = listen(channel);
  const first = channel.send(answer);
  const refused = expect(first).rejects.toMatchObject({ code: 'limit', details: { limit: 'drainMs' } });
  await new Promise((resolve) => setImmediate(resolve));
  const second = channel.send({ ...answer, result: { text: 'x'.repeat(100) } });
  await expect(second).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxBacklogBytes', unsent: true } });
  clock.advance(1_000);
  expect(await heard.ended).toMatchObject({ by: 'lost', error: { code: 'limit' } });
  // Closing does not wait for it for ever either.
  clock.advance(2_000);
  await refused;
  await channel.close();
});

test('a broken output loses the line', async () => {
  const output = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('broken'), { code: 'EPIPE' })),
  });
  // On a clock that stands still, closing does not end by its bound.
  const { channel } = serve({ output, clock: createFakeClock() });
  const heard = listen(channel);
  await expect(channel.send(answer)).rejects.toMatchObject({ code: 'closed' });
  expect(await heard.ended).toMatchObject({ by: 'lost', error: { cause: { code: 'EPIPE' } } });
});

test('closing waits for what is being written, ends both streams and tells so once', async () => {
  let finish!: () => void;
  const output = new Writable({ write: (_chunk, _encoding, done) => void (finish = done) });
  const { channel, input } = serve({ output });
  const heard = listen(channel);
  const sent = channel.send(answer);
  await new Promise((resolve) => setImmediate(resolve));
  const closed = Promise.all([channel.close(), channel.close()]);
  expect(output.writableEnded).toBe(false);
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  finish();
  await closed;
  await sent;
  expect([input.destroyed, output.writableEnded]).toEqual([true, true]);
  expect(heard.order).toEqual(['end']);
  expect((await heard.ended).by).toBe('closed');
});
