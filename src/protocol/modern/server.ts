// The server's side of 2026-07-28 and later: every request says who asks and in which revision; nothing is remembered.
import { RpcError } from '../../errors.ts';
import { isObject, rpcCode, type JsonObject, type Request } from '../../jsonrpc/index.ts';
import { missingFor } from '../capability.ts';
import { mcpCode } from '../code.ts';
import { headerName } from '../header.ts';
import { checkStandardHeaders, headerOf } from '../header-check.ts';
import { metaKey, metaOf } from '../meta.ts';
import { factsOf, method, METHODS, type ClientMethod } from '../method.ts';
import { isModernRevision, MODERN_REVISIONS, type ModernRevision } from '../revision.ts';
import { isLoggingLevel, type Implementation } from '../schema/index.ts';
import type { ModernFacts, RequestHeaders, ServerDialect, ServerTerms } from '../server-dialect.ts';

export function modernServer(revision: ModernRevision, terms: ServerTerms): ServerDialect {
  const signature: JsonObject = Object.freeze({ [metaKey.serverInfo]: terms.server });
  const { ttlMs, cacheScope } = terms.caching;
  return {
    era: 'modern',
    revision,
    asks: 'rounds',
    has: hasMethod,
    encode(name, result) {
      const meta = result['_meta'] === undefined ? signature : { ...signature, ...metaOf(result) };
      if (!METHODS[name].cacheable || result['resultType'] === 'input_required') {
        return { resultType: 'complete', ...result, _meta: meta };
      }
      const versions = name === method.discover ? { supportedVersions: MODERN_REVISIONS } : undefined;
      return { resultType: 'complete', ttlMs, cacheScope, ...versions, ...result, _meta: meta };
    },
    inform: (_notification, params) => params,
    ask(request, capabilities) {
      const missing = missingFor(request, capabilities);
      if (missing !== undefined) {
        throw new RpcError(mcpCode.missingCapability, `The request needs ${request.method}, which the client did not declare`, {
          requiredCapabilities: missing,
        });
      }
      if (request.params?.['elicitationId'] === undefined) return request;
      const { elicitationId: _ofEarlierRevisions, ...params } = request.params;
      return { method: request.method, params };
    },
    resourceNotFound: (uri) => new RpcError(rpcCode.invalidParams, 'Resource not found', { uri }),
  };
}

function hasMethod(name: string): name is ClientMethod {
  return factsOf(name)?.eras.includes('modern') === true;
}

/**
 * What a request says of itself, after the checks every modern request has to pass.
 * @throws RpcError -32020 for headers that differ from the body, -32022 for a revision that is not spoken, -32601 for a method
 * the revision does not have, -32602 for missing or malformed `_meta` fields
 */
export function readModern(request: Request, headers: RequestHeaders | undefined): ModernFacts {
  const meta = metaOf(request.params);
  const version = meta[metaKey.protocolVersion];
  if (headers !== undefined) checkVersionHeader(headers, version);
  if (typeof version === 'string' && !isModernRevision(version)) {
    throw new RpcError(mcpCode.unsupportedVersion, 'Unsupported protocol version', {
      supported: MODERN_REVISIONS,
      requested: version,
    });
  }
  if (headers !== undefined && version !== undefined) checkStandardHeaders(headers, request);
  if (!hasMethod(request.method)) throw new RpcError(rpcCode.methodNotFound, `Method not found: ${request.method.slice(0, 128)}`);
  if (!isModernRevision(version)) throw badMeta(metaKey.protocolVersion, 'missing or not a string');
  const capabilities = meta[metaKey.clientCapabilities];
  if (!isObject(capabilities)) throw badMeta(metaKey.clientCapabilities, 'missing or not an object');
  const logLevel = meta[metaKey.logLevel];
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) throw badMeta(metaKey.logLevel, 'not a log level');
  const client = meta[metaKey.clientInfo];
  return {
    revision: version,
    client: isObject(client) ? (client as unknown as Implementation) : undefined,
    capabilities: capabilities,
    logLevel,
  };
}

/** Without either the body is judged alone: it is no modern request yet. */
function checkVersionHeader(headers: RequestHeaders, version: unknown): void {
  const said = headerOf(headers, headerName.version);
  if (version === undefined || said === version) return;
  throw new RpcError(
    mcpCode.headerMismatch,
    `Header mismatch: ${headerName.version} is missing or differs from ${metaKey.protocolVersion}`,
  );
}

function badMeta(key: string, why: string): RpcError {
  return new RpcError(rpcCode.invalidParams, `Invalid params: _meta["${key}"] is ${why}`);
}
