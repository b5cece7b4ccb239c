// Prompts (server/prompts) and completion (server/utilities/completion).
import type { Caching, Icon, Meta, Role } from './common.ts';
import type { ContentBlock } from './content.ts';

export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly PromptArgument[];
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

export interface PromptMessage {
  readonly role: Role;
  readonly content: ContentBlock;
}

export interface ListPromptsResult extends Caching {
  readonly prompts: readonly Prompt[];
  readonly nextCursor?: string;
  readonly _meta?: Meta;
}

export interface GetPromptParams {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, string>>;
}

export interface GetPromptResult {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
  readonly _meta?: Meta;
}

/** What is being completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionRef =
  | { readonly type: 'ref/prompt'; readonly name: string; readonly title?: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

export interface CompleteParams {
  readonly ref: CompletionRef;
  readonly argument: { readonly name: string; readonly value: string };
  readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
}

export interface CompleteResult {
  /** At most 100 values. */
  readonly completion: { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean };
  readonly _meta?: Meta;
}
