// One open line to a client, used for many requests: finds out of which era each is, and keeps the session of the handshake
// era where there is one. A modern request is served by what it says itself, whatever came before on the line.
import { RpcError } from '../errors.ts';
import {
  createPeer,
  rpcCode,
  type Channel,
  type JsonObject,
  type Origin,
  type Peer,
  type Request,
  type RequestContext,
  type RequestId,
  type RequestOptions,
} from '../jsonrpc/index.ts';
import {
  factsOf,
  isLoggingLevel,
  mcpConventions,
  metaKey,
  metaOf,
  method,
  readInitialize,
  type ClientFacts,
  type LoggingLevel,
  type ServerDialect,
} from '../protocol/index.ts';
import { invalidParams, stringParam, type Cancellation, type WayBack } from './call.ts';
import type { Core } from './core.ts';

/** A channel on which the server may let go of a connection (Streamable HTTP up to 2025-11-25). */
export interface ServerChannel extends Channel {
  detach?(id: RequestId, retryMs: number): void;
}

/** What `initialize` settled, and what its client has asked for since. */
interface Session {
  readonly dialect: ServerDialect;
  readonly facts: ClientFacts;
  readonly follows: Set<string>;
  logLevel: LoggingLevel;
}

const NOWHERE: Origin = {};

export class Line implements WayBack {
  readonly #core: Core;
  readonly #channel: ServerChannel;
  #peer!: Peer;
  #session: Session | undefined;
  #leave = () => {};
  #listening = 0;

  constructor(core: Core, channel: ServerChannel) {
    this.#core = core;
    this.#channel = channel;
  }

  start(onEnd: () => void): void {
    this.#peer = createPeer(this.#channel, {
      conventions: mcpConventions,
      maxAnswering: this.#core.limits.maxAnswering,
      timeoutMs: this.#core.limits.answerTimeoutMs,
      maxMs: this.#core.limits.answerTimeoutMs,
      onRequest: (request, context) => this.#answer(request, context),
      onProblem: ({ kind, message, excerpt }) => this.#core.log('warn', message, { kind, untrusted: excerpt }),
    });
    void this.#peer.ended.then(() => {
      this.#leave();
      onEnd();
    });
  }

  notify(name: string, params: JsonObject, relatedTo?: RequestId): Promise<void> {
    return this.#peer.notify(name, params, relatedTo === undefined ? {} : { relatedTo });
  }

  request(name: string, params: JsonObject | undefined, options: RequestOptions): Promise<JsonObject> {
    return this.#peer.request(name, params, options);
  }

  detach(id: RequestId, retryMs: number): void {
    this.#channel.detach?.(id, retryMs);
  }

  close(): Promise<void> {
    return this.#peer.close();
  }

  async #answer(request: Request, cancellation: RequestContext): Promise<JsonObject> {
    const finished = this.#core.begin();
    const { origin = NOWHERE } = cancellation;
    try {
      return await (this.#isModern(request)
        ? this.#answerModern(request, origin, cancellation)
        : this.#answerLegacy(request, origin, cancellation));
    } catch (error) {
      throw this.#core.failure(error, request, cancellation);
    } finally {
      finished();
    }
  }

  #isModern(request: Request): boolean {
    const meta = metaOf(request.params);
    if (metaKey.protocolVersion in meta) return true;
    if (this.#session !== undefined) return false;
    // Nobody has shaken hands: what only modern clients say is told what is missing.
    const eras = factsOf(request.method)?.eras;
    return metaKey.clientCapabilities in meta || eras?.includes('legacy') === false;
  }

  async #answerModern(request: Request, origin: Origin, cancellation: Cancellation): Promise<JsonObject> {
    if (request.method !== method.listen) return this.#core.serve(request, origin, cancellation, this);
    const { maxSubscriptionsEach } = this.#core.limits;
    if (this.#listening >= maxSubscriptionsEach) throw tooMany('subscriptions on this line', maxSubscriptionsEach);
    this.#listening++;
    try {
      return await this.#core.serve(request, origin, cancellation, this);
    } finally {
      this.#listening--;
    }
  }

  #answerLegacy(request: Request, origin: Origin, cancellation: Cancellation): Promise<JsonObject> | JsonObject {
    const { method: name, params = {} } = request;
    if (name === method.initialize) return this.#initialize(params);
    if (name === method.ping) return {};
    const session = this.#session;
    if (session === undefined) throw notGreeted(request);
    const { capabilities } = this.#core;
    if (name === method.setLogLevel && capabilities.logging !== undefined) return setLogLevel(session, params);
    if (name === method.subscribe && capabilities.resources?.subscribe === true) {
      return follow(session, params, this.#core.limits.maxFollowed);
    }
    if (name === method.unsubscribe && capabilities.resources?.subscribe === true) {
      session.follows.delete(stringParam(params, 'uri'));
      return {};
    }
    const { dialect, facts, logLevel } = session;
    const { headers, identity } = origin;
    return this.#core.answer({
      request,
      params,
      dialect,
      facts,
      logLevel,
      headers,
      identity,
      principal: this.#core.principal(origin),
      cancellation,
      line: this,
      sealer: this.#core.sealer,
    });
  }

  #initialize(params: JsonObject): JsonObject {
    const facts = readInitialize(params);
    const dialect = this.#core.dialect(facts.revision);
    const session: Session = { dialect, facts, follows: new Set(), logLevel: 'info' };
    this.#session = session;
    this.#leave();
    this.#leave = this.#core.watchers.add({
      hears: (changed) => this.#core.capabilities[changed]?.listChanged === true,
      follows: (uri) => session.follows.has(uri),
      tracks: () => false,
      tell: (name, news) => {
        this.notify(name, news).catch(() => {
          // The line is over.
        });
      },
      finish: () => this.#leave(),
    });
    return dialect.encode(method.initialize, this.#core.greeting());
  }
}

function setLogLevel(session: Session, params: JsonObject): JsonObject {
  const level = params['level'];
  if (!isLoggingLevel(level)) throw invalidParams('"level" is not a log level');
  session.logLevel = level;
  return {};
}

function follow({ follows }: Session, params: JsonObject, maxFollowed: number): JsonObject {
  const uri = stringParam(params, 'uri');
  if (follows.size >= maxFollowed && !follows.has(uri)) throw tooMany('subscribed resources in this session', maxFollowed);
  follows.add(uri);
  return {};
}

function notGreeted({ method: name }: Request): RpcError {
  if (factsOf(name) === undefined) return new RpcError(rpcCode.methodNotFound, `Method not found: ${name.slice(0, 128)}`);
  return new RpcError(
    rpcCode.invalidRequest,
    `${name} before a greeting. Send "${method.initialize}" first, or name revision and capabilities in the request's _meta`,
  );
}

function tooMany(what: string, allowed: number): RpcError {
  return new RpcError(rpcCode.internalError, `There may be ${allowed} ${what} at most. End some first`, { allowed });
}
