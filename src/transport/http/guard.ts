// Which requests may be looked at at all: the defence against web pages that reach a local server by DNS rebinding or
// cross-site requests. Decides on headers alone and never reads a body.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ParleyError } from '../../errors.ts';

export interface GuardOptions {
  /**
   * Hosts that clients may name: `name` with any port, or `name:port`. Default: the names of this machine's loopback.
   * A list replaces the default.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Origins of web pages that may connect, such as `https://app.example.com`. Default: those of loopback. A list replaces
   * the default, and when one of it is not of loopback, its pages get the CORS headers they need.
   */
  readonly allowedOrigins?: readonly string[];
}

export interface Guard {
  /** Says why a request is refused, to be answered 403; undefined when it may pass. */
  refusal(request: IncomingMessage): string | undefined;
  /** Sets the CORS headers; true when that was an OPTIONS request and is thereby answered. */
  answerCors(request: IncomingMessage, response: ServerResponse): boolean;
}

const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;
const PORT = /:\d{1,5}$/;

/**
 * Creates the check that every request passes first.
 * @throws ParleyError `usage` for an entry that could never match
 */
export function createGuard(options: GuardOptions): Guard {
  const hosts = options.allowedHosts && new Set(options.allowedHosts.map(readHost));
  const origins = options.allowedOrigins && new Set(options.allowedOrigins.map(readOrigin));
  const crossOrigin = [...(origins ?? [])].some((origin) => !LOOPBACK_ORIGIN.test(origin));

  function isHostAllowed(host: string): boolean {
    if (hosts === undefined) return LOOPBACK_HOST.test(host);
    const name = host.toLowerCase();
    return hosts.has(name) || hosts.has(name.replace(PORT, ''));
  }

  return {
    refusal(request) {
      const { host, origin, 'sec-fetch-site': site } = request.headers;
      if (host === undefined || countHosts(request.rawHeaders) !== 1) return 'There must be exactly one Host header.';
      if (!isHostAllowed(host)) return 'This Host is not served here. Use a host name that is, or add it to allowedHosts.';
      if (origin === undefined) {
        // Only browsers send it: a request across sites that hides its origin is one a page makes without being asked.
        if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
        return 'Requests across sites are not served here.';
      }
      if (origins === undefined ? LOOPBACK_ORIGIN.test(origin) : origins.has(origin)) return undefined;
      return 'This Origin may not connect. Add it to allowedOrigins if it should.';
    },
    answerCors(request, response) {
      if (!crossOrigin) return false;
      response.setHeader('Vary', 'Origin');
      const { origin, 'access-control-request-headers': wanted } = request.headers;
      if (origin === undefined) return false;
      response.setHeader('Access-Control-Allow-Origin', origin);
      response.setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id, WWW-Authenticate');
      if (request.method !== 'OPTIONS') return false;
      response.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE');
      // The page is one of those configured, and no credentials are allowed: which headers it sends does not matter.
      if (wanted !== undefined) response.setHeader('Access-Control-Allow-Headers', wanted);
      response.writeHead(204).end();
      return true;
    },
  };
}

/** Node keeps the first of several Host headers and drops the rest; a proxy may have kept another. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function readHost(entry: string): string {
  if (!HOST.test(entry)) {
    throw new ParleyError('usage', `"${entry}" in allowedHosts is not a host. Write it as "name" or "name:port".`);
  }
  return entry.toLowerCase();
}

function readOrigin(entry: string): string {
  // Opaque origins have the text "null" and are never allowed.
  const origin = URL.canParse(entry) ? new URL(entry).origin : 'null';
  if (origin === 'null' || origin !== entry) {
    throw new ParleyError(
      'usage',
      `"${entry}" in allowedOrigins is not an origin. Write it as "https://name" or "https://name:port".`,
    );
  }
  return origin;
}
