// The client's side of 2026-07-28 and later: no handshake, every request says who asks and in which revision.
import { ParleyError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { ClientDialect, ClientTerms, Decoded, InputAnswers } from '../dialect.ts';
import { standardHeaders } from '../header.ts';
import { metaKey, metaOf } from '../meta.ts';
import { factsOf, method, METHODS } from '../method.ts';
import { violation } from '../read.ts';
import type { ModernRevision } from '../revision.ts';
import type { InputRequest } from '../schema/index.ts';

/** An answer may ask for this many inputs at once, with keys and a state of this many bytes. */
const MAX_INPUTS = 8;
const MAX_KEY = 128;
const MAX_STATE = 65_536;

export function modernClient(revision: ModernRevision, terms: ClientTerms): ClientDialect {
  const meta: JsonObject = Object.freeze({
    [metaKey.protocolVersion]: revision,
    [metaKey.clientInfo]: terms.client,
    [metaKey.clientCapabilities]: terms.capabilities,
  });
  return {
    era: 'modern',
    revision,
    pulse: method.discover,
    watches: 'listen',
    giveUp: 'abandon',
    serverAsks: 'rounds',
    adopts: undefined,
    has: (name) => METHODS[name].eras.includes('modern'),
    encode(params, { logLevel, answers }) {
      const own = params?.['_meta'] === undefined ? meta : { ...metaOf(params), ...meta };
      return {
        ...params,
        ...(answers !== undefined && encodeAnswers(answers)),
        _meta: logLevel === undefined ? own : { ...own, [metaKey.logLevel]: logLevel },
      };
    },
    headers: (name, params) => standardHeaders(revision, name, params),
    decode,
    decodeError: () => undefined,
  };
}

function encodeAnswers({ responses, state }: InputAnswers): JsonObject {
  return {
    ...(responses.size > 0 && { inputResponses: Object.fromEntries(responses) }),
    ...(state !== undefined && { requestState: state }),
  };
}

function decode(name: string, result: JsonObject): Decoded {
  const type = result['resultType'];
  // Servers of earlier revisions do not send it; its absence means complete (basic/index, "ResultType").
  if (type === undefined || type === 'complete') return { type: 'complete', result };
  if (type !== 'input_required') throw violation(`a resultType that is not known here, so the result of ${name} cannot be used`);
  if (factsOf(name)?.mayAskInput !== true) throw violation(`"input_required" to ${name}, which may not ask for input`);
  const state = result['requestState'];
  const wanted = result['inputRequests'];
  if (state === undefined && wanted === undefined) throw violation('"input_required" that asks for nothing');
  if (state !== undefined && typeof state !== 'string') throw violation('a requestState that is not a string');
  if (wanted !== undefined && !isObject(wanted)) throw violation('inputRequests that are not an object');
  const entries = Object.entries(wanted ?? {});
  if (entries.length > MAX_INPUTS || (state?.length ?? 0) > MAX_STATE || entries.some(([key]) => key.length > MAX_KEY)) {
    throw new ParleyError('limit', `The server asked for more input at once than is allowed (${String(MAX_INPUTS)} requests).`, {
      details: { limit: 'inputRequests', allowed: MAX_INPUTS, observed: entries.length },
    });
  }
  const requests = new Map<string, InputRequest>();
  for (const [key, request] of entries) {
    if (!isObject(request) || typeof request['method'] !== 'string') throw violation('an input request without a method');
    const params = request['params'];
    if (params !== undefined && !isObject(params)) throw violation('an input request whose params are not an object');
    requests.set(key, { method: request['method'], ...(params !== undefined && { params }) });
  }
  return { type: 'input', requests, state };
}
