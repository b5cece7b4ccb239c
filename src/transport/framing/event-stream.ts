// Server-sent events on the wire: an incremental decoder and the encoder. Knows nothing of JSON-RPC, sockets or reconnecting,
// and never holds more than one line and one event.
import { LIMITS, overLimit, type LimitName } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';

/** One event as it was dispatched. */
export interface StreamEvent {
  /** The event's name; `message` when it has none. */
  readonly event: string;
  /** The `data` lines, joined by line feeds. */
  readonly data: string;
  /** Present when this event carried an `id` line of its own. */
  readonly id?: string;
}

export interface EventStreamLimits {
  /** Bytes of one line. Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** Bytes of all the data of one event. Default 16 MiB. */
  readonly maxEventBytes?: number;
}

const MAX_ID_BYTES = LIMITS.maxEventId.default;
const MAX_NAME_BYTES = LIMITS.maxEventName.default;
/** A line buffer that grew larger than this is given back after use. */
const KEPT_BYTES = 65_536;

const EMPTY = Buffer.alloc(0);

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM_BYTES = 3;
/** The longest name of a field that means anything: `event`, `retry`. */
const LONGEST_FIELD = 5;

/**
 * Turns chunks of bytes into events, however they are cut, in linear time. Calls `onEvent` synchronously, in order.
 * After a throw the stream is beyond use.
 * @see HTML Living Standard, section 9.2 "Server-sent events"
 */
export class EventStreamDecoder {
  readonly #onEvent: (event: StreamEvent) => void;
  readonly #maxLine: number;
  readonly #maxEvent: number;
  #lastEventId: string | undefined;
  #retry: number | undefined;
  /** The beginning of a line whose end has not arrived. */
  #held = EMPTY;
  #heldLength = 0;
  #afterCr = false;
  #first = true;
  #name = '';
  #id: string | undefined;
  #data: string[] = [];
  #dataBytes = 0;

  constructor(onEvent: (event: StreamEvent) => void, limits: EventStreamLimits = {}) {
    this.#onEvent = onEvent;
    this.#maxLine = limits.maxLineBytes ?? LIMITS.maxMessageBytes.default;
    this.#maxEvent = limits.maxEventBytes ?? LIMITS.maxMessageBytes.default;
  }

  /** The id to resume after: the last one that a finished event carried, also one without data. Empty when it was reset. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The last valid `retry` value, in milliseconds, as sent: not clamped. */
  get retry(): number | undefined {
    return this.#retry;
  }

  /**
   * Takes the next bytes, or text.
   * @throws ParleyError `limit` when a line, an event, an id or a name is too long
   */
  push(chunk: Uint8Array | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : bufferOf(chunk);
    if (bytes.length === 0) return;
    // A CR ends its line at once; the LF of a CRLF may come in the next chunk.
    let start = this.#afterCr && bytes[0] === LF ? 1 : 0;
    this.#afterCr = false;
    let nextLf = find(bytes, LF, start);
    let nextCr = find(bytes, CR, start);
    while (start < bytes.length) {
      if (nextLf < start) nextLf = find(bytes, LF, start);
      if (nextCr < start) nextCr = find(bytes, CR, start);
      const end = Math.min(nextLf, nextCr);
      if (end === Infinity) return this.#hold(bytes.subarray(start));
      this.#endLine(bytes, start, end);
      start = end + 1;
      if (end !== nextCr) continue;
      if (start === bytes.length) this.#afterCr = true;
      else if (bytes[start] === LF) start++;
    }
  }

