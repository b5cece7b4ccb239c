// Answers what a server may ask of a client: forms, URLs, sampling and roots. One map of handlers serves both eras: as
// requests from the server (legacy) and as input requests inside a result (2026-07-28).
import { ParleyError, RpcError } from '../errors.ts';
import { createRate, limitOf, overLimit, type Clock, type LimitName, type Limits } from '../base/index.ts';
import { isObject, rpcCode, type JsonObject } from '../jsonrpc/index.ts';
import {
  checkForm,
  inputMethod,
  type ClientCapabilities,
  type ElicitFormParams,
  type ElicitResult,
  type ElicitUrlParams,
  type InputRequest,
  type ListRootsResult,
  type SampleParams,
  type SampleResult,
} from '../protocol/index.ts';

export interface InputContext {
  /** Aborts when the server or the caller no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** Each handler that is present is declared to servers as a capability; what has no handler is refused. */
export interface InputHandlers {
  /** Fills in a form. Accepted content is checked against the form's schema, and defaults fill omitted fields. */
  readonly elicitForm?: (params: ElicitFormParams, context: InputContext) => Promise<ElicitResult>;
  /** Shows a URL to the person. The URL is the server's text: never open it without consent. */
  readonly elicitUrl?: (params: ElicitUrlParams, context: InputContext) => Promise<ElicitResult>;
  /** Asks a model on the server's behalf. */
  readonly sample?: (params: SampleParams, context: InputContext) => Promise<SampleResult>;
  /** Lists the folders the server may look at, as file: URLs. */
  readonly listRoots?: (context: InputContext) => Promise<ListRootsResult>;
}

/** The client capabilities that follow from the handlers. */
export function capabilitiesOf(handlers: InputHandlers): ClientCapabilities {
  const elicitation = {
    ...(handlers.elicitForm !== undefined && { form: {} }),
    ...(handlers.elicitUrl !== undefined && { url: {} }),
  };
  return {
    ...(Object.keys(elicitation).length > 0 && { elicitation }),
    ...(handlers.sample !== undefined && { sampling: {} }),
    ...(handlers.listRoots !== undefined && { roots: { listChanged: true } }),
  };
}

export interface BoundOptions {
  readonly limits: Pick<Limits, 'maxQuestions' | 'maxQuestionsPerHour'>;
  readonly clock: Clock;
  /** Hears of the first breach of each limit. */
  readonly onBreach: (breach: ParleyError) => void;
}

/**
 * The handlers for one server, which is kept from asking a person or a model too much: too many questions at once, or too often.
 * What is too much throws `limit`. Listing the roots asks nobody.
 */
export function boundedInputs(handlers: InputHandlers, { limits, clock, onBreach }: BoundOptions): InputHandlers {
  const atOnce = limitOf('maxQuestions', limits.maxQuestions);
  const perHour = limitOf('maxQuestionsPerHour', limits.maxQuestionsPerHour);
  const rate = createRate({ perSecond: perHour / 3_600, burst: perHour, clock });
  const said = new Set<LimitName>();
  let open = 0;
  const refuse = (limit: LimitName, allowed: number, what: string): ParleyError => {
    const breach = overLimit(limit, allowed + 1, `The server asks ${what}; what is too much is refused.`, allowed);
    if (!said.has(limit)) onBreach(breach);
    said.add(limit);
    return breach;
  };
  const bound = <P, R>(ask: ((params: P, context: InputContext) => Promise<R>) | undefined) =>
    ask &&
    (async (params: P, context: InputContext) => {
      if (open >= atOnce) throw refuse('maxQuestions', atOnce, `more than ${String(atOnce)} questions at a time`);
      if (!rate.take()) throw refuse('maxQuestionsPerHour', perHour, `more than ${String(perHour)} questions an hour`);
      open++;
      try {
        return await ask(params, context);
      } finally {
        open--;
      }
    });
  const { elicitForm, elicitUrl, sample, listRoots } = handlers;
  const bounded = { elicitForm: bound(elicitForm), elicitUrl: bound(elicitUrl), sample: bound(sample), listRoots };
  return Object.fromEntries(Object.entries(bounded).filter(([, handler]) => handler !== undefined));
}

/**
 * Answers one input request with the fitting handler.
 * @throws RpcError -32601 for a kind that has no handler, -32602 for params it does not allow; whatever the handler throws
 */
export async function answerInput(request: InputRequest, handlers: InputHandlers, context: InputContext): Promise<JsonObject> {
  const params = request.params ?? {};
  switch (request.method) {
    case inputMethod.elicit:
      return params['mode'] === 'url' ? elicitUrl(params, handlers, context) : elicitForm(params, handlers, context);
    case inputMethod.sample: {
      if (handlers.sample === undefined) throw notHandled('sampling');
      if (!Array.isArray(params['messages']) || typeof params['maxTokens'] !== 'number') {
        throw new RpcError(rpcCode.invalidParams, 'Sampling needs messages and maxTokens');
      }
      if (params['tools'] !== undefined || params['toolChoice'] !== undefined || params['messages'].some(speaksOfTools)) {
        throw new RpcError(rpcCode.invalidParams, 'Sampling with tools was not declared');
      }
      return { ...(await handlers.sample(params as unknown as SampleParams, context)) };
    }
    case inputMethod.listRoots: {
      if (handlers.listRoots === undefined) throw notHandled('roots');
      const result = await handlers.listRoots(context);
      const wrong = result.roots.find((root) => !isRoot(root.uri));
      if (wrong !== undefined) {
        throw new ParleyError('invalid-arguments', `The root "${wrong.uri}" is no file: URL of a folder without "." and "..".`);
      }
      return { ...result };
    }
    default:
      throw new RpcError(rpcCode.methodNotFound, 'Method not found');
  }
}

async function elicitForm(params: JsonObject, handlers: InputHandlers, context: InputContext): Promise<JsonObject> {
  // A missing mode means a form (client/elicitation).
  if (params['mode'] !== undefined && params['mode'] !== 'form')
    throw new RpcError(rpcCode.invalidParams, 'Unknown elicitation mode');
  if (handlers.elicitForm === undefined) throw notDeclared('form', handlers.elicitUrl !== undefined);
  const schema = params['requestedSchema'];
  if (typeof params['message'] !== 'string' || !isObject(schema) || !isObject(schema['properties'])) {
    throw new RpcError(rpcCode.invalidParams, 'A form needs a message and a requestedSchema with properties');
  }
  const form = params as unknown as ElicitFormParams;
  const result = await handlers.elicitForm(form, context);
  if (result.action !== 'accept') return { action: result.action };
  const checked = checkForm(form.requestedSchema, result.content ?? {});
  if (!checked.ok) {
    throw new ParleyError('invalid-arguments', `The answer does not fit the form the server sent: ${checked.errors.join('; ')}.`);
  }
  return { action: 'accept', content: checked.content };
}

async function elicitUrl(params: JsonObject, handlers: InputHandlers, context: InputContext): Promise<JsonObject> {
  if (handlers.elicitUrl === undefined) throw notDeclared('url', handlers.elicitForm !== undefined);
  const { message, url } = params;
  if (typeof message !== 'string' || typeof url !== 'string' || !isSafeUrl(url)) {
    throw new RpcError(rpcCode.invalidParams, 'A URL elicitation needs a message and an https URL');
  }
  const result = await handlers.elicitUrl(params as unknown as ElicitUrlParams, context);
  return { action: result.action };
}

/** https, or http on loopback; no user info; at most 2 KiB. */
function isSafeUrl(text: string): boolean {
  if (text.length > 2_048 || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return false;
  const loopback = url.hostname === 'localhost' || url.hostname === '127.0.0.1' || url.hostname === '[::1]';
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback);
}

const TOOL_BLOCKS: readonly unknown[] = ['tool_use', 'tool_result'];

/** True for a message that holds a use of a tool or its result, for which tools would have to be declared. */
function speaksOfTools(message: unknown): boolean {
  const content = isObject(message) ? message['content'] : undefined;
  return [content].flat().some((block) => isObject(block) && TOOL_BLOCKS.includes(block['type']));
}

/** A file: URL with a path that goes straight where it leads (client/roots, "Security Considerations"). */
function isRoot(uri: string): boolean {
  return /^file:\/\/[^/]*\//.test(uri) && URL.canParse(uri) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(uri);
}

function notHandled(what: string): RpcError {
  return new RpcError(rpcCode.methodNotFound, `This client does not answer ${what}`);
}

/** A mode that was not declared is invalid params where elicitation as such is known, else an unknown method. */
function notDeclared(mode: string, otherMode: boolean): RpcError {
  return otherMode
    ? new RpcError(rpcCode.invalidParams, `This client does not answer elicitation in ${mode} mode`)
    : notHandled('elicitation');
}
