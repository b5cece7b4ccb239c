// Servers that try to outlive Parley, and all the ways in which Parley can end. Real processes, the real command, the real library.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BIN } from '../support/cli.ts';
import { processesWith, runs } from '../support/processes.ts';
import { eventually } from './fixtures/scene.ts';

const HOST = join(import.meta.dirname, 'fixtures/process-host.mjs');
const KIND = 'PARLEY_TEST_KIND';
const HANG = 'while :; do sleep 0.5; done';
const DEAF = `trap '' TERM HUP INT; ${HANG}`;

/** What each server does once it runs. `$READY` is the folder where it says that all its processes do. */
const KINDS: Readonly<Record<string, string>> = {
  wrapper: `sleep 1000 & touch "$READY/wrapper"; wait`,
  'new session': `setsid sh -c 'touch "$READY/new session"; exec sleep 1000' & exec sleep 1000`,
  daemon: `setsid sh -c '(sleep 1000 & touch "$READY/daemon") & exit'; exec sleep 1000`,
  'left alone': `setsid sh -c 'touch "$READY/left alone"; exec sleep 1000' & exit`,
  'without our variables': `env -i setsid sh -c 'echo $$ >"$1"; exec sleep 1000' sh "$READY/without our variables" & exec sleep 1000`,
  'ignores signals': `setsid sh -c "${DEAF}" & touch "$READY/ignores signals"; ${DEAF}`,
  stopped: `setsid sh -c 'touch "$READY/stopped"; kill -s STOP $$' & kill -s STOP $$`,
  forking: `touch "$READY/forking"; i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & i=$((i + 1)); sleep 0.02; done; wait`,
};

