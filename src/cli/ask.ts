// Asks a person at the terminal whether a call may be made. Enter denies; allowing takes a word, and only after all was shown.
import { promptLines, type ApprovalRequest, type Approver, type Verdict } from '../host/index.ts';
import { inTurn, question, type Terminal } from './terminal.ts';

/** An approver that asks at the terminal. */
export function terminalApprover(terminal: Terminal): Approver {
  return { ask: (request, { signal } = {}) => inTurn(terminal, () => ask(terminal, request, signal)) };
}

async function ask(terminal: Terminal, request: ApprovalRequest, signal: AbortSignal | undefined): Promise<Verdict> {
  const { stderr } = terminal;
  const lines = promptLines(request, { columns: Math.min(stderr.columns || 80, 100) });
  const page = Math.max(8, (stderr.rows || 24) - 4);
  stderr.write('\n');
  for (let from = 0; from < lines.length; from += page) {
    stderr.write(`${lines.slice(from, from + page).join('\n')}\n`);
    if (from + page < lines.length) {
      const more = await question(terminal, `-- Enter shows the next of ${lines.length} lines, d denies: `, signal);
      if (/^d/i.test(more ?? 'd')) return refusal;
    }
  }
  return toVerdict(await question(terminal, choices(request), signal), request);
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
