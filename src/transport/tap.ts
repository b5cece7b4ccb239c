// A look at what passes over a line, for transcripts, schema checks and verbose logs. It changes nothing on the way.
import type { Channel, Message, Receiver, SendOptions, Transport } from '../jsonrpc/index.ts';

/** One message as it passed. What came in is whatever the peer sent: untrusted and unchecked. */
export type Passing =
  { readonly direction: 'out'; readonly message: Message } | { readonly direction: 'in'; readonly message: unknown };

/** Called synchronously before the message goes on; it must not throw and must not change the message. */
export type Observer = (passing: Passing) => void;

/** `transport`, with every channel that it opens shown to `observer`. */
export function tap(transport: Transport, observer: Observer): Transport {
  return {
    target: transport.target,
    kind: transport.kind,
    open: async (options) => tapChannel(await transport.open(options), observer),
  };
}

/** `channel`, with its messages shown to `observer`. Whatever else the channel can do, the tapped one can too. */
export function tapChannel<C extends Channel>(channel: C, observer: Observer): C {
  const start = (receiver: Receiver) =>
    channel.start({
      message(value, origin) {
        observer({ direction: 'in', message: value });
        receiver.message(value, origin);
      },
      problem: (problem) => receiver.problem(problem),
      end: (ending) => receiver.end(ending),
    });
  const send = (message: Message, options?: SendOptions) => {
    observer({ direction: 'out', message });
    return channel.send(message, options);
  };
  return new Proxy(channel, {
    get(target, property) {
      if (property === 'start') return start;
      if (property === 'send') return send;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
