// Tries a request to a model again where that may help, a few times and no longer than a person waits.
import { backoff, sleep, type Clock } from '../../base/index.ts';
import { abortError } from '../../jsonrpc/index.ts';
import type { GenerateOptions, ModelReply } from '../model.ts';
import type { Failure } from './faults.ts';

const ATTEMPTS = 4;
/** Who wants to be left alone for longer is not waited for. */
const LONGEST_WAIT_MS = 60_000;

/**
 * The first reply that an attempt comes to. After text was heard there is no other attempt: it would be heard twice.
 * @throws ParleyError the last attempt's fault, or `aborted`
 */
export async function retrying(
  attempt: (options: GenerateOptions) => Promise<ModelReply | Failure>,
  { signal, onText }: GenerateOptions,
  clock: Clock,
): Promise<ModelReply> {
  let heard = false as boolean;
  const options: GenerateOptions = {
    ...(signal && { signal }),
    ...(onText && {
      onText(delta: string) {
        heard = true;
        onText(delta);
      },
    }),
  };
  for (let count = 1; ; count++) {
    const outcome = await attempt(options);
    if (!('fault' in outcome)) return outcome;
    const { fault, waitMs = backoff(count, { maxMs: LONGEST_WAIT_MS }) } = outcome;
    if (!fault.retryable || heard || count === ATTEMPTS || waitMs > LONGEST_WAIT_MS) throw fault;
    try {
      await sleep(waitMs, { clock, ...(signal && { signal }) });
    } catch {
      throw abortError(signal as AbortSignal, 'The request to the model');
    }
  }
}
