// A line whose far end the test plays by hand: it reads what was sent and says what arrives, in any order it likes.
// It checks nothing, so that a test can be as wrong as a real peer.
import { ParleyError } from '../errors.ts';
import type {
  Channel,
  ChannelTerms,
  Ending,
  Message,
  Origin,
  Problem,
  Receiver,
  RequestId,
  SendOptions,
  Transport,
} from '../jsonrpc/index.ts';

/** A channel together with its far end. */
export interface ScriptedLine {
  /** The near end, for the code under test. */
  readonly channel: Channel;
  /** All that was sent, oldest first. */
  readonly sent: readonly Message[];
  /** Ids of our requests whose exchange was dropped, oldest first. Only where `kind` is `http`. */
  readonly abandoned: readonly RequestId[];
  /** Ids of the far end's requests that get no reply, oldest first. Only where `kind` is `http`. */
  readonly dismissed: readonly RequestId[];
  /** What `adopt` was given last. Only where `kind` is `http`. */
  readonly terms: ChannelTerms | undefined;
  /** Resolves with the next message sent that `next` has not returned yet; rejects when the line ends first. */
  next(): Promise<Message>;
  /** Lets one value arrive, as it would be after `JSON.parse`. */
  deliver(value: unknown, origin?: Origin): void;
  /** Lets something arrive that is no message. */
  problem(problem: Problem): void;
  /** Breaks the line as if the far end had gone. `error` is what those who still wait are told. */
  end(error?: ParleyError): void;
}

export interface ScriptedLineOptions {
  /** `http` gives the channel `abandon`, `dismiss` and `adopt`. Default `memory`. */
  readonly kind?: Transport['kind'];
  /** Hears every message as it is sent, before `send` resolves; what it throws is what `send` rejects with. */
  readonly onSend?: (message: Message, options: SendOptions | undefined) => void | Promise<void>;
}

/** Returns an open line. */
export function createScriptedLine(options: ScriptedLineOptions = {}): ScriptedLine {
  const { kind = 'memory', onSend } = options;
  const sent: Message[] = [];
  const abandoned: RequestId[] = [];
  const dismissed: RequestId[] = [];
  const early: ((receiver: Receiver) => void)[] = [];
  const readers: { resolve: (message: Message) => void; reject: (error: Error) => void }[] = [];
  let read = 0;
  let receiver: Receiver | undefined;
  let ending: Ending | undefined;
  let terms: ChannelTerms | undefined;

  const tell = (news: (to: Receiver) => void) => {
    if (receiver === undefined) early.push(news);
    else news(receiver);
  };

  const finish = (how: Ending) => {
    if (ending !== undefined) return;
    ending = how;
    for (const reader of readers.splice(0)) reader.reject(how.error);
    tell((to) => to.end(how));
  };

  const channel: Channel = {
    kind,
    start(to) {
      // What arrives while the early news is told comes after it.
      for (let news = early.shift(); news !== undefined; news = early.shift()) news(to);
      receiver = to;
    },
    async send(message, sendOptions) {
      if (ending !== undefined) throw ending.error;
      sent.push(message);
      const reader = readers.shift();
      if (reader !== undefined) {
        read++;
        reader.resolve(message);
      }
      await onSend?.(message, sendOptions);
    },
    async close() {
      finish({ by: 'closed', error: new ParleyError('closed', 'The line was closed.') });
    },
    ...(kind === 'http' && {
      abandon: (id: RequestId) => void abandoned.push(id),
      dismiss: (id: RequestId) => void dismissed.push(id),
      adopt: (given: ChannelTerms) => void (terms = given),
    }),
  };

  return {
    channel,
    sent,
    abandoned,
    dismissed,
    get terms() {
      return terms;
    },
    next() {
      const message = sent[read];
      if (message !== undefined) {
        read++;
        return Promise.resolve(message);
      }
      if (ending !== undefined) return Promise.reject(ending.error);
      return new Promise((resolve, reject) => void readers.push({ resolve, reject }));
    },
    deliver(value, origin) {
      if (ending === undefined) tell((to) => to.message(value, origin));
    },
    problem(problem) {
      if (ending === undefined) tell((to) => to.problem(problem));
    },
    end(error = new ParleyError('server-stopped', 'The far end went away.', { retryable: true })) {
      finish({ by: 'lost', error });
    },
  };
}
