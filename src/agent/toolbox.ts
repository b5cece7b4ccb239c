// The port to the tools of a model: what it may call, and what became of a call as a value.
import type { JsonObject, Progress } from '../jsonrpc/index.ts';
import type { ModelPart, OutcomeType } from '../host/index.ts';
import type { ModelTool } from './model.ts';

export interface Toolbox {
  /** The tools on offer now; read again before each turn, for they may change. */
  tools(): readonly ModelTool[];
  /** Calls a tool by its name. Never rejects: whatever happens is a reply. */
  call(name: string, args: JsonObject, options?: ToolCallOptions): Promise<ToolReply>;
}

export interface ToolCallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** What became of a call. */
export interface ToolReply {
  readonly status: OutcomeType;
  /** What the model gets to read; at least one. */
  readonly parts: readonly ModelPart[];
  /** One sentence on how it ended. May hold a server's own words, where it answered with an error. */
  readonly summary: string;
  /** Why it was allowed or not: for people, never for the model. */
  readonly because?: string;
  /** The beginning of the result as lines for a terminal, each safe to show. */
  readonly preview?: string;
}
