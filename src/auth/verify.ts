// What an access token says and whether it is good here: the port for whoever can tell, and the one reading of claims, whichever
// way they came. Never looks at a signature itself.
import { isObject } from '../jsonrpc/index.ts';

/** What a good token says. */
export interface TokenClaims {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** What the token is bound to, as `cnf` says: RFC 7800. */
  readonly confirmation: Readonly<Record<string, unknown>> | undefined;
  /** All of it. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** `invalid` is the reason in words of ours, for the client. */
export type Verdict = { readonly token: TokenClaims } | { readonly invalid: string };

/** Tells whether an access token is good here. */
export interface TokenVerifier {
  /** @throws ParleyError when nothing can be said of the token at the moment */
  verify(token: string, options: { readonly signal: AbortSignal }): Promise<Verdict>;
}

/** What a token must be to be good here. */
export interface Expected {
  readonly issuer: string;
  /** One of these has to be among its audiences. */
  readonly audiences: readonly string[];
  /** `optional` where the issuer itself has said all this. */
  readonly named: 'required' | 'optional';
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Milliseconds by which clocks may differ. */
export const CLOCK_TOLERANCE_MS = 30_000;

/**
 * Reads the claims of a token: members have the same names in a JWT and in an introspection response.
 * @see RFC 9068, section 4; RFC 7662, section 2.2
 */
export function readClaims(claims: Readonly<Record<string, unknown>>, { issuer, audiences, named, now }: Expected): Verdict {
  const { iss, sub, client_id: client, azp, aud, exp, nbf, cnf } = claims;
  if (iss === undefined ? named === 'required' : iss !== issuer) return { invalid: 'The token is from another issuer' };
  if (![aud].flat().some((one) => typeof one === 'string' && audiences.includes(one)))
    return { invalid: 'The token is for another resource' };
  if (typeof exp !== 'number' || exp * 1_000 + CLOCK_TOLERANCE_MS <= now) return { invalid: 'The token has expired' };
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1_000 - CLOCK_TOLERANCE_MS <= now))
    return { invalid: 'The token is not valid yet' };
  if (cnf !== undefined && !isObject(cnf)) return { invalid: 'The token is bound to something unknown' };
  const subject = textIn(sub);
  const clientId = textIn(client) ?? textIn(azp);
  if (subject === undefined && clientId === undefined) return { invalid: 'The token names nobody' };
  const scopes = scopesIn(claims['scope'] ?? claims['scp']);
  return { token: { issuer, subject, clientId, scopes, expiresAt: exp * 1_000, confirmation: cnf, claims } };
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A list in one text, as RFC 9068 has it, or in an array, as some issuers write it. */
function scopesIn(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(' ') : [];
  return list.filter((scope): scope is string => typeof scope === 'string' && scope !== '');
}
