// The server's side of the handshake era: `initialize` settles revision and capabilities for the whole session.
import { RpcError } from '../../errors.ts';
import { isObject, rpcCode, type JsonObject } from '../../jsonrpc/index.ts';
import { mcpCode } from '../code.ts';
import { factsOf, notification, type ClientMethod } from '../method.ts';
import { isLegacyRevision, LEGACY_REVISIONS, type LegacyRevision } from '../revision.ts';
import type { Implementation } from '../schema/index.ts';
import type { ServerDialect, ServerTerms, SessionFacts } from '../server-dialect.ts';
import { askLegacy } from './ask.ts';
import { FACTS } from './facts.ts';
import {
  lowerCapabilities,
  lowerDefinition,
  lowerImplementation,
  lowerMessages,
  lowerTool,
  lowerToolResult,
  omit,
} from './lower.ts';

export function legacyServer(revision: LegacyRevision, terms: ServerTerms): ServerDialect {
  const serverInfo = lowerImplementation(terms.server as unknown as JsonObject, revision);
  return {
    era: 'legacy',
    revision,
    asks: 'requests',
    has: (name): name is ClientMethod => factsOf(name)?.eras.includes('legacy') === true,
    encode(name, result) {
      if (name === 'initialize') {
        const capabilities = lowerCapabilities(result['capabilities'] as JsonObject, revision);
        return { protocolVersion: revision, serverInfo, ...result, capabilities };
      }
      return omit(lower(name, result, revision), ['resultType', 'ttlMs', 'cacheScope']);
    },
    inform: (name, params) => (name === notification.progress && !FACTS[revision].hints ? omit(params, ['message']) : params),
    ask: (request, capabilities) => askLegacy(request, capabilities, revision),
    resourceNotFound: (uri) => new RpcError(mcpCode.resourceNotFound, 'Resource not found', { uri }),
  };
}

function lower(name: ClientMethod, result: JsonObject, revision: LegacyRevision): JsonObject {
  const each = (member: string, lowerOne: (item: JsonObject, revision: LegacyRevision) => JsonObject): JsonObject => ({
    ...result,
    [member]: (result[member] as readonly JsonObject[]).map((item) => lowerOne(item, revision)),
  });
  switch (name) {
    case 'tools/list':
      return each('tools', lowerTool);
    case 'prompts/list':
      return each('prompts', lowerDefinition);
    case 'resources/list':
      return each('resources', lowerDefinition);
    case 'resources/templates/list':
      return each('resourceTemplates', lowerDefinition);
    case 'tools/call':
      return lowerToolResult(result, revision);
    case 'prompts/get':
      return lowerMessages(result, revision);
    default:
      return result;
  }
}

/**
 * What an `initialize` request settles: the client's revision where it is spoken here, else the newest of the era.
 * @throws RpcError -32602 for params without a protocol version
 * @see 2025-11-25 basic/lifecycle, "Version Negotiation"
 */
export function readInitialize(params: JsonObject | undefined): SessionFacts {
  const { protocolVersion, capabilities, clientInfo } = params ?? {};
  if (typeof protocolVersion !== 'string') {
    throw new RpcError(rpcCode.invalidParams, 'Invalid params: "protocolVersion" is missing or not a string');
  }
  return {
    revision: isLegacyRevision(protocolVersion) ? protocolVersion : LEGACY_REVISIONS[0],
    client: isObject(clientInfo) ? (clientInfo as unknown as Implementation) : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
  };
}

/** How an HTTP session of a revision differs: whether it takes batches, and whether its streams may begin with an empty event. */
export interface SessionHabits {
  readonly batches: boolean;
  readonly primedStreams: boolean;
}

/**
 * The habits of the revision that a version header names, or undefined for one that is not of the era. Without the header it
 * is the revision before there was one (transports, "Protocol Version Header").
 */
export function sessionHabits(version: string | undefined): SessionHabits | undefined {
  if (version === undefined) return FACTS['2025-03-26'];
  return isLegacyRevision(version) ? FACTS[version] : undefined;
}
