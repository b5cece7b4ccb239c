import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../base/index.ts';
import { createPeer, type JsonObject, type Message } from '../../jsonrpc/index.ts';
import { conventions } from '../../jsonrpc/fixtures/conventions.ts';
import { stdioTransport, type StdioOptions } from './client.ts';
import { open as openLine, program } from './fixtures/open.ts';
import { listen, type Heard } from './fixtures/heard.ts';
import { runs, until } from './fixtures/processes.ts';
import { killAllGroups } from './family.ts';

/** Ends at once when it is closed. */
const open = (mode: string, options: Partial<StdioOptions> = {}) =>
  openLine(mode, { shutdown: { eofMs: 50, termMs: 50 }, ...options });

/** The process that `hold` runs in, once it has said so. */
async function holder(heard: Heard): Promise<number> {
  await heard.until(() => heard.messages.length > 0);
  return (heard.messages[0] as { params: { pid: number } }).params.pid;
}

const ask: Message = { jsonrpc: '2.0', id: 1, method: 'x' };

test.for([
  ['exit-0', 0, ''],
  ['exit-1', 1, 'missing API key'],
] as const)(
  'a server that ends at its start (%s) ends the line with its exit code and last words',
  async ([mode, exitCode, tail]) => {
    const peer = createPeer(await open(mode), { conventions });
    const details = { exitCode, signal: null, stderrTail: tail };
    await expect(peer.request('a')).rejects.toMatchObject({ code: 'server-stopped', details });
    expect(await peer.ended).toMatchObject({ by: 'lost', error: { code: 'server-stopped', details } });
    expect((await peer.ended).error.message).toContain(`exit code ${String(exitCode)}`);
    expect((await peer.ended).error.message).not.toContain('API key');
  },
);

test('a program that prints and ends is told by what it printed', async () => {
  const peer = createPeer(await open('print-and-exit'), { conventions });
  await expect(peer.request('a')).rejects.toMatchObject({ code: 'server-stopped' });
  expect((await peer.ended).error.message).toContain('exit code 0, after 2 lines on its standard output that are not MCP.');
});

test.for([
  ['exit-after-first', 3],
  ['exit-mid-frame', 4],
] as const)('a server that ends on its first message (%s) fails the request with its exit code', async ([mode, exitCode]) => {
  const peer = createPeer(await open(mode), { conventions });
  await expect(peer.request('a')).rejects.toMatchObject({ code: 'server-stopped', details: { exitCode } });
});

test('what a server said before it ended is delivered before the end', async () => {
  const peer = createPeer(await open('answer-and-exit'), { conventions });
  expect(await peer.request('a')).toEqual({});
  expect((await peer.ended).error.details).toMatchObject({ exitCode: 0 });
});

test('what arrived, and how it ended, waits for a receiver that starts late', async () => {
  const channel = await open('answer-and-exit');
  await channel.send(ask);
  await until(() => !runs(channel.pid));
  const heard = listen(channel);
  await heard.ended;
  expect(heard.order).toEqual(['message', 'end']);
});

test('only the end of a long standard error goes into the report', async () => {
  const channel = await open('log-lines', { args: [program, 'log-lines', '1000'] });
  const heard = listen(channel);
  await until(() => channel.stderr().endsWith('line 999\n'));
  process.kill(channel.pid, 'SIGKILL');
  const tail = (await heard.ended).error.details.stderrTail ?? '';
  expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(2_048);
  expect(tail).toMatch(/^line \d+\n(line \d+\n)+line 999$/);
});

test('a killed server ends the line with its signal', async () => {
  const channel = await open('echo');
  const peer = createPeer(channel, { conventions });
  await peer.request('a');
  process.kill(channel.pid, 'SIGKILL');
  expect(await peer.ended).toMatchObject({ by: 'lost', error: { code: 'server-stopped', details: { signal: 'SIGKILL' } } });
});

test('a server ends by itself when its input does, and nothing is killed', async () => {
  const channel = await open('log-lines', {
    args: ['-e', "process.stdin.resume().on('end', () => process.stderr.write('goodbye'))"],
    shutdown: { eofMs: 10_000 },
  });
  const heard = listen(channel);
  await channel.close();
  expect(await heard.ended).toMatchObject({ by: 'closed', error: { code: 'closed' } });
  expect(channel.stderr()).toBe('goodbye');
  expect(runs(channel.pid)).toBe(false);
});

test('a server that ignores both the end of its input and SIGTERM is killed', async () => {
  const channel = await open('ignore-term');
  await createPeer(channel, { conventions }).request('a');
  await channel.close();
  expect(runs(channel.pid)).toBe(false);
});

test('a server that has stopped itself is killed as well', async () => {
  const channel = await open('echo');
  await createPeer(channel, { conventions }).request('a');
  process.kill(channel.pid, 'SIGSTOP');
  await channel.close();
  expect(runs(channel.pid)).toBe(false);
});

test('a server that closes its output and lives on is lost, and killed', async () => {
  const channel = await open('close-stdout');
  const { by, error } = await listen(channel).ended;
  expect([by, error.code]).toEqual(['lost', 'server-stopped']);
  expect(error.message).toContain('while it was still running');
  expect(error.details).not.toHaveProperty('exitCode');
  await channel.close();
  expect(runs(channel.pid)).toBe(false);
});

