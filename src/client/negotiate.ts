// Finds out which era and revision a server speaks, and leaves a line on which the conversation can go on.
// Every step is bounded: one probe, at most one retry of it, one handshake, at most one retry of that.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import type { Clock, Limits, Timer } from '../base/index.ts';
import {
  createPeer,
  type Channel,
  type JsonObject,
  type Notification,
  type Origin,
  type Peer,
  type Problem,
  type RequestHandler,
  type Transport,
} from '../jsonrpc/index.ts';
import {
  clientDialect,
  initializeParams,
  isLegacyRevision,
  isModernRevision,
  judge,
  judgeHandshake,
  mcpConventions,
  method,
  notification,
  PREFERRED,
  REVISIONS,
  type ClientDialect,
  type ClientTerms,
  type LegacyRevision,
  type ModernRevision,
  type Probe,
  type Revision,
  type ServerFacts,
} from '../protocol/index.ts';

export interface NegotiateOptions {
  readonly terms: ClientTerms;
  /** Revisions that may be spoken, newest first. Default: all. */
  readonly revisions?: readonly Revision[] | undefined;
  /** The revision this server spoke last time; tried first, and given up when it proves wrong. */
  readonly remembered?: Revision | undefined;
  /** Milliseconds a server may stay silent to the modern greeting. Default 3,000, over HTTP 10,000, or no limit where no
   * other era may be spoken. */
  readonly probeTimeoutMs?: number | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly callTimeoutMs?: number | undefined;
  readonly maxCallMs?: number | undefined;
  /** Hears at once of what is wrong on a line, before anybody holds it. */
  readonly onProblem?: (problem: Problem) => void;
  readonly limits?: Limits | undefined;
}

/** A line and its peer; what the server asks and tells is passed on to whoever holds the line by then. */
export interface Line {
  readonly channel: Channel;
  readonly peer: Peer;
  /** Set once negotiation is over. Until then the server's notifications and problems wait in `early`. */
  holder: LineHolder | undefined;
  /** True once what waited was passed on. */
  caughtUp: boolean;
  readonly early: ((holder: LineHolder) => void)[];
}

export interface LineHolder {
  readonly request: RequestHandler;
  readonly notification: (message: Notification, origin: Origin | undefined) => void;
  readonly problem: (problem: Problem) => void;
}

export interface Negotiated {
  readonly line: Line;
  readonly dialect: ClientDialect;
  readonly facts: ServerFacts;
}

/** Silence shows a legacy server on a line of its own; a slow web server only shows that it is slow. */
const PROBE_MS = { http: 10_000, other: 3_000 } as const;

/** Notifications kept while the greeting is under way. */
const MAX_EARLY = 100;

/** A transport that has an older form to fall back to (HTTP, then HTTP+SSE). */
interface WithFallback extends Transport {
  readonly fallback?: Transport;
}

export async function negotiate(transport: Transport, options: NegotiateOptions): Promise<Negotiated> {
  const spoken = options.revisions ?? REVISIONS;
  const line = await openLine(transport, options);
  try {
    const { remembered } = options;
    if (remembered !== undefined && isLegacyRevision(remembered)) {
      try {
        return await shakeHands(transport, line, remembered, options);
      } catch (error) {
        // The server may have changed its era since; any other fault would meet the probe as well.
        const changed =
          error instanceof RpcError || isParleyError(error, 'http-status') || modernOffer(error, spoken) !== undefined;
        if (!changed) throw error;
      }
    }
    const modern = remembered !== undefined && isModernRevision(remembered) ? remembered : spoken.find(isModernRevision);
    return modern === undefined
      ? await shakeHands(transport, line, spoken.find(isLegacyRevision) ?? PREFERRED.legacy, options)
      : await probe(transport, line, modern, options);
  } catch (error) {
    await line.peer.close();
    throw error;
  }
}

