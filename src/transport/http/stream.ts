// The event streams of a session: each is a numbered row of events that outlives its connections, and the events of all of
// them are kept together, within bounds, for clients that come back. An event is sent on its own stream only.
import type { Message } from '../../jsonrpc/index.ts';
import { encodeEvent } from '../framing/event-stream.ts';
import type { Outlet } from './outlet.ts';

interface HeldEvent {
  readonly stream: EventStream;
  readonly number: number;
  readonly text: string;
}

/** The last events of a session's streams, oldest first. */
export class History {
  readonly #events: HeldEvent[] = [];
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxEvents: number, maxBytes: number) {
    this.#maxEvents = maxEvents;
    this.#maxBytes = maxBytes;
  }

  /** Keeps an event, and gives up the oldest ones for it. The newest is kept whatever its size. */
  add(event: HeldEvent): void {
    this.#events.push(event);
    this.#bytes += Buffer.byteLength(event.text);
    while (this.#events.length > this.#maxEvents || (this.#bytes > this.#maxBytes && this.#events.length > 1)) {
      const oldest = this.#events.shift() as HeldEvent;
      this.#bytes -= Buffer.byteLength(oldest.text);
      oldest.stream.forget(oldest.number);
    }
  }

  /** The text of what is kept of `stream` after event `number`. */
  after(stream: EventStream, number: number): string {
    const events = this.#events.filter((event) => event.stream === stream && event.number > number);
    return events.map((event) => event.text).join('');
  }
}

/** One stream of a session. Ids of its events are `<stream>-<event>`, so each is unique in the session. */
export class EventStream {
  readonly #prefix: string;
  readonly #history: History;
  /** Called when the stream is over and nothing of it is kept any more. */
  readonly #onGone: (() => void) | undefined;
  #outlet: Outlet | undefined;
  #isOver = false;
  /** Numbers of events: the last one given, the last one kept, the last one sent, the last one kept no more. */
  #last = 0;
  #kept = 0;
  #sent = 0;
  #forgotten = 0;

  constructor(number: number, history: History, onGone?: () => void) {
    this.#prefix = `${String(number)}-`;
    this.#history = history;
    this.#onGone = onGone;
  }

  get isConnected(): boolean {
    return this.#outlet !== undefined;
  }

  /** Events that no connection has carried yet. */
  get unsent(): number {
    return this.#last - Math.max(this.#sent, this.#forgotten);
  }

  /** Gives up the oldest event that was not sent. */
  skipUnsent(): void {
    this.#sent = Math.max(this.#sent, this.#forgotten) + 1;
  }

  /** Sends a message on the connection, or keeps it for the next one. Resolves when more can be sent. */
  async push(message: Message): Promise<void> {
    const number = ++this.#last;
    this.#kept = number;
    const text = encodeEvent({ event: 'message', id: this.#prefix + String(number), data: JSON.stringify(message) });
    this.#history.add({ stream: this, number, text });
    if (this.#outlet?.write(text) !== true) return;
    this.#sent = number;
    await this.#outlet.ready();
  }

  /** Sends an event without data: it gives the client an id to come back with, and perhaps the time to wait before. */
  prime(retryMs?: number): void {
    if (this.#outlet === undefined) return;
    this.#sent = ++this.#last;
    const id = this.#prefix + String(this.#last);
    this.#outlet.write(encodeEvent(retryMs === undefined ? { id, data: '' } : { id, data: '', retry: retryMs }));
  }

  /** True when everything after event `after` can still be sent. */
  canResume(after: number): boolean {
    return after >= this.#forgotten && after <= this.#last;
  }

  /** Continues on a new connection with what comes after event `after`: by default, with what was never sent. */
  connect(outlet: Outlet, after = this.#sent): void {
    this.release();
    this.#outlet = outlet;
    const missed = this.#history.after(this, after);
    // In one piece: what is held is bounded, and must not be cut off half-way for its size.
    if (missed !== '') outlet.write(missed);
    this.#sent = this.#last;
    if (this.#isOver) this.release();
  }

  /** Is told that a connection is gone. */
  disconnected(outlet: Outlet): void {
    if (this.#outlet === outlet) this.#outlet = undefined;
  }

  /** Ends the connection but not the stream. */
  release(): void {
    const outlet = this.#outlet;
    this.#outlet = undefined;
    outlet?.end();
  }

  /** Ends the stream: nothing is pushed after it. What is kept of it can still be resumed. */
  end(): void {
    this.#isOver = true;
    this.release();
    if (this.#forgotten >= this.#kept) this.#onGone?.();
  }

  /** Is told by the history that event `number` and those before it are no longer kept. */
  forget(number: number): void {
    this.#forgotten = number;
    if (this.#isOver && number >= this.#kept) this.#onGone?.();
  }
}
