// Tokens that are JWTs, checked with the keys that their issuer publishes. What is fetched is asked for seldom, however many
// tokens come and whatever is in them.
// @see RFC 9068; RFC 8725
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type RemoteJWKSet } from 'jose';
import type { AuthorizationServer } from 'oauth4webapi';
import { ParleyError } from '../errors.ts';
import type { Clock } from '../base/index.ts';
import type { Guard } from './guard.ts';
import { shown } from './text.ts';
import { CLOCK_TOLERANCE_MS, readClaims, type TokenVerifier, type Verdict } from './verify.ts';

/** The algorithms whose signatures can be checked with what is public. There is no other way to be one of a token's. */
export const SIGNATURE_ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

export interface JwtVerifierOptions {
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly guard: Guard;
  /** Resolves with the issuer's metadata. */
  readonly server: () => Promise<AuthorizationServer>;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const KEYS_BYTES = 262_144;
const FETCH_MS = 5_000;
/** Keys are asked for again after so long, and no sooner when a token names one that is not among them. */
const KEEP_MS = 600_000;
const COOLDOWN_MS = 30_000;
/** After a failure. */
const RETRY_MS = 5_000;
/** What issuers write into `typ` of an access token; other kinds of JWT of theirs are not to pass for one. */
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt'];

/** Returns who checks JWTs by the keys of their issuer. */
export function createJwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const { audiences, guard, clock, now, server } = options;
  const algorithms = [...options.algorithms];
  let keys: { readonly uri: string; readonly set: RemoteJWKSet } | undefined;

  async function keysOf({ issuer, jwks_uri: uri }: AuthorizationServer): Promise<RemoteJWKSet> {
    if (uri === undefined) throw new ParleyError('protocol-violation', `${shown(issuer)} publishes no keys (jwks_uri).`);
    if (keys?.uri !== uri) keys = { uri, set: remoteKeys(guard.check(uri, 'The jwks_uri of the authorization server')) };
    return keys.set;
  }

  function remoteKeys(url: URL): RemoteJWKSet {
    let failedAt = -Infinity;
    const fetchKeys = async (target: string, { signal }: { readonly signal: AbortSignal }): Promise<Response> => {
      const failed = () => new ParleyError('unreachable', `The keys at ${url.origin} could not be fetched.`, { retryable: true });
      if (clock.now() - failedAt < RETRY_MS) throw failed();
      try {
        const response = await guard.fetch(target, {
          method: 'GET',
          headers: { accept: 'application/json' },
          signal,
          maxBytes: KEYS_BYTES,
        });
        if (response.status !== 200) throw failed();
        return response;
      } catch (error) {
        failedAt = clock.now();
        throw error;
      }
    };
    return createRemoteJWKSet(url, {
      timeoutDuration: FETCH_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: KEEP_MS,
      [customFetch]: fetchKeys,
    });
  }

  return {
    async verify(token): Promise<Verdict> {
      const { issuer, ...rest } = await server();
      const set = await keysOf({ issuer, ...rest });
      try {
        const { payload, protectedHeader } = await jwtVerify(token, set, {
          algorithms,
          currentDate: new Date(now()),
          clockTolerance: CLOCK_TOLERANCE_MS / 1_000,
        });
        const { typ } = protectedHeader;
        if (typ !== undefined && !TYPES.includes(typ.toLowerCase())) return { invalid: 'The token is not an access token' };
        return readClaims(payload, { issuer, audiences, named: 'required', now: now() });
      } catch (error) {
        const why = invalidity(error);
        if (why === undefined) throw error;
        return { invalid: why };
      }
    },
  };
}

/** Why a token is no good; undefined when it is not the token's fault. */
function invalidity(error: unknown): string | undefined {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return 'The token is not valid yet, or its dates are no dates';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'The token is not signed with one of the keys of the issuer';
  const ofToken = [errors.JWSInvalid, errors.JWTInvalid, errors.JOSEAlgNotAllowed, errors.JOSENotSupported];
  if (error instanceof errors.JWSSignatureVerificationFailed || ofToken.some((kind) => error instanceof kind))
    return 'The token is not one of the issuer';
  return undefined;
}
