// A line within one process, for servers that live beside their client and for tests. Messages cross it as JSON text, in order
// and never at once, as on any other line.
import { systemClock, type Clock } from '../base/index.ts';
import { ParleyError, type ErrorCode } from '../errors.ts';
import {
  abortError,
  type Channel,
  type Ending,
  type Message,
  type OpenOptions,
  type Receiver,
  type Transport,
} from '../jsonrpc/index.ts';

export interface MemoryOptions {
  /** Milliseconds a message is under way. Default 0: the next turn of the event loop. */
  readonly delayMs?: number;
  readonly clock?: Clock;
  /** Characters that may wait for a receiver that has not started. Default 8 Mi. */
  readonly maxBacklog?: number;
}

/** Two linked channels: the first is the client's end, the second the server's. */
export function memoryPair(options: MemoryOptions = {}): [Channel, Channel] {
  const client = new MemoryChannel('server-stopped', 'The server closed the line.', options);
  const server = new MemoryChannel('closed', 'The client closed the line.', options);
  client.link(server);
  server.link(client);
  return [client, server];
}

/** A transport whose every opening makes a new pair and gives the far end to `accept`. */
export function memoryTransport(accept: (channel: Channel) => void, options: MemoryOptions = {}): Transport {
  return {
    kind: 'memory',
    target: 'memory',
    async open({ signal }: OpenOptions = {}) {
      if (signal?.aborted === true) throw abortError(signal, 'Opening a line');
      const [near, far] = memoryPair(options);
      accept(far);
      return near;
    },
  };
}

class MemoryChannel implements Channel {
  readonly kind = 'memory';
  readonly #lost: Ending;
  readonly #delayMs: number;
  readonly #clock: Clock;
  readonly #maxBacklog: number;
  #far!: MemoryChannel;
  #receiver: Receiver | undefined;
  #ending: Ending | undefined;
  /** What is under way to this end, oldest first: messages as text, and at last the end of the line. */
  #inbox: (string | Ending)[] = [];
  /** How much of it has arrived. */
  #arrived = 0;
  #backlog = 0;

  /** `lostCode` and `lostMessage` say how this end sees the other one closing the line. */
  constructor(lostCode: ErrorCode, lostMessage: string, options: MemoryOptions) {
    this.#lost = { by: 'lost', error: new ParleyError(lostCode, lostMessage) };
    this.#delayMs = options.delayMs ?? 0;
    this.#clock = options.clock ?? systemClock;
    this.#maxBacklog = options.maxBacklog ?? 8_388_608;
  }

  link(far: MemoryChannel): void {
    this.#far = far;
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    if (this.#ending !== undefined) return receiver.end(this.#ending);
    setImmediate(() => this.#deliver());
  }

  async send(message: Message): Promise<void> {
    if (this.#ending !== undefined) throw this.#ending.error;
    this.#far.#accept(JSON.stringify(message));
  }

  async close(): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#end({ by: 'closed', error: new ParleyError('closed', 'The line was closed.') });
    this.#far.#expect(this.#far.#lost);
  }

  #accept(text: string): void {
    const observed = this.#backlog + text.length;
    if (observed > this.#maxBacklog) {
      const details = { limit: 'maxBacklog', allowed: this.#maxBacklog, observed, unsent: true };
      throw new ParleyError('limit', 'The other end takes no messages, so one was not sent.', { details });
    }
    this.#backlog = observed;
    this.#expect(text);
  }

  #expect(item: string | Ending): void {
    if (this.#ending !== undefined) return;
    this.#inbox.push(item);
    const arrive = () => {
      this.#arrived++;
      this.#deliver();
    };
    if (this.#delayMs === 0) setImmediate(arrive);
    else this.#clock.after(this.#delayMs, arrive);
  }

  #deliver(): void {
    const receiver = this.#receiver;
    while (receiver !== undefined && this.#ending === undefined && this.#arrived > 0) {
      this.#arrived--;
      const item = this.#inbox.shift() as string | Ending;
      if (typeof item !== 'string') return this.#end(item);
      this.#backlog -= item.length;
      receiver.message(JSON.parse(item));
    }
  }

  #end(ending: Ending): void {
    this.#ending = ending;
    this.#inbox = [];
    this.#receiver?.end(ending);
  }
}