let directory = '';
let id = '';
let config = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'parley-processes-'));
  id = `${process.pid}-${Date.now()}`;
  config = join(directory, 'config.json');
  const READY = join(directory, 'ready');
  mkdirSync(READY);
  const mcpServers = Object.fromEntries(
    Object.entries(KINDS).map(([kind, script], at) => {
      const env = { READY, [KIND]: `${id} ${kind}`, PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'] };
      return [`server-${at}`, { command: 'sh', args: ['-c', script, id], env }];
    }),
  );
  writeFileSync(config, JSON.stringify({ mcpServers }));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The kinds of which something runs. */
function left(): string[] {
  const stray = Number(readFileSync(join(directory, 'ready', 'without our variables'), 'utf8'));
  return Object.keys(KINDS).filter(
    (kind) => processesWith(KIND, `${id} ${kind}`).length > 0 || (kind === 'without our variables' && runs(stray)),
  );
}

/** The reapers that `parent` has started. */
function reapersOf(parent: number): number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').map(Number);
  return children.filter((pid) => commandOf(pid).includes('parley-reaper'));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended meanwhile.
    return '';
  }
}

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Starts `argv`, waits until every server has done what it does, and ends it with `end`. Nothing may be left then. */
async function play(
  argv: readonly string[],
  end: (parley: { kill(signal: NodeJS.Signals): void; say(): void }) => void,
): Promise<Ended> {
  const parley = spawn(process.execPath, argv, {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory, PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'] },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const over = new Promise<Ended>((resolve) => parley.once('exit', (code, signal) => resolve({ code, signal })));
  try {
    const isReady = () => Object.keys(KINDS).every((kind) => existsSync(join(directory, 'ready', kind)));
    await eventually(isReady);
    expect(isReady(), 'every server has begun').toBe(true);
    const reapers = reapersOf(parley.pid as number);
    expect(reapers).toHaveLength(1);
    // What one leaves behind by itself may be ended already.
    expect(left()).toEqual(expect.arrayContaining(Object.keys(KINDS).filter((kind) => kind !== 'left alone')));

    end({ kill: (signal) => void parley.kill(signal), say: () => void parley.stdin.end('now\n') });
    const ended = await over;
    await eventually(() => left().length === 0 && !reapers.some(runs), 40_000);
    expect(left(), 'kinds of servers that are left').toEqual([]);
    expect(reapers.filter(runs), 'reapers that are left').toEqual([]);
    return ended;
  } finally {
    if (parley.exitCode === null && parley.signalCode === null) parley.kill('SIGKILL');
  }
}

describe.runIf(process.platform === 'linux')('nothing of any server is left', { timeout: 90_000 }, () => {
  const command = () => [BIN, '--config', config, 'mcp', 'list'];
  const library = (how: string) => [HOST, config, how];

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('when the command gets %s', async (signal) => {
    expect(await play(command(), ({ kill }) => kill(signal))).toEqual({ code: 130, signal: null });
  });

  it('when Ctrl-C is pressed twice', async () => {
    const ended = await play(command(), ({ kill }) => {
      kill('SIGINT');
      setTimeout(() => kill('SIGINT'), 50);
    });
    expect(ended).toEqual({ code: 130, signal: null });
  });

  it('when the command is killed', async () => {
    expect(await play(command(), ({ kill }) => kill('SIGKILL'))).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('when a program closes its lines', async () => {
    expect(await play(library('close'), ({ say }) => say())).toEqual({ code: 0, signal: null });
  });

  it.each([
    ['exits without closing them', 'exit', { code: 3, signal: null }],
    ['fails with an error that nobody catches', 'crash', { code: 1, signal: null }],
    ['is aborted', 'abort', { code: null, signal: 'SIGABRT' }],
  ] as const)('when a program %s', async (_, how, expected) => {
    expect(await play(library(how), ({ say }) => say())).toEqual(expected);
  });

  it.each(['SIGHUP', 'SIGKILL'] as const)('when a program is ended by %s', async (signal) => {
    expect(await play(library('wait'), ({ kill }) => kill(signal))).toEqual({ code: null, signal });
  });
});

describe.runIf(process.platform === 'linux')('a server starts', () => {
  /** What a server finds, when the command runs at a terminal and with files open that are not for servers. */
  async function facts(settings: object) {
    const file = join(directory, 'facts');
    const look = 'exec >"$FACTS"; umask; echo "$TERM"; pwd; (: </dev/tty) 2>/dev/null && echo terminal; ls -l /proc/$$/fd';
    const server = { command: 'sh', args: ['-c', look], env: { FACTS: file }, ...settings };
    writeFileSync(config, JSON.stringify({ mcpServers: { one: server } }));
    const script = join(directory, 'script.sh');
    const command = [process.execPath, BIN, '--config', config, 'mcp', 'get', 'one'].join(' ');
    writeFileSync(
      script,
      `(: </dev/tty) && touch ${directory}/terminal; exec 7<${script} 99<${script}; umask 000; exec ${command}`,
    );
    const terminal = spawn('script', ['-qec', `bash ${script}`, '/dev/null'], {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOME: directory, TERM: 'xterm', PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'] },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await new Promise((resolve) => terminal.once('exit', resolve));
    expect(existsSync(join(directory, 'terminal')), 'the command has a terminal').toBe(true);
    const text = readFileSync(file, 'utf8');
    const more = [...text.matchAll(/ (\d+) -> (.*)$/gm)].filter(([, fd]) => Number(fd) > 2).map(([, , target]) => target);
    return { lines: text.split('total')[0]?.trim().split('\n'), more };
  }

  it('with its three streams alone, files for the user alone, no terminal, and where its settings say', async () => {
    const folder = join(directory, 'folder');
    mkdirSync(folder);
    const { lines, more } = await facts({ cwd: folder });
    expect(lines).toEqual(['0077', 'dumb', folder]);
    // In the place of a file that would be passed on there may be an empty one.
    expect(more.filter((target) => target !== '/dev/null')).toEqual([]);
  });

  it('in an empty folder of its own, which goes with it, where that is wanted', async () => {
    const { lines } = await facts({ privateCwd: true });
    expect(lines).toEqual(['0077', 'dumb', expect.stringContaining('parley-server-') as string]);
    expect(existsSync(lines?.[2] as string)).toBe(false);
  });
});
