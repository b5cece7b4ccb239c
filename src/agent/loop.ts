// The tool loop: asks the model, makes the calls it wants, gives it the results, and asks again until it answers. What tools
// return is data in the results' place and never anything that this loop acts on.
import { setMaxListeners } from 'node:events';
import { systemClock, type Clock } from '../base/index.ts';
import { abortError, seconds } from '../jsonrpc/index.ts';
import { makeCalls } from './calls.ts';
import type { CallLogEntry, CallStart, Observe } from './log.ts';
import type { Model, ModelMessage, ModelReply, ModelTool, ModelToolCall, Usage } from './model.ts';
import type { Toolbox } from './toolbox.ts';

export interface AgentOptions {
  readonly model: Model;
  readonly toolbox: Toolbox;
  /** Put before the messages in each request; not part of the conversation that comes back. */
  readonly system?: string;
  /** The conversation so far; its last message is what is to be answered. */
  readonly messages: readonly ModelMessage[];
  /** Requests to the model. Default 50. */
  readonly maxTurns?: number;
  readonly budget?: Budget;
  readonly signal?: AbortSignal;
  readonly observe?: Observe;
  readonly clock?: Clock;
}

export interface Budget {
  /** Tokens, in and out. No request is made once they are used up. Default no limit; what a model does not count is not counted. */
  readonly tokens?: number;
  /** Milliseconds in all. What is under way then is given up. Default 30 minutes. */
  readonly wallMs?: number;
}

export interface AgentResult {
  /** The answer, or why there is none. */
  readonly text: string;
  readonly stopped: 'done' | 'turns' | 'budget' | 'aborted';
  /** Requests made. */
  readonly turns: number;
  /** Every call that the model asked for, in order. */
  readonly calls: readonly CallLogEntry[];
  /** The conversation with all that was added. It can be gone on with, however the run ended. */
  readonly messages: readonly ModelMessage[];
  readonly usage: Usage;
}

const MAX_TURNS = 50;
const WALL_MS = 1_800_000;
/** Empty replies in a row after which there is no point in asking again. */
const MOST_EMPTY = 2;

/**
 * Runs the loop until the model answers without a call, or a limit or the signal ends it.
 * @throws ParleyError what the model's `generate` throws, but for an abort
 */
export async function runAgent(options: AgentOptions): Promise<AgentResult> {
  const { model, toolbox, system, maxTurns = MAX_TURNS, budget = {}, observe = () => {}, clock = systemClock } = options;
  const { tokens = Infinity, wallMs = WALL_MS } = budget;
  const messages = [...options.messages];
  const ids = createIds(messages);
  const calls: CallLogEntry[] = [];
  const usage = { inputTokens: 0, outputTokens: 0 };
  let turns = 0;
  let empty = 0;

  const outOfTime = new AbortController();
  const timer = clock.after(wallMs, () => outOfTime.abort());
  const signal = AbortSignal.any([outOfTime.signal, ...(options.signal ? [options.signal] : [])]);
  // Each call in flight listens to it, on every level below: that many listeners are no leak.
  setMaxListeners(0, signal);

  const add = (message: ModelMessage) => {
    messages.push(message);
    observe({ type: 'message', message });
  };
  const end = (stopped: AgentResult['stopped'], text: string): AgentResult => ({ text, stopped, turns, calls, messages, usage });
  const givenUp = (text: string) =>
    options.signal?.aborted === true
      ? end('aborted', text)
      : end('budget', `Stopped: the time allowed, ${seconds(wallMs)}, is over.`);

  /** The model's reply with unique ids; or the text that had come when the signal aborted. */
  async function ask(tools: readonly ModelTool[]): Promise<ModelReply | { readonly cutOff: string }> {
    let text = '';
    const onText = (delta: string) => {
      if (signal.aborted) return;
      text += delta;
      observe({ type: 'text', delta });
    };
    const prompt: readonly ModelMessage[] = system === undefined ? messages : [{ role: 'system', text: system }, ...messages];
    try {
      const reply = await untilAbort(model.generate({ messages: [...prompt], tools }, { signal, onText }), signal);
      return { ...reply, toolCalls: reply.toolCalls.map((call) => ({ ...call, id: ids(call.id) })) };
    } catch (error) {
      if (signal.aborted) return { cutOff: text };
      throw error;
    }
  }

  async function call(toolCalls: readonly ModelToolCall[], tools: readonly ModelTool[]): Promise<void> {
    const starts = toolCalls.map((toolCall, index): CallStart => ({ ...toolCall, n: calls.length + index + 1, turn: turns }));
    for (const { entry, reply } of await makeCalls(starts, { toolbox, tools, signal, observe, clock })) {
      calls.push(entry);
      add({ role: 'tool', id: entry.id, name: entry.name, status: reply.status, parts: reply.parts });
    }
  }

  try {
    while (true) {
      if (signal.aborted) return givenUp('');
      if (turns >= maxTurns) return end('turns', `Stopped after ${maxTurns} turns.`);
      if (usage.inputTokens + usage.outputTokens >= tokens) {
        return end('budget', `Stopped: the budget of ${tokens} tokens is used up.`);
      }
      turns++;
      observe({ type: 'turn', turn: turns });
      const tools = toolbox.tools();
      const reply = await ask(tools);
      if ('cutOff' in reply) {
        if (reply.cutOff !== '') add({ role: 'assistant', text: reply.cutOff, toolCalls: [] });
        return givenUp(reply.cutOff);
      }
      const { text, toolCalls } = reply;
      usage.inputTokens += reply.usage?.inputTokens ?? 0;
      usage.outputTokens += reply.usage?.outputTokens ?? 0;
      observe({ type: 'reply', reply });
      if (text.trim() === '' && toolCalls.length === 0) {
        if (++empty === MOST_EMPTY) return end('done', `The model gave an empty answer ${MOST_EMPTY} times.`);
        continue;
      }
      empty = 0;
      add({ role: 'assistant', text, toolCalls });
      if (toolCalls.length === 0) return end('done', text);
      await call(toolCalls, tools);
    }
  } finally {
    timer.cancel();
  }
}

/** Makes ids unique in a conversation: an id that was there, or none at all, becomes another. */
function createIds(messages: readonly ModelMessage[]): (id: string) => string {
  const taken = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.id] : [])));
  return (id) => {
    const wanted = id === '' ? 'call' : id;
    let unique = wanted;
    for (let count = 2; taken.has(unique); count++) unique = `${wanted}_${count}`;
    taken.add(unique);
    return unique;
  };
}

/** The value, or a rejection as soon as the signal aborts, whatever `waiting` does. */
function untilAbort<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortError(signal, 'The model'));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    void waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
