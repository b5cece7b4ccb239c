// The gate of an MCP server that is protected by OAuth: who has a token of the issuer, for this server and with the scopes that are
// needed, comes in. The token itself goes no further.
// @see 2026-07-28 basic/authorization; RFC 6750; RFC 9728; RFC 9449
import { isParleyError, ParleyError } from '../errors.ts';
import { silent, systemClock, type Clock, type Log } from '../base/index.ts';
import type { Identity, JsonObject } from '../jsonrpc/index.ts';
import type { Admission, Arrival, AskedMethod, Gate, GateRefusal } from '../transport/http/index.ts';
import { scopesOf } from './challenge.ts';
import { discoverServer } from './discover.ts';
import { createGuard, isLoopbackUrl, type Resolver } from './guard.ts';
import { createIntrospection } from './introspect.ts';
import { createJwtVerifier, SIGNATURE_ALGORITHMS } from './issuer-keys.ts';
import { createProofCheck, type ProofCheck } from './proof.ts';
import type { RegisteredClient } from './register.ts';
import { remembered } from './remembered.ts';
import { canonicalResource } from './resource.ts';
import type { TokenClaims, TokenVerifier } from './verify.ts';

export interface BearerOptions {
  /** The authorization server whose tokens are good here: https, or http on this machine. */
  readonly issuer: string;
  /** The URL by which clients reach this server: what tokens have to be for. https, or http on this machine. */
  readonly audience: string | URL;
  /** Other values of `aud` that mean this server, at issuers that know no URLs. */
  readonly otherAudiences?: readonly string[];
  /** Scopes without which nothing is served. Default: none. */
  readonly scopes?: readonly string[];
  /** Scopes that one message needs besides; `params` is what its client sent, unchecked. */
  readonly scopesFor?: (asked: AskedMethod) => readonly string[];
  /** Has the issuer asked about each token, as the client that this server is there. Default: tokens are JWTs. */
  readonly introspection?: Omit<RegisteredClient, 'issuer'> & {
    /** Milliseconds for which an answer is used. Default 30,000. */
    readonly cacheMs?: number;
  };
  /** Tells what a token is good for, instead of the two. */
  readonly verifier?: TokenVerifier;
  /** Signature algorithms of tokens and proofs. Default: all that work with public keys. */
  readonly algorithms?: readonly string[];
  /** Whether tokens must be bound to a key of the client. Those that are have to come with a proof either way. Default `accepted`. */
  readonly dpop?: 'accepted' | 'required';
  /** For people, in the metadata. */
  readonly name?: string;
  readonly documentation?: string;
  /** Host names that may be in a private network, besides the issuer's own. */
  readonly trustedHosts?: readonly string[];
  readonly resolve?: Resolver;
  readonly clock?: Clock;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Hears why tokens could not be checked. */
  readonly log?: Log;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const TOKEN = /^(bearer|dpop) +([A-Za-z0-9._~+/-]+=*)$/i;
const MAX_TOKEN = 16_384;
const FETCH_MS = 5_000;
const SERVER_KEEP_MS = 3_600_000;
const SERVER_RETRY_MS = 5_000;

/**
 * Returns a gate for `serveHttp` and the listener. Nothing is fetched before the first token comes.
 * @throws ParleyError `config-invalid` for an address, scope or algorithm that cannot be one
 */
export function requireBearer(options: BearerOptions): Gate {
  return new BearerGate(options);
}

class BearerGate implements Gate {
  readonly #options: BearerOptions;
  readonly #resource: URL;
  readonly #scopes: readonly string[];
  readonly #verifier: TokenVerifier;
  readonly #checkProof: ProofCheck;
  readonly #algorithms: readonly string[];
  readonly #documentPath: string;
  readonly #document: JsonObject;
  readonly #log: Log;

