// The client's side of 2026-07-28 and later: no handshake, every request says who asks and in which revision.
import { ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { ClientDialect, ClientTerms, Decoded, InputAnswers } from '../dialect.ts';
import { declares, extension } from '../extension.ts';
import { standardHeaders } from '../header.ts';
import { metaKey, metaOf } from '../meta.ts';
import { factsOf, method, METHODS } from '../method.ts';
import { violation } from '../read.ts';
import type { ModernRevision } from '../revision.ts';
import type { ClientCapabilities } from '../schema/index.ts';
import { readInputRequests, readTask } from '../task.ts';

/** Characters a state may have. */
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
    encode(params = {}, { logLevel, answers }) {
      const own = logLevel === undefined ? meta : { ...meta, [metaKey.logLevel]: logLevel };
      if ('_meta' in params) return { ...params, ...encodeAnswers(answers), _meta: { ...metaOf(params), ...own } };
      // Ours comes first: a member added to a copy costs V8 many times what it costs in a literal.
      return { _meta: own, ...params, ...encodeAnswers(answers) };
    },
    headers: (name, params) => standardHeaders(revision, name, params),
    decode: (name, result) => decode(name, result, terms.capabilities),
    decodeError: () => undefined,
  };
}

function encodeAnswers(answers: InputAnswers | undefined): JsonObject | undefined {
  if (answers === undefined) return undefined;
  const { responses, state } = answers;
  return {
    ...(responses.size > 0 && { inputResponses: Object.fromEntries(responses) }),
    ...(state !== undefined && { requestState: state }),
  };
}

function decode(name: string, result: JsonObject, capabilities: ClientCapabilities): Decoded {
  const type = result['resultType'];
  // Servers of earlier revisions do not send it; its absence means complete (basic/index, "ResultType").
  if (type === undefined || type === 'complete') return { type: 'complete', result };
  if (type === 'task') {
    if (factsOf(name)?.mayBecomeTask !== true) throw violation(`a task to ${name}, which may not become one`);
    if (!declares(capabilities, extension.tasks))
      throw violation(`a task to ${name}, which this client did not say it can follow`);
    return { type: 'task', task: readTask(result) };
  }
  if (type !== 'input_required') throw violation(`a resultType that is not known here, so the result of ${name} cannot be used`);
  if (factsOf(name)?.mayAskInput !== true) throw violation(`"input_required" to ${name}, which may not ask for input`);
  const state = result['requestState'];
  const wanted = result['inputRequests'];
  if (state === undefined && wanted === undefined) throw violation('"input_required" that asks for nothing');
  if (state !== undefined && typeof state !== 'string') throw violation('a requestState that is not a string');
  if ((state?.length ?? 0) > MAX_STATE) {
    throw new ParleyError('limit', `The server sent a requestState of more than ${String(MAX_STATE)} characters.`, {
      details: { limit: 'requestState', allowed: MAX_STATE, observed: state?.length ?? 0 },
    });
  }
  return { type: 'input', requests: readInputRequests(wanted === undefined ? {} : wanted), state };
}
