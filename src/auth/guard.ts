// Fetches what a server or its metadata named: only from addresses that were checked, connecting to exactly those, with no
// redirects, within caps of size and time. What came instead of an answer is never repeated in a message.
import { lookup as systemLookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { isParleyError, ParleyError } from '../errors.ts';
import { systemClock, type Clock } from '../base/index.ts';

/** The addresses of a host name. */
export type Resolver = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface GuardOptions {
  /** The configured MCP server: what is allowed to be reached depends on where it is. */
  readonly serverUrl: URL;
  /** Host names that may have private addresses. Default: none but the server's own. */
  readonly trustedHosts?: readonly string[];
  /** Milliseconds for one fetch. Default 10,000. */
  readonly fetchTimeoutMs?: number;
  readonly resolve?: Resolver;
  readonly clock?: Clock;
}

export interface GuardedInit {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Bytes of the answer. Default 64 KiB. */
  readonly maxBytes?: number;
}

/** Fetches under the guard; the answer's body has been read. */
export type GuardedFetch = (url: string | URL, init: GuardedInit) => Promise<Response>;

export interface Guard {
  /**
   * Returns `text` as a URL that the guard would fetch, as far as that can be said without its addresses.
   * @throws ParleyError `denied`
   */
  check(text: string, what: string): URL;
  /** @throws ParleyError `denied`, `unreachable`, `timeout`, `limit`, `protocol-violation`, or the signal's reason */
  readonly fetch: GuardedFetch;
}

const KIB = 1_024;
/** Ports that other protocols listen on. @see the Fetch standard, "port blocking" */
const BAD_PORTS = new Set(
  (
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 ' +
    '143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 ' +
    '3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
);

/** Addresses that are not on the public internet. Those that carry an IPv4 address are unwrapped before. */
const NOT_PUBLIC = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv4');
}
for (const [net, prefix] of [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv6');
}
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** What an address may be reached as. */
export type AddressKind = 'public' | 'private' | 'loopback';

/** Returns what kind of address it is; what is no address at all is private. */
export function addressKind(address: string): AddressKind {
  const plain = unwrapped(address);
  const family = isIP(plain);
  if (family === 0) return 'private';
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (LOOPBACK.check(plain, type)) return 'loopback';
  return NOT_PUBLIC.check(plain, type) ? 'private' : 'public';
}

/** True for a URL whose host can only be this machine. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  const host = bare(hostname);
  return host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && addressKind(host) === 'loopback');
}

/** Returns a guard for what one MCP server may lead to. */
export function createGuard(options: GuardOptions): Guard {
  const { serverUrl, trustedHosts = [], fetchTimeoutMs = 10_000, clock = systemClock } = options;
  const resolve = options.resolve ?? ((hostname: string) => systemLookup(hostname, { all: true }));
  const serverIsLocal = isLoopbackUrl(serverUrl);

  /** Throws unless `addresses`, those of `url`, may be connected to. */
  function checkAddresses(url: URL, addresses: readonly string[]): void {
    const kinds = new Set(addresses.map(addressKind));
    if (url.protocol === 'http:' && (kinds.size !== 1 || !kinds.has('loopback'))) throw refused('is not on this machine');
    if (url.origin === serverUrl.origin) return;
    if (kinds.has('loopback') && !serverIsLocal) throw refused('is on this machine, where the MCP server is not');
    if (kinds.has('private') && !trustedHosts.includes(bare(url.hostname))) throw refused('is in a private network');
  }

  function check(text: string, what: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !['https:', 'http:'].includes(url.protocol)) throw refused('is no http or https URL', what);
    if (url.username !== '' || url.password !== '') throw refused('has a user name in it', what);
    if (url.protocol === 'http:' && !(serverIsLocal && isLoopbackUrl(url))) throw refused('is not https', what);
    if (BAD_PORTS.has(url.port)) throw refused('has a port that other protocols use', what);
    const host = bare(url.hostname);
    // A literal address is never looked up, so it is checked here.
    if (isIP(host) !== 0) checkAddresses(url, [host]);
    url.hash = '';
    return url;
  }

  return {
    check,
    async fetch(target, init) {
      const url = check(String(target), 'An address to fetch');
      const late = new AbortController();
      const timer = clock.after(fetchTimeoutMs, () =>
        late.abort(new ParleyError('timeout', `${url.origin} did not answer in time.`, { details: { afterMs: fetchTimeoutMs } })),
      );
      const signal = init.signal === undefined ? late.signal : AbortSignal.any([init.signal, late.signal]);
      try {
        return await exchange(url, init, guardedLookup(url), signal);
      } finally {
        timer.cancel();
      }
    },
  };

  function guardedLookup(url: URL): LookupFunction {
    return (hostname, { all }, done) => {
      const answer = async () => {
        const found = await resolve(hostname);
        if (found.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
        checkAddresses(
          url,
          found.map(({ address }) => address),
        );
        return found.map(({ address, family }) => ({ address, family }));
      };
      answer().then(
        (found) => (all === true ? done(null, found) : done(null, found[0]!.address, found[0]!.family)),
        (error: unknown) => done(error as NodeJS.ErrnoException, '', 0),
      );
    };
  }
}

function exchange(url: URL, init: GuardedInit, lookup: LookupFunction, signal: AbortSignal): Promise<Response> {
  const { method, headers, body, maxBytes = 64 * KIB } = init;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const request = (url.protocol === 'https:' ? https : http).request(url, {
      method,
      agent: false,
      lookup,
      headers: {
        'user-agent': 'parley',
        ...headers,
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      },
      insecureHTTPParser: false,
      ...(url.protocol === 'https:' ? { rejectUnauthorized: true } : {}),
    });
    const fail = (error: ParleyError) => {
      signal.removeEventListener('abort', onAbort);
      request.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal.reason as ParleyError);
    signal.addEventListener('abort', onAbort, { once: true });
    const lost = (cause: unknown) =>
      fail(isParleyError(cause) ? cause : new ParleyError('unreachable', `${url.origin} could not be asked.`, { cause }));
    request.on('error', lost);
    request.once('response', (response) => {
      const encoding = response.headers['content-encoding'] ?? 'identity';
      if (encoding !== 'identity') return fail(violation(url, 'sent a compressed answer that nobody asked for'));
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) return fail(tooLarge(url, maxBytes, size));
        chunks.push(chunk);
      });
      response.on('error', lost);
      response.once('end', () => {
        signal.removeEventListener('abort', onAbort);
        const status = response.statusCode ?? 0;
        if (status < 200 || status > 599) return fail(violation(url, 'answered with a status that HTTP does not have'));
        const shown = new Headers();
        for (const [name, value] of Object.entries(response.headersDistinct)) {
          for (const one of value ?? []) shown.append(name, one);
        }
        const bodiless = [204, 205, 304].includes(status);
        resolve(new Response(bodiless ? null : Buffer.concat(chunks), { status, headers: shown }));
      });
    });
    request.end(body);
  });
}

/** The IPv4 address in an IPv6 one that only wraps it (mapped, or behind NAT64), otherwise the address itself. */
function unwrapped(address: string): string {
  const plain = address.replace(/%.*$/, '');
  if (isIP(plain) !== 6) return plain;
  // The URL parser writes every address in its one canonical form, with hexadecimal groups.
  const canonical = bare(new URL(`http://[${plain}]/`).hostname);
  const groups = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (groups === null) return canonical;
  const [high, low] = [parseInt(groups[1]!, 16), parseInt(groups[2]!, 16)];
  const inner = [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return isIPv4(inner) ? inner : canonical;
}

/** A host name without the brackets of IPv6 and without a dot at its end. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function refused(why: string, what = 'An address to fetch'): ParleyError {
  return new ParleyError('denied', `${what} ${why}; it was not contacted. Check what the server's authorization names.`);
}

function violation(url: URL, what: string): ParleyError {
  return new ParleyError('protocol-violation', `${url.origin} ${what}.`);
}

function tooLarge(url: URL, allowed: number, observed: number): ParleyError {
  return new ParleyError('limit', `${url.origin} sent an answer of more than ${allowed} bytes; it was dropped.`, {
    details: { limit: 'oauth-body', allowed, observed },
  });
}
