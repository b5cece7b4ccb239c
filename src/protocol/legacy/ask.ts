// A server's requests for input as the legacy revisions word them. What a revision cannot say is refused, never bent.
import { RpcError } from '../../errors.ts';
import { isObject, rpcCode, type JsonObject } from '../../jsonrpc/index.ts';
import { missingFor } from '../capability.ts';
import { inputMethod } from '../method.ts';
import type { LegacyRevision } from '../revision.ts';
import type { ClientCapabilities, InputRequest } from '../schema/index.ts';
import { FACTS } from './facts.ts';

/** @throws RpcError -32600 when the client did not declare that it answers this, or the revision cannot carry it */
export function askLegacy(request: InputRequest, capabilities: ClientCapabilities, revision: LegacyRevision): InputRequest {
  const missing = missingFor(request, capabilities);
  if (missing !== undefined) {
    throw new RpcError(rpcCode.invalidRequest, `The request needs ${request.method}, which the client did not declare`, {
      requiredCapabilities: missing,
    });
  }
  const { method, params = {} } = request;
  if (method === inputMethod.elicit) return { method, params: lowerElicitation(params, revision) };
  if (method === inputMethod.sample) return { method, params: lowerSampling(params, revision) };
  return request;
}

function lowerElicitation(params: JsonObject, revision: LegacyRevision): JsonObject {
  const { elicitation } = FACTS[revision];
  if (elicitation === 'form and url') return params;
  if (elicitation === 'none' || params['mode'] === 'url') throw cannotCarry(revision, 'this kind of elicitation');
  const { message, requestedSchema } = params as { message: string; requestedSchema: JsonObject };
  const fields = Object.entries(requestedSchema['properties'] as JsonObject).map(([name, field]) => {
    if (!isObject(field) || field['type'] === 'array') throw cannotCarry(revision, 'a choice of several values');
    return [name, lowerField(field)];
  });
  return { message, requestedSchema: { ...requestedSchema, properties: Object.fromEntries(fields) as JsonObject } };
}

/** Titled choices as the earlier `enum` with `enumNames`. */
function lowerField(field: JsonObject): JsonObject {
  const { oneOf, ...rest } = field;
  if (!Array.isArray(oneOf)) return field;
  const choices = oneOf as readonly { readonly const: string; readonly title: string }[];
  return { ...rest, enum: choices.map((choice) => choice.const), enumNames: choices.map((choice) => choice.title) };
}

function lowerSampling(params: JsonObject, revision: LegacyRevision): JsonObject {
  const { samplingTools, blocks } = FACTS[revision];
  if (samplingTools) return params;
  if (params['tools'] !== undefined || params['toolChoice'] !== undefined) throw cannotCarry(revision, 'tools in sampling');
  const messages = (params['messages'] as readonly JsonObject[]).map((message) => {
    const { content } = message;
    const only = Array.isArray(content) && content.length === 1 ? (content[0] as unknown) : content;
    if (!isObject(only) || only['type'] === 'resource' || !blocks.includes(only['type'] as string)) {
      throw cannotCarry(revision, 'a sampling message with this content');
    }
    return { ...message, content: only };
  });
  return { ...params, messages };
}

function cannotCarry(revision: LegacyRevision, what: string): RpcError {
  return new RpcError(rpcCode.invalidRequest, `Revision ${revision}, which the client speaks, has no form for ${what}`);
}
