// The client's side of the handshake era: one session, messages as they are, requests from the server answered.
import type { RpcError } from '../../errors.ts';
import { isObject } from '../../jsonrpc/index.ts';
import { mcpCode } from '../code.ts';
import type { ClientDialect, InputWanted } from '../dialect.ts';
import { headerName } from '../header.ts';
import { inputMethod, method, METHODS } from '../method.ts';
import type { LegacyRevision } from '../revision.ts';
import type { InputRequest } from '../schema/index.ts';
import { FACTS } from './facts.ts';

export function legacyClient(revision: LegacyRevision): ClientDialect {
  return {
    era: 'legacy',
    revision,
    pulse: method.ping,
    watches: 'standing',
    giveUp: 'tell',
    serverAsks: 'requests',
    adopts: { headers: sessionHeaders(revision), standingStream: true },
    has: (name) => METHODS[name].eras.includes('legacy'),
    encode: (params) => params,
    headers: () => undefined,
    decode: (_name, result) => ({ type: 'complete', result }),
    decodeError: (error) => (FACTS[revision].urlElicitationError ? urlsToVisit(error) : undefined),
  };
}

/** Headers for every message after the handshake (transports, "Protocol Version Header"). */
function sessionHeaders(revision: LegacyRevision): Record<string, string> {
  return FACTS[revision].versionHeader ? { [headerName.version]: revision } : {};
}

function urlsToVisit(error: RpcError): InputWanted | undefined {
  if (error.code !== mcpCode.urlElicitationRequired || !isObject(error.data)) return undefined;
  const elicitations = error.data['elicitations'];
  if (!Array.isArray(elicitations) || elicitations.length === 0 || elicitations.length > 8) return undefined;
  const requests = new Map<string, InputRequest>();
  for (const [index, params] of (elicitations as unknown[]).entries()) {
    if (!isObject(params)) return undefined;
    requests.set(String(index), { method: inputMethod.elicit, params });
  }
  return { type: 'input', requests, state: undefined };
}