  constructor(options: BearerOptions) {
    const { scopes = [], algorithms = SIGNATURE_ALGORITHMS, now = Date.now, log = silent } = options;
    this.#options = options;
    this.#resource = resourceAt(options.audience);
    this.#scopes = checkedScopes(scopes);
    const wrong = algorithms.find((algorithm) => !SIGNATURE_ALGORITHMS.includes(algorithm));
    if (wrong !== undefined || algorithms.length === 0) {
      throw new ParleyError('config-invalid', `algorithms must be some of ${SIGNATURE_ALGORITHMS.join(', ')}.`);
    }
    this.#algorithms = algorithms;
    this.#log = log;
    this.#verifier = options.verifier ?? verifierOf(options, canonicalResource(this.#resource), algorithms);
    this.#checkProof = createProofCheck({ algorithms, now });
    const { pathname } = this.#resource;
    this.#documentPath = pathname === '/' ? WELL_KNOWN : WELL_KNOWN + pathname;
    this.#document = this.#metadata();
  }

  document(path: string): JsonObject | undefined {
    return path === this.#documentPath ? this.#document : undefined;
  }

  async admit(arrival: Arrival, { signal }: { readonly signal: AbortSignal }): Promise<Admission> {
    const { headers, rawHeaders, target } = arrival;
    if (count(rawHeaders, 'authorization') > 1 || count(rawHeaders, 'dpop') > 1)
      return this.#malformed('There is more than one Authorization or DPoP header');
    if (new URLSearchParams(target.split('?', 2)[1] ?? '').has('access_token'))
      return this.#malformed('A token belongs into the Authorization header, not into the address');
    const { authorization } = headers;
    if (authorization === undefined || !/^(?:bearer|dpop)(?: |$)/i.test(authorization)) {
      return { refusal: this.#refusal(401, 'A token is needed', {}) };
    }
    const [, scheme = '', token = ''] = TOKEN.exec(authorization) ?? [];
    if (token === '' || token.length > MAX_TOKEN) return this.#malformed('The Authorization header has no usable token');
    try {
      const verdict = await this.#verifier.verify(token, { signal });
      if ('invalid' in verdict) return this.#invalid(verdict.invalid);
      const wrong = await this.#unbound(verdict.token, scheme.toLowerCase(), token, arrival);
      return wrong === undefined ? { identity: identityOf(verdict.token) } : this.#invalid(wrong);
    } catch (error) {
      if (!isParleyError(error, 'aborted')) this.#log('error', 'A token could not be checked.', { error });
      const message = 'Tokens cannot be checked at the moment. Try again later.';
      return { refusal: { status: 503, message, headers: { 'Retry-After': String(SERVER_RETRY_MS / 1_000) } } };
    }
  }

  permit({ scopes }: Identity, asked: readonly AskedMethod[]): GateRefusal | undefined {
    const needed = new Set(this.#scopes);
    const { scopesFor } = this.#options;
    if (scopesFor !== undefined) for (const one of asked) for (const scope of checkedScopes(scopesFor(one))) needed.add(scope);
    if ([...needed].every((scope) => scopes.includes(scope))) return undefined;
    // All that this takes at once, or the client would have to come again for each.
    return this.#refusal(403, 'The token lacks a scope that this needs', { error: 'insufficient_scope', scope: [...needed] });
  }

  /** What is wrong between a token and the key it is bound to, or is not. */
  async #unbound(token: TokenClaims, scheme: string, accessToken: string, arrival: Arrival): Promise<string | undefined> {
    const { confirmation } = token;
    if (confirmation === undefined) {
      if (this.#options.dpop === 'required') return 'The token has to be bound to a key (DPoP)';
      return scheme === 'dpop' ? 'The token is not bound to a key' : undefined;
    }
    const { jkt, ...other } = confirmation;
    if (typeof jkt !== 'string' || Object.keys(other).length > 0) return 'The token is bound in a way that is not served here';
    if (scheme !== 'dpop') return 'The token is bound to a key, and has to come with a proof (DPoP)';
    const { method, target, headers } = arrival;
    const here = this.#resource.origin + new URL(target, this.#resource).pathname;
    return this.#checkProof(proofIn(headers['dpop']), {
      method,
      urls: [here, this.#resource.origin + this.#resource.pathname],
      accessToken,
      thumbprint: jkt,
    });
  }

  #malformed(message: string): Admission {
    return { refusal: this.#refusal(400, message, { error: 'invalid_request' }) };
  }

  #invalid(message: string): Admission {
    return { refusal: this.#refusal(401, message, { error: 'invalid_token' }) };
  }

  #refusal(
    status: number,
    message: string,
    { error, scope = this.#scopes }: { readonly error?: string; readonly scope?: readonly string[] },
  ): GateRefusal {
    const parameters = Object.entries({
      error,
      error_description: error === undefined ? undefined : message,
      scope: scope.length === 0 ? undefined : scope.join(' '),
      resource_metadata: this.#resource.origin + this.#documentPath,
    }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]));
    const bound = this.#options.dpop === 'required';
    if (bound) parameters.push(`algs="${this.#algorithms.join(' ')}"`);
    const challenge = `${bound ? 'DPoP' : 'Bearer'} ${parameters.join(', ')}`;
    return { status, message: `${message}.`, headers: { 'WWW-Authenticate': challenge } };
  }

