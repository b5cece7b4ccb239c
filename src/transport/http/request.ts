// One HTTP exchange after another with one server, over node:http: redirects, compressed bodies, faults and caps. The sockets are
// those of sockets.ts. Knows nothing of JSON-RPC, and never sends anything twice that may have arrived.
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { nextTick } from 'node:process';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { isParleyError, ParleyError } from '../../errors.ts';
import { LIMITS, overLimit, systemClock, type Clock, type StopSignal } from '../../base/index.ts';
import { seconds } from '../../jsonrpc/index.ts';
import { asciiOf } from '../framing/text.ts';
import { lowerCased, type Headers } from './headers.ts';
import { Sockets } from './sockets.ts';

/** One request to send. */
export interface HttpAsk {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Headers;
  /** Those of this message alone, likewise. They take the place of others of the same name. */
  readonly own?: Headers | undefined;
  /** Gives further headers for one address: asked for the first one and for each that a redirect leads to. */
  readonly credentials?: (url: URL) => Promise<Headers>;
  readonly body?: string;
  /** Ends the exchange at any point, also while its body is read, and frees the socket. Its reason must be a ParleyError. */
  readonly signal: StopSignal;
  /** Milliseconds until the response's headers. Default: no bound but the signal. */
  readonly headersTimeoutMs?: number | undefined;
}

export interface HttpLineOptions {
  /** Milliseconds for name resolution, TCP and TLS together. Default 10,000. */
  readonly connectTimeoutMs?: number;
  readonly clock?: Clock;
}

const MAX_REDIRECTS = 3;
/** 303 is not among them: it says that the request was carried out. */
const REDIRECTS = [301, 302, 307, 308];
const MAX_INTERIM_RESPONSES = LIMITS.maxInterimResponses.default;
/** What a failed greeting in TLS means, by the code of its error. */
const TLS_FAULTS = [
  {
    codes: /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    what: 'has a certificate that is not valid now',
    remedy: 'Have the server renew it, or set the clock of this machine',
  },
  {
    codes: /^ERR_TLS_CERT_ALTNAME/,
    what: 'has a certificate for another name',
    remedy: 'Use the name that the certificate is for',
  },
  {
    codes: /CERT|UNABLE_TO_VERIFY|^HOSTNAME_MISMATCH/,
    what: 'has a certificate that nobody trusted here vouches for',
    remedy: 'If you trust it, name the file of its authority in NODE_EXTRA_CA_CERTS in the environment of Parley',
  },
  {
    codes: /^EPROTO$|^ERR_SSL_/,
    what: 'does not speak TLS',
    remedy: 'Check the port; where the server has no TLS, its URL begins with http://',
  },
] as const;
/** What is read of a body nobody wants, and for how long, so that its socket can be used again. */
const DISCARDED_BYTES = 65_536;
const DISCARDED_MS = 1_000;
/** How long the beginning of a body is waited for. */
const CUT_AFTER_MS = 5_000;
const UTF8 = new TextDecoder();

/** Exchanges with one origin, over sockets that are kept for later ones. */
export class HttpLine {
  readonly #sockets: Sockets;
  readonly #origin: URL;
  readonly #address: Address;
  readonly #target: string;
  readonly #clock: Clock;

  /** `origin` decides between TCP and TLS; `target` names the server in messages. */
  constructor(origin: URL, target: string, { connectTimeoutMs = 10_000, clock = systemClock }: HttpLineOptions = {}) {
    const onLate = () => this.#unreachable(`did not accept a connection within ${seconds(connectTimeoutMs)}`);
    this.#sockets = new Sockets(origin, { connectTimeoutMs, onLate, clock });
    this.#origin = origin;
    this.#address = addressOf(origin);
    this.#target = target;
    this.#clock = clock;
  }

  /**
   * Sends a request and resolves when the headers of its answer are there. Redirects are followed within the origin, with
   * method and body. The answer's body must be read or discarded.
   * @throws ParleyError `unreachable`, `server-stopped`, `timeout`, `http-status` (a redirect), `not-mcp`, `limit`, or the
   * signal's reason
   */
  ask(ask: HttpAsk): Promise<HttpAnswer> {
    return this.#send(ask, ask.url, 0);
  }

