// The life of one server process: started without a shell in a group of its own, its standard error always drained, and ended
// step by step until nothing of the group is left. Knows nothing of messages.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { sleep, type Clock, type Log } from '../../base/index.ts';
import { isParleyError, ParleyError } from '../../errors.ts';
import { abortError } from '../../jsonrpc/index.ts';
import { dismiss, enlist, isGone, signalGroup } from './group.ts';
import { LogFile } from './log-file.ts';
import { StderrTail } from './stderr.ts';
import { windowsLaunch } from './windows.ts';

/** Milliseconds for each step of ending a process. Their sum, and a moment, bounds it all. */
export interface ShutdownTimes {
  /** From the end of its standard input until SIGTERM. Default 2,000. */
  readonly eofMs?: number;
  /** From SIGTERM until SIGKILL, both to the whole group. Default 3,000. */
  readonly termMs?: number;
  /** After SIGKILL, until what is left is given up: a process in the kernel's hands, or one nobody reaps. Default 2,000. */
  readonly killMs?: number;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
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

/** How often a group is looked at while it is waited for, in milliseconds. */
const POLL_MS = 20;
/** How long the end of standard error is waited for once the group is gone: a process outside it may hold the pipe. */
const LAST_WORDS_MS = 200;

/**
 * Starts a process and resolves as soon as it runs.
 * @throws ParleyError `unreachable` when the command cannot be started · `aborted`
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args, cwd, env, signal } = options;
  if (signal?.aborted === true) throw abortError(signal, `Starting "${basename(command)}"`);
  const handle = await new Promise<Process>((resolve, reject) => {
    const fail = (error: unknown) => reject(cannotStart(options, error));
    try {
      const launch =
        process.platform === 'win32' ? windowsLaunch(command, args, { env, cwd }) : { command, args, verbatim: false };
      const started = spawn(launch.command, launch.args, {
        ...(cwd === undefined ? {} : { cwd }),
        env,
        stdio: ['pipe', 'pipe', 'pipe'],
        shell: false,
        windowsHide: true,
        windowsVerbatimArguments: launch.verbatim,
        // A session and group of its own: no terminal, no Ctrl-C from ours, and one target for signals.
        detached: process.platform !== 'win32',
      });
      started.once('error', fail);
      started.once('spawn', () => {
        started.off('error', fail);
        resolve(started);
      });
    } catch (error) {
      fail(error);
    }
  });
  return new Child(handle, options);
}

/** One running process. Its pipes belong to whoever started it until `release`. */
export class Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process itself has ended, whatever of its group goes on. */
  readonly exited: Promise<Exit>;
  readonly #tail: StderrTail;
  readonly #logFile: LogFile | undefined;
  readonly #times: Required<ShutdownTimes>;
  readonly #clock: Clock;
  #exit: Exit | undefined;
  #stopped: Promise<void> | undefined;

  constructor(handle: Process, { logFile, log, shutdown, clock }: ChildOptions) {
    this.pid = handle.pid as number;
    this.stdin = handle.stdin;
    this.stdout = handle.stdout;
    this.stderr = handle.stderr;
    this.#times = { eofMs: 2_000, termMs: 3_000, killMs: 2_000, ...shutdown };
    this.#clock = clock;
    enlist(this.pid);
    this.exited = new Promise((resolve) => {
      handle.once('exit', (exitCode, signal) => {
        this.#exit = { exitCode, signal };
        // Asked at once, while the number cannot have been given to another process.
        isGone(this.pid);
        resolve(this.#exit);
      });
    });
    const onFault = (error: unknown) => log('warn', 'A log file of a server is not written any more.', { logFile, error });
    this.#logFile = logFile === undefined ? undefined : new LogFile(logFile, onFault);
    this.#tail = new StderrTail((bytes) => this.#logFile?.write(bytes));
    this.stderr.on('data', (chunk: Buffer) => this.#tail.push(chunk));
    // A pipe that breaks says no more than the exit that goes with it.
    this.stderr.on('error', () => {});
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
   * Ends the process: end of input, then SIGTERM and SIGKILL to the group, each only while something of it lives. Resolves
   * when the group is gone or its time is over. Idempotent; never rejects.
   */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  /** Lets go of the pipes, also of those that a process outside the group still holds open. */
  release(): void {
    this.stdin.destroy();
    this.stdout.destroy();
    this.stderr.destroy();
    this.#logFile?.close();
  }

  async #stop(): Promise<void> {
    const { eofMs, termMs, killMs } = this.#times;
    this.stdin.end();
    // What is still written must not keep it from ending.
    this.stdout.resume();
    await this.#until(() => this.#exit !== undefined, eofMs);
    for (const [signal, ms] of [
      ['SIGTERM', termMs],
      ['SIGKILL', killMs],
    ] as const) {
      signalGroup(this.pid, signal);
      await this.#until(() => this.#exit !== undefined && isGone(this.pid), ms);
    }
    dismiss(this.pid);
    // Its last words may still be on their way.
    await this.#until(() => this.stderr.readableEnded || this.stderr.destroyed, LAST_WORDS_MS);
  }

  async #until(done: () => boolean, ms: number): Promise<void> {
    const endsAt = this.#clock.now() + ms;
    while (!done() && this.#clock.now() < endsAt) await sleep(POLL_MS, { clock: this.#clock });
  }
}

function cannotStart({ command, cwd }: ChildOptions, error: unknown): ParleyError {
  if (isParleyError(error)) return error;
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  // Not the original: it repeats the arguments and variables, and with them their secrets.
  const cause = new Error(`spawn ${code}`);
  if (code === 'ENOENT' && cwd !== undefined && !isFolder(cwd)) {
    return new ParleyError('unreachable', `The working folder "${cwd}" does not exist. Correct the server's cwd.`, { cause });
  }
  const why =
    code === 'ENOENT'
      ? 'it was not found. Install it, or give its full path.'
      : code === 'EACCES'
        ? 'it may not be executed. Check the file and its permissions.'
        : `the system refused (${code}).`;
  return new ParleyError('unreachable', `The command "${command}" cannot be started: ${why}`, { cause });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
