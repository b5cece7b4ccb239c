// Tools: their definitions and what a call gives (server/tools).
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Caching, Icon, Meta } from './common.ts';
import type { ContentBlock } from './content.ts';

/** A JSON Schema, 2020-12 unless its `$schema` says otherwise. */
export type JsonSchema = JsonObject;

/** Hints a server gives about a tool; they count only where the server is trusted. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  /** True when missing. */
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  /** True when missing. */
  readonly openWorldHint?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

export interface ListToolsResult extends Caching {
  readonly tools: readonly Tool[];
  readonly nextCursor?: string;
  readonly _meta?: Meta;
}

export interface CallToolParams {
  readonly name: string;
  readonly arguments?: JsonObject;
}

/** `isError` true: the tool ran and failed, and the content says why. */
export interface CallToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Meta;
}
