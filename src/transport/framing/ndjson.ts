// Newline-delimited JSON: one message a line (MCP, stdio transport). The decoder takes bytes cut anywhere, in linear time and
// bounded memory; a line that cannot be used is reported and dropped, and never harms the next one.
import { limitOf, overLimit } from '../../base/index.ts';
import { isParleyError, type ParleyError } from '../../errors.ts';
import { isObject, parseJson, type JsonLimits, type Message, type Problem, type RequestId } from '../../jsonrpc/index.ts';
import { glimpse, HEAD_BYTES, lastId, TAIL_BYTES, type Glimpse } from './peek.ts';
import { textOf } from './text.ts';

/** Where decoded lines go. Both are called synchronously from `push` and `end`. */
export interface LineSink {
  /** One JSON object or array. */
  message(value: unknown): void;
  problem(problem: Problem, dropped: Dropped): void;
}

/** What is known of a line that was dropped. */
export interface Dropped {
  /** Its length as far as it was seen. */
  readonly bytes: number;
  /** The id, when the line surely was a request of the peer that now waits for an answer. */
  readonly asks?: RequestId;
}

export interface NdjsonOptions extends JsonLimits {
  /** Longest line, in bytes without its newline. Default 16 MiB, at most 64 MiB. */
  readonly maxLineBytes?: number;
  /**
   * What becomes of JSON objects that are neither JSON-RPC nor a reply that lacks its version: `noise` (the default)
   * reports them, as servers print log objects; `deliver` hands them on.
   */
  readonly strays?: 'noise' | 'deliver';
}

export interface NdjsonDecoder {
  push(chunk: Buffer): void;
  /** The stream is over: a last line without its newline is decoded too. */
  end(): void;
  /** Lines ended so far. */
  readonly lines: number;
  /** True while a line has begun and not ended. */
  readonly partial: boolean;
}

const NEWLINE = 0x0a;
/** A buffer larger than this is given back after the line that needed it. */
const KEPT_BYTES = 262_144;
const EXCERPT_BYTES = 200;
const BYTE_ORDER_MARK = 0xfeff;
const EMPTY = Buffer.alloc(0);

/** The line that carries `message`, its newline included. JSON text never holds a raw newline. */
export function encodeLine(message: Message): string {
  return `${JSON.stringify(message)}\n`;
}

/** A decoder that hands every line of a byte stream to `sink`. */
export function createNdjsonDecoder(sink: LineSink, options: NdjsonOptions = {}): NdjsonDecoder {
  return new Decoder(sink, options);
}

/** An oversized line on its way to its newline. */
interface Skipped {
  readonly seen: Glimpse;
  readonly excerpt: string;
  bytes: number;
  tail: Buffer;
  reported: boolean;
}

class Decoder implements NdjsonDecoder {
  lines = 0;
  readonly #sink: LineSink;
  readonly #max: number;
  readonly #limits: JsonLimits;
  readonly #strays: 'noise' | 'deliver';
  #atStart = true;
  #ended = false;
  #held = EMPTY;
  #heldBytes = 0;
  #skipped: Skipped | undefined;

  constructor(sink: LineSink, options: NdjsonOptions) {
    this.#sink = sink;
    this.#max = limitOf('maxLineBytes', options.maxLineBytes);
    this.#limits = options;
    this.#strays = options.strays ?? 'noise';
  }

  get partial(): boolean {
    return this.#heldBytes > 0 || this.#skipped !== undefined;
  }

  push(chunk: Buffer): void {
    let start = 0;
    if (this.partial) {
      const newline = chunk.indexOf(NEWLINE);
      if (newline === -1) return this.#extend(chunk);
      this.#extend(chunk.subarray(0, newline));
      this.#finish();
      start = newline + 1;
    }
    const last = chunk.lastIndexOf(NEWLINE);
    if (last >= start) {
      this.#whole(chunk.subarray(start, last));
      start = last + 1;
    }
    if (start < chunk.length) this.#extend(chunk.subarray(start));
  }

  end(): void {
    this.#ended = true;
    if (this.partial) this.#finish();
  }

  /** Takes complete lines, the last newline left out: one check and one decoding for all of them where they are well formed. */
  #whole(lines: Buffer): void {
    const text = lines.length <= this.#max ? textOf(lines) : undefined;
    if (text !== undefined) return this.#text(text);
    for (let start = 0; start <= lines.length;) {
      const newline = lines.indexOf(NEWLINE, start);
      const end = newline === -1 ? lines.length : newline;
      this.#extend(lines.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
  }

  /** Adds bytes to the line that is under way. */
  #extend(bytes: Buffer): void {
    if (this.#skipped === undefined && this.#heldBytes + bytes.length <= this.#max) return this.#hold(bytes);
    const skipped = (this.#skipped ??= this.#startSkipping(bytes));
    skipped.bytes += bytes.length;
    skipped.tail = last(TAIL_BYTES, skipped.tail, bytes);
    // A reply whose id has not been seen may still show it at its end.
    if (skipped.seen.nature !== 'reply' || skipped.seen.id !== undefined) this.#reportSkipped(skipped, skipped.seen.id);
  }

  #hold(bytes: Buffer): void {
    const length = this.#heldBytes + bytes.length;
    if (length > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#max, Math.max(length, 2 * this.#held.length, HEAD_BYTES)));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes = length;
  }

  #startSkipping(bytes: Buffer): Skipped {
    const held = this.#held.subarray(0, this.#heldBytes);
    const head = Buffer.concat([held.subarray(0, HEAD_BYTES), bytes.subarray(0, HEAD_BYTES)]).subarray(0, HEAD_BYTES);
    this.#heldBytes = 0;
    this.#held = EMPTY;
    return {
      seen: glimpse(head.toString()),
      excerpt: excerptOf(head),
      bytes: held.length,
      tail: last(TAIL_BYTES, held, EMPTY),
      reported: false,
    };
  }

