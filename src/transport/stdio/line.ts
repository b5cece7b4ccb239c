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
  /** Longest message that is read, in bytes. Default 16 MiB, at most 64 MiB. */
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

/** Messages that are written together, and what all of their senders wait for. */
interface Batch {
  text: string;
  bytes: number;
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: ParleyError) => void;
}

/** A batch is written as soon as it has this many bytes, so that the peer works on it while the next is made. */
const BATCH_BYTES = 4_096;

const OVERSIZED_WINDOW_MS = 60_000;

/** Reading begins with `start`; writing is possible at once. Ends with `drop`, after a `finish` or without. */
export class Line {
  readonly #input: Readable;
  readonly #output: Writable;
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
  #waiting: Batch | undefined;
  #writing: Batch[] = [];
  #backlogBytes = 0;
  #closed: ParleyError | undefined;

  constructor({ input, output, events, strays, clock = systemClock, ...limits }: LineOptions) {
    this.#input = input;
    this.#output = output;
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
  send(message: Message): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const text = encodeLine(message);
    const bytes = Buffer.byteLength(text);
    if (this.#backlogBytes + bytes > this.#maxBacklogBytes) {
      const allowed = this.#maxBacklogBytes;
      const what = `A message was not sent: more than ${String(allowed)} bytes would wait to be read.`;
      return Promise.reject(overLimit('maxBacklogBytes', this.#backlogBytes + bytes, what, allowed, { unsent: true }));
    }
    this.#backlogBytes += bytes;
    const batch = (this.#waiting ??= this.#newBatch());
    batch.text += text;
    batch.bytes += bytes;
    if (batch.bytes >= BATCH_BYTES) this.#flush();
    return batch.written;
  }

  /** Refuses later messages with `error` and resolves when all earlier ones were written, or `drop` was called. */
  async finish(error: ParleyError): Promise<void> {
    this.#closed ??= error;
    const { written } = (this.#waiting ??= this.#newBatch());
    // At once, so that the caller may end the stream.
    this.#writeWaiting();
    await written.catch(() => {});
  }

  /** Ends the line: whatever was not written is rejected with `error`, or the one that `finish` was given. */
  drop(error: ParleyError): void {
    const reason = (this.#closed ??= error);
    for (const watch of [this.#draining, this.#stall, this.#message]) watch.stop();
    const unwritten = this.#waiting === undefined ? this.#writing : [...this.#writing, this.#waiting];
    this.#writing = [];
    this.#waiting = undefined;
    for (const batch of unwritten) batch.reject(reason);
  }

  /** What is sent in one turn of the loop, or while the system takes no more, is written together. */
  #newBatch(): Batch {
    process.nextTick(() => this.#flush());
    let resolve!: () => void;
    let reject!: (error: ParleyError) => void;
    const written = new Promise<void>((onWritten, onDropped) => {
      resolve = onWritten;
      reject = onDropped;
    });
    return { text: '', bytes: 0, written, resolve, reject };
  }

  #flush(): void {
    if (this.#output.writableLength === 0) this.#writeWaiting();
  }

  #writeWaiting(): void {
    const batch = this.#waiting;
    if (batch === undefined) return;
    this.#waiting = undefined;
    this.#writing.push(batch);
    this.#draining.touch();
    this.#write(batch.text, (error) => {
      if (error) {
        if (this.#closed !== undefined) return this.drop(this.#closed);
        // What is not written is rejected with the ending, which tells more than a broken pipe.
        return this.#events.over(error);
      }
      // Dropped in the meantime.
      if (this.#writing[0] !== batch) return;
      this.#writing.shift();
      if (this.#writing.length === 0) this.#draining.rest();
      this.#backlogBytes -= batch.bytes;
      batch.resolve();
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
