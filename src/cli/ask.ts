// Asks a person at the terminal whether a call may be made. Enter denies; allowing takes a word, and only after all was shown.
import { gutter, promptLines, visible, type ApprovalRequest, type Approver, type Verdict } from '../host/index.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { inTurn, question, type Terminal } from './terminal.ts';

const DAY_MS = 86_400_000;

/** An approver that asks `who` sits at the terminal. */
export function terminalApprover(terminal: Terminal, who: string): Approver {
  return {
    ask: (request, { signal } = {}) =>
      inTurn(terminal, async () => ({ ...(await ask(terminal, request, signal)), who, channel: 'terminal' })),
  };
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
  const { widest, proposals = [] } = request;
  switch ((await question(terminal, choices(request), signal))?.trim().toLowerCase()) {
    case 'o':
    case 'once':
      return { type: 'allow', scope: 'once' };
    case 'r':
    case 'run':
      return widest === 'run' ? { type: 'allow', scope: 'run' } : refusal;
    case 'a':
    case 'always':
      return proposals.length === 0 ? refusal : await askHowFar(terminal, request, signal);
    case 'e':
    case 'edit':
      return askArguments(terminal, signal);
    default:
      return refusal;
  }
}

const refusal: Verdict = { type: 'deny', by: 'person' };

function choices({ widest, proposals = [] }: ApprovalRequest): string {
  const wider = widest === 'run' ? `, for this [r]un${proposals.length > 0 ? ', [a]lways' : ''}` : '';
  return `Allow it? [o]nce${wider}, [e]dit the arguments, or [d]eny (Enter denies): `;
}

/** Which calls like this one are allowed from now on, and until when. */
async function askHowFar(terminal: Terminal, { proposals = [] }: ApprovalRequest, signal?: AbortSignal): Promise<Verdict> {
  // The labels hold the call's own arguments.
  const labels = proposals.map(({ label }, at) => gutter(visible(`${at + 1}  ${label}`)));
  terminal.stderr.write(`What is allowed from now on?\n${labels.join('\n')}\n`);
  const text = 'A number, and "30d" behind it for 30 days only (Enter denies): ';
  const [number = '', until] = ((await question(terminal, text, signal)) ?? '').trim().split(/\s+/);
  const pattern = proposals[Number(number) - 1]?.pattern;
  if (pattern === undefined || !/^\d+$/.test(number)) return refusal;
  if (until === undefined) return { type: 'allow', scope: 'always', pattern };
  const scope = scopeUntil(until);
  return scope === undefined ? refusal : { type: 'allow', pattern, ...scope };
}

/** A time from now, written as a number of days: `7d`, at most `30d`. Undefined for anything else. */
export function scopeUntil(text: string): { readonly scope: 'until'; readonly at: number } | undefined {
  const days = Number(/^(\d{1,2})d$/.exec(text)?.[1]);
  return days >= 1 && days <= 30 ? { scope: 'until', at: Date.now() + days * DAY_MS } : undefined;
}

/** The call with other arguments, once. They are checked and decided on like any others before they are sent. */
async function askArguments(terminal: Terminal, signal?: AbortSignal): Promise<Verdict> {
  const answer = await question(terminal, 'The arguments to send instead, as one JSON object (Enter denies): ', signal);
  const args = readObject(answer ?? '');
  return args === undefined ? refusal : { type: 'allow', scope: 'once', args };
}

/** One JSON object; undefined for any other text. */
export function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
