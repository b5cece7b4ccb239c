// Two ways to serve at once: over this process's standard streams, and over HTTP. A transport is loaded when it is asked for.
import type { Receiver } from '../jsonrpc/index.ts';
import type { HttpListener, HttpListenerOptions, ListenOptions } from '../transport/http/index.ts';
import type { StdioServerOptions } from '../transport/stdio/index.ts';
import { httpProfile } from './http-profile.ts';
import type { Server } from './server.ts';

export interface StdioServing {
  /** Resolves when the line is over: closed here, or left by the client. */
  readonly ended: Promise<void>;
  /** Closes the server and the line. Idempotent. */
  close(): Promise<void>;
}

/** Serves the client that started this process. When that client is gone the server is closed, and nothing holds the process. */
export async function serveStdio(server: Server, options: StdioServerOptions = {}): Promise<StdioServing> {
  const { stdioServerChannel } = await import('../transport/stdio/index.ts');
  const channel = stdioServerChannel(options);
  const over = new Promise<void>((resolve) => {
    server.accept({
      kind: channel.kind,
      start: (receiver: Receiver) =>
        channel.start({
          message: (value, origin) => receiver.message(value, origin),
          problem: (problem) => receiver.problem(problem),
          end(ending) {
            receiver.end(ending);
            resolve();
          },
        }),
      send: (message, sendOptions) => channel.send(message, sendOptions),
      close: () => channel.close(),
    });
  });
  const ended = over.then(() => server.close({ graceMs: 0 }));
  return {
    ended,
    async close() {
      await server.close();
      await ended;
    },
  };
}

export interface ServeHttpOptions extends Omit<HttpListenerOptions, 'accept' | 'profile'>, ListenOptions {}

export interface HttpServing {
  readonly url: string;
  readonly port: number;
  /** Sessions that are open. */
  readonly sessions: number;
  /** Closes the server, then the listener. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves clients of every era over HTTP, on 127.0.0.1 unless told otherwise.
 * @throws ParleyError `usage` when it cannot listen there, or for a limit that is none
 */
export async function serveHttp(server: Server, options: ServeHttpOptions = {}): Promise<HttpServing> {
  const listener = await httpListener(server, options);
  const { url, port } = await listener.listen(options);
  return {
    url,
    port,
    get sessions() {
      return listener.sessions;
    },
    async close() {
      await server.close();
      await listener.close();
    },
  };
}

/** Serves clients over HTTP through a `node:http` server of the application's own: give requests to `handle`. */
export async function httpListener(
  server: Server,
  options: Omit<HttpListenerOptions, 'accept' | 'profile'> = {},
): Promise<HttpListener> {
  const { createHttpListener } = await import('../transport/http/index.ts');
  return createHttpListener({
    ...options,
    profile: httpProfile,
    accept: (channel, context) => server.accept(channel, context),
  });
}
