// The life of one server process: started without a shell in a session of its own, its standard error always drained, and ended
// step by step until nothing of it is left. Knows nothing of messages.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isMainThread } from 'node:worker_threads';
import { sleep, type Clock, type Log } from '../../base/index.ts';
import { isParleyError, ParleyError } from '../../errors.ts';
import { abortError } from '../../jsonrpc/index.ts';
import { withoutStrays } from './descriptors.ts';
import { createFamily, MARK, type Family } from './family.ts';
import { cannotStart, locate, WHY_NOT_EXECUTABLE, WHY_NOT_FOUND } from './locate.ts';
import { LogFile } from './log-file.ts';
import { StderrTail } from './stderr.ts';
import type { Bounds, Excess } from './usage.ts';
import { windowsLaunch, type Launch } from './windows.ts';

/** Milliseconds for each step of ending a process. Their sum, and a moment, bounds it all. */
export interface ShutdownTimes {
  /** From the end of its standard input until SIGTERM. Default 2,000. */
  readonly eofMs?: number;
  /** From SIGTERM until SIGKILL, both to the process and all that came of it. Default 3,000. */
  readonly termMs?: number;
  /** After SIGKILL, until what is left is given up: a process in the kernel's hands, or one nobody reaps. Default 2,000. */
  readonly killMs?: number;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder it starts in. Default: ours. */
  readonly cwd: string | undefined;
  /** True for an empty folder of its own, which goes with it, where `cwd` names none. */
  readonly privateCwd: boolean;
  readonly logFile: string | undefined;
  readonly log: Log;
  readonly shutdown: ShutdownTimes;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** How a process ended: one of the two is set. */
export interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

type Process = ChildProcessByStdio<Writable, Readable, Readable>;

interface Surroundings {
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** How often a family is looked at while it is waited for, in milliseconds. */
const POLL_MS = 20;
/** How long the end of standard error is waited for once all is gone: where not all of it is found, something may hold the pipe. */
const LAST_WORDS_MS = 200;

/**
 * Starts a process and resolves as soon as it runs.
 * @throws ParleyError `unreachable` when the command cannot be started · `aborted`
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args, signal } = options;
  if (signal?.aborted === true) throw abortError(signal, `Starting "${basename(command)}"`);
  const folder = options.privateCwd && options.cwd === undefined ? privateFolder() : undefined;
  const cwd = options.cwd ?? folder;
  let family: Family | undefined;
  const release = () => {
    family?.dismiss();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const launch =
      process.platform === 'win32'
        ? windowsLaunch(command, args, { env: options.env, cwd })
        : { command: locate(command, { path: options.env['PATH'], cwd }), args, verbatim: false };
    family = createFamily();
    const handle = await start(launch, { cwd, env: { ...options.env, [MARK]: family.mark } }, family);
    return new Child(handle, { ...options, family, release });
  } catch (error) {
    const why = whyNotStarted(command, cwd, error);
    release();
    throw why;
  }
}

/** An empty folder, but for what keeps npm from looking for packages above it, where others may put some. */
function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-server-'));
  mkdirSync(join(folder, 'node_modules'));
  return folder;
}

function start(launch: Launch, { cwd, env }: Surroundings, family: Family): Promise<Process> {
  return new Promise((resolve, reject) => {
    const begin = (more: readonly (number | 'ignore')[]) =>
      spawn(launch.command, launch.args, {
        ...(cwd === undefined ? {} : { cwd }),
        env,
        stdio: ['pipe', 'pipe', 'pipe', ...more],
        shell: false,
        windowsHide: true,
        windowsVerbatimArguments: launch.verbatim,
        // A session and group of its own: no terminal, no Ctrl-C from ours, and one target for signals.
        detached: process.platform !== 'win32',
      }) as Process;
    const started = withPrivateFiles(() => withoutStrays(begin));
    if (started.pid !== undefined) family.begin(started.pid);
    started.once('error', reject);
    started.once('spawn', () => {
      started.off('error', reject);
      resolve(started);
    });
  });
}

/** Starts a process whose files only this user may read, unless it says otherwise. In a worker thread, which cannot, as they are. */
function withPrivateFiles<T>(begin: () => T): T {
  if (!isMainThread) return begin();
  const before = process.umask(0o077);
  try {
    return begin();
  } finally {
    process.umask(before);
  }
}

/** One running process. Its pipes belong to whoever started it until `release`. */
export class Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process itself has ended, whatever came of it goes on. */
  readonly exited: Promise<Exit>;
  readonly #tail: StderrTail;
  readonly #logFile: LogFile | undefined;
  readonly #times: Required<ShutdownTimes>;
  readonly #clock: Clock;
  readonly #family: Family;
  readonly #release: () => void;
  /** Resolves when its standard error is over. */
  readonly #silent: Promise<void>;
  #exit: Exit | undefined;
  #stopped: Promise<void> | undefined;
  #killed = false;

