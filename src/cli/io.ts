// The world as a command sees it: streams, environment, directory, and whether a person sits there. Given as one value, so that a
// test can give another.
import { homedir } from 'node:os';

export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  /** True when a person can be asked: input and error output are a terminal. */
  readonly interactive: boolean;
  /** Aborts when the command is interrupted. */
  readonly signal: AbortSignal;
  /** Until the function it returns is called, Ctrl-C calls `handler` and does not abort the signal. */
  readonly catchInterrupts: (handler: () => void) => () => void;
}

/** This process's own. */
export function processIo({ signal, catchInterrupts }: Pick<Io, 'signal' | 'catchInterrupts'>): Io {
  const { stdin, stdout, stderr, env } = process;
  const interactive = stdin.isTTY && stderr.isTTY && env['CI'] === undefined;
  return { stdin, stdout, stderr, env, cwd: process.cwd(), home: homedir(), interactive, signal, catchInterrupts };
}
