// The `_meta` keys the specification reserves. They stand nowhere else as text.
import { isObject, type JsonObject } from '../jsonrpc/index.ts';

export const metaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  progressToken: 'progressToken',
} as const;

/** The `_meta` object of params or of a result; empty when there is none. */
export function metaOf(holder: JsonObject | undefined): JsonObject {
  const meta = holder?.['_meta'];
  return isObject(meta) ? meta : {};
}

/** `holder` with `additions` merged over its `_meta`. */
export function withMeta(holder: JsonObject | undefined, additions: JsonObject): JsonObject {
  return { ...holder, _meta: { ...metaOf(holder), ...additions } };
}

const EXTENSION_ID = /^[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/(?:[a-z\d](?:[\w.-]*[a-z\d])?)?$/i;

/** True for what may name an extension: a `_meta` key with a prefix (basic/versioning, "Extension Negotiation"). */
export function isExtensionId(id: string): boolean {
  return EXTENSION_ID.test(id);
}