  constructor(handle: Process, options: ChildOptions & { readonly family: Family; readonly release: () => void }) {
    const { logFile, log, shutdown, clock } = options;
    this.pid = handle.pid as number;
    this.stdin = handle.stdin;
    this.stdout = handle.stdout;
    this.stderr = handle.stderr;
    this.#times = { eofMs: 2_000, termMs: 3_000, killMs: 2_000, ...shutdown };
    this.#clock = clock;
    this.#family = options.family;
    this.#release = options.release;
    this.exited = new Promise((resolve) => {
      handle.once('exit', (exitCode, signal) => {
        this.#exit = { exitCode, signal };
        // Asked at once, while the number cannot have been given to another process.
        this.#family.isGone();
        resolve(this.#exit);
      });
    });
    const onFault = (error: unknown) => log('warn', 'A log file of a server is not written any more.', { logFile, error });
    this.#logFile = logFile === undefined ? undefined : new LogFile(logFile, onFault);
    this.#tail = new StderrTail((bytes) => this.#logFile?.write(bytes));
    this.stderr.on('data', (chunk: Buffer) => this.#tail.push(chunk));
    // A pipe that breaks says no more than the exit that goes with it.
    this.stderr.on('error', () => {});
    this.#silent = new Promise((resolve) => this.stderr.once('close', resolve));
    handle.on('error', () => {});
  }

  /** How it ended, or undefined while it runs. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** The last of its standard error, at most `bytes` of it; untrusted. */
  stderrText(bytes?: number): string {
    return this.#tail.text(bytes);
  }

  /**
   * Ends the process: end of input, then SIGTERM and SIGKILL to it and all that came of it, each only while something of that
   * lives. Resolves when nothing does or its time is over. Idempotent; never rejects.
   */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  /** Ends it and all that came of it at once. Resolves as `stop` does, which this begins or shortens. */
  kill(): Promise<void> {
    this.#killed = true;
    this.#family.signal('SIGKILL');
    return this.stop();
  }

  /** What it may use with all that comes of it. `report` is called once, when it uses more. */
  bound(bounds: Bounds, report: (excess: Excess) => void): void {
    this.#family.bound(bounds, report);
  }

  /** Lets go of the pipes, also of those that somebody still holds open. */
  release(): void {
    this.stdin.destroy();
    this.stdout.destroy();
    this.stderr.destroy();
    this.#logFile?.close();
  }

  async #stop(): Promise<void> {
    const { eofMs, termMs, killMs } = this.#times;
    const isGone = () => this.#exit !== undefined && this.#family.isGone();
    // Whatever it has begun is known from here on, also when it ends first.
    isGone();
    this.stdin.end();
    // What is still written must not keep it from ending.
    this.stdout.resume();
    await this.#soon(this.exited, eofMs);
    if (!isGone()) {
      this.#family.signal('SIGTERM');
      await this.#until(() => this.#killed || isGone(), termMs);
    }
    const endsAt = this.#clock.now() + killMs;
    while (!isGone() && this.#clock.now() < endsAt) {
      this.#family.signal('SIGKILL');
      await this.#until(isGone, POLL_MS);
    }
    this.#release();
    // Its last words may still be on their way.
    await this.#soon(this.#silent, LAST_WORDS_MS);
  }

  /** Resolves with the event, or after `ms`. */
  #soon(event: Promise<unknown>, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      void event.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #until(done: () => boolean, ms: number): Promise<void> {
    const endsAt = this.#clock.now() + ms;
    while (!done() && this.#clock.now() < endsAt) await sleep(POLL_MS, { clock: this.#clock });
  }
}

function whyNotStarted(command: string, cwd: string | undefined, error: unknown): ParleyError {
  if (cwd !== undefined && !isFolder(cwd)) {
    return new ParleyError('unreachable', `The working folder "${cwd}" does not exist. Correct the server's cwd.`);
  }
  if (isParleyError(error)) return error;
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  // Not the original: it repeats the arguments and variables, and with them their secrets.
  const cause = new Error(`spawn ${code}`);
  if (code === 'EACCES') return cannotStart(command, WHY_NOT_EXECUTABLE, cause);
  if (code !== 'ENOENT') return cannotStart(command, `the system refused (${code}).`, cause);
  const why =
    process.platform === 'win32' ? WHY_NOT_FOUND : 'the program that its first line or header names was not found. Install that.';
  return cannotStart(command, why, cause);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
