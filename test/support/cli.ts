// Runs the built `parley` command the way a user does: in a process of its own, with a home and a project that are temporary.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { processesWith } from './processes.ts';

/** The built command, to be run by node. */
export const BIN = join(import.meta.dirname, '../../dist/cli/bin.js');
/** The mark of this test file, which leaks.ts set. */
const FILE = process.env['PARLEY_TEST_FILE'] ?? '';
const HOME_MARK = 'PARLEY_TEST_HOME';

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The one JSON value on stdout; fails the test when there is not exactly one on one line. */
  readonly json: unknown;
  /** The values of all lines on stdout. */
  readonly lines: readonly unknown[];
}

export interface Running {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when stdout or stderr holds `text`. Rejects when the command ends without it. */
  said(text: string): Promise<void>;
  /** Writes to its standard input, where that was kept open. */
  type(text: string): void;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ran>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** True leaves standard input open after that, for what is typed. */
  readonly typing?: boolean;
  readonly cwd?: string;
  /** Words that the command is put behind, as of a program that starts it elsewhere. */
  readonly behind?: readonly string[];
  /** True for a command that sits at a terminal, where both streams come out as one. Needs `script` of util-linux. */
  readonly terminal?: boolean;
}

/** A user with a home, a project and nothing else. */
export interface CliHome {
  readonly home: string;
  /** The working directory of each command. */
  readonly project: string;
  /** Variables that mark a server as started from here: for the `env` of its configuration, since it inherits nothing else. */
  readonly mark: Readonly<Record<string, string>>;
  /** Writes a file below the project and returns its path. */
  write(name: string, content: string | object): string;
  start(args: readonly string[], options?: RunOptions): Running;
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Agrees to a server of the project as it is now, as a person who looked at it would. */
  trust(server: string): Promise<Ran>;
  /** Ids of marked processes that run. */
  processes(): readonly number[];
  remove(): void;
}

export function createCliHome(): CliHome {
  const root = mkdtempSync(join(tmpdir(), 'parley-cli-'));
  const home = join(root, 'home');
  const project = join(root, 'project');
  for (const directory of [home, project]) mkdirSync(directory);
  const mark = { PARLEY_TEST_FILE: FILE, [HOME_MARK]: root };

  const start = (
    args: readonly string[],
    { env = {}, stdin = '', typing = false, cwd = project, behind = [], terminal = false }: RunOptions = {},
  ) =>
    begin(args, {
      cwd,
      stdin,
      typing,
      behind,
      terminal,
      env: { PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C.UTF-8', ...mark, ...env },
    });
  return {
    home,
    project,
    mark,
    write(name, content) {
      const file = join(project, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, undefined, 2));
      return file;
    },
    start,
    run: (args, options) => start(args, options).ended,
    async trust(server) {
      const { stderr } = await start(['mcp', 'trust', server]).ended;
      const [, digest] = /--digest ([0-9a-f]{64})/.exec(stderr) ?? [];
      expect(digest, stderr).toBeDefined();
      return start(['mcp', 'trust', server, '--digest', digest as string]).ended;
    },
    processes: () => processesWith(HOME_MARK, root),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function begin(args: readonly string[], options: Required<RunOptions> & { readonly env: Record<string, string> }): Running {
  const words = [...options.behind, process.execPath, BIN, ...args];
  const quoted = words.map((word) => `'${word.replace(/'/g, `'\\''`)}'`).join(' ');
  const [command = '', ...rest] = options.terminal ? ['script', '-qec', quoted, '/dev/null'] : words;
  const child = spawn(command, rest, { cwd: options.cwd, env: options.env, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of watchers) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const look of watchers) look();
  });
  child.stdin.on('error', () => {
    // A command that reads nothing may be over before it is written to.
  });
  child.stdin.write(options.stdin);
  if (!options.typing) child.stdin.end();
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (code, signal) => {
      resolve(outcome({ code, signal, stdout, stderr }));
      for (const look of watchers) look();
    });
  });
  return {
    pid: child.pid as number,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    said(text) {
      return new Promise((resolve, reject) => {
        const look = () => {
          if (stdout.includes(text) || stderr.includes(text)) resolve();
          else if (child.exitCode !== null || child.signalCode !== null) {
            reject(new Error(`The command ended without "${text}":\n${stdout}\n${stderr}`));
          } else return;
          watchers.delete(look);
        };
        watchers.add(look);
        look();
      });
    },
    type: (text) => void child.stdin.write(text),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

function outcome(ran: Omit<Ran, 'json' | 'lines'>): Ran {
  const lines = () => {
    expect(ran.stdout, ran.stderr).toMatch(/^([^\n]+\n)*$/);
    return ran.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);
  };
  const json = () => {
    const values = lines();
    expect(values, ran.stderr).toHaveLength(1);
    return values[0];
  };
  // Not its own: a failing comparison shows what was printed, and does not read it as JSON.
  const views = Object.defineProperties({}, { json: { get: json }, lines: { get: lines } }) as Pick<Ran, 'json' | 'lines'>;
  return Object.assign(Object.create(views) as Pick<Ran, 'json' | 'lines'>, ran);
}