  #reportSkipped(skipped: Skipped, id: RequestId | undefined): void {
    if (skipped.reported) return;
    skipped.reported = true;
    const what = `A message of more than ${String(this.#max)} bytes was dropped.`;
    const breach = overLimit('maxLineBytes', skipped.bytes, what, this.#max);
    this.#breached(breach, skipped.excerpt, skipped.bytes, { id, nature: skipped.seen.nature });
  }

  /** The line under way is complete. */
  #finish(): void {
    const skipped = this.#skipped;
    if (skipped !== undefined) {
      this.#skipped = undefined;
      this.#atStart = false;
      this.lines++;
      return this.#reportSkipped(skipped, lastId(skipped.tail.toString()));
    }
    const line = this.#held.subarray(0, this.#heldBytes);
    this.#heldBytes = 0;
    if (this.#held.length > KEPT_BYTES) this.#held = EMPTY;
    const text = textOf(line);
    if (text !== undefined) return this.#text(text);
    this.#atStart = false;
    this.lines++;
    const { id = lastId(last(TAIL_BYTES, line, EMPTY).toString()), nature } = glimpse(line.toString('utf8', 0, HEAD_BYTES));
    this.#drop(
      { kind: 'malformed', message: 'A line that is not valid UTF-8 was dropped.', excerpt: excerptOf(line) },
      line.length,
      { id, nature },
    );
  }

  /** Takes one or more complete lines. */
  #text(text: string): void {
    let start = this.#atStart && text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
    this.#atStart = false;
    while (start <= text.length) {
      const newline = text.indexOf('\n', start);
      const end = newline === -1 ? text.length : newline;
      this.lines++;
      this.#line(text.slice(start, end));
      start = end + 1;
    }
  }

  #line(line: string): void {
    const first = firstOf(line);
    if (first === undefined) return;
    // Anything that does not begin so is noise even where it is JSON.
    if (first !== '{' && first !== '[') return this.#noise(line);
    let value: unknown;
    try {
      value = parseJson(line, this.#limits);
    } catch (error) {
      return isParleyError(error) ? this.#refused(line, error) : this.#broken(line);
    }
    if (Array.isArray(value) || this.#strays === 'deliver' || isMessage(value)) this.#sink.message(value);
    else this.#noise(line);
  }

  #noise(line: string): void {
    const problem = { kind: 'noise', message: 'A line that is not MCP was skipped.', excerpt: excerptOf(line) } as const;
    this.#sink.problem(problem, { bytes: line.length });
  }

  /** A line that looked like JSON. When it shows whose reply it was meant to be, that caller need not wait for a time-out. */
  #broken(line: string): void {
    // What broke off in the middle is explained by the end of the stream itself.
    const seen: Glimpse = this.#ended ? { id: undefined, nature: 'unknown' } : glimpse(line.slice(0, HEAD_BYTES));
    if (seen.nature === 'unknown' || seen.id === undefined) return this.#noise(line);
    const message = 'A message that is not valid JSON was dropped.';
    this.#drop({ kind: 'malformed', message, excerpt: excerptOf(line) }, line.length, seen);
  }

  /** A line within its size that holds too much. */
  #refused(line: string, breach: ParleyError): void {
    const { id = lastId(line.slice(-TAIL_BYTES)), nature } = glimpse(line.slice(0, HEAD_BYTES));
    this.#breached(breach, excerptOf(line), line.length, { id, nature });
  }

  #breached(breach: ParleyError, excerpt: string, bytes: number, seen: Glimpse): void {
    this.#drop({ kind: 'oversized', message: breach.message, excerpt, breach }, bytes, seen);
  }

  #drop(problem: Problem, bytes: number, { id, nature }: Glimpse): void {
    if (id === undefined || nature === 'unknown') this.#sink.problem(problem, { bytes });
    else if (nature === 'reply') this.#sink.problem({ ...problem, requestId: id }, { bytes });
    else this.#sink.problem(problem, { bytes, asks: id });
  }
}

/** True for what claims to be JSON-RPC, and for a reply that only lacks its version: its caller is told of the fault. */
function isMessage(value: unknown): boolean {
  if (!isObject(value)) return false;
  return 'jsonrpc' in value || ('id' in value && ('result' in value || 'error' in value));
}

/** The first character that is not JSON white space. */
function firstOf(line: string): string | undefined {
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return line[at];
  }
  return undefined;
}

/** A short copy that does not keep the whole line alive. */
function excerptOf(line: string | Buffer): string {
  const bytes = typeof line === 'string' ? Buffer.from(line.slice(0, EXCERPT_BYTES)) : line;
  return bytes.toString('utf8', 0, EXCERPT_BYTES);
}

/** A copy of the last `count` bytes of two buffers in a row. */
function last(count: number, first: Buffer, second: Buffer): Buffer {
  return Buffer.concat([first.subarray(-count), second.subarray(-count)]).subarray(-count);
}
