// What can be watched of an agent at work, and the log of its calls. Texts of models and servers in here are as they came: whoever
// shows them makes them visible first.
import type { Progress } from '../jsonrpc/index.ts';
import type { OutcomeType } from '../host/index.ts';
import type { ModelMessage, ModelReply } from './model.ts';
import type { ToolReply } from './toolbox.ts';

/** One call that a model asked for. */
export interface CallStart {
  /** 1 for the first call of the run, and so on in the order in which the model asked. */
  readonly n: number;
  readonly turn: number;
  readonly id: string;
  /** As the model called it. */
  readonly name: string;
  readonly arguments: unknown;
}

/** A call and what became of it. */
export interface CallLogEntry extends CallStart {
  readonly status: OutcomeType;
  readonly summary: string;
  /** Why it was allowed or not; absent where nobody had to decide. */
  readonly because?: string;
  readonly durationMs: number;
}

export type AgentEvent =
  /** The model is about to be asked. */
  | { readonly type: 'turn'; readonly turn: number }
  /** A piece of the reply's text, as it comes. */
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reply'; readonly reply: ModelReply }
  | { readonly type: 'call'; readonly call: CallStart }
  | { readonly type: 'progress'; readonly call: CallStart; readonly progress: Progress }
  | { readonly type: 'result'; readonly entry: CallLogEntry; readonly reply: ToolReply }
  /** A message joined the conversation. Those of a run that failed can be had in no other way. */
  | { readonly type: 'message'; readonly message: ModelMessage };

/** Hears what happens, at once. Must not throw. */
export type Observe = (event: AgentEvent) => void;
