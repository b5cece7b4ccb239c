// Event streams as the client end of HTTP reads them: opening one with patience, and turning its events into messages.
import { isParleyError, ParleyError } from '../../errors.ts';
import { sleep, type Clock } from '../../base/index.ts';
import { isObject, parseJson, type JsonLimits, type Problem } from '../../jsonrpc/index.ts';
import { EventStreamDecoder, type StreamEvent } from '../framing/event-stream.ts';
import { glimpse, HEAD_BYTES } from '../framing/peek.ts';
import type { Cursor } from './cursor.ts';
import type { Meter } from './meter.ts';
import type { HttpAnswer } from './request.ts';

/** The media type of an event stream. */
export const EVENT_STREAM = 'text/event-stream';

/** HTTP statuses after which another attempt makes sense. */
const PASSING = [408, 429, 500, 502, 503, 504];
const EXCERPT = 200;

/** Who reads a stream. */
export interface Reader {
  /** Takes one value that may be a JSON-RPC message or a batch. */
  message(value: unknown): void;
  problem(problem: Problem): void;
  /** Takes an event of another name; without it such events are skipped. */
  other?(event: StreamEvent): void;
}

export interface ReadOptions extends JsonLimits {
  readonly maxMessageBytes: number;
  /** Absent for a stream that is never resumed. */
  readonly cursor?: Cursor;
  readonly meter?: Meter | undefined;
  /** What a message that is too deep or has too many values costs: the stream, or, where it carries everything, its own request. */
  readonly refusing?: 'stream' | 'message';
  readonly clock: Clock;
}

/**
 * Reads a stream to its end. Comments and events without data are no messages; events that were seen on an earlier connection are
 * skipped.
 * @throws ParleyError `server-stopped` when it was cut, `limit` when it said too much, or the reason of the answer's signal
 */
export async function readEvents(answer: HttpAnswer, reader: Reader, options: ReadOptions): Promise<void> {
  const { maxMessageBytes, cursor, meter, refusing = 'stream', clock } = options;
  const decoder = new EventStreamDecoder(
    (event) => {
      meter?.add('events', 1);
      const repeated = event.id !== undefined && cursor?.repeats(event.id) === true;
      if (event.event !== 'message') return reader.other?.(event);
      if (event.data === '') return;
      let value: unknown;
      try {
        value = json(event.data, options);
      } catch (error) {
        if (refusing === 'stream' || !isParleyError(error)) throw error;
        return reader.problem(refusal(error, event.data));
      }
      if (!isMessage(value)) {
        const message = 'An event that is no JSON-RPC message was skipped.';
        return reader.problem({ kind: 'noise', message, excerpt: event.data.slice(0, EXCERPT) });
      }
      // A reply is used once anyway, and to lose the only copy would be worse than to see it twice.
      if (repeated && isObject(value) && 'method' in value) return;
      cursor?.progressed();
      reader.message(value);
    },
    { maxLineBytes: maxMessageBytes + 'data: '.length, maxEventBytes: maxMessageBytes },
  );
  const openedAt = clock.now();
  try {
    await answer.stream((chunk) => {
      meter?.add('bytes', chunk.length);
      decoder.push(chunk);
      return 'more';
    });
    decoder.end();
  } catch (error) {
    if (isParleyError(error, 'server-stopped')) decoder.end();
    throw error;
  } finally {
    cursor?.ended(clock.now() - openedAt, decoder.lastEventId, decoder.retry);
  }
}

export interface ConnectOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server, for messages. */
  readonly target: string;
}

/**
 * Resolves with what `get` gives, tried after each delay that `cursor` says, as often as it allows.
 * @throws ParleyError `server-stopped` when that is used up, the first fault that another attempt would not change, or the
 * signal's reason
 */
export async function connectStream(
  cursor: Cursor,
  get: (lastEventId: string | undefined) => Promise<HttpAnswer>,
  { clock, signal, target }: ConnectOptions,
): Promise<HttpAnswer> {
  let cause: unknown;
  for (;;) {
    const delayMs = cursor.nextDelayMs();
    if (delayMs === undefined) {
      const message = `${target} lost a stream again and again and sent nothing on it; it is not opened any more.`;
      throw new ParleyError('server-stopped', message, { cause });
    }
    if (delayMs > 0) await sleep(delayMs, { clock, signal });
    try {
      return await get(cursor.lastEventId);
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      cause = error;
    }
  }
}

/**
 * The value of a JSON text, or undefined.
 * @throws ParleyError `limit` when it is too deep or has too many values
 */
export function json(text: string, limits?: JsonLimits): unknown {
  try {
    return parseJson(text, limits);
  } catch (error) {
    if (isParleyError(error)) throw error;
    return undefined;
  }
}

function refusal(breach: ParleyError, text: string): Problem {
  const problem = { kind: 'oversized', message: breach.message, excerpt: text.slice(0, EXCERPT), breach } as const;
  const { id, nature } = glimpse(text.slice(0, HEAD_BYTES));
  return nature === 'reply' && id !== undefined ? { ...problem, requestId: id } : problem;
}

function isPassing(error: unknown): boolean {
  if (!isParleyError(error)) return false;
  if (error.code === 'http-status') return PASSING.includes(error.details.status ?? 0);
  return ['unreachable', 'server-stopped', 'timeout'].includes(error.code);
}

/** True for what may be a JSON-RPC message, or a batch of them. The receiver looks closer. */
function isMessage(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  return isObject(value) && ['method', 'id', 'result', 'error'].some((member) => member in value);
}
