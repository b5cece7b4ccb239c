// The rounds of a request whose server wants input first (2026-07-28, patterns/mrtr): gather the answers, then the same
// request again under a new id. Bounded in rounds and in time; a state goes back byte for byte and nowhere else.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { limitOf, overLimit, sleep, type Clock, type Limits } from '../base/index.ts';
import { abortError, type JsonObject } from '../jsonrpc/index.ts';
import type { Answered, Decoded, InputAnswers, InputWanted } from '../protocol/index.ts';
import { answerInput, type InputHandlers } from './inputs.ts';

export interface RoundsOptions {
  readonly handlers: InputHandlers;
  readonly limits: Pick<Limits, 'maxRounds' | 'maxRoundsMs'>;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Makes attempts until there is a result or a task; `attempt` is called once a round with the answers of the round before. */
export async function completeRounds(
  what: string,
  first: InputWanted,
  attempt: (answers: InputAnswers) => Promise<Decoded>,
  options: RoundsOptions,
): Promise<Answered> {
  const { limits, clock } = options;
  const maxRounds = limitOf('maxRounds', limits.maxRounds);
  const maxMs = limitOf('maxRoundsMs', limits.maxRoundsMs);
  const startedAt = clock.now();
  let wanted = first;
  let pauseMs = 250;
  for (let round = 1; round <= maxRounds; round++) {
    const late = new AbortController();
    const timer = clock.after(maxMs - (clock.now() - startedAt), () =>
      late.abort(tooLong(what, 'maxRoundsMs', maxMs, clock.now() - startedAt)),
    );
    const signal = options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal]);
    const answers = await gather(what, wanted, { ...options, signal }).finally(() => timer.cancel());
    if (wanted.requests.size === 0) {
      // Nothing was asked, the server only wants another attempt: not at full speed.
      await sleep(pauseMs, { clock, ...(options.signal && { signal: options.signal }) });
      pauseMs *= 2;
    }
    const decoded = await attempt(answers);
    if (decoded.type !== 'input') return decoded;
    wanted = decoded;
  }
  throw tooLong(what, 'maxRounds', maxRounds, maxRounds + 1);
}

/** All answers or none: a request of a kind that is not handled refuses the whole result before anybody is asked. */
export async function gather(what: string, wanted: InputWanted, options: Omit<RoundsOptions, 'limits'>): Promise<InputAnswers> {
  const controller = new AbortController();
  const signal = options.signal === undefined ? controller.signal : AbortSignal.any([options.signal, controller.signal]);
  const responses = new Map<string, JsonObject>();
  const answers = [...wanted.requests].map(async ([key, request]) => {
    // The place in the map is taken now, so that the answers keep the server's order.
    responses.set(key, {});
    responses.set(key, await answerInput(request, options.handlers, { signal }));
  });
  try {
    await unlessAborted(Promise.all(answers), signal);
  } catch (error) {
    if (options.signal?.aborted) throw abortError(options.signal, what);
    controller.abort();
    if (isParleyError(error)) throw error;
    const why = error instanceof RpcError ? error.message : 'the handler failed';
    throw new ParleyError('input-unanswered', `${what} needs input that was not given: ${why}.`, { cause: error });
  }
  return { responses, state: wanted.state };
}

/** The fault of a server that asks on and on. */
export function tooLong(what: string, limit: 'maxRounds' | 'maxRoundsMs', allowed: number, observed: number): ParleyError {
  return overLimit(limit, observed, `${what} was given up: the server kept asking for input.`, allowed);
}

/** The promise's outcome, or a rejection as soon as the signal aborts: a handler need not heed it. */
function unlessAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
