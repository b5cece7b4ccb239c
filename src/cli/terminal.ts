// The terminal a person sits at: one dialog at a time, and one line read for each question.
import type { ReadStream, WriteStream } from 'node:tty';
import { createInterface } from 'node:readline';

export interface Terminal {
  readonly stdin: NodeJS.ReadStream | ReadStream;
  readonly stderr: NodeJS.WriteStream | WriteStream;
}

/** The dialog each terminal is busy with. */
const busy = new WeakMap<object, Promise<unknown>>();

/** Runs a dialog when those begun before on the same terminal are over. */
export function inTurn<T>({ stdin }: Terminal, dialog: () => Promise<T>): Promise<T> {
  const before = busy.get(stdin) ?? Promise.resolve();
  const mine = before.then(dialog, dialog);
  busy.set(stdin, mine);
  return mine;
}

/** One line from the terminal; undefined at its end. What was typed before the question was shown does not count. */
export async function question(
  { stdin, stderr }: Terminal,
  text: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  signal?.throwIfAborted();
  await dropTyped(stdin);
  return new Promise((resolve, reject) => {
    if (stdin.readableEnded) return resolve(undefined);
    if (signal?.aborted === true) {
      if (stdin.isTTY) stdin.setRawMode(false);
      return reject(signal.reason as Error);
    }
    const reader = createInterface({ input: stdin, output: stderr, terminal: true });
    const finish = (end: () => void) => {
      signal?.removeEventListener('abort', abort);
      // First: to close it ends it as the end of the input does, which is no answer.
      end();
      reader.close();
    };
    const abort = () => {
      stderr.write('\n');
      finish(() => reject(signal?.reason as Error));
    };
    signal?.addEventListener('abort', abort, { once: true });
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    reader.question(text, (answer) => finish(() => resolve(answer)));
    reader.on('close', () => finish(() => resolve(undefined)));
  });
}

/**
 * Reads what was typed so far and forgets it. Most of it the system still keeps: it has to be fetched, and a line that was begun
 * is given out in raw mode only.
 */
async function dropTyped(stdin: Terminal['stdin']): Promise<void> {
  let dropped = 0;
  let before: number;
  const drop = () => dropped++;
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on('data', drop);
  do {
    before = dropped;
    // The first may come before the system was asked again, the second does not.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  } while (dropped > before);
  stdin.off('data', drop).pause();
}
