// What a handler can ask of the client, as values: made here, sent by whichever means the client's era has.
import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import {
  checkField,
  inputMethod,
  type ElicitFormParams,
  type ElicitResult,
  type ElicitUrlParams,
  type FormSchema,
  type InputRequest,
  type ListRootsResult,
  type SampleParams,
  type SampleResult,
} from '../protocol/index.ts';

/** A request for input whose answer is an `Answer`. */
export interface Ask<Answer> extends InputRequest {
  /** For types only: it is never there. */
  readonly answer?: Answer;
}

/** Requests for input, for `context.inputs` and `inputRequired`. */
export const ask = {
  /** Asks a person to fill in a form. */
  elicit: (params: ElicitFormParams): Ask<ElicitResult> => of(inputMethod.elicit, { mode: 'form', ...params }),
  /** Asks a person to visit a URL. One revision wants an id for that, which is made here when there is none. */
  elicitUrl: (params: Omit<ElicitUrlParams, 'mode'>): Ask<ElicitResult> =>
    of(inputMethod.elicit, { mode: 'url', elicitationId: randomUUID(), ...params }),
  /** Asks the client's model to write a message. */
  sample: (params: SampleParams): Ask<SampleResult> => of(inputMethod.sample, { ...params }),
  /** Asks which folders the client works in. */
  listRoots: (): Ask<ListRootsResult> => ({ method: inputMethod.listRoots }),
} as const;

function of(method: string, params: object): { method: string; params: JsonObject } {
  return { method, params: params as JsonObject };
}

/** The answer to `request`, or undefined for a value that cannot be one. */
export function readAnswer(request: InputRequest, value: unknown): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  switch (request.method) {
    case inputMethod.elicit:
      return isElicitResult(request.params ?? {}, value) ? submitted(value) : undefined;
    case inputMethod.sample:
      return typeof value['role'] === 'string' && typeof value['content'] === 'object' && value['content'] !== null
        ? value
        : undefined;
    case inputMethod.listRoots: {
      const roots = value['roots'];
      const whole = Array.isArray(roots) && roots.every((root) => isObject(root) && typeof root['uri'] === 'string');
      return whole ? value : undefined;
    }
    default:
      return value;
  }
}

/** The answer without its content unless that was submitted (client/elicitation, "Response Actions"). */
function submitted(answer: JsonObject): JsonObject {
  if (answer['action'] === 'accept') return answer;
  const { content: _notSubmitted, ...rest } = answer;
  return rest;
}

function isElicitResult(params: JsonObject, value: JsonObject): boolean {
  const { action, content } = value;
  if (action === 'decline' || action === 'cancel') return true;
  if (action !== 'accept') return false;
  if (params['mode'] === 'url') return true;
  const { properties, required = [] } = params['requestedSchema'] as FormSchema;
  if (!isObject(content)) return content === undefined && required.length === 0;
  return (
    required.every((name) => Object.hasOwn(content, name)) &&
    Object.entries(content).every(
      ([name, given]) => !Object.hasOwn(properties, name) || checkField(properties[name], given) === undefined,
    )
  );
}