async function probe(
  transport: Transport,
  line: Line,
  preferred: ModernRevision,
  options: NegotiateOptions,
): Promise<Negotiated> {
  const spoken = options.revisions ?? REVISIONS;
  const probeMs = PROBE_MS[line.channel.kind === 'http' ? 'http' : 'other'];
  let revision = preferred;
  for (const attempt of ['first', 'second'] as const) {
    const dialect = clientDialect(revision, options.terms);
    // Where no other era may be spoken, silence is waited out for as long as connecting may take.
    const firstMs = options.probeTimeoutMs ?? (spoken.some(isLegacyRevision) ? probeMs : Infinity);
    // One that has shown that it is awake is not hurried.
    const patienceMs = attempt === 'first' ? firstMs : Math.max(firstMs, probeMs);
    const probing = new AbortController();
    const asked = ask(line, method.discover, dialect.encode({}, {}), {
      // On a line of its own an answer that comes late is still one.
      timeoutMs: line.channel.kind === 'http' ? patienceMs : Infinity,
      headers: line.channel.kind === 'http' ? dialect.headers(method.discover, undefined) : undefined,
      signal: AbortSignal.any([options.signal, probing.signal]),
    });
    const outcome = await within(asked, patienceMs, options.clock);
    options.signal.throwIfAborted();
    // A process that ends on the probe is of an era that does not know it; a lost HTTP connection is an outage.
    if (line.channel.kind === 'http' && outcome.type === 'error' && isParleyError(outcome.error, 'server-stopped')) {
      throw outcome.error;
    }
    const verdict = judge(outcome, revision, attempt, spoken);
    switch (verdict.type) {
      case 'modern':
        return {
          line,
          dialect: clientDialect(verdict.revision, options.terms),
          facts: verdict.facts,
        };
      case 'retry':
        revision = verdict.revision;
        break;
      case 'legacy':
        try {
          const overtakes = attempt === 'first' && outcome === SILENCE ? asked : undefined;
          const agreed = await shakeHandsUnless(overtakes, revision, transport, line, verdict.propose, options);
          if (agreed !== 'modern') return agreed;
          // It has read the handshake too, so it is asked whether it still speaks its own era on this line.
        } catch (error) {
          // It was only too slow for the probe.
          const offer = modernOffer(error, spoken);
          if (offer === undefined || attempt === 'second') throw error;
          revision = offer;
        } finally {
          probing.abort();
        }
        break;
      case 'fail':
        throw verdict.error;
      default:
        verdict satisfies never;
    }
  }
  throw new ParleyError('internal', 'The greeting ended without a verdict.');
}

/** What stands for the answer of a server that has not given one yet. */
const SILENCE: Probe = { type: 'error', error: new ParleyError('timeout', 'The server did not answer server/discover in time.') };

/** The outcome, or `SILENCE` when it takes longer; it may still come then. */
async function within(outcome: Promise<Probe>, ms: number, clock: Clock): Promise<Probe> {
  if (ms === Infinity) return outcome;
  let timer: Timer | undefined;
  const silence = new Promise<Probe>((resolve) => (timer = clock.after(ms, () => resolve(SILENCE))));
  return Promise.race([outcome, silence]).finally(() => timer?.cancel());
}

/**
 * The handshake, or `modern` when the probe is answered after all by a server that shows that it is: it was only slow to start. What
 * it then still says to the handshake is nobody's.
 */
async function shakeHandsUnless(
  probed: Promise<Probe> | undefined,
  asked: ModernRevision,
  transport: Transport,
  line: Line,
  propose: LegacyRevision,
  options: NegotiateOptions,
): Promise<Negotiated | 'modern'> {
  if (probed === undefined) return shakeHands(transport, line, propose, options);
  const overtaken = new AbortController();
  const signal = AbortSignal.any([options.signal, overtaken.signal]);
  const shaking = shakeHands(transport, line, propose, { ...options, signal, overtaken: overtaken.signal });
  const modern = probed.then<Negotiated | 'modern'>((outcome) =>
    judge(outcome, asked, 'first', options.revisions).type === 'modern' ? ('modern' as const) : shaking,
  );
  const first = await Promise.race([shaking, modern]);
  if (first === 'modern') {
    overtaken.abort(new ParleyError('aborted', 'The server answered the probe.'));
    await shaking.catch(() => {
      // That is what was asked for.
    });
  }
  return first;
}

/** A revision of ours, where a server refused the handshake and named the modern ones that it speaks. */
function modernOffer(error: unknown, spoken: readonly Revision[]): ModernRevision | undefined {
  const theirs = isParleyError(error, 'version-unsupported') ? (error.details.theirs ?? []) : [];
  return spoken.filter(isModernRevision).find((revision) => theirs.includes(revision));
}

