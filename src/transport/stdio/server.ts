// The server's end of the stdio transport: a channel over this process's own standard streams, or any pair like them.
// While it is open over standard output, nothing else can write there and break the line.
import type { Readable, Writable } from 'node:stream';
import { systemClock, type Clock } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { rpcCode, type Channel, type Ending, type Message, type Problem, type Receiver } from '../../jsonrpc/index.ts';
import type { Dropped } from '../framing/ndjson.ts';
import { Line, type LineLimits } from './line.ts';

export interface StdioServerOptions extends LineLimits {
  /** Where messages come from; destroyed on close. Default: standard input. */
  readonly input?: Readable;
  /** Where messages go; ended on close, unless it is standard output, which cannot be. */
  readonly output?: Writable;
  /** Sends what others write to `output`, `console.log` too, to standard error instead. Default: true for standard output. */
  readonly guardStdout?: boolean;
  /** Milliseconds `close` waits for answers to be written. Default 2,000. */
  readonly closeMs?: number;
  readonly clock?: Clock;
}

/** A channel to the client that started this process. It is lost when the input ends: the client is gone. */
export function stdioServerChannel(options: StdioServerOptions = {}): Channel {
  return new StreamChannel(options);
}

class StreamChannel implements Channel {
  readonly kind = 'stdio';
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #line: Line;
  readonly #closeMs: number;
  readonly #clock: Clock;
  readonly #unguard: () => void;
  #receiver: Receiver | undefined;
  #ending: Ending | undefined;
  #gone: Promise<void> | undefined;

  constructor(options: StdioServerOptions) {
    const { input = process.stdin, output = process.stdout, closeMs = 2_000, clock = systemClock } = options;
    this.#input = input;
    this.#output = output;
    this.#closeMs = closeMs;
    this.#clock = clock;
    this.#line = new Line({
      ...options,
      input,
      output,
      strays: 'deliver',
      clock,
      events: {
        message: (value) => this.#receiver?.message(value),
        problem: (problem, dropped) => this.#problem(problem, dropped),
        over: (cause) => this.#lose(new ParleyError('closed', 'The client closed the line.', { cause })),
        breach: (error) => this.#lose(error),
      },
    });
    const { guardStdout = output === process.stdout } = options;
    this.#unguard = guardStdout ? guard(output) : () => {};
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    if (this.#ending !== undefined) return receiver.end(this.#ending);
    this.#line.start();
  }

  send(message: Message): Promise<void> {
    return this.#line.send(message);
  }

  async close(): Promise<void> {
    this.#end({ by: 'closed', error: new ParleyError('closed', 'The line to the client was closed.') });
    await this.#gone;
  }

  #problem(problem: Problem, { asks }: Dropped): void {
    this.#receiver?.problem(problem);
    // Unlike a server's stray output, what a client sends is meant: unless it was an answer, somebody waits for one.
    if (problem.requestId !== undefined) return;
    const error =
      problem.kind === 'oversized'
        ? { code: rpcCode.invalidRequest, message: 'The message is too large' }
        : { code: rpcCode.parseError, message: 'Parse error' };
    this.send(asks === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id: asks, error }).catch(() => {
      // The line is over, or the client does not read: its own fault was reported all the same.
    });
  }

  #lose(error: ParleyError): void {
    this.#end({ by: 'lost', error });
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#receiver?.end(ending);
    this.#gone = this.#release(ending.error);
  }

  async #release(error: ParleyError): Promise<void> {
    const timer = this.#clock.after(this.#closeMs, () => this.#line.drop(error));
    await this.#line.finish(error);
    timer.cancel();
    this.#line.drop(error);
    this.#unguard();
    this.#input.destroy();
    if (this.#output !== process.stdout) this.#output.end();
  }
}

/** Sends whatever is written to `output` from now on to standard error; returns what undoes it. */
function guard(output: Writable): () => void {
  const before = Object.getOwnPropertyDescriptor(output, 'write');
  const divert = process.stderr.write.bind(process.stderr) as Writable['write'];
  output.write = divert;
  return () => {
    // Left alone when somebody else has put a function over ours.
    if (output.write !== divert) return;
    if (before === undefined) Reflect.deleteProperty(output, 'write');
    else Object.defineProperty(output, 'write', before);
  };
}
