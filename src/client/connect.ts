// From a transport to a session that speaks: opens the line, negotiates, and gives up within a bound.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { systemClock, type Clock, type Limits } from '../base/index.ts';
import { abortError, seconds, type JsonObject, type Transport } from '../jsonrpc/index.ts';
import { extension, isExtensionId, type Implementation, type Revision } from '../protocol/index.ts';
import { VERSION } from '../version.ts';
import { createCache, type Cache } from './cache.ts';
import { capabilitiesOf, type InputHandlers } from './inputs.ts';
import { negotiate } from './negotiate.ts';
import { LiveSession, type Session } from './session.ts';

export interface ConnectOptions {
  /** Who we say we are. Default: parley and its version. */
  readonly client?: Implementation;
  /** What the server may ask of us; each handler is declared as a capability. Default: nothing. */
  readonly inputs?: InputHandlers;
  /**
   * Settings of protocol extensions to declare, by their identifiers, such as `com.example/charts`. Default: tasks alone, which
   * every call follows to their end by itself; what is given here replaces that.
   */
  readonly extensions?: Readonly<Record<string, JsonObject>>;
  /** Revisions that may be spoken, newest first. Default: all. */
  readonly revisions?: readonly Revision[];
  /** The revision this server spoke last time: saves the probe of a legacy server. */
  readonly remembered?: Revision;
  /** Milliseconds for the whole of opening and negotiating. Default 30,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds a server may stay silent to the modern greeting before the handshake is tried, where it may be. Default 3,000, over HTTP 10,000. */
  readonly probeTimeoutMs?: number;
  /** Defaults for calls: milliseconds without an answer (60,000), and in all (600,000). */
  readonly callTimeoutMs?: number;
  readonly maxCallMs?: number;
  /** Where fresh results are kept. Default: a cache of this session's own; `none` keeps nothing. */
  readonly cache?: Cache | 'none';
  /** For whom requests are made; part of the cache's key. Default ''. */
  readonly principal?: string;
  /** What identifies the server in a shared cache. Default: the transport's target. */
  readonly cacheServer?: string;
  /** What the server may not go past, where it is not the default. */
  readonly limits?: Limits;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Opens the transport, finds out which revision the server speaks, and resolves with a session.
 * @throws ParleyError `unreachable`, `server-stopped`, `auth-required`, `not-mcp`, `http-status`, `timeout`,
 * `version-unsupported`, `protocol-violation`, `usage` (an extension's identifier) or `aborted`; RpcError when the server refused
 * the handshake
 * @see basic/versioning (2026-07-28), basic/lifecycle (2025-11-25)
 */
export async function connect(transport: Transport, options: ConnectOptions = {}): Promise<Session> {
  const { inputs = {}, limits = {}, clock = systemClock, connectTimeoutMs = 30_000 } = options;
  const { extensions = { [extension.tasks]: {} } } = options;
  const stray = Object.keys(extensions).find((id) => !isExtensionId(id));
  if (stray !== undefined) {
    throw new ParleyError('usage', `"${stray}" cannot name an extension. Name it with a prefix, as in com.example/charts.`);
  }
  const late = new AbortController();
  let noise = 0;
  const timer = clock.after(connectTimeoutMs, () => late.abort(tooLate(transport, connectTimeoutMs, noise)));
  const signal = options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal]);
  try {
    const negotiated = await negotiate(transport, {
      terms: {
        client: options.client ?? { name: 'parley', version: VERSION },
        capabilities: { ...capabilitiesOf(inputs), ...(Object.keys(extensions).length > 0 && { extensions }) },
      },
      revisions: options.revisions,
      remembered: options.remembered,
      probeTimeoutMs: options.probeTimeoutMs,
      callTimeoutMs: options.callTimeoutMs,
      maxCallMs: options.maxCallMs,
      limits,
      signal,
      clock,
      onProblem: ({ kind }) => {
        if (kind === 'noise') noise++;
      },
    });
    return new LiveSession(negotiated, {
      target: transport.target,
      inputs,
      clock,
      cache: options.cache === 'none' ? undefined : (options.cache ?? createCache({ clock })),
      cacheServer: options.cacheServer ?? transport.target,
      principal: options.principal ?? '',
      limits,
      maxCallMs: options.maxCallMs,
    });
  } catch (error) {
    if (signal.aborted) throw abortError(signal, `Connecting to ${transport.target}`);
    if (isParleyError(error)) throw withHint(error, transport);
    if (error instanceof RpcError) throw error;
    throw new ParleyError('internal', `Connecting to ${transport.target} failed.`, { cause: error });
  } finally {
    timer.cancel();
  }
}

/** The fault, with what to look at where it has other causes in a greeting than later. */
function withHint(error: ParleyError, { target }: Transport): ParleyError {
  const { code, message, details, retryable } = error;
  const saying = (hint: string) => new ParleyError(code, `${message} ${hint}`, { cause: error, details, retryable });
  if (code === 'protocol-violation') return saying('Check that it is an MCP server.');
  if (code === 'server-stopped' && target.startsWith('http:')) return saying('If it speaks TLS, its URL begins with https://.');
  return error;
}

function tooLate(transport: Transport, afterMs: number, noise: number): ParleyError {
  const hint =
    noise === 0
      ? 'Raise connectTimeoutMs if it is slow to start.'
      : `What it wrote, ${noise} ${noise === 1 ? 'line' : 'lines'}, is not MCP. Check that it is an MCP server.`;
  return new ParleyError(
    'timeout',
    `${transport.target} gave no answer to server/discover or initialize within ${seconds(afterMs)}. ${hint}`,
    { details: { afterMs } },
  );
}