async function shakeHands(
  transport: WithFallback,
  first: Line,
  propose: LegacyRevision,
  options: NegotiateOptions & { readonly overtaken?: AbortSignal },
): Promise<Negotiated> {
  // A server that died of the probe is started once more, and is then greeted the way it knows.
  let line = (await isOver(first)) ? await openLine(transport, options) : first;
  try {
    let revision = propose;
    for (const attempt of ['first', 'second'] as const) {
      const outcome = await ask(line, method.initialize, initializeParams(revision, options.terms), {
        timeoutMs: Infinity,
        headers: undefined,
        signal: options.signal,
      });
      // An answer to the probe may have come in the same piece.
      if (options.overtaken !== undefined) await new Promise((resolve) => setImmediate(resolve));
      options.overtaken?.throwIfAborted();
      options.signal.throwIfAborted();
      if (attempt === 'first' && transport.fallback !== undefined && pointsToOlderTransport(outcome)) {
        await line.peer.close();
        line = await openLine(transport.fallback, options);
        return await shakeHands(transport.fallback, line, revision, options);
      }
      const handshake = judgeHandshake(outcome, attempt, options.revisions);
      if (handshake.type === 'fail') throw handshake.error;
      if (handshake.type === 'retry') {
        revision = handshake.revision;
        continue;
      }
      const dialect = clientDialect(handshake.revision, options.terms);
      if (dialect.adopts !== undefined) line.channel.adopt?.(dialect.adopts);
      await unlessAborted(line.peer.notify(notification.initialized), options.signal);
      return { line, dialect, facts: handshake.facts };
    }
    throw new ParleyError('internal', 'The handshake ended without a verdict.');
  } catch (error) {
    if (line !== first) await line.peer.close();
    throw error;
  }
}

/** An HTTP endpoint that knows no POST of this kind may still offer HTTP+SSE (2026-07-28, "HTTP+SSE Transport"). */
function pointsToOlderTransport(outcome: Probe): boolean {
  if (outcome.type === 'result' || !isParleyError(outcome.error, 'http-status')) return false;
  return [400, 404, 405].includes(outcome.error.details.status ?? 0);
}

interface AskOptions {
  readonly timeoutMs: number;
  readonly headers: Record<string, string> | undefined;
  readonly signal: AbortSignal;
}

async function ask(line: Line, name: string, params: JsonObject | undefined, options: AskOptions): Promise<Probe> {
  try {
    const result = await line.peer.request(name, params, {
      signal: options.signal,
      timeoutMs: options.timeoutMs,
      maxMs: options.timeoutMs,
      // No cancellation message: initialize may not be cancelled, and a legacy server never knew the probe.
      onGiveUp: line.channel.abandon === undefined ? 'silent' : 'abandon',
      ...(options.headers && { headers: options.headers }),
    });
    return { type: 'result', result };
  } catch (error) {
    return { type: 'error', error };
  }
}

/** The promise's outcome, or the signal's reason as soon as it aborts. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** True when the line has ended, also when its end was only just announced. */
async function isOver(line: Line): Promise<boolean> {
  return Promise.race([line.peer.ended.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);
}

async function openLine(transport: Transport, options: NegotiateOptions): Promise<Line> {
  const channel = await transport.open({ signal: options.signal });
  const early: Line['early'] = [];
  // What came before anybody listened is told while the peer is being made.
  let line: Line | undefined;
  const later = (act: (holder: LineHolder) => void) => {
    if (line?.holder !== undefined && line.caughtUp) act(line.holder);
    else if (early.length < MAX_EARLY) early.push(act);
  };
  const peer = createPeer(channel, {
    ...options.limits,
    conventions: mcpConventions,
    clock: options.clock,
    asks: 'seldom',
    ...(options.callTimeoutMs !== undefined && { timeoutMs: options.callTimeoutMs }),
    ...(options.maxCallMs !== undefined && { maxMs: options.maxCallMs }),
    onRequest(request, context) {
      if (line?.holder !== undefined) return line.holder.request(request, context);
      // A server may ping before it has answered initialize (2025-11-25, lifecycle).
      if (request.method === method.ping) return {};
      throw new RpcError(-32601, 'Method not found');
    },
    onNotification: (message, origin) => later((holder) => holder.notification(message, origin)),
    onProblem(problem) {
      if (line?.holder === undefined) options.onProblem?.(problem);
      later((holder) => holder.problem(problem));
    },
  });
  return (line = { channel, peer, holder: undefined, caughtUp: false, early });
}

/**
 * Hands the line over. What arrived during negotiation is delivered first, a turn later: by then whoever asked for the session has
 * it, and listens.
 */
export function hold(line: Line, holder: LineHolder): void {
  line.holder = holder;
  setImmediate(() => {
    line.caughtUp = true;
    for (const act of line.early.splice(0)) act(holder);
  });
}
