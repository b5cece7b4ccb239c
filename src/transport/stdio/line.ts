// One line of newline-delimited JSON over a pair of byte streams, with every limit that keeps a peer from growing ours.
// Both ends of the stdio transport share it; it decides when the line is unusable, never what becomes of the process.
import type { Readable, Writable } from 'node:stream';
import { limitOf, overLimit, systemClock, type Clock } from '../../base/index.ts';
import type { ParleyError } from '../../errors.ts';
import { seconds, type JsonLimits, type Message, type Problem } from '../../jsonrpc/index.ts';
import {
  createNdjsonDecoder,
  encodeLine,
  type Dropped,
  type LineSink,
  type NdjsonDecoder,
  type NdjsonOptions,
} from '../framing/ndjson.ts';
import { Watch } from './watch.ts';

export interface LineLimits extends JsonLimits {
  /** Longest message that is read, in bytes. Default 8 MiB, at most 64 MiB. */
  readonly maxLineBytes?: number;
  /** Bytes that may wait to be written; a message beyond them is refused. Default 8 MiB. */
  readonly maxBacklogBytes?: number;
  /** Milliseconds a write may wait for the peer to read. Default 30,000. */
  readonly drainMs?: number;
  /** Milliseconds a message that has begun may go without growing. Default 30,000. */
  readonly stallMs?: number;
  /** Milliseconds a message may take to arrive. Default 120,000. */
  readonly messageMs?: number;
}

/** What the holder of a line is told, besides messages and problems. */
export interface LineEvents extends LineSink {
  /** One of the streams is over, or broke with `cause`. May be told twice. */
  over(cause?: unknown): void;
  /** The peer went past a limit that makes the line unusable. */
  breach(error: ParleyError): void;
}

interface LineOptions extends LineLimits {
  readonly input: Readable;
  readonly output: Writable;
  readonly events: LineEvents;
  readonly strays: NonNullable<NdjsonOptions['strays']>;
  readonly clock: Clock | undefined;
}

interface Outgoing {
  readonly text: string;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: ParleyError) => void;
}

const OVERSIZED_WINDOW_MS = 60_000;

/** Reading begins with `start`; writing is possible at once. Ends with `drop`, after a `finish` or without. */
export class Line {
  readonly #input: Readable;
  readonly #write: Writable['write'];
  readonly #events: LineEvents;
  readonly #clock: Clock;
  readonly #maxBacklogBytes: number;
  readonly #decoder: NdjsonDecoder;
  readonly #draining: Watch;
  readonly #stall: Watch;
  readonly #message: Watch;
  readonly #oversizedAt: number[] = [];
  #timedLine = -1;
  #waiting: Outgoing[] = [];
  #writing: Outgoing[][] = [];
  #backlogBytes = 0;
  #closed: ParleyError | undefined;

  constructor({ input, output, events, strays, clock = systemClock, ...limits }: LineOptions) {
    this.#input = input;
    // Held, because a guard may put another function in its place for everybody else.
    this.#write = output.write.bind(output);
    this.#events = events;
    this.#clock = clock;
    this.#maxBacklogBytes = limitOf('maxBacklogBytes', limits.maxBacklogBytes);
    this.#decoder = createNdjsonDecoder(
      {
        message: (value) => {
          if (this.#closed === undefined) events.message(value);
        },
        problem: (problem, dropped) => this.#problem(problem, dropped),
      },
      { ...limits, strays },
    );
    const watch = (name: 'drainMs' | 'stallMs' | 'messageMs', what: (time: string) => string) => {
      const ms = limitOf(name, limits[name]);
      return new Watch(clock, ms, () => events.breach(overLimit(name, ms, what(seconds(ms)), ms)));
    };
    this.#draining = watch('drainMs', (time) => `The peer did not read its input for ${time}.`);
    this.#stall = watch('stallMs', (time) => `The peer began a message and sent no more of it for ${time}.`);
    this.#message = watch('messageMs', (time) => `The peer took more than ${time} over one message.`);
    output.on('error', (cause) => events.over(cause));
    input.on('error', (cause) => events.over(cause));
  }

