// Proofs that who sends a token holds the key it is bound to. Each proof is for one request, and is good once.
// @see RFC 9449, section 4.3
import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, EmbeddedJWK, errors } from 'jose';
import { isParleyError } from '../errors.ts';
import { isObject, parseJson } from '../jsonrpc/index.ts';

/** What a proof has to be for. */
export interface ProofTerms {
  readonly method: string;
  /** The addresses it may name, without query and fragment. */
  readonly urls: readonly string[];
  readonly accessToken: string;
  /** `jkt` of the token: the thumbprint of the key. */
  readonly thumbprint: string;
}

/** Resolves with what is wrong with a proof, or undefined when it is good; then it is used up. */
export type ProofCheck = (proof: string | undefined, terms: ProofTerms) => Promise<string | undefined>;

export interface ProofCheckOptions {
  readonly algorithms: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** How far the date of a proof may be from now, in milliseconds. */
const WINDOW_MS = 60_000;
const MAX_PROOF = 8_192;
const MAX_USED = 10_000;
const NONE = 'The proof is none';

/** Returns a check that remembers the proofs it has seen. */
export function createProofCheck({ algorithms, now }: ProofCheckOptions): ProofCheck {
  const used = new Map<string, number>();

  function isFirst(key: string): boolean {
    const time = now();
    // In the order of their coming, so the oldest is the first.
    for (const [old, until] of used) {
      if (until > time && used.size < MAX_USED) break;
      used.delete(old);
    }
    if (used.has(key)) return false;
    used.set(key, time + 2 * WINDOW_MS);
    return true;
  }

  return async (proof, { method, urls, accessToken, thumbprint }) => {
    if (proof === undefined) return 'The proof is missing';
    if (proof.length > MAX_PROOF) return 'The proof is too long';
    try {
      const { typ, jwk } = decodeProtectedHeader(proof);
      if (typ?.toLowerCase() !== 'dpop+jwt' || jwk === undefined) return NONE;
      // First, for what comes next costs as much as the key is large.
      if ((await calculateJwkThumbprint(jwk)) !== thumbprint) return 'The proof is by another key';
      const { payload } = await compactVerify(proof, EmbeddedJWK, { algorithms: [...algorithms] });
      const claims: unknown = parseJson(Buffer.from(payload).toString());
      if (!isObject(claims)) return NONE;
      const { htm, htu, iat, jti, ath } = claims;
      if (htm !== method || typeof htu !== 'string' || !urls.includes(plain(htu))) return 'The proof is for another request';
      if (ath !== createHash('sha256').update(accessToken).digest('base64url')) return 'The proof is for another token';
      if (typeof iat !== 'number' || Math.abs(iat * 1_000 - now()) > WINDOW_MS) return 'The proof is too old, or from the future';
      if (typeof jti !== 'string' || jti === '' || jti.length > 256) return 'The proof has no usable jti';
      return isFirst(`${thumbprint} ${jti}`) ? undefined : 'The proof was used before';
    } catch (error) {
      const isItsFault = [errors.JOSEError, SyntaxError, TypeError].some((kind) => error instanceof kind) || isParleyError(error);
      if (isItsFault) return NONE;
      throw error;
    }
  };
}

function plain(htu: string): string {
  if (!URL.canParse(htu)) return '';
  const { origin, pathname } = new URL(htu);
  return origin + pathname;
}