  /**
   * Says that no more bytes come. The standard drops an event that lacks its blank line; one whose data is a complete JSON
   * object or array is delivered all the same, since it can only be whole.
   */
  end(): void {
    const length = this.#heldLength;
    this.#heldLength = 0;
    // Half an id or half a retry would be a wrong one; half a data line is found out by the JSON check.
    if (this.#held.toString('latin1', 0, Math.min(length, 5)) === 'data:') this.#line(this.#held, 0, length);
    if (this.#data.length > 0 && isWholeJson(this.#data.join('\n'))) this.#dispatch();
    else this.#reset();
  }

  #hold(piece: Buffer): void {
    const length = this.#heldLength + piece.length;
    this.#checkLine(length);
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#held.length * 2, 1_024));
      this.#held.copy(larger, 0, 0, this.#heldLength);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#heldLength);
    this.#heldLength = length;
  }

  #endLine(bytes: Buffer, start: number, end: number): void {
    if (this.#heldLength === 0) {
      this.#checkLine(end - start);
      return this.#line(bytes, start, end);
    }
    this.#hold(bytes.subarray(start, end));
    const length = this.#heldLength;
    this.#heldLength = 0;
    this.#line(this.#held, 0, length);
    if (this.#held.length > KEPT_BYTES) this.#held = EMPTY;
  }

  /** Takes the line from `from` to `end`. */
  #line(bytes: Buffer, from: number, end: number): void {
    const start = this.#first && beginsWithBom(bytes, from, end) ? from + BOM_BYTES : from;
    this.#first = false;
    if (start === end) return this.#dispatch();
    const colon = colonIn(bytes, start, end);
    if (colon === start) return; // a comment
    const value = colon === end ? end : colon + (bytes[colon + 1] === SPACE && colon + 1 < end ? 2 : 1);
    const length = end - value;
    switch (bytes.toString('latin1', start, colon)) {
      case 'data':
        this.#dataBytes += length + 1;
        if (this.#dataBytes > this.#maxEvent + 1)
          throw tooLong('an event', 'maxMessageBytes', this.#maxEvent, this.#dataBytes - 1);
        this.#data.push(bytes.toString('utf8', value, end));
        return;
      case 'event':
        if (length > MAX_NAME_BYTES) throw tooLong('an event name', 'maxEventName', MAX_NAME_BYTES, length);
        this.#name = bytes.toString('utf8', value, end);
        return;
      case 'id': {
        if (length > MAX_ID_BYTES) throw tooLong('an event id', 'maxEventId', MAX_ID_BYTES, length);
        const id = bytes.toString('utf8', value, end);
        if (!id.includes('\0')) this.#id = id;
        return;
      }
      case 'retry': {
        const text = bytes.toString('latin1', value, end);
        if (/^[0-9]+$/.test(text)) this.#retry = Number(text);
        return;
      }
      default:
      // Unknown fields are ignored, as the standard wants.
    }
  }

  #dispatch(): void {
    const [name, data, id] = [this.#name, this.#data, this.#id];
    this.#reset();
    if (id !== undefined) this.#lastEventId = id;
    if (data.length === 0) return;
    const event = { event: name === '' ? 'message' : name, data: data.length === 1 ? (data[0] as string) : data.join('\n') };
    this.#onEvent(id === undefined ? event : { ...event, id });
  }

  #reset(): void {
    this.#name = '';
    this.#id = undefined;
    this.#data = [];
    this.#dataBytes = 0;
  }

  #checkLine(length: number): void {
    if (length > this.#maxLine) throw tooLong('a line', 'maxMessageBytes', this.#maxLine, length);
  }
}

/** An event to send. */
export interface EventToSend {
  /** Any text; line ends of every kind become line feeds at the other end. */
  readonly data: string;
  readonly event?: string;
  readonly id?: string;
  /** Milliseconds the other end is to wait before it connects again. */
  readonly retry?: number;
}

/**
 * The text of one event, with its blank line.
 * @throws ParleyError `internal` when the name or id has a line end or a NUL in it, or `retry` is no whole number
 */
export function encodeEvent({ data, event, id, retry }: EventToSend): string {
  let text = '';
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  if (retry !== undefined) {
    if (!Number.isSafeInteger(retry) || retry < 0)
      throw new ParleyError('internal', 'The retry of an event must be a whole number.');
    text += `retry: ${String(retry)}\n`;
  }
  for (const line of data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return `${text}\n`;
}

/** A comment to send while nothing happens: it keeps proxies from closing the stream and is no event. */
export const keepAliveComment = ': keep-alive\n\n';

function find(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? Infinity : at;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function beginsWithBom(bytes: Buffer, from: number, end: number): boolean {
  return end - from >= BOM_BYTES && bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf;
}

/** Where the name of a field ends: at the colon or at the end of the line; further on in a name that means nothing. */
function colonIn(bytes: Buffer, from: number, end: number): number {
  const last = Math.min(end, from + LONGEST_FIELD + 1);
  for (let at = from; at < last; at++) if (bytes[at] === COLON) return at;
  return last;
}

function isWholeJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

function oneLine(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new ParleyError('internal', 'The name or id of an event has a line end or a NUL in it.');
  return text;
}

function tooLong(what: string, limit: LimitName, allowed: number, observed: number): ParleyError {
  return overLimit(
    limit,
    observed,
    `The event stream has ${what} of more than ${String(allowed)} bytes; it was dropped.`,
    allowed,
  );
}