  /** Destroys every socket and resolves when they are gone. */
  close(): Promise<void> {
    return this.#sockets.close();
  }

  #send(ask: HttpAsk, url: URL, hops: number): Promise<HttpAnswer> {
    const { credentials } = ask;
    if (credentials === undefined) return this.#once(ask, url, ask.headers, hops);
    return credentials(url).then((given) => this.#once(ask, url, { ...ask.headers, ...lowerCased(given) }, hops));
  }

  #once(ask: HttpAsk, url: URL, headers: Headers, hops: number): Promise<HttpAnswer> {
    const { method, own, body, signal, headersTimeoutMs } = ask;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { hostname, port, path, host } = url === this.#origin ? this.#address : addressOf(url);
      let request: ClientRequest;
      try {
        request = http.request({
          agent: this.#sockets,
          protocol: this.#sockets.protocol,
          hostname,
          port,
          path,
          method,
          headers: linesOf(host, headers, own, body),
          insecureHTTPParser: false,
        });
      } catch (cause) {
        return reject(new ParleyError('internal', 'A header of the request cannot be sent over HTTP.', { cause }));
      }
      let interim = 0;
      const waiting =
        headersTimeoutMs === undefined
          ? undefined
          : this.#clock.after(headersTimeoutMs, () => fail(this.#late(method, headersTimeoutMs)));
      const fail = (error: Error) => {
        waiting?.cancel();
        signal.removeEventListener('abort', onAbort);
        reject(error);
        request.destroy();
      };
      const onAbort = () => fail(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });

      request.on('information', () => {
        if (++interim <= MAX_INTERIM_RESPONSES) return;
        const what = `${this.#target} sent more than ${MAX_INTERIM_RESPONSES} interim responses.`;
        fail(overLimit('maxInterimResponses', interim, what));
      });
      request.on('upgrade', (_, socket) => {
        socket.destroy();
        const what = `${this.#target} answered with another protocol (HTTP 101). Check that the URL is an MCP endpoint.`;
        fail(new ParleyError('not-mcp', what, { details: { status: 101 } }));
      });
      // Stays until the end: after the response an error belongs to the body, which reports it.
      request.on('error', (error) => fail(this.#fault(error, this.#sockets.hasConnected(request))));
      request.on('response', (response) => {
        waiting?.cancel();
        this.#sockets.limitIdle(response);
        response.on('close', () => signal.removeEventListener('abort', onAbort));
        const answer = new HttpAnswer(response, this.#target, signal, this.#clock);
        const { location } = answer.headers;
        const isRedirect = location !== undefined && REDIRECTS.includes(answer.status);
        resolve(isRedirect ? this.#follow(answer, location, ask, url, hops) : answer);
      });
      if (body !== undefined) request.write(body);
      // Not with the body: that would be two pieces for the socket, which takes those by a dearer way than one.
      nextTick(end, request);
    });
  }

  async #follow(answer: HttpAnswer, location: string, ask: HttpAsk, from: URL, hops: number): Promise<HttpAnswer> {
    answer.discard();
    return this.#send(ask, this.#redirect(from, location, answer.status, hops), hops + 1);
  }

  #redirect(from: URL, location: string, status: number, hops: number): URL {
    const refuse = (why: string) => {
      const message = `${this.#target} answered with a redirect (${status}) ${why}. Use the address it leads to, if you trust it.`;
      return new ParleyError('http-status', message, { details: { status } });
    };
    if (!URL.canParse(location, from.href)) throw refuse('that leads nowhere');
    const to = new URL(location, from);
    if (to.origin !== from.origin) throw refuse('to another origin, which is not followed');
    if (to.username !== '' || to.password !== '') throw refuse('with a user name in it, which is not followed');
    if (hops === MAX_REDIRECTS) throw refuse(`after ${MAX_REDIRECTS} others, which is not followed`);
    return to;
  }

  #late(method: string, afterMs: number): ParleyError {
    return new ParleyError('timeout', `${this.#target} did not answer a ${method} within ${seconds(afterMs)}.`, {
      details: { afterMs },
    });
  }

  #unreachable(what: string, cause?: Error, remedy = 'Check the URL and that the server runs'): ParleyError {
    return new ParleyError('unreachable', `${this.#target} ${what}. ${remedy}.`, {
      details: { unsent: true },
      ...(cause === undefined ? {} : { cause }),
    });
  }

  #fault(error: NodeJS.ErrnoException, connected: boolean): ParleyError {
    if (isParleyError(error)) return error;
    const code = error.code ?? '';
    if (!connected) {
      if (['ENOTFOUND', 'EAI_AGAIN'].includes(code)) return this.#unreachable('has a name that cannot be resolved', error);
      if (code === 'ECONNREFUSED') return this.#unreachable('refused the connection', error);
      const found = TLS_FAULTS.find(({ codes }) => codes.test(code));
      if (found !== undefined) return this.#unreachable(`${found.what} (${code})`, error, found.remedy);
      return this.#unreachable(`could not be connected to (${code || 'no code'})`, error);
    }
    if (code === 'HPE_HEADER_OVERFLOW') {
      const allowed = http.maxHeaderSize;
      const details = { limit: 'maxHeaderBytes', allowed, observed: allowed + 1 };
      return new ParleyError('limit', `${this.#target} sent response headers that are too large.`, { cause: error, details });
    }
    if (code.startsWith('HPE_')) {
      const what = `${this.#target} did not answer in HTTP. Check the host and the port of the URL.`;
      return new ParleyError('not-mcp', what, { cause: error });
    }
    const what = `The connection to ${this.#target} was lost before it answered. Its own log may say why.`;
    return new ParleyError('server-stopped', what, { cause: error });
  }
}

