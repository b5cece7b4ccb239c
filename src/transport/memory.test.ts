import { expect, test } from 'vitest';
import { createPeer, type Channel, type Message } from '../jsonrpc/index.ts';
import { conventions } from '../jsonrpc/fixtures/conventions.ts';
import { createFakeClock } from '../testing/index.ts';
import { memoryPair, memoryTransport } from './memory.ts';
import { listen } from './stdio/fixtures/heard.ts';

const note = (method: string, params: Record<string, unknown> = {}): Message => ({ jsonrpc: '2.0', method, params });

test('two peers answer each other', async () => {
  const [near, far] = memoryPair();
  const client = createPeer(near, { conventions, onRequest: ({ method }) => ({ client: method }) });
  const server = createPeer(far, { conventions, onRequest: ({ method }) => ({ server: method }) });
  const answers = await Promise.all([client.request('a'), server.request('b'), client.request('c')]);
  expect(answers).toEqual([{ server: 'a' }, { client: 'b' }, { server: 'c' }]);
  await client.close();
});

test('messages arrive in order and never at once, also those from before the start', async () => {
  const [near, far] = memoryPair();
  await near.send(note('a'));
  await near.send(note('b'));
  const heard = listen(far);
  expect(heard.messages).toEqual([]);
  await near.send(note('c'));
  expect(heard.messages).toEqual([]);
  await heard.until(() => heard.messages.length === 3);
  expect(heard.messages).toEqual([note('a'), note('b'), note('c')]);
  await near.close();
});

test('values cross as JSON: neither undefined nor a shared object gets over', async () => {
  const [near, far] = memoryPair();
  const params = { gone: undefined, at: new Date(0), list: [1] };
  await near.send(note('a', params));
  params.list.push(2);
  const heard = listen(far);
  await heard.until(() => heard.messages.length === 1);
  expect(heard.messages[0]).toStrictEqual(note('a', { at: '1970-01-01T00:00:00.000Z', list: [1] }));
  await near.close();
});

test('with a delay, messages arrive when the clock says so', async () => {
  const clock = createFakeClock();
  const [near, far] = memoryPair({ delayMs: 100, clock });
  const heard = listen(far);
  await near.send(note('a'));
  clock.advance(50);
  await near.send(note('b'));
  clock.advance(49);
  expect(heard.messages).toEqual([]);
  clock.advance(1);
  expect(heard.messages).toEqual([note('a')]);
  clock.advance(50);
  expect(heard.messages).toEqual([note('a'), note('b')]);
  await near.close();
});

test('closing one end closes it at once and the other after what was sent before', async () => {
  const [near, far] = memoryPair();
  const [here, there] = [listen(near), listen(far)];
  await near.send(note('last'));
  const lost = far.send(note('too late'));
  await near.close();
  await near.close();
  expect(await here.ended).toMatchObject({ by: 'closed', error: { code: 'closed' } });
  expect(await there.ended).toMatchObject({ by: 'lost', error: { code: 'closed', message: 'The client closed the line.' } });
  expect([here.order, there.order]).toEqual([['end'], ['message', 'end']]);
  await lost;
  await expect(near.send(note('a'))).rejects.toMatchObject({ code: 'closed' });
  await expect(far.send(note('a'))).rejects.toMatchObject({ code: 'closed' });
});

test('a server that closes is lost to its client', async () => {
  const [near, far] = memoryPair();
  const client = createPeer(near, { conventions });
  const request = client.request('a');
  await far.close();
  await expect(request).rejects.toMatchObject({ code: 'server-stopped' });
});

test('an end that was closed before it started only tells its end', async () => {
  const [near, far] = memoryPair();
  await near.send(note('a'));
  await far.close();
  expect(listen(far).order).toEqual(['end']);
});

test('an end that takes nothing stops the sender at its cap', async () => {
  const [near, far] = memoryPair({ maxBacklog: 200 });
  await near.send(note('a', { text: 'x'.repeat(100) }));
  await expect(near.send(note('b', { text: 'x'.repeat(100) }))).rejects.toMatchObject({
    code: 'limit',
    details: { unsent: true },
  });
  const heard = listen(far);
  await heard.until(() => heard.messages.length === 1);
  await near.send(note('c', { text: 'x'.repeat(100) }));
  await heard.until(() => heard.messages.length === 2);
  await near.close();
});

test('a transport gives the far end of each opening away', async () => {
  const accepted: Channel[] = [];
  const transport = memoryTransport((channel) => accepted.push(channel));
  const [first, second] = [await transport.open(), await transport.open()];
  expect(accepted).toHaveLength(2);
  const heard = listen(accepted[1] as Channel);
  await second.send(note('a'));
  await heard.until(() => heard.messages.length === 1);
  await expect(transport.open({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
  expect(accepted).toHaveLength(2);
  await Promise.all([first.close(), second.close()]);
});
