// The client's end of the stdio transport: starts a server process and speaks with it over its standard streams.
// Whatever ends the line, the process and all it started end with it.
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { limitOf, overLimit, silent, systemClock, type Clock, type Log } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import {
  abortError,
  type Channel,
  type Ending,
  type Message,
  type OpenOptions,
  type Problem,
  type Receiver,
  type Transport,
} from '../../jsonrpc/index.ts';
import type { Dropped } from '../framing/ndjson.ts';
import { startChild, type Child, type ShutdownTimes } from './child.ts';
import { commandLine } from './command-line.ts';
import { childEnvironment } from './environment.ts';
import { Line, type LineLimits } from './line.ts';
import { confine, type SandboxOptions, type SandboxStatus } from './sandbox.ts';
import type { Bounds, Excess } from './usage.ts';
import { Watch } from './watch.ts';

export interface StdioOptions extends LineLimits {
  /** The program: a path, or a name that is looked up in PATH. Never a shell command line. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables for the process beside the few harmless ones it inherits. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** True for an empty folder of its own to start in, which goes with the process, where no `cwd` is given. Default false: ours. */
  readonly privateCwd?: boolean;
  /** What it may reach. Default: whatever this user may. */
  readonly sandbox?: SandboxOptions;
  /** A file that the server's standard error is appended to; it is moved to `….1` at 5 MiB. */
  readonly logFile?: string;
  readonly log?: Log;
  /** Lines, and bytes of them, that are no MCP and come without a request between, before the line is given up. Defaults 100 and 64 KiB. */
  readonly maxNoiseLines?: number;
  readonly maxNoiseBytes?: number;
  /** Processes that the server may be, with all it starts. Default 64. Watched on Linux alone, as the next two are. */
  readonly maxServerProcesses?: number;
  /** Bytes of memory that these may use together. Default 2 GiB. */
  readonly maxServerMemoryBytes?: number;
  /** Files, sockets and pipes that each of them may have open. Default 1,024. */
  readonly maxServerFiles?: number;
  readonly shutdown?: ShutdownTimes;
  /** Milliseconds of silence on its pipes after which a process that ended is taken to have said all. Default 200. */
  readonly lingerMs?: number;
  readonly clock?: Clock;
}

export interface StdioTransport extends Transport {
  readonly kind: 'stdio';
  /** Starts the process and resolves as soon as it runs; no message is waited for. */
  open(options?: OpenOptions): Promise<StdioChannel>;
}

/** A line to a server process. */
export interface StdioChannel extends Channel {
  readonly pid: number;
  /** Whether the process runs in a sandbox. */
  readonly sandbox: SandboxStatus;
  /** The last 256 KiB of what the process wrote to its standard error. Untrusted. */
  stderr(): string;
}

/** A server process that goes on writing after its end, through a process of its own, is heard no longer than this. */
const LONGEST_LINGER_MS = 1_000;
const STDERR_TAIL_BYTES = 2_048;
const MIB = 1_048_576;

/**
 * A transport that starts `command` each time it is opened.
 * @see the specification, "stdio" under transports
 */
export function stdioTransport(options: StdioOptions): StdioTransport {
  return {
    kind: 'stdio',
    target: commandLine(options.command, options.args ?? []),
    async open({ signal }: OpenOptions = {}) {
      const { command, args = [], cwd, privateCwd = false, logFile, log = silent, shutdown = {}, clock = systemClock } = options;
      const asked = { command, args, env: childEnvironment({ declared: options.env }), cwd };
      const { status, ...confined } = await confine(asked, options.sandbox);
      // In a sandbox it is placed by that, and its folder may be seen only there.
      const where = status.sandboxed ? { cwd: undefined, privateCwd: false } : { cwd, privateCwd };
      const child = await startChild({ ...confined, ...where, logFile, log, shutdown, clock, signal });
      const channel = new ProcessChannel(child, status, options);
      if (signal?.aborted === true) {
        await channel.close();
        throw abortError(signal, `Starting "${basename(command)}"`);
      }
      return channel;
    },
  };
}

class ProcessChannel implements StdioChannel {
  readonly kind = 'stdio';
  readonly pid: number;
  readonly sandbox: SandboxStatus;
  readonly #name: string;
  readonly #child: Child;
  readonly #line: Line;
  readonly #maxNoiseLines: number;
  readonly #maxNoiseBytes: number;
  readonly #quiet: Watch;
  readonly #longest: Watch;
  #receiver: Receiver | undefined;
  #ending: Ending | undefined;
  #gone: Promise<void> | undefined;
  #noiseLines = 0;
  /** Lines and bytes of noise since the last request. */
  #noise = { lines: 0, bytes: 0 };
  #failing = false;
  #lingering = false;
  #news = 0;

