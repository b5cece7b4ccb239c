// A node:http server of our own, with limits on what a connection may cost. Serves no request itself.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ParleyError } from '../../errors.ts';
import type { Clock, Log } from '../../base/index.ts';
import { servingLimit } from '../../base/serving.ts';

export interface ListenOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Connections at once; one more is dropped. Default 256. */
  readonly maxConnections?: number;
  /** Milliseconds in which the headers of a request must arrive. Default 10,000. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds in which all of a request must arrive. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds that a connection may wait for its next request; more than what stands before the server allows. Default 5,000. */
  readonly keepAliveTimeoutMs?: number;
}

export interface OpenServer {
  /** `http://host:port`, with the port that was taken. */
  readonly origin: string;
  readonly port: number;
  /** Takes no more connections, ends the responses by `finish`, then all connections. Bounded in time; never rejects. */
  close(finish: () => Promise<void>): Promise<void>;
}

/** Milliseconds that connections have for what was written last. */
const CLOSE_MS = 2_000;
/** How often connections are looked at for requests that do not arrive. */
const LOOK_EVERY_MS = 5_000;

/**
 * Resolves when the server listens.
 * @throws ParleyError `usage` when it cannot listen there, or for a limit that is none
 */
export async function openServer(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  options: ListenOptions & { readonly clock: Clock; readonly log: Log },
): Promise<OpenServer> {
  const { port = 0, host = '127.0.0.1', clock, log } = options;
  const requestTimeout = servingLimit('requestTimeoutMs', options.requestTimeoutMs);
  const headersTimeout = Math.min(servingLimit('headersTimeoutMs', options.headersTimeoutMs), requestTimeout);
  const keepAliveTimeout = servingLimit('keepAliveTimeoutMs', options.keepAliveTimeoutMs);
  const connectionsCheckingInterval = Math.min(headersTimeout, LOOK_EVERY_MS);
  // requestTimeout is about the arrival of a request; an answer may take as long as it takes.
  const server = createServer({ headersTimeout, requestTimeout, keepAliveTimeout, connectionsCheckingInterval }, handle);
  server.maxConnections = servingLimit('maxConnections', options.maxConnections);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const what = `Cannot listen on ${host}, port ${String(port)}.`;
      reject(new ParleyError('usage', `${what} Choose an address of this machine and a port that is free.`, { cause }));
    });
    server.listen(port, host, resolve);
  });
  server.removeAllListeners('error').on('error', (error) => log('warn', 'A connection could not be taken.', { error }));

  const bound = (server.address() as AddressInfo).port;
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${String(bound)}`,
    port: bound,
    async close(finish) {
      // Also drops the connections on which nothing happens, so it comes before the responses end: afterwards it would not
      // tell a connection that waits from one that still sends.
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      await finish();
      for (const socket of sockets) socket.destroySoon();
      const timer = clock.after(CLOSE_MS, () => server.closeAllConnections());
      await stopped;
      timer.cancel();
    },
  };
}
