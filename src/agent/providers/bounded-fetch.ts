// fetch with bounds for one request to a model: no answer is waited for in silence for ever, none is read without end, and the
// headers go to no other place than the one they were meant for.
import type { Clock, Timer } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { seconds } from '../../jsonrpc/index.ts';

export interface BoundedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** The bound that was broken, if one was. */
  readonly breach: ParleyError | undefined;
  /** Stops the clock, and gives up what is left of an answer. */
  end(): void;
}

/** Bytes of one answer. */
const MOST_BYTES = 16 * 1_048_576;

/** `timeoutMs`: how long not a byte may come. */
export function boundedFetch(options: {
  readonly name: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}): BoundedFetch {
  const { name, timeoutMs, clock } = options;
  const broken = new AbortController();
  let breach: ParleyError | undefined;
  let timer: Timer | undefined;
  let ended = false;

  const breakOff = (error: ParleyError) => {
    breach = error;
    broken.abort(error);
  };
  const rewind = () => {
    timer?.cancel();
    if (ended) return;
    timer = clock.after(timeoutMs, () => {
      const text = `${name} sent nothing for ${seconds(timeoutMs)}. Look whether the model is loaded and the server is well.`;
      breakOff(new ParleyError('timeout', text, { details: { afterMs: timeoutMs } }));
    });
  };

  async function* counted(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of body) {
      rewind();
      bytes += chunk.length;
      if (bytes > MOST_BYTES) {
        const details = { limit: 'modelReply', allowed: MOST_BYTES, observed: bytes };
        breakOff(new ParleyError('limit', `${name} sent an answer of more than ${MOST_BYTES} bytes.`, { details }));
        return;
      }
      yield chunk;
    }
  }

  return {
    async fetch(input, init = {}) {
      rewind();
      const signal = AbortSignal.any([broken.signal, ...(init.signal ? [init.signal] : [])]);
      // A redirect would carry the key along, or lose the body.
      const response = await fetch(input, { ...init, signal, redirect: 'manual' });
      if (response.body === null) return response;
      const { status, statusText, headers } = response;
      return new Response(ReadableStream.from(counted(response.body)), { status, statusText, headers });
    },
    get breach() {
      return breach;
    },
    end() {
      ended = true;
      timer?.cancel();
      broken.abort();
    },
  };
}