test('closing a wrapper leaves nothing of what it wraps', async () => {
  const channel = await open('', { command: 'sh', args: ['-c', `"${process.execPath}" "${program}" hold & wait`] });
  const grandchild = await holder(listen(channel));
  expect(runs(grandchild)).toBe(true);
  await channel.close();
  expect([runs(channel.pid), runs(grandchild)]).toEqual([false, false]);
});

test('a wrapper that ends by itself ends the line though its child holds the pipes, and the child is killed', async () => {
  // Its silence ends the line, not the longest wait: that one never ends here.
  const after = (ms: number, fire: () => void) => systemClock.after(ms < 1_000 ? ms : 1_000_000, fire);
  const channel = await open('leave-grandchild', { clock: { ...systemClock, after } });
  const heard = listen(channel);
  const grandchild = await holder(heard);
  expect((await heard.ended).error).toMatchObject({ code: 'server-stopped', details: { exitCode: 5 } });
  await channel.close();
  expect(runs(grandchild)).toBe(false);
});

test('a child that goes on talking after its wrapper has ended does not keep the line open', async () => {
  const channel = await open('leave-chatty-grandchild');
  const heard = listen(channel);
  expect((await heard.ended).error.details).toMatchObject({ exitCode: 5 });
  await channel.close();
});

test('a process that left the session ends with the server it came from', async () => {
  const channel = await open('leave-escaped');
  const heard = listen(channel);
  const escaped = await holder(heard);
  expect((await heard.ended).error.details).toMatchObject({ exitCode: 5 });
  await channel.close();
  expect(runs(escaped)).toBe(false);
});

test('a process without our mark is found while its parent lives', async () => {
  const channel = await open('keep-unmarked');
  const escaped = await holder(listen(channel));
  await channel.close();
  expect(runs(escaped)).toBe(false);
});

test('closing returns though a process that nobody can find any more holds the pipes', async () => {
  const channel = await open('leave-unmarked');
  const heard = listen(channel);
  const escaped = await holder(heard);
  try {
    expect((await heard.ended).error.details).toMatchObject({ exitCode: 5 });
    await channel.close();
    expect(runs(escaped)).toBe(true);
  } finally {
    process.kill(escaped, 'SIGKILL');
  }
});

test.runIf(process.platform === 'linux')(
  'a server that grows while it is ended is killed, whatever time it has left',
  async () => {
    const script = "trap '' TERM; cat; i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i + 1)); done; wait";
    const shutdown = { eofMs: 600_000, termMs: 600_000 };
    const channel = await open('', { command: 'sh', args: ['-c', script], maxServerProcesses: 10, shutdown });
    const heard = listen(channel);
    await channel.close();
    expect((await heard.ended).by).toBe('closed');
    expect(runs(channel.pid)).toBe(false);
  },
);

test.runIf(process.platform === 'linux')(
  'when memory runs out a server goes first, and a crash writes no memory of it to the disk',
  async () => {
    const channel = await open('hold', { command: 'sh', args: ['-c', `"${process.execPath}" "${program}" hold & wait`] });
    const told = (pid: number, name: string) => readFileSync(`/proc/${String(pid)}/${name}`, 'utf8');
    // A child may be there before its parent is made so, and is made so itself when it is seen.
    for (const pid of [await holder(listen(channel)), channel.pid]) {
      await until(() => told(pid, 'oom_score_adj') === '500\n' && told(pid, 'coredump_filter') === '00000000\n');
    }
  },
);

test('all groups that live can be killed at once', async () => {
  const wrapper = await open('', { command: 'sh', args: ['-c', `"${process.execPath}" "${program}" hold & wait`] });
  const plain = await open('ignore-term');
  const [heard, other] = [listen(wrapper), listen(plain)];
  const grandchild = await holder(heard);
  killAllGroups();
  await Promise.all([heard.ended, other.ended]);
  await until(() => !runs(wrapper.pid) && !runs(grandchild) && !runs(plain.pid));
  // Nothing is left to signal.
  killAllGroups();
});

test('a line that was closed before it was started only tells its end', async () => {
  const channel = await open('answer-and-exit');
  await channel.send(ask);
  await channel.close();
  const heard = listen(channel);
  expect(await heard.ended).toMatchObject({ by: 'closed' });
  expect(heard.order).toEqual(['end']);
});

test('closing twice is closing once, and nothing is said after the end', async () => {
  const channel = await open('three');
  const heard = listen(channel);
  await channel.send(ask);
  await Promise.all([channel.close(), channel.close()]);
  expect(heard.order.filter((news) => news === 'end')).toEqual(['end']);
  expect(heard.order.at(-1)).toBe('end');
  await expect(channel.send(ask)).rejects.toMatchObject({ code: 'closed' });
});

test('a transport opens a new process every time', async () => {
  const transport = stdioTransport({ command: process.execPath, args: [program, 'where'] });
  const pids: JsonObject[] = [];
  for (let round = 0; round < 2; round++) {
    const channel = await transport.open();
    const peer = createPeer(channel, { conventions });
    pids.push(await peer.request('a'));
    await peer.close();
    expect(runs(channel.pid)).toBe(false);
  }
  expect(pids[0]?.['pid']).not.toBe(pids[1]?.['pid']);
});
