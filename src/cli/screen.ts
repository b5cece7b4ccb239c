// Shows an agent at work, line by line: what the model says, which tool it calls, what became of that and why. Nothing of a model or
// a server reaches the terminal unescaped, and nothing is written into a question while it is asked.
import type { AgentEvent, CallLogEntry, ModelReply, Observe } from '../agent/index.ts';
import { oneLine, visible } from '../host/index.ts';
import { columns } from './output.ts';
import { createProgressLine, type ProgressLine } from './progress.ts';
import type { Workspace } from './workspace.ts';

export interface Screen {
  readonly observe: Observe;
  /** Runs a dialog with the person; all else is held back until it is over. */
  hold<T>(dialog: () => Promise<T>): Promise<T>;
  /** A line of our own. */
  say(line: string): void;
  /** Ends a line that was begun, after a run that was broken off. */
  finishLine(): void;
  /** True when nothing of this answer is left to print: it was shown as it came, or there is none. */
  hasShown(text: string): boolean;
  /** Every call since the last time, as a table; nothing when there was none. */
  sayCalls(): void;
}

/** Of a call's arguments, in characters. The person who is asked sees all of them. */
const ARGUMENTS = 400;

export interface ScreenOptions {
  /** The name by which people know a model's tool. */
  readonly nameOf: (modelName: string) => string;
  /** Nothing is shown while it happens. */
  readonly quiet: boolean;
}

export function createScreen(
  { printer, io, approver }: Pick<Workspace, 'printer' | 'io' | 'approver'>,
  { nameOf, quiet }: ScreenOptions,
): Screen {
  const { form } = printer;
  const live = (form === 'text' || form === 'markdown') && io.stdout.isTTY && !quiet;
  const words = createWords((text) => void io.stdout.write(text));
  const names = new Map<number, string>();
  const progress = new Map<number, ProgressLine>();
  let calls: CallLogEntry[] = [];
  let shown: string | undefined;
  const held: string[] = [];
  let dialogs = 0;

  const say = (line: string) => {
    if (dialogs > 0) return void held.push(line);
    for (const each of progress.values()) each.clear();
    printer.say(line);
  };

  function sayReply({ text, toolCalls, finish }: ModelReply): void {
    if (live) {
      // A model may give its text only as a whole.
      if (words.empty) words.write(text);
      words.end();
      shown = text;
    } else if (toolCalls.length > 0 && text !== '') {
      say(visible(text, { multiline: true }));
    }
    if (finish === 'length') say('(The answer was cut off at the longest that the model gives.)');
    if (finish === 'filter') say('(The answer was withheld, or a part of it, by a filter of the model.)');
  }

  function sayResult({ entry, reply }: Extract<AgentEvent, { type: 'result' }>): void {
    calls.push(entry);
    progress.get(entry.n)?.clear();
    progress.delete(entry.n);
    const { status, durationMs } = entry;
    const how = status === 'ok' ? `ok, ${took(durationMs)}` : oneLine(entry.summary, 500);
    const permission = status === 'denied' ? 'denied' : 'allowed';
    const decided = entry.because !== undefined && status !== 'cancelled';
    const why = decided ? ` (${permission}: ${oneLine(entry.because, 200)})` : '';
    say(`← ${names.get(entry.n) ?? entry.name}: ${how}${why}`);
    if (reply.preview !== undefined) say(reply.preview);
  }

  return {
    say,
    observe(event) {
      switch (event.type) {
        case 'text':
          if (live) words.write(event.delta);
          break;
        case 'reply':
          sayReply(event.reply);
          break;
        case 'call': {
          const { n, name, arguments: args } = event.call;
          names.set(n, nameOf(name));
          say(`→ ${nameOf(name)} ${oneLine(JSON.stringify(args), ARGUMENTS)}`);
          break;
        }
        case 'progress': {
          const { n, name } = event.call;
          const line = progress.get(n) ?? createProgressLine(io, nameOf(name));
          progress.set(n, line);
          if (dialogs === 0 && !quiet) line.show(event.progress);
          break;
        }
        case 'result':
          sayResult(event);
          printer.event({ type: 'call', ...callAsJson(event.entry, nameOf(event.entry.name)) });
          break;
        case 'turn':
        case 'message':
          break;
        default:
          event satisfies never;
      }
    },
    async hold(dialog) {
      for (const each of progress.values()) each.clear();
      dialogs++;
      try {
        return await dialog();
      } finally {
        if (--dialogs === 0) for (const line of held.splice(0)) say(line);
      }
    },
    finishLine: () => words.end(),
    hasShown: (text) => form !== 'json' && form !== 'ndjson' && (text === '' || (live && shown === text)),
    sayCalls() {
      if (calls.length === 0) return;
      calls.sort((a, b) => a.n - b.n);
      const rows = calls.map((entry) => [
        String(entry.n),
        names.get(entry.n) ?? entry.name,
        entry.status,
        took(entry.durationMs),
        oneLine(entry.because ?? entry.summary, 100),
      ]);
      say(`\n${columns([['#', 'tool', 'outcome', 'time', 'why'], ...rows])}`);
      if (approver === undefined && calls.some(({ status }) => status === 'denied')) {
        say(
          'Nobody could be asked here. Run it at a terminal, keep such calls for an answer with --non-interactive park, or allow them by rules.',
        );
      }
      calls = [];
    },
  };
}

/** A call for `--json`. */
export function callAsJson(entry: CallLogEntry, tool: string) {
  const { n, turn, status, summary, because, durationMs } = entry;
  return {
    n,
    turn,
    tool,
    arguments: entry.arguments,
    outcome: status,
    summary,
    because: because ?? null,
    durationMs: Math.round(durationMs),
  };
}

function took(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Of a word that does not end, in characters. */
const LONGEST_WORD = 4_096;

/** Writes a text that comes in pieces: each piece up to its last white space, so that no character is shown in halves. */
function createWords(write: (text: string) => void) {
  let rest = '';
  let started = false;
  let lineOpen = false;
  const put = (text: string) => {
    if (text === '') return;
    write(visible(text, { multiline: true }));
    started = true;
    lineOpen = !text.endsWith('\n');
  };
  return {
    /** True when nothing was written since the last end. */
    get empty() {
      return !started && rest === '';
    },
    write(piece: string) {
      rest += piece;
      const cut = rest.length > LONGEST_WORD ? rest.length : rest.search(/[ \t\n][^ \t\n]*$/) + 1;
      put(rest.slice(0, cut));
      rest = rest.slice(cut);
    },
    end() {
      put(rest);
      if (lineOpen) write('\n');
      rest = '';
      started = false;
      lineOpen = false;
    },
  };
}
