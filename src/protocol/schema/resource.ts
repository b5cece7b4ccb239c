// Resources and their templates (server/resources).
import type { Annotations, Caching, Icon, Meta } from './common.ts';
import type { ResourceContents } from './content.ts';

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  readonly annotations?: Annotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

export interface ResourceTemplate {
  /** RFC 6570. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

export interface ListResourcesResult extends Caching {
  readonly resources: readonly Resource[];
  readonly nextCursor?: string;
  readonly _meta?: Meta;
}

export interface ListResourceTemplatesResult extends Caching {
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly nextCursor?: string;
  readonly _meta?: Meta;
}

export interface ReadResourceParams {
  readonly uri: string;
}

export interface ReadResourceResult extends Caching {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: Meta;
}
