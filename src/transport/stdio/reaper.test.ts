// The reaper's script by itself, with processes that it is told of, and those that it is not.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { readRow } from './census.ts';
import { runs, until } from './fixtures/processes.ts';
import { REAPER_SCRIPT } from './reaper.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined && runs(pid)) process.kill(pid, 'SIGKILL');
});

/** A shell in a session of its own, that runs `script`; resolves with what it prints up to "ready". */
async function shell(script: string, env: Record<string, string> = {}): Promise<{ pid: number; said: string }> {
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: '/usr/bin:/bin', PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'], ...env },
  });
  started.push(child);
  let said = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    said += chunk as string;
    if (said.endsWith('ready\n')) break;
  }
  return { pid: child.pid as number, said: said.trim() };
}

/** Tells a reaper `lines`, and lets it find that whoever told it is gone. */
async function reap(lines: readonly string[], { mark = `M=${randomUUID()}.`, proc = '/proc' } = {}): Promise<number> {
  const reaper = spawn('/bin/sh', ['-c', REAPER_SCRIPT, 'reaper', mark, proc], { stdio: ['pipe', 'ignore', 'ignore'] });
  reaper.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const begin = performance.now();
  await once(reaper, 'exit');
  return performance.now() - begin;
}

const QUIET = 'echo ready; exec sleep 1000';
const DEAF = "trap '' TERM HUP INT; echo ready; while :; do sleep 0.2; done";

describe.runIf(process.platform === 'linux')('where processes are listed', () => {
  const startOf = (pid: number) => String(readRow(pid)?.startedAt);

  test('what was begun ends, and what ignores that is killed', async () => {
    const [quiet, deaf] = await Promise.all([shell(QUIET), shell(DEAF)]);
    await reap([`+ 1`, `= 1 ${quiet.pid} ${startOf(quiet.pid)}`, `= 2 ${deaf.pid} ${startOf(deaf.pid)}`]);
    await until(() => !runs(quiet.pid) && !runs(deaf.pid));
  });

  test('a process is asked before it is killed', async () => {
    const polite = await shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    await reap([`= 1 ${polite.pid} ${startOf(polite.pid)}`]);
    await until(() => !runs(polite.pid));
    const child = started.find(({ pid }) => pid === polite.pid) as ChildProcess;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
  });

  test('one that was about to start is found by its mark, and what it began by its session or parent', async () => {
    const mark = `M=${randomUUID()}.`;
    const [name, value] = mark.split('=') as [string, string];
    // Nothing but its session, and nothing but its parent, tells whose these are.
    const orphan = `env -i /bin/sh -c '(trap "" TERM; exec sleep 1000) >/dev/null & echo $!'`;
    const child = `env -i setsid /bin/sh -c 'echo $$; exec sleep 1000' &`;
    const server = await shell(`${orphan}; ${child} sleep 0.2; echo ready; exec sleep 1000`, { [name]: `${value}1` });
    const pids = [server.pid, ...server.said.split('\n').slice(0, -1).map(Number)];
    expect(pids.map(runs)).toEqual([true, true, true]);
    await reap(['+ 1'], { mark });
    await until(() => !pids.some(runs));
  });

  test('a number that is another process by now is left alone', async () => {
    const stranger = await shell(QUIET);
    await reap([`= 1 ${stranger.pid} ${Number(startOf(stranger.pid)) - 1}`, `= 2 ${stranger.pid} 7`]);
    expect(runs(stranger.pid)).toBe(true);
  });

  test('a process that calls itself by what belongs to another does not take that one along', async () => {
    const stranger = await shell(QUIET);
    // Read naively, this says that its session is that of the other.
    const name = `) S 1 1 ${stranger.pid}\\n`;
    const liar = await shell(`printf '${name}' >/proc/$$/comm; cat /proc/$$/comm >&2; ${DEAF}`);
    expect(readFileSync(`/proc/${liar.pid}/stat`, 'utf8').split('\n')[0]).toBe(`${liar.pid} () S 1 1 ${stranger.pid}`);
    await reap([`= 1 ${liar.pid} ${startOf(liar.pid)}`]);
    expect([liar.pid, stranger.pid].map(runs)).toEqual([false, true]);
  });

  test('what is over is forgotten, and with nothing left it ends at once', async () => {
    const stranger = await shell(QUIET);
    await reap(['+ 1', `= 1 ${stranger.pid} ${startOf(stranger.pid)}`, '- 1']);
    expect(runs(stranger.pid)).toBe(true);
  });
});

describe.runIf(process.platform !== 'win32')('where they are not', () => {
  const elsewhere = { proc: '/nowhere' };

  test('the group of a process that is still the same ends', async () => {
    const server = await shell(`sleep 1000 & echo $!; ${DEAF}`);
    await reap([`= 1 ${server.pid} `], elsewhere);
    await until(() => !runs(server.pid) && !runs(Number(server.said.split('\n')[0])));
  });

  test('a number that is another process by now is left alone', async () => {
    const stranger = await shell(QUIET);
    await reap([`= 1 ${stranger.pid} Mon_Jan_1_00_00_00_2001`], elsewhere);
    expect(runs(stranger.pid)).toBe(true);
  });
});
