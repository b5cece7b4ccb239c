// The port to a language model, in neutral words: what it is given and what it answers. Which company or program answers is not
// known here, and no tool is called from here.
import type { JsonObject } from '../jsonrpc/index.ts';
import type { ModelPart, OutcomeType } from '../host/index.ts';

/** Something that answers a conversation, and may want tools called for it. */
export interface Model {
  /** What people are told it is. */
  readonly label: string;
  /** The media a tool result may hold for it, besides text. */
  readonly takes: readonly ('image' | 'audio')[];
  /**
   * The next reply. `onText` hears its text as it comes, before the reply is whole.
   * @throws ParleyError `auth-required`, `unreachable`, `timeout`, `http-status`, `server-stopped`, `protocol-violation`, `limit`
   * or `aborted`
   */
  generate(request: ModelRequest, options?: GenerateOptions): Promise<ModelReply>;
}

export interface ModelRequest {
  /** The whole conversation so far. Each result of a tool stands somewhere behind the reply that asked for it. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
}

export interface GenerateOptions {
  readonly signal?: AbortSignal;
  readonly onText?: (delta: string) => void;
}

export type ModelMessage =
  | { readonly role: 'system' | 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly toolCalls: readonly ModelToolCall[] }
  /** What became of one call. What a server said is in `parts` and in no other message. */
  | {
      readonly role: 'tool';
      readonly id: string;
      readonly name: string;
      readonly status: OutcomeType;
      readonly parts: readonly ModelPart[];
    };

export interface ModelTool {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface ModelToolCall {
  /** Ties the result to the call. */
  readonly id: string;
  readonly name: string;
  /** Parsed; or the text as it came, where that is no JSON. */
  readonly arguments: unknown;
}

export interface ModelReply {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** Absent where the model does not say. */
  readonly usage?: Usage;
  readonly finish: Finish;
}

/** Why a reply ended. `length`: it is cut off. `filter`: the model's maker withheld it. */
export type Finish = 'stop' | 'tool-calls' | 'length' | 'filter' | 'other';

/** In tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}
