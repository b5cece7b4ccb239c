// The questions of one modern request over all its rounds. What was answered travels sealed in the state, through the client
// and back; nothing is kept here, so any process with the same key can serve the next round.
import { ParleyError } from '../errors.ts';
import { canonical, digest } from '../base/index.ts';
import { SERVING } from '../base/serving.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import type { InputRequest } from '../protocol/index.ts';
import { readAnswer } from './ask.ts';
import { invalidParams, type Call } from './call.ts';
import type { Inputs, Returned } from './context.ts';
import { isRoundsState } from './seal.ts';

/** Clients refuse a longer one. */
const MAX_STATE = SERVING.maxState.default;
const NOTHING: JsonObject = {};

/** Thrown where a handler waits for an answer that is still to come. */
class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

/** The questions a handler asks over all rounds of its request. */
export class Rounds implements Inputs {
  readonly returned: Returned;
  readonly #call: Call;
  // Made when the first is put in: most handlers ask nothing.
  #answers: Map<string, JsonObject> | undefined;
  #wanted: Map<string, InputRequest> | undefined;
  #binding: string | undefined;

  /** @throws RpcError -32602 for a state of ours that is not good for this request */
  constructor(call: Call) {
    const { responses, state } = returnedWith(call);
    this.#call = call;
    const own = state !== undefined && isRoundsState(state);
    if (own) this.#answers = new Map(call.sealer.open('rounds', state, this.binding) as [string, JsonObject][]);
    this.returned = { responses, state: own ? undefined : state };
  }

  get binding(): string {
    return (this.#binding ??= bindingOf(this.#call));
  }

  get isWanting(): boolean {
    return this.#wanted !== undefined;
  }

  async ask(key: string, question: InputRequest): Promise<JsonObject> {
    const { dialect, facts, sealer } = this.#call;
    const { responses, state } = this.returned;
    // A handler that asks this way has no other states than ours.
    if (state !== undefined) sealer.open('rounds', state, this.binding);
    const request = dialect.ask(question, facts.capabilities);
    const given = this.#answers?.get(key) ?? (Object.hasOwn(responses, key) ? responses[key] : undefined);
    const answer = readAnswer(request, given);
    if (answer === undefined) {
      (this.#wanted ??= new Map()).set(key, request);
      throw new Unanswered(`The client has not answered "${key}" yet.`);
    }
    (this.#answers ??= new Map()).set(key, answer);
    return answer;
  }

  result(): JsonObject {
    const state = this.#call.sealer.seal('rounds', [...(this.#answers ?? [])], this.binding);
    if (state.length > MAX_STATE) {
      throw new ParleyError('limit', 'The answers so far are too long to travel with the next question. Ask for less at once.', {
        details: { limit: 'maxState', allowed: MAX_STATE, observed: state.length },
      });
    }
    return inputResult([...(this.#wanted ?? [])], state);
  }
}

/** What came with a request that was asked to come again. @throws RpcError -32602 for a state that is no text */
export function returnedWith({ params }: Call): Returned {
  const { inputResponses, requestState: state } = params;
  if (state !== undefined && typeof state !== 'string') throw invalidParams('"requestState" is not a string');
  return { responses: isObject(inputResponses) ? inputResponses : NOTHING, state };
}

/** The result that asks for another round. */
export function inputResult(wanted: readonly (readonly [string, InputRequest])[], requestState: string | undefined): JsonObject {
  return {
    resultType: 'input_required',
    ...(wanted.length > 0 && { inputRequests: Object.fromEntries(wanted) }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** What makes this request itself: state is good for no other. */
export function bindingOf({ request, params, principal }: Call): string {
  const { _meta, inputResponses, requestState, ...salient } = params;
  return canonical([request.method, digest(salient), principal ?? null]);
}
