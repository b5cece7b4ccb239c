import { expect, test } from 'vitest';
import { createPeer, type Channel, type Message } from '../jsonrpc/index.ts';
import { conventions } from '../jsonrpc/fixtures/conventions.ts';
import { createScriptedLine } from '../testing/index.ts';
import { memoryTransport } from './memory.ts';
import { listen } from './stdio/fixtures/heard.ts';
import { tap, tapChannel, type Passing } from './tap.ts';

test('all that is sent and received is shown, in order, and passes unchanged', async () => {
  const seen: Passing[] = [];
  const serve = (channel: Channel) => void createPeer(channel, { conventions, onRequest: ({ method }) => ({ method }) });
  const transport = tap(memoryTransport(serve), (passing) => seen.push(passing));
  const peer = createPeer(await transport.open(), { conventions });
  expect(await peer.request('a')).toEqual({ method: 'a' });
  await peer.close();
  expect(seen).toEqual([
    { direction: 'out', message: { jsonrpc: '2.0', id: 1, method: 'a' } },
    { direction: 'in', message: { jsonrpc: '2.0', id: 1, result: { method: 'a' } } },
  ]);
  expect([transport.kind, transport.target]).toEqual(['memory', 'memory']);
});

test('problems, origins and the end pass too', async () => {
  const line = createScriptedLine();
  const seen: unknown[] = [];
  const tapped = tapChannel(line.channel, ({ message }) => seen.push(message));
  const heard = listen(tapped);
  line.deliver({ any: 'value' });
  line.problem({ kind: 'noise', message: 'x' });
  line.end();
  expect(heard.order).toEqual(['message', 'problem', 'end']);
  expect(seen).toEqual([{ any: 'value' }]);
});

test('what a channel can do besides, its tapped form can too, and what it cannot do stays absent', async () => {
  const http = createScriptedLine({ kind: 'http' });
  const tapped = tapChannel(http.channel, () => {});
  tapped.abandon?.(7);
  expect([tapped.kind, http.abandoned]).toEqual(['http', [7]]);
  const plain = tapChannel(createScriptedLine().channel, () => {});
  expect([plain.kind, plain.abandon, 'abandon' in plain]).toEqual(['memory', undefined, false]);

  class Counting {
    readonly kind = 'memory';
    #sent = 0;
    start(): void {}
    async send(): Promise<void> {
      this.#sent++;
    }
    async close(): Promise<void> {}
    get sent(): number {
      return this.#sent;
    }
  }
  const counting: Channel & { readonly sent: number } = tapChannel(new Counting(), () => {});
  await counting.send({ jsonrpc: '2.0', method: 'x' });
  expect(counting.sent).toBe(1);
});

test('a message that cannot be delivered was shown all the same, and the sender hears of it', async () => {
  const seen: Message[] = [];
  const line = createScriptedLine({ onSend: () => Promise.reject(new Error('no')) });
  const tapped = tapChannel(line.channel, (passing) => {
    if (passing.direction === 'out') seen.push(passing.message);
  });
  await expect(tapped.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('no');
  expect(seen).toHaveLength(1);
});
