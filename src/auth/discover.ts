// Finds out who protects an MCP server and how: its protected-resource metadata, the authorization server that names, and that
// one's metadata. A document that contradicts the address it was fetched for is not used.
// @see 2026-07-28 basic/authorization/authorization-server-discovery; RFC 9728; RFC 8414; 2025-03-26 basic/authorization
import type { AuthorizationServer } from 'oauth4webapi';
import { isParleyError, ParleyError } from '../errors.ts';
import { isObject } from '../jsonrpc/index.ts';
import type { Guard } from './guard.ts';
import { canonicalResource, isBroader, sameResource } from './resource.ts';
import { shown } from './text.ts';

export interface DiscoverOptions {
  readonly guard: Guard;
  /** From the challenge: where the server says its metadata are. */
  readonly resourceMetadata?: string | undefined;
  /** Issuers to choose where the server names several: the first of these that is among them. */
  readonly preferredIssuers?: readonly string[];
  /** The issuer where the server names none. */
  readonly knownIssuer?: string | undefined;
  /** `allowed` for a server that speaks 2025-03-26: the server's own origin is then asked where it names no issuer. */
  readonly legacy?: 'allowed' | 'refused';
  /** Asks whether tokens may be for a resource of the same origin that covers more than this server. Default: they may not. */
  readonly acceptBroader?: (resource: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** What was found. */
export interface Discovery {
  /** The identifier to ask tokens for, exactly as the server writes it. */
  readonly resource: string;
  /** The scopes the server says are needed for its basics. */
  readonly scopes: readonly string[] | undefined;
  /** True when the server wants tokens bound to a key. */
  readonly dpopRequired: boolean;
  readonly server: AuthorizationServer;
  /** `assumed`: there are no metadata; the endpoints are where 2025-03-26 says. */
  readonly metadata: 'published' | 'assumed';
}

interface Resource {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  readonly dpopRequired: boolean;
}

const METADATA_BYTES = 262_144;
const RESOURCE_WELL_KNOWN = '/.well-known/oauth-protected-resource';
const OAUTH_WELL_KNOWN = '/.well-known/oauth-authorization-server';
const OIDC_WELL_KNOWN = '/.well-known/openid-configuration';

/**
 * Resolves with the authorization server of the MCP server at `serverUrl` and what it needs to be told.
 * @throws ParleyError `auth-required` when nothing says who protects the server, `protocol-violation` when what is said does not
 * fit together, `denied` when it may not be fetched, or what the guard's fetch throws when nobody could be asked
 */
export async function discover(serverUrl: URL, options: DiscoverOptions): Promise<Discovery> {
  const { knownIssuer, legacy = 'refused', preferredIssuers = [] } = options;
  const found = await discoverResource(serverUrl, options);
  if (found === undefined) {
    const assumed = { resource: canonicalResource(serverUrl), scopes: undefined, dpopRequired: false };
    if (knownIssuer !== undefined) {
      return { ...assumed, server: await discoverServer(knownIssuer, options), metadata: 'published' };
    }
    if (legacy === 'refused') {
      const message = `${serverUrl.origin} does not say where to sign in: it has no protected-resource metadata. Configure its issuer.`;
      throw new ParleyError('auth-required', message);
    }
    const server = await tryServer(serverUrl.origin, options);
    if (server !== undefined) return { ...assumed, server, metadata: 'published' };
    return { ...assumed, server: assumedServer(serverUrl.origin), metadata: 'assumed' };
  }
  const issuer =
    preferredIssuers.find((preferred) => found.issuers.some((named) => sameIssuer(named, preferred))) ?? found.issuers[0]!;
  const { resource, scopes, dpopRequired } = found;
  return { resource, scopes, dpopRequired, server: await discoverServer(issuer, options), metadata: 'published' };
}

/**
 * Resolves with the metadata of an authorization server.
 * @throws ParleyError as `discover`
 */
export async function discoverServer(
  issuer: string,
  options: Pick<DiscoverOptions, 'guard' | 'signal'>,
): Promise<AuthorizationServer> {
  const server = await tryServer(issuer, options);
  if (server !== undefined) return server;
  throw new ParleyError('protocol-violation', `The authorization server ${shown(issuer)} publishes no metadata.`);
}

/** True when the two name the same issuer: equal, or one has the slash of an empty path and the other does not. */
export function sameIssuer(a: string, b: string): boolean {
  return withoutRootSlash(a) === withoutRootSlash(b);
}

async function discoverResource(serverUrl: URL, options: DiscoverOptions): Promise<Resource | undefined> {
  const { resourceMetadata, guard, signal } = options;
  const { origin, pathname } = serverUrl;
  // Only the path-aware form of a path is about this very server; the metadata of the origin may be about all of it.
  const path = pathname.replace(/\/$/, '');
  const candidates: { url: string; about: URL }[] = [];
  if (resourceMetadata !== undefined) candidates.push({ url: resourceMetadata, about: serverUrl });
  if (path !== '') candidates.push({ url: `${origin}${RESOURCE_WELL_KNOWN}${pathname}${serverUrl.search}`, about: serverUrl });
  candidates.push({ url: `${origin}${RESOURCE_WELL_KNOWN}`, about: new URL(origin) });
  const trouble: unknown[] = [];
  for (const { url, about } of candidates) {
    const document = await fetchJson(url, guard, signal, trouble);
    const resource = document?.['resource'];
    const issuers = document?.['authorization_servers'];
    if (typeof resource !== 'string' || !isStrings(issuers) || issuers.length === 0) continue;
    if (!sameResource(resource, serverUrl) && !sameResource(resource, about)) {
      const broader = isBroader(resource, serverUrl) && (await options.acceptBroader?.(resource)) === true;
      if (!broader) throw mismatch('metadata of the MCP server are', 'resource', resource, canonicalResource(serverUrl));
    }
    const scopes = document?.['scopes_supported'];
    return {
      resource,
      issuers,
      scopes: isStrings(scopes) ? scopes : undefined,
      dpopRequired: document?.['dpop_bound_access_tokens_required'] === true,
    };
  }
  // When nobody could be asked, that is the news, and not that there are no metadata.
  if (trouble.length === candidates.length) throw trouble[0];
  return undefined;
}

/** The metadata of `issuer`, or undefined when there are none. */
async function tryServer(
  issuer: string,
  { guard, signal }: Pick<DiscoverOptions, 'guard' | 'signal'>,
): Promise<AuthorizationServer | undefined> {
  const url = guard.check(issuer, 'The authorization server');
  if (url.search !== '' || issuer.includes('#')) {
    throw new ParleyError('protocol-violation', `The issuer ${shown(issuer)} has a query or a fragment; it cannot be one.`);
  }
  const { origin } = url;
  const path = url.pathname.replace(/\/$/, '');
  const candidates =
    path === ''
      ? [origin + OAUTH_WELL_KNOWN, origin + OIDC_WELL_KNOWN]
      : [origin + OAUTH_WELL_KNOWN + path, origin + OIDC_WELL_KNOWN + path, origin + path + OIDC_WELL_KNOWN];
  const trouble: unknown[] = [];
  let contradiction: ParleyError | undefined;
  for (const candidate of candidates) {
    const document = await fetchJson(candidate, guard, signal, trouble);
    const named = document?.['issuer'];
    if (document === undefined || typeof named !== 'string') continue;
    // The address is the same for an empty path with and without its slash, and so is fit for whichever of them it names.
    if (named !== issuer && !(path === '' && sameIssuer(named, issuer))) {
      contradiction ??= mismatch('metadata of the authorization server are', 'issuer', named, issuer);
      continue;
    }
    return checkedServer(document, named, guard);
  }
  if (contradiction !== undefined) throw contradiction;
  if (trouble.length === candidates.length) throw trouble[0];
  return undefined;
}

/** The metadata, with every endpoint that is used checked. */
function checkedServer(document: Readonly<Record<string, unknown>>, issuer: string, guard: Guard): AuthorizationServer {
  const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'];
  for (const name of endpoints) {
    const value = document[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') throw new ParleyError('protocol-violation', `The ${name} of ${shown(issuer)} is no text.`);
    guard.check(value, `The ${name} of the authorization server`);
  }
  const lists = ['scopes_supported', 'code_challenge_methods_supported', 'token_endpoint_auth_methods_supported'];
  const kept = Object.entries(document).filter(([name, value]) => value !== null && (!lists.includes(name) || isStrings(value)));
  return { ...Object.fromEntries(kept), issuer };
}

/** An object, or undefined for whatever else is there; what kept it from being asked for goes into `trouble`. */
async function fetchJson(
  url: string,
  guard: Guard,
  signal: AbortSignal,
  trouble: unknown[],
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const response = await guard.fetch(url, {
      method: 'GET',
      headers: { accept: 'application/json' },
      signal,
      maxBytes: METADATA_BYTES,
    });
    if (response.status !== 200) return undefined;
    const value: unknown = await response.json().catch(() => undefined);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (signal.aborted || !isParleyError(error)) throw error;
    trouble.push(error);
    return undefined;
  }
}

/**
 * Returns what an authorization server without metadata is taken to be.
 * @see 2025-03-26 basic/authorization, "Fallbacks for Servers without Metadata Discovery"
 */
export function assumedServer(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
  };
}

function mismatch(what: string, member: string, found: string, expected: string): ParleyError {
  return new ParleyError(
    'protocol-violation',
    `The ${what} for another ${member}: ${shown(found)} instead of ${shown(expected)}. Nothing was sent there.`,
  );
}

function withoutRootSlash(issuer: string): string {
  return /^[a-z]+:\/\/[^/]+\/$/.test(issuer) ? issuer.slice(0, -1) : issuer;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
