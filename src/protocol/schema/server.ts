// What the two sides say of themselves: capabilities, discovery, the handshake, and change notifications.
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Caching, Implementation, LoggingLevel, Meta } from './common.ts';

export interface ClientCapabilities {
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly context?: JsonObject; readonly tools?: JsonObject };
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject };
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  readonly experimental?: Readonly<Record<string, JsonObject>>;
}

export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly completions?: JsonObject;
  readonly logging?: JsonObject;
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  readonly experimental?: Readonly<Record<string, JsonObject>>;
}

/** server/discover (2026-07-28). */
export interface DiscoverResult extends Caching {
  readonly supportedVersions: readonly string[];
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  readonly _meta?: Meta;
}

/** The answer to `initialize` (2025-11-25 and before). */
export interface InitializeResult {
  readonly protocolVersion: string;
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation;
  readonly instructions?: string;
  readonly _meta?: Meta;
}

/** The changes a client wants to hear of; the server answers with the subset it will send. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
  /** Tasks to hear of (SEP-2663). */
  readonly taskIds?: readonly string[];
}

export interface LogMessage {
  readonly level: LoggingLevel;
  readonly logger?: string;
  readonly data: unknown;
}
