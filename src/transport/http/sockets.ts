// The sockets to one origin, kept for later requests: an agent for Node's HTTP client. Node's own has one list for each set of
// options, and copies, names and looks those up four times a request, which costs a quarter of an exchange.
// @see docs/decisions/0020-sockets.md
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { systemClock, type Clock, type Timer } from '../../base/index.ts';

export interface SocketsOptions {
  /** Milliseconds for name resolution, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** What a request fails with whose socket is not connected by then. */
  readonly onLate: () => Error;
  readonly clock?: Clock | undefined;
}

interface Kept {
  readonly socket: Socket;
  isConnected: boolean;
  /** How long it may be idle, and until when it is. */
  idleMs: number;
  idleUntil: number;
}

/** Idle sockets are dropped well before the 5 s after which common servers drop them, so that no request meets a closing one. */
const IDLE_MS = 4_000;
/** Sockets age with the world, whatever clock the rest is given. */
const IDLE_CLOCK = systemClock;
/** As many as a busy client has requests in flight: what is beyond is closed after its answer and opened anew for the next. */
const MAX_IDLE = 64;
const PROBE_AFTER_MS = 30_000;

/** Give it to Node's client as `agent`. A socket is used again only when Node says that the answer before was read to its end. */
export class Sockets extends http.Agent {
  /** Node's client looks at both. */
  readonly protocol: string;
  readonly defaultPort: number;
  readonly #address: { readonly host: string; readonly port: number };
  readonly #options: SocketsOptions;
  readonly #clock: Clock;
  readonly #kept = new WeakMap<Socket, Kept>();
  readonly #open = new Set<Socket>();
  /** The one used last is the last. */
  readonly #idle: Kept[] = [];
  #sweep: Timer | undefined;
  /** Resumes an earlier TLS session. */
  #session: Buffer | undefined;

  constructor({ protocol, hostname, port }: URL, options: SocketsOptions) {
    super({ keepAlive: true });
    this.protocol = protocol;
    // A literal IPv6 address stands in brackets in a URL and without them in a socket address.
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    this.defaultPort = protocol === 'https:' ? 443 : 80;
    this.#address = { host, port: port === '' ? this.defaultPort : Number(port) };
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Gives a request of Node's its socket: the one that became idle last, or a new one. */
  addRequest(request: ClientRequest): void {
    const kept = this.#takeIdle();
    if (kept === undefined) return request.onSocket(this.#connect());
    request.reusedSocket = true;
    kept.socket.ref();
    request.onSocket(kept.socket);
  }

  /** True when the socket of `request` was connected, so that the request may have arrived. */
  hasConnected({ socket }: ClientRequest): boolean {
    return socket !== null && this.#kept.get(socket)?.isConnected === true;
  }

  /** Takes note of how long the server keeps the socket of an answer, when it announces that (Keep-Alive: timeout=…). */
  limitIdle({ socket, headers }: IncomingMessage): void {
    const kept = this.#kept.get(socket);
    if (kept === undefined) return;
    const announced = String(headers['keep-alive']);
    const seconds = announced.startsWith('timeout=') ? Number.parseInt(announced.slice('timeout='.length), 10) : NaN;
    kept.idleMs = seconds >= 0 ? Math.min(IDLE_MS, seconds * 1_000 - 1_000) : IDLE_MS;
  }

  /** Destroys every socket and resolves when they are gone. */
  async close(): Promise<void> {
    this.#sweep?.cancel();
    this.#sweep = undefined;
    const open = [...this.#open];
    await Promise.all(
      open.map((socket) => {
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.destroy();
        return closed;
      }),
    );
  }

  #takeIdle(): Kept | undefined {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.socket.writable && kept.idleUntil > IDLE_CLOCK.now()) return kept;
      kept.socket.destroy();
    }
    return undefined;
  }

  #connect(): Socket {
    const isSecure = this.protocol === 'https:';
    const { connectTimeoutMs, onLate } = this.#options;
    const socket = isSecure ? this.#connectTls() : connectTcp(this.#address);
    const kept: Kept = { socket, isConnected: false, idleMs: IDLE_MS, idleUntil: 0 };
    this.#kept.set(socket, kept);
    this.#open.add(socket);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_AFTER_MS);
    const connecting = this.#clock.after(connectTimeoutMs, () => void socket.destroy(onLate()));
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      kept.isConnected = true;
      connecting.cancel();
      // While it is idle nobody else listens.
      socket.on('error', () => {});
    });
    socket.once('close', () => {
      connecting.cancel();
      this.#open.delete(socket);
      const at = this.#idle.indexOf(kept);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    // Emitted by Node's client once a request is over, or given up before it had its socket.
    socket.on('free', () => this.#keep(kept));
    return socket;
  }

  #connectTls(): Socket {
    const { host } = this.#address;
    // Certificates are always checked, whatever the environment says.
    const options = { ...this.#address, servername: isIP(host) === 0 ? host : '', rejectUnauthorized: true };
    const socket = connectTls(this.#session === undefined ? options : { ...options, session: this.#session });
    socket.on('session', (session) => (this.#session = session));
    socket.once('close', (failed: boolean) => {
      if (failed) this.#session = undefined;
    });
    return socket;
  }

  #keep(kept: Kept): void {
    const { socket, isConnected, idleMs } = kept;
    if (!isConnected || !socket.writable || idleMs <= 0 || this.#idle.length >= MAX_IDLE) return void socket.destroy();
    // Node's client leaves its last request here, and with it the answer.
    (socket as { _httpMessage?: unknown })._httpMessage = null;
    socket.unref();
    kept.idleUntil = IDLE_CLOCK.now() + idleMs;
    this.#idle.push(kept);
    if (this.#sweep === undefined) this.#sweepAfter(idleMs);
  }

  /** One timer serves all: it destroys what was idle for long enough and is set anew for the rest. */
  #sweepAfter(ms: number): void {
    this.#sweep = IDLE_CLOCK.after(ms, () => {
      this.#sweep = undefined;
      const now = IDLE_CLOCK.now();
      let next = Infinity;
      for (const { socket, idleUntil } of this.#idle) {
        if (idleUntil <= now) socket.destroy();
        else next = Math.min(next, idleUntil);
      }
      if (next !== Infinity) this.#sweepAfter(next - now);
    });
    this.#sweep.hold('release');
  }
}
