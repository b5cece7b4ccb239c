// What a server may ask of a client: elicitation, sampling, roots. One set of shapes for both eras.
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Meta, Role } from './common.ts';
import type { AudioContent, ContentBlock, ImageContent, TextContent } from './content.ts';
import type { Tool } from './tool.ts';

export interface StringField {
  readonly type: 'string';
  readonly title?: string;
  readonly description?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: 'email' | 'uri' | 'date' | 'date-time';
  readonly enum?: readonly string[];
  /** Labels for `enum`, in order (up to 2025-11-25). */
  readonly enumNames?: readonly string[];
  readonly oneOf?: readonly { readonly const: string; readonly title: string }[];
  readonly default?: string;
}

export interface NumberField {
  readonly type: 'number' | 'integer';
  readonly title?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

export interface BooleanField {
  readonly type: 'boolean';
  readonly title?: string;
  readonly description?: string;
  readonly default?: boolean;
}

export interface ChoicesField {
  readonly type: 'array';
  readonly title?: string;
  readonly description?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items: {
    readonly type?: 'string';
    readonly enum?: readonly string[];
    readonly anyOf?: readonly { readonly const: string; readonly title: string }[];
  };
  readonly default?: readonly string[];
}

/** One field of a form: flat and primitive by the specification (client/elicitation). */
export type FormField = StringField | NumberField | BooleanField | ChoicesField;

export interface FormSchema {
  readonly $schema?: string;
  readonly type: 'object';
  readonly properties: Readonly<Record<string, FormField>>;
  readonly required?: readonly string[];
}

/** `mode` is absent for a form from servers before 2025-11-25. */
export interface ElicitFormParams {
  readonly mode?: 'form';
  readonly message: string;
  readonly requestedSchema: FormSchema;
}

export interface ElicitUrlParams {
  readonly mode: 'url';
  readonly message: string;
  readonly url: string;
  /** 2025-11-25 only. */
  readonly elicitationId?: string;
}

export type FormValue = string | number | boolean | readonly string[];

export interface ElicitResult {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Present only when a form was accepted. */
  readonly content?: Readonly<Record<string, FormValue>>;
}

export interface ToolUseContent {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly _meta?: Meta;
}

export interface ToolResultContent {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Meta;
}

export type SamplingBlock = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

export interface SamplingMessage {
  readonly role: Role;
  readonly content: SamplingBlock | readonly SamplingBlock[];
  readonly _meta?: Meta;
}

export interface ModelPreferences {
  readonly hints?: readonly { readonly name?: string }[];
  readonly costPriority?: number;
  readonly speedPriority?: number;
  readonly intelligencePriority?: number;
}

export interface SampleParams {
  readonly messages: readonly SamplingMessage[];
  readonly maxTokens: number;
  readonly modelPreferences?: ModelPreferences;
  readonly systemPrompt?: string;
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly metadata?: JsonObject;
  readonly tools?: readonly Tool[];
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' };
}

export interface SampleResult extends SamplingMessage {
  readonly model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or a provider's own word. */
  readonly stopReason?: string;
}

/** `uri` is a file: URL. */
export interface Root {
  readonly uri: string;
  readonly name?: string;
  readonly _meta?: Meta;
}

export interface ListRootsResult {
  readonly roots: readonly Root[];
  readonly _meta?: Meta;
}

/** One thing a server asks for, as `method` and `params`. */
export interface InputRequest {
  readonly method: string;
  readonly params?: JsonObject;
}
