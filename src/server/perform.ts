// Runs a handler that may ask the client for input, in either way the eras have: by requests on the line while it waits, or by
// results that ask for another round, after each of which it runs again from its start with the answers so far.
import { ParleyError, RpcError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { canonical, digest } from '../base/index.ts';
import type { InputRequest } from '../protocol/index.ts';
import { readAnswer } from './ask.ts';
import { invalidParams, type Call } from './call.ts';
import { createContext, type Context, type Inputs, type Returned } from './context.ts';
import { isInputRequired, type InputRequired } from './input-required.ts';
import { isRoundsState } from './seal.ts';
import { ToolError } from './tool-error.ts';

/** What a handler returned, or the result that asks the client for another round. */
export type Outcome<Value> =
  | { readonly type: 'value'; readonly value: Exclude<Value, InputRequired> }
  | { readonly type: 'input'; readonly result: JsonObject };

/** Milliseconds a client of the handshake era may take to answer: there may be a person behind it. */
const ANSWER_MS = 600_000;
/** How often a handler is run again within one request of a client of the handshake era. */
const MAX_RUNS = 16;
/** Clients refuse a longer one. */
const MAX_STATE = 65_536;

export function perform<Value>(call: Call, run: (context: Context) => Value | Promise<Value>): Promise<Outcome<Value>> {
  return call.dialect.asks === 'rounds' ? performInRounds(call, run) : performWithRequests(call, run);
}

async function performInRounds<Value>(call: Call, run: (context: Context) => Value | Promise<Value>): Promise<Outcome<Value>> {
  const rounds = new Rounds(call);
  const { context, end } = createContext(call, rounds, rounds.returned);
  let value: Value;
  try {
    value = await run(context);
  } catch (error) {
    // Whatever the handler made of it: what it asked for is not answered yet.
    if (!rounds.isWanting) throw error;
    return { type: 'input', result: rounds.result() };
  } finally {
    end();
  }
  if (rounds.isWanting) return { type: 'input', result: rounds.result() };
  if (!isInputRequired(value)) return { type: 'value', value: value as Exclude<Value, InputRequired> };
  const { inputRequests = {}, requestState } = value;
  const wanted = Object.entries(inputRequests).map(
    ([key, request]) => [key, call.dialect.ask(request, call.facts.capabilities)] as const,
  );
  return { type: 'input', result: inputResult(wanted, requestState) };
}

function inputResult(wanted: readonly (readonly [string, InputRequest])[], requestState: string | undefined): JsonObject {
  return {
    resultType: 'input_required',
    ...(wanted.length > 0 && { inputRequests: Object.fromEntries(wanted) }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Thrown where a handler waits for an answer that is still to come. */
class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

/** The questions of one request over all its rounds: what was answered travels sealed in the state. */
class Rounds implements Inputs {
  readonly returned: Returned;
  readonly #call: Call;
  readonly #answers: Map<string, JsonObject>;
  readonly #wanted = new Map<string, InputRequest>();
  #binding: string | undefined;

  /** @throws RpcError -32602 for a state of ours that is not good for this request */
  constructor(call: Call) {
    const { inputResponses, requestState } = call.params;
    if (requestState !== undefined && typeof requestState !== 'string') throw invalidParams('"requestState" is not a string');
    this.#call = call;
    const own = requestState !== undefined && isRoundsState(requestState);
    this.#answers = new Map(own ? (call.sealer.open('rounds', requestState, this.binding) as [string, JsonObject][]) : []);
    this.returned = { responses: isObject(inputResponses) ? inputResponses : {}, state: own ? undefined : requestState };
  }

  get binding(): string {
    return (this.#binding ??= bindingOf(this.#call));
  }

  get isWanting(): boolean {
    return this.#wanted.size > 0;
  }

  async ask(key: string, question: InputRequest): Promise<JsonObject> {
    const { dialect, facts, sealer } = this.#call;
    const { responses, state } = this.returned;
    // A handler that asks this way has no other states than ours.
    if (state !== undefined) sealer.open('rounds', state, this.binding);
    const request = dialect.ask(question, facts.capabilities);
    const given = this.#answers.get(key) ?? (Object.hasOwn(responses, key) ? responses[key] : undefined);
    const answer = readAnswer(request, given);
    if (answer === undefined) {
      this.#wanted.set(key, request);
      throw new Unanswered(`The client has not answered "${key}" yet.`);
    }
    this.#answers.set(key, answer);
    return answer;
  }

  result(): JsonObject {
    const state = this.#call.sealer.seal('rounds', [...this.#answers], this.binding);
    if (state.length > MAX_STATE) {
      throw new ParleyError('limit', 'The answers so far are too long to travel with the next question. Ask for less at once.', {
        details: { limit: 'requestState', allowed: MAX_STATE, observed: state.length },
      });
    }
    return inputResult([...this.#wanted], state);
  }
}

/** What makes this request itself: state is good for no other. */
function bindingOf({ request, params, principal }: Call): string {
  const { _meta, inputResponses, requestState, ...salient } = params;
  return canonical([request.method, digest(salient), principal ?? null]);
}

async function performWithRequests<Value>(
  call: Call,
  run: (context: Context) => Value | Promise<Value>,
): Promise<Outcome<Value>> {
  const inputs: Inputs = {
    get binding() {
      return bindingOf(call);
    },
    ask: (_key, question) => askOnLine(call, question),
  };
  let returned: Returned = { responses: {}, state: undefined };
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    const { context, end } = createContext(call, inputs, returned);
    let value: Value;
    try {
      value = await run(context);
    } finally {
      end();
    }
    if (!isInputRequired(value)) return { type: 'value', value: value as Exclude<Value, InputRequired> };
    const answers = Object.entries(value.inputRequests ?? {}).map(
      async ([key, question]) => [key, await askOnLine(call, question)] as const,
    );
    returned = { responses: Object.fromEntries(await Promise.all(answers)), state: value.requestState };
  }
  throw new ParleyError('limit', `A handler asked for input ${MAX_RUNS} times within one request.`, {
    details: { limit: 'runs', allowed: MAX_RUNS },
  });
}

async function askOnLine(call: Call, question: InputRequest): Promise<JsonObject> {
  const { dialect, facts, line, request: asked, signal } = call;
  const request = dialect.ask(question, facts.capabilities);
  let value: JsonObject;
  try {
    value = await line.request(request.method, request.params, {
      signal,
      timeoutMs: ANSWER_MS,
      relatedTo: asked.id,
    });
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new ToolError(`The client did not answer ${request.method} (error ${cause.code}).`, { cause });
  }
  const answer = readAnswer(request, value);
  if (answer === undefined) throw new ToolError(`The client's answer to ${request.method} does not fit what was asked.`);
  return answer;
}