  start(): void {
    this.#input.on('data', (chunk: Buffer) => {
      if (this.#closed !== undefined) return;
      this.#decoder.push(chunk);
      this.#time();
    });
    this.#input.on('end', () => {
      if (this.#closed === undefined) this.#decoder.end();
      this.#events.over();
    });
    // A stream that is destroyed closes without an end.
    this.#input.on('close', () => this.#events.over());
  }

  /** Resolves when the message was handed to the system; rejects with the reason given to `finish` or `drop`, or with `limit`. */
  async send(message: Message): Promise<void> {
    if (this.#closed !== undefined) throw this.#closed;
    const text = encodeLine(message);
    const bytes = Buffer.byteLength(text);
    if (this.#backlogBytes + bytes > this.#maxBacklogBytes) {
      const allowed = this.#maxBacklogBytes;
      const what = `A message was not sent: more than ${String(allowed)} bytes would wait to be read.`;
      throw overLimit('maxBacklogBytes', this.#backlogBytes + bytes, what, allowed, { unsent: true });
    }
    this.#backlogBytes += bytes;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ text, bytes, resolve, reject });
      // What is sent in one turn of the loop, or while a write is under way, is written together.
      if (this.#waiting.length === 1 && this.#writing.length === 0) process.nextTick(() => this.#flush());
    });
  }

  /** Refuses later messages with `error` and resolves when all earlier ones were written, or `drop` was called. */
  finish(error: ParleyError): Promise<void> {
    this.#closed ??= error;
    return new Promise((resolve) => {
      this.#waiting.push({ text: '', bytes: 0, resolve, reject: () => resolve() });
      // At once, so that the caller may end the stream.
      this.#writeWaiting();
    });
  }

  /** Ends the line: whatever was not written is rejected with `error`, or the one that `finish` was given. */
  drop(error: ParleyError): void {
    const reason = (this.#closed ??= error);
    for (const watch of [this.#draining, this.#stall, this.#message]) watch.stop();
    const unwritten = [...this.#writing.flat(), ...this.#waiting];
    this.#writing = [];
    this.#waiting = [];
    for (const outgoing of unwritten) outgoing.reject(reason);
  }

  #flush(): void {
    if (this.#writing.length === 0) this.#writeWaiting();
  }

  #writeWaiting(): void {
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#writing.push(batch);
    this.#draining.touch();
    this.#write(batch.map((outgoing) => outgoing.text).join(''), (error) => {
      if (error) {
        if (this.#closed !== undefined) return this.drop(this.#closed);
        // What is not written is rejected with the ending, which tells more than a broken pipe.
        return this.#events.over(error);
      }
      if (this.#writing[0] !== batch) return;
      this.#draining.rest();
      this.#writing.shift();
      for (const outgoing of batch) {
        this.#backlogBytes -= outgoing.bytes;
        outgoing.resolve();
      }
      this.#flush();
    });
  }

  #problem(problem: Problem, dropped: Dropped): void {
    if (this.#closed !== undefined) return;
    this.#events.problem(problem, dropped);
    if (problem.kind !== 'oversized') return;
    const now = this.#clock.now();
    this.#oversizedAt.push(now);
    while ((this.#oversizedAt[0] as number) < now - OVERSIZED_WINDOW_MS) this.#oversizedAt.shift();
    const forgiven = limitOf('maxOversized', undefined);
    if (this.#oversizedAt.length > forgiven) {
      const what = `The peer sent more than ${String(forgiven)} messages within a minute that went past a limit: ${problem.message}`;
      this.#events.breach(overLimit('maxOversized', this.#oversizedAt.length, what));
    }
  }

  #time(): void {
    if (!this.#decoder.partial) {
      this.#stall.rest();
      this.#message.rest();
      return;
    }
    this.#stall.touch();
    if (this.#timedLine === this.#decoder.lines) return;
    this.#timedLine = this.#decoder.lines;
    this.#message.touch();
  }
}