function end(request: ClientRequest): void {
  request.end();
}

/** What a request needs to know of its URL. Taking a URL apart costs as much as its parts are many. */
interface Address {
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  /** For the header of that name. */
  readonly host: string;
}

function addressOf({ hostname, port, pathname, search, host }: URL): Address {
  return { hostname, port, path: pathname + search, host };
}

/** The headers as names and values in turn: Node writes a list as it stands, where it keeps a table of an object's members. */
function linesOf(host: string, headers: Headers, own: Headers | undefined, body: string | undefined): string[] {
  const lines = ['host', host];
  for (const name in headers) if (own === undefined || !(name in own)) lines.push(name, headers[name] as string);
  for (const name in own) lines.push(name, own[name] as string);
  if (body !== undefined) lines.push('content-length', String(Buffer.byteLength(body)));
  return lines;
}

/** The type alone, in lower case: '' when there is none. */
function mediaTypeOf(contentType = ''): string {
  // As nearly every server writes it.
  if (contentType === 'application/json' || contentType === 'text/event-stream') return contentType;
  return contentType.split(';', 1)[0]!.trim().toLowerCase();
}

/** Status, headers and body of one answer. The body is read once, by `stream` or `text`, or discarded. */
export class HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The media type in lower case, without parameters; '' when there is none. */
  readonly mediaType: string;
  readonly #response: IncomingMessage;
  readonly #target: string;
  readonly #signal: StopSignal;
  readonly #clock: Clock;

  constructor(response: IncomingMessage, target: string, signal: StopSignal, clock: Clock) {
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.mediaType = mediaTypeOf(response.headers['content-type']);
    this.#response = response;
    this.#target = target;
    this.#signal = signal;
    this.#clock = clock;
  }

  /**
   * Calls `onChunk` with every decoded piece of the body, and resolves at its end, or when `onChunk` returns `stop`, which
   * frees the socket.
   * @throws ParleyError `server-stopped` when it is cut, `protocol-violation` when it cannot be decoded, the signal's reason, or
   * what `onChunk` throws
   */
  stream(onChunk: (chunk: Buffer) => 'stop' | 'more'): Promise<void> {
    return new Promise((resolve, reject) => this.#read(onChunk, resolve, reject));
  }

  /**
   * The body as text: all of it, or, with `cut`, the beginning of it, as much as came within bounds of size and time.
   * @throws ParleyError with `fail` as `stream`, and `limit` above `maxBytes`; with `cut` the signal's reason alone
   */
  text(maxBytes: number, beyond: 'fail' | 'cut'): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const cutting = beyond === 'cut' ? this.#clock.after(CUT_AFTER_MS, () => void this.#response.destroy()) : undefined;
      const take = (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size <= maxBytes) return 'more';
        if (beyond === 'cut') return 'stop';
        const what = `${this.#target} sent an answer of more than ${maxBytes} bytes; it was dropped.`;
        throw overLimit('maxMessageBytes', size, what, maxBytes);
      };
      const done = () => {
        cutting?.cancel();
        const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        const kept = all.length > maxBytes ? all.subarray(0, maxBytes) : all;
        resolve(asciiOf(kept) ?? UTF8.decode(kept));
      };
      const fail = (error: Error) => {
        if (beyond === 'cut' && !this.#signal.aborted) return done();
        cutting?.cancel();
        reject(error);
      };
      this.#read(take, done, fail);
    });
  }

  /** Lets go of the body: a short one is read so that the socket can be used again, any other is cut off. */
  discard(): void {
    const response = this.#response;
    response.on('error', () => {
      // Nobody wants this body.
    });
    if (this.mediaType === 'text/event-stream') return void response.destroy();
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > DISCARDED_BYTES) response.destroy();
    });
    const timer = this.#clock.after(DISCARDED_MS, () => void response.destroy());
    timer.hold('release');
    response.once('close', () => timer.cancel());
  }

  #read(onChunk: (chunk: Buffer) => 'stop' | 'more', onEnd: () => void, onFault: (error: Error) => void): void {
    let body: Readable;
    try {
      body = this.#decoded();
    } catch (error) {
      return onFault(error as Error);
    }
    let over = false;
    /** True once: whoever is told it has the last word. */
    const isLast = () => {
      if (over) return false;
      over = true;
      if (!body.readableEnded) {
        body.destroy();
        this.#response.destroy();
      }
      return true;
    };
    const fail = (error: Error) => {
      if (isLast()) onFault(error);
    };
    const cut = (error: Error) => {
      if (!over) fail(this.#cut(error));
    };
    body.on('data', (chunk: Buffer) => {
      if (over) return;
      try {
        if (onChunk(chunk) === 'stop' && isLast()) onEnd();
      } catch (error) {
        fail(error as Error);
      }
    });
    body.on('end', () => {
      if (isLast()) onEnd();
    });
    body.on('error', cut);
    body.on('close', () => {
      if (!over) cut(new Error('closed'));
    });
    // Aborted since its headers came: then all of the above has happened already.
    if (body.destroyed) cut(new Error('closed'));
  }

  #decoded(): Readable {
    const decoder = this.#decoder();
    if (decoder === undefined) return this.#response;
    // Errors of either part come out of the decoder.
    return pipeline(this.#response, decoder, () => {});
  }

  #decoder() {
    const encoding = (this.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
    switch (encoding) {
      case '':
      case 'identity':
        return undefined;
      case 'gzip':
      case 'x-gzip':
        return createGunzip();
      case 'deflate':
        return createInflate();
      case 'br':
        return createBrotliDecompress();
      default:
        this.#response.destroy();
        throw new ParleyError('protocol-violation', `${this.#target} sent a body in an encoding that nobody asked for.`);
    }
  }

  #cut(error: NodeJS.ErrnoException): Error {
    if (this.#signal.aborted) return this.#signal.reason;
    // The codes of zlib and of brotli.
    if (/^(Z_|ERR__)/.test(error.code ?? '')) {
      return new ParleyError('protocol-violation', `${this.#target} sent a body that cannot be decoded.`, { cause: error });
    }
    return new ParleyError('server-stopped', `The connection to ${this.#target} was lost in the middle of an answer.`, {
      cause: error,
    });
  }
}
