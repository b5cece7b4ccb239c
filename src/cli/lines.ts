// Lines that a person types at a prompt, or that come from a pipe.
import { createInterface } from 'node:readline';
import type { Io } from './io.ts';

export interface Lines {
  /** The next line; undefined at the end of the input, and when the command is interrupted. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}

export function createLines(io: Io): Lines {
  return io.interactive ? typed(io) : piped(io);
}

/** Between two lines nothing reads the terminal, so that questions can be asked there. */
function typed({ stdin, stderr, signal }: Io): Lines {
  let history: string[] = [];
  return {
    next: (prompt) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(undefined);
        const reader = createInterface({ input: stdin, output: stderr, terminal: true, history, historySize: 100 });
        const finish = (line: string | undefined) => {
          signal.removeEventListener('abort', end);
          reader.off('close', end).close();
          resolve(line);
        };
        const end = () => {
          stderr.write('\n');
          finish(undefined);
        };
        signal.addEventListener('abort', end, { once: true });
        reader.once('close', end);
        reader.on('history', (lines) => (history = lines));
        // In raw mode the terminal sends no signal by itself.
        reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
        reader.question(prompt, finish);
      }),
    close() {},
  };
}

function piped({ stdin, signal }: Io): Lines {
  const reader = createInterface({ input: stdin, crlfDelay: Infinity });
  const lines = reader[Symbol.asyncIterator]();
  const stop = () => reader.close();
  signal.addEventListener('abort', stop, { once: true });
  return {
    async next() {
      const next = await lines.next();
      return next.done === true || signal.aborted ? undefined : next.value;
    },
    close() {
      signal.removeEventListener('abort', stop);
      stop();
    },
  };
}
