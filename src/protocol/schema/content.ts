// What results and prompts are made of. Unknown kinds of block are kept as they came.
import type { Annotations, Meta } from './common.ts';
import type { Resource } from './resource.ts';

interface Block {
  readonly annotations?: Annotations;
  readonly _meta?: Meta;
}

export interface TextContent extends Block {
  readonly type: 'text';
  readonly text: string;
}

/** `data` is Base64. */
export interface ImageContent extends Block {
  readonly type: 'image';
  readonly data: string;
  readonly mimeType: string;
}

/** `data` is Base64. */
export interface AudioContent extends Block {
  readonly type: 'audio';
  readonly data: string;
  readonly mimeType: string;
}

export interface ResourceLink extends Resource {
  readonly type: 'resource_link';
}

export interface EmbeddedResource extends Block {
  readonly type: 'resource';
  readonly resource: ResourceContents;
}

/** One resource's contents: text, or `blob` in Base64. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: Meta;
}

export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;
