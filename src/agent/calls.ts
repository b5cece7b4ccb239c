// The calls of one reply, made side by side. Nothing in here throws at the model's side: what cannot be called is told to it, and
// a toolbox that breaks its word or does not return is a result like any other.
import { didYouMean, type Clock } from '../base/index.ts';
import { isParleyError } from '../errors.ts';
import { oneLine, sayOutcome, type OutcomeType } from '../host/index.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import type { CallLogEntry, CallStart, Observe } from './log.ts';
import type { ModelTool } from './model.ts';
import type { Toolbox, ToolReply } from './toolbox.ts';

export interface CallsOptions {
  readonly toolbox: Toolbox;
  /** What the model was offered; nothing else is called. */
  readonly tools: readonly ModelTool[];
  readonly signal: AbortSignal;
  readonly observe: Observe;
  readonly clock: Clock;
}

export interface Called {
  readonly entry: CallLogEntry;
  readonly reply: ToolReply;
}

const IN_FLIGHT = 16;
/** Calls of one reply. */
const MOST_CALLS = 50;

/** Makes the calls and resolves with what became of each, in their order; at once when the signal aborts. */
export async function makeCalls(calls: readonly CallStart[], options: CallsOptions): Promise<readonly Called[]> {
  const { toolbox, signal, observe, clock } = options;
  const tools = new Set(options.tools.map(({ name }) => name));
  let abort = () => {};
  const aborted = new Promise<ToolReply>((resolve) => (abort = () => resolve(CANCELLED)));
  signal.addEventListener('abort', abort);

  async function make(call: CallStart, index: number): Promise<Called> {
    const startedAt = clock.now();
    let open = true;
    observe({ type: 'call', call });
    const checked = check(call, index, tools);
    const tried = 'args' in checked ? attempt(call, checked.args, () => open) : checked;
    const reply = await Promise.race([tried, aborted]);
    open = false;
    const { status, summary, because } = reply;
    const entry = { ...call, status, summary, ...(because !== undefined && { because }), durationMs: clock.now() - startedAt };
    observe({ type: 'result', entry, reply });
    return { entry, reply };
  }

  /** Never rejects. Once it is not `awaited` any more, nothing of it is heard. */
  async function attempt(call: CallStart, args: JsonObject, awaited: () => boolean): Promise<ToolReply> {
    if (signal.aborted) return CANCELLED;
    try {
      return await toolbox.call(call.name, args, {
        signal,
        onProgress(progress) {
          if (awaited()) observe({ type: 'progress', call, progress });
        },
      });
    } catch (error) {
      return said('fault', isParleyError(error) ? error.message : 'The call failed here, before or after the server had it.');
    }
  }

  try {
    return await sideBySide(calls, make);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The arguments to call with, or the reply where nothing is called. */
function check(call: CallStart, index: number, tools: ReadonlySet<string>): { readonly args: JsonObject } | ToolReply {
  if (index >= MOST_CALLS) return said('invalid', `Not called: no more than ${MOST_CALLS} calls are made in one turn.`);
  if (!tools.has(call.name)) {
    return said(
      'unknown',
      `There is no tool "${oneLine(call.name, 128)}".${didYouMean(call.name.slice(0, 128), tools)} Nothing was called.`,
    );
  }
  if (isObject(call.arguments)) return { args: call.arguments };
  return said('invalid', `The arguments of ${call.name} are not a JSON object. Nothing was called; call it again with one.`);
}

const CANCELLED = said('cancelled', sayOutcome({ type: 'cancelled' }));

function said(status: OutcomeType, text: string): ToolReply {
  return { status, summary: text, parts: [{ type: 'text', text }] };
}

/** Acts on every item, on so many at a time; the results are in the order of the items. */
async function sideBySide<T, R>(items: readonly T[], act: (item: T, index: number) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await act(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, items.length) }, work));
  return results;
}