  constructor(child: Child, sandbox: SandboxStatus, options: StdioOptions) {
    const { clock = systemClock, lingerMs = 200 } = options;
    this.pid = child.pid;
    this.sandbox = sandbox;
    this.#name = basename(options.command);
    this.#child = child;
    this.#maxNoiseLines = limitOf('maxNoiseLines', options.maxNoiseLines);
    this.#maxNoiseBytes = limitOf('maxNoiseBytes', options.maxNoiseBytes);
    this.#quiet = new Watch(clock, lingerMs, () => this.#judge());
    this.#longest = new Watch(clock, LONGEST_LINGER_MS, () => setImmediate(() => this.#lose(this.#stopped())));
    this.#line = new Line({
      ...options,
      input: child.stdout,
      output: child.stdin,
      strays: 'noise',
      clock,
      events: {
        message: (value) => this.#receiver?.message(value),
        problem: (problem, dropped) => this.#problem(problem, dropped),
        over: () => this.#linger(),
        breach: (error) => this.#lose(error),
      },
    });
    // Node throws away what nobody has read when a process ends, unless somebody says that it will be read.
    child.stdout.on('readable', willBeRead);
    void child.exited.then(() => this.#linger());
    child.bound(boundsOf(options), (excess) => this.#exceed(excess));
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    if (this.#ending !== undefined) return receiver.end(this.#ending);
    this.#line.start();
    this.#child.stdout.off('readable', willBeRead);
    if (this.#failing) this.#linger();
  }

  send(message: Message): Promise<void> {
    // A server may say a word too many about each request: what is bounded is what it says by itself.
    if ('method' in message && 'id' in message && this.#noise.lines > 0) this.#noise = { lines: 0, bytes: 0 };
    return this.#line.send(message);
  }

  stderr(): string {
    return this.#child.stderrText();
  }

  async close(): Promise<void> {
    const message = `The line to the server process "${this.#name}" was closed.`;
    this.#end({ by: 'closed', error: new ParleyError('closed', message) });
    await this.#gone;
  }

  #problem(problem: Problem, dropped: Dropped): void {
    this.#receiver?.problem(problem);
    if (problem.kind === 'oversized') return;
    this.#noiseLines++;
    this.#noise.lines++;
    this.#noise.bytes += dropped.bytes;
    if (this.#noise.lines < this.#maxNoiseLines && this.#noise.bytes < this.#maxNoiseBytes) return;
    const message =
      `"${this.#name}" wrote ${String(this.#noiseLines)} lines that are not MCP: the server prints to stdout. ` +
      'Check the command, or make the server log to stderr.';
    this.#lose(new ParleyError('not-mcp', message, { details: { stderrTail: this.#stderrTail() } }));
  }

  /** It used more than it may. What came of it may still be growing, so nothing is waited for. */
  #exceed(excess: Excess): void {
    void this.#child.kill();
    const { limit, allowed, observed } = excess;
    const what = `The server process "${this.#name}" ${USED[limit](observed, allowed)}, and was ended with all it started.`;
    this.#lose(overLimit(limit, observed, what, allowed, { stderrTail: this.#stderrTail() }));
  }

  /**
   * The process ended, or one of its pipes did. What it wrote last is still read and how it ended is waited for, but only while
   * there is something to hear: another process may hold the pipes open for ever.
   */
  #linger(): void {
    this.#failing = true;
    if (this.#receiver === undefined || this.#ending !== undefined) return;
    const { stdout, stderr, exit } = this.#child;
    if (exit !== undefined && isOver(stdout) && isOver(stderr)) return this.#lose(this.#stopped());
    this.#hear();
    if (this.#lingering) return;
    this.#lingering = true;
    this.#longest.touch();
    for (const stream of [stdout, stderr]) stream.on('data', () => this.#hear());
    stderr.on('close', () => this.#linger());
  }

  #hear(): void {
    this.#news++;
    this.#quiet.touch();
  }

  /** It has been quiet for long enough, if this process was not too busy to hear: the pipes are looked at once more. */
  #judge(): void {
    const news = this.#news;
    setImmediate(() => {
      if (this.#news === news) this.#lose(this.#stopped());
    });
  }

  #stopped(): ParleyError {
    const { exit } = this.#child;
    const what =
      exit === undefined
        ? 'closed its end of the line while it was still running, and was stopped'
        : exit.signal === null
          ? `ended with exit code ${String(exit.exitCode)}`
          : `was ended by ${exit.signal}`;
    const noise = this.#noiseLines;
    const after =
      noise === 0
        ? ''
        : `, after ${String(noise)} ${noise === 1 ? 'line' : 'lines'} on its standard output that ${noise === 1 ? 'is' : 'are'} not MCP`;
    const stderrTail = this.#stderrTail();
    const said = stderrTail === '' ? 'It wrote nothing to its standard error.' : 'Its standard error may say why.';
    const message = `The server process "${this.#name}" ${what}${after}. ${said}`;
    return new ParleyError('server-stopped', message, {
      details: { ...exit, stderrTail },
      retryable: true,
    });
  }

  #stderrTail(): string {
    return this.#child.stderrText(STDERR_TAIL_BYTES).trimEnd();
  }

  #lose(error: ParleyError): void {
    this.#end({ by: 'lost', error });
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#quiet.stop();
    this.#longest.stop();
    if (ending.by === 'closed') void this.#line.finish(ending.error);
    else this.#line.drop(ending.error);
    this.#receiver?.end(ending);
    this.#gone = this.#child.stop().then(() => {
      this.#line.drop(ending.error);
      this.#child.release();
    });
  }
}

const USED: { readonly [K in keyof Bounds]: (observed: number, allowed: number) => string } = {
  maxServerProcesses: (observed, allowed) =>
    `was ${String(observed)} processes with those it started, where ${String(allowed)} are allowed`,
  maxServerMemoryBytes: (observed, allowed) =>
    `used ${String(Math.ceil(observed / MIB))} MiB of memory, where ${String(Math.floor(allowed / MIB))} are allowed`,
  maxServerFiles: (observed, allowed) =>
    `had ${String(observed)} files open in one process, where ${String(allowed)} are allowed`,
};

function boundsOf({ maxServerProcesses, maxServerMemoryBytes, maxServerFiles }: StdioOptions): Bounds {
  return {
    maxServerProcesses: limitOf('maxServerProcesses', maxServerProcesses),
    maxServerMemoryBytes: limitOf('maxServerMemoryBytes', maxServerMemoryBytes),
    maxServerFiles: limitOf('maxServerFiles', maxServerFiles),
  };
}

function willBeRead(): void {
  // Until somebody does.
}

function isOver(stream: Readable): boolean {
  return stream.readableEnded || stream.destroyed;
}