  #metadata(): JsonObject {
    const { issuer, name, documentation, dpop } = this.#options;
    return {
      resource: canonicalResource(this.#resource),
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      ...(this.#scopes.length > 0 && { scopes_supported: [...this.#scopes] }),
      ...(name !== undefined && { resource_name: name }),
      ...(documentation !== undefined && { resource_documentation: documentation }),
      dpop_signing_alg_values_supported: [...this.#algorithms],
      ...(dpop === 'required' && { dpop_bound_access_tokens_required: true }),
    };
  }
}

function verifierOf(options: BearerOptions, resource: string, algorithms: readonly string[]): TokenVerifier {
  const { issuer, introspection, otherAudiences = [], trustedHosts = [], resolve } = options;
  const { clock = systemClock, now = Date.now } = options;
  const serverUrl = safeUrl(issuer, 'The issuer');
  const guard = createGuard({
    serverUrl,
    trustedHosts: [serverUrl.hostname, ...trustedHosts],
    fetchTimeoutMs: FETCH_MS,
    clock,
    ...(resolve && { resolve }),
  });
  const server = remembered(() => discoverServer(issuer, { guard, signal: new AbortController().signal }), {
    clock,
    keepMs: SERVER_KEEP_MS,
    retryMs: SERVER_RETRY_MS,
  });
  const shared = { audiences: [resource, ...otherAudiences], guard, server, clock, now };
  if (introspection === undefined) return createJwtVerifier({ ...shared, algorithms });
  const { cacheMs = 30_000, ...client } = introspection;
  return createIntrospection({ ...shared, client, cacheMs });
}

function identityOf({ issuer, subject, clientId, scopes, expiresAt, claims }: TokenClaims): Identity {
  return {
    principal: JSON.stringify([issuer, subject ?? null, clientId ?? null]),
    issuer,
    ...(subject !== undefined && { subject }),
    ...(clientId !== undefined && { clientId }),
    scopes,
    expiresAt,
    claims,
  };
}

function resourceAt(audience: string | URL): URL {
  const url = safeUrl(audience, 'The audience');
  if (url.search !== '' || url.hash !== '') throw new ParleyError('config-invalid', 'The audience has no query and no fragment.');
  return url;
}

function safeUrl(text: string | URL, what: string): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackUrl(url));
  if (url === undefined || !isSafe || url.username !== '' || url.password !== '') {
    throw new ParleyError('config-invalid', `${what} must be an https URL, or an http URL of this machine.`);
  }
  return url;
}

/** Such as may stand in a challenge. */
function checkedScopes(scopes: readonly string[]): readonly string[] {
  if (scopesOf(scopes.join(' ')).length === new Set(scopes).size && !scopes.includes('offline_access')) return scopes;
  throw new ParleyError(
    'config-invalid',
    'A scope of the server is none, or is offline_access, which is not for servers to ask for.',
  );
}

function count(rawHeaders: readonly string[], wanted: string): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === wanted).length;
}

function proofIn(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
