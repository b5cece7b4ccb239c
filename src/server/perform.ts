// Runs a handler that may ask the client for input, in each way there is: by requests on the line or in its task while it waits, or
// by results that ask for another round, after each of which it runs again from its start with the answers so far.
import { ParleyError, RpcError } from '../errors.ts';
import { SERVING } from '../base/serving.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import type { InputRequest } from '../protocol/index.ts';
import { readAnswer } from './ask.ts';
import type { Call, TaskSide } from './call.ts';
import { CallContext, type Context, type Inputs, type Returned } from './context.ts';
import { isInputRequired, type InputRequired } from './input-required.ts';
import { bindingOf, inputResult, returnedWith, Rounds } from './rounds.ts';
import { ToolError } from './tool-error.ts';

/** What a handler returned, or the result that asks the client for another round. */
export type Outcome<Value> =
  | { readonly type: 'value'; readonly value: Exclude<Value, InputRequired> }
  | { readonly type: 'input'; readonly result: JsonObject };

/** How often a handler is run again within one request whose client is asked while it waits. */
const MAX_RUNS = SERVING.maxRuns.default;

export function perform<Value>(call: Call, run: (context: Context) => Value | Promise<Value>): Promise<Outcome<Value>> {
  if (call.task !== undefined) return performWaiting(call, new TaskInputs(call, call.task), run);
  return call.dialect.asks === 'rounds' ? performInRounds(call, run) : performWaiting(call, new LineInputs(call), run);
}

async function performInRounds<Value>(call: Call, run: (context: Context) => Value | Promise<Value>): Promise<Outcome<Value>> {
  const rounds = new Rounds(call);
  const context = new CallContext(call, rounds, rounds.returned);
  let value: Value;
  try {
    value = await run(context);
  } catch (error) {
    // Whatever the handler made of it: what it asked for is not answered yet.
    if (!rounds.isWanting) throw error;
    return { type: 'input', result: rounds.result() };
  } finally {
    context.end();
  }
  if (rounds.isWanting) return { type: 'input', result: rounds.result() };
  if (!isInputRequired(value)) return { type: 'value', value: value as Exclude<Value, InputRequired> };
  return roundOf(call, value);
}

/** The result that asks for what a handler wants before it is run again. */
function roundOf({ dialect, facts }: Call, { inputRequests = {}, requestState }: InputRequired): Outcome<never> {
  const wanted = Object.entries(inputRequests).map(([key, request]) => [key, dialect.ask(request, facts.capabilities)] as const);
  return { type: 'input', result: inputResult(wanted, requestState) };
}

async function performWaiting<Value>(
  call: Call,
  inputs: WaitingInputs,
  run: (context: Context) => Value | Promise<Value>,
): Promise<Outcome<Value>> {
  let { returned } = inputs;
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    const context = new CallContext(call, inputs, returned);
    let value: Value;
    try {
      value = await run(context);
    } finally {
      context.end();
    }
    if (!isInputRequired(value)) return { type: 'value', value: value as Exclude<Value, InputRequired> };
    if (inputs.takesRound()) return roundOf(call, value);
    const answers = Object.entries(value.inputRequests ?? {}).map(
      async ([key, question]) => [key, await inputs.ask(key, question)] as const,
    );
    returned = { responses: Object.fromEntries(await Promise.all(answers)), state: value.requestState };
  }
  throw new ParleyError('limit', `A handler asked for input ${MAX_RUNS} times within one request.`, {
    details: { limit: 'maxRuns', allowed: MAX_RUNS },
  });
}

/** Questions that are answered while the handler waits. */
interface WaitingInputs extends Inputs {
  /** What came with the request. */
  readonly returned: Returned;
  /** True when a round can be asked for instead, in the answer to the request, which is then to be given. */
  takesRound(): boolean;
}

/** Questions as requests on the line. */
class LineInputs implements WaitingInputs {
  readonly returned: Returned = { responses: {}, state: undefined };
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  get binding(): string {
    return bindingOf(this.#call);
  }

  ask(_key: string, question: InputRequest): Promise<JsonObject> {
    return askOnLine(this.#call, question);
  }

  takesRound(): boolean {
    return false;
  }
}

/** Questions of a task, for whoever asks about it; before it is one, rounds. */
class TaskInputs implements WaitingInputs {
  readonly returned: Returned;
  readonly #call: Call;
  readonly #task: TaskSide;

  constructor(call: Call, task: TaskSide) {
    this.returned = returnedWith(call);
    this.#call = call;
    this.#task = task;
  }

  get binding(): string {
    return bindingOf(this.#call);
  }

  ask(key: string, question: InputRequest): Promise<JsonObject> {
    return this.#task.ask(key, question);
  }

  takesRound(): boolean {
    return this.#task.takeAnswer();
  }
}

async function askOnLine(call: Call, question: InputRequest): Promise<JsonObject> {
  const { dialect, facts, line, request: asked, cancellation } = call;
  const request = dialect.ask(question, facts.capabilities);
  let value: JsonObject;
  try {
    value = await line.request(request.method, request.params, {
      signal: cancellation.signal,
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
