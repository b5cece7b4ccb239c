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

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;

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
  #held = Buffer.alloc(0);
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
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
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
      this.#endLine(bytes.subarray(start, end));
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
    const rest = this.#held.subarray(0, this.#heldLength);
    this.#heldLength = 0;
    // Half an id or half a retry would be a wrong one; half a data line is found out by the JSON check.
    if (rest.subarray(0, 5).toString('latin1') === 'data:') this.#line(rest);
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

  #endLine(piece: Buffer): void {
    if (this.#heldLength === 0) {
      this.#checkLine(piece.length);
      return this.#line(piece);
    }
    this.#hold(piece);
    const line = this.#held.subarray(0, this.#heldLength);
    this.#heldLength = 0;
    this.#line(line);
    if (this.#held.length > KEPT_BYTES) this.#held = Buffer.alloc(0);
  }

  #line(whole: Buffer): void {
    const line = this.#first ? withoutBom(whole) : whole;
    this.#first = false;
    if (line.length === 0) return this.#dispatch();
    const colon = line.indexOf(COLON);
    if (colon === 0) return; // a comment
    // One byte more than the longest field that means anything.
    const name = line.toString('latin1', 0, Math.min(colon === -1 ? line.length : colon, 6));
    const start = colon === -1 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    const bytes = line.length - start;
    switch (name) {
      case 'data':
        this.#dataBytes += bytes + 1;
        if (this.#dataBytes > this.#maxEvent + 1)
          throw tooLong('an event', 'maxMessageBytes', this.#maxEvent, this.#dataBytes - 1);
        this.#data.push(line.toString('utf8', start));
        return;
      case 'event':
        if (bytes > MAX_NAME_BYTES) throw tooLong('an event name', 'maxEventName', MAX_NAME_BYTES, bytes);
        this.#name = line.toString('utf8', start);
        return;
      case 'id': {
        if (bytes > MAX_ID_BYTES) throw tooLong('an event id', 'maxEventId', MAX_ID_BYTES, bytes);
        const id = line.toString('utf8', start);
        if (!id.includes('\0')) this.#id = id;
        return;
      }
      case 'retry': {
        const value = line.toString('latin1', start);
        if (/^[0-9]+$/.test(value)) this.#retry = Number(value);
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

function withoutBom(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
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
