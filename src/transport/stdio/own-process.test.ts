// What can only be seen from outside: our own server and our own host, each in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { createPeer } from '../../jsonrpc/index.ts';
import { conventions } from '../../jsonrpc/fixtures/conventions.ts';
import { stdioTransport, type StdioChannel } from './client.ts';
import { compile } from './fixtures/compile.ts';
import { listen } from './fixtures/heard.ts';
import { runs, until } from './fixtures/processes.ts';

const compiled = compile(join(import.meta.dirname, 'index.ts'));
const opened: StdioChannel[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((channel) => channel.close()));
});

afterAll(() => compiled.remove());

async function openOurServer(): Promise<StdioChannel> {
  const args = [join(import.meta.dirname, 'fixtures', 'our-server.mjs'), compiled.url];
  const channel = await stdioTransport({ command: process.execPath, args, shutdown: { eofMs: 5_000 } }).open();
  opened.push(channel);
  return channel;
}

test('our server answers our client, and what it prints goes to standard error', async () => {
  const channel = await openOurServer();
  const peer = createPeer(channel, { conventions });
  expect(await peer.request('a', { text: '😀' })).toEqual({ method: 'a', params: { text: '😀' } });
  await peer.close();
  expect(channel.stderr()).toBe("stray log\n{ stray: 'dir' }\nstray write\nend lost\n");
});

test('standard output is given back when the channel is closed, after the last answer', async () => {
  const channel = await openOurServer();
  const heard = listen(channel);
  await channel.send({ jsonrpc: '2.0', id: 1, method: 'close' });
  expect((await heard.ended).error.details).toMatchObject({ exitCode: 0 });
  expect(heard.messages).toMatchObject([{ id: 1 }]);
  expect(heard.problems).toMatchObject([{ kind: 'noise', excerpt: 'after the close' }]);
});

test.for(['exit', 'crash', 'SIGINT'])('a host that ends by %s leaves no process behind', async (how) => {
  const host = spawn(process.execPath, [join(import.meta.dirname, 'fixtures', 'host.mjs'), compiled.url, how], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(host, 'exit');
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  const pids = JSON.parse(line.toString()) as number[];
  expect(pids).toHaveLength(3);
  if (how === 'SIGINT') {
    expect(pids.map(runs)).toEqual([true, true, true]);
    host.kill(how);
  }
  await exited;
  await until(() => !pids.some(runs));
});
