// One response that is a stream of server-sent events: written to until it ends, kept warm while nothing happens, and cut
// when its client does not read. Never waits for a client and never holds more than its cap and two events.
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../base/index.ts';
import { keepAliveComment } from '../framing/event-stream.ts';
import { expectTaken } from './respond.ts';

/** What a client may cost by not reading. */
export interface ReadingLimits {
  /** Bytes it may be behind on a stream before it is cut off. */
  readonly maxBufferedBytes: number;
  /** Milliseconds in which it must take something of what was written last. */
  readonly takeMs: number;
}

export interface OutletOptions extends ReadingLimits {
  readonly clock: Clock;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called once when the connection of the stream is gone, however that came. */
  readonly onClose?: () => void;
}

const KEEP_ALIVE_MS = 15_000;

export class Outlet {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #maxBufferedBytes: number;
  readonly #takeMs: number;
  #limit: number;
  #timer!: Timer;
  #open = true;

  constructor(response: ServerResponse, options: OutletOptions) {
    this.#response = response;
    this.#clock = options.clock;
    this.#maxBufferedBytes = options.maxBufferedBytes;
    this.#takeMs = options.takeMs;
    this.#limit = options.maxBufferedBytes;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      // Asks reverse proxies not to hold events back.
      'X-Accel-Buffering': 'no',
      ...options.headers,
    });
    response.once('close', () => {
      this.#stop();
      options.onClose?.();
    });
    this.#keepAlive();
  }

  /** Sends the headers now, where no event follows at once. */
  flush(): void {
    this.#response.flushHeaders();
  }

  /** Writes the text of events. False when the stream is over, or was just cut because its client does not read. */
  write(text: string): boolean {
    if (!this.#open || this.#response.destroyed) return false;
    const buffered = this.#response.writableLength;
    if (buffered > this.#limit) {
      this.#stop();
      this.#response.destroy();
      return false;
    }
    this.#response.write(text);
    // What meets an empty buffer says nothing about the client, however large it is.
    if (buffered === 0) this.#limit = this.#maxBufferedBytes + this.#response.writableLength;
    return true;
  }

  /** Resolves at once, or after a turn of the event loop when the connection has more than it takes: for who writes a lot. */
  async ready(): Promise<void> {
    if (this.#response.writableNeedDrain) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Ends the stream after what was written. */
  end(): void {
    if (!this.#open) return;
    this.#stop();
    this.#response.end();
    expectTaken(this.#response, this.#takeMs);
  }

  #keepAlive(): void {
    this.#timer = this.#clock.after(KEEP_ALIVE_MS, () => {
      if (this.write(keepAliveComment)) this.#keepAlive();
    });
    this.#timer.hold('release');
  }

  #stop(): void {
    this.#open = false;
    this.#timer.cancel();
  }
}
