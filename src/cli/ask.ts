// Asks a person at the terminal whether a call may be made. Enter denies; allowing takes a word, and only after all was shown.
import type { ReadStream, WriteStream } from 'node:tty';
import { createInterface } from 'node:readline';
import { promptLines, type ApprovalRequest, type Approver, type Verdict } from '../host/index.ts';

export interface Terminal {
  readonly stdin: NodeJS.ReadStream | ReadStream;
  readonly stderr: NodeJS.WriteStream | WriteStream;
}

/** An approver that asks at the terminal. One question at a time is the queue's matter, not its own. */
export function terminalApprover({ stdin, stderr }: Terminal): Approver {
  return {
    async ask(request, { signal } = {}) {
      const lines = promptLines(request, { columns: Math.min(stderr.columns || 80, 100) });
      const page = Math.max(8, (stderr.rows || 24) - 4);
      stderr.write('\n');
      for (let from = 0; from < lines.length; from += page) {
        stderr.write(`${lines.slice(from, from + page).join('\n')}\n`);
        if (from + page < lines.length) {
          const more = await question(stdin, stderr, `-- Enter shows the next of ${lines.length} lines, d denies: `, signal);
          if (/^d/i.test(more ?? 'd')) return refusal;
        }
      }
      return toVerdict(await question(stdin, stderr, choices(request), signal), request);
    },
  };
}

const refusal: Verdict = { type: 'deny', by: 'person' };

function choices({ widest }: ApprovalRequest): string {
  return widest === 'run'
    ? 'Allow it? [o]nce, for this [r]un, or [d]eny (Enter denies): '
    : 'Allow it? [o]nce or [d]eny (Enter denies): ';
}

function toVerdict(answer: string | undefined, { widest }: ApprovalRequest): Verdict {
  switch (answer?.trim().toLowerCase()) {
    case 'o':
    case 'once':
      return { type: 'allow', scope: 'once' };
    case 'r':
    case 'run':
      return widest === 'run' ? { type: 'allow', scope: 'run' } : refusal;
    default:
      return refusal;
  }
}

/** One line from the terminal; undefined at its end. What was typed before the question was shown does not count. */
function question(
  stdin: Terminal['stdin'],
  stderr: Terminal['stderr'],
  text: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    while (stdin.read() !== null);
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
