// Keys that tokens are bound to, and the proofs made with them. A key never leaves but for the store that holds its tokens.
// @see RFC 9449
import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose';
import { DPoP, type CryptoKey, type DPoPHandle } from 'oauth4webapi';
import { ParleyError } from '../errors.ts';

/** The algorithm of our keys; an authorization server must list it. */
export const DPOP_ALGORITHM = 'ES256';

/** A key pair, and what authorization servers said to it. */
export interface DpopKey {
  /** The private key, for the store. */
  readonly jwk: JWK;
  /** Makes the proofs of token requests, and remembers the nonces of authorization servers. */
  readonly handle: DPoPHandle;
  /** Resolves with a proof for a request to the MCP server. */
  prove(proof: DpopProof): Promise<string>;
}

export interface DpopProof {
  readonly method: string;
  readonly url: URL;
  readonly accessToken: string;
  /** The server's last nonce. */
  readonly nonce: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Resolves with a new key. */
export async function createDpopKey(): Promise<DpopKey> {
  const { privateKey } = await generateKeyPair(DPOP_ALGORITHM, { extractable: true });
  return openDpopKey(await exportJWK(privateKey));
}

/**
 * Resolves with a key that was stored.
 * @throws ParleyError `config-invalid` when it is none
 */
export async function openDpopKey(jwk: JWK): Promise<DpopKey> {
  const { kty, crv, x, y, d } = jwk;
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined || d === undefined) {
    throw new ParleyError('config-invalid', 'A stored DPoP key is damaged. Sign in again.');
  }
  const shared = { kty, crv, x, y };
  const privateKey = (await importJWK({ ...shared, d }, DPOP_ALGORITHM)) as CryptoKey;
  const publicKey = (await importJWK(shared, DPOP_ALGORITHM, { extractable: true })) as CryptoKey;
  return {
    jwk: { ...shared, d },
    handle: DPoP({}, { privateKey, publicKey }),
    prove({ method, url, accessToken, nonce, now }) {
      const claims = {
        htm: method,
        htu: `${url.origin}${url.pathname}`,
        ath: createHash('sha256').update(accessToken).digest('base64url'),
        ...(nonce === undefined ? {} : { nonce }),
      };
      return new SignJWT(claims)
        .setProtectedHeader({ alg: DPOP_ALGORITHM, typ: 'dpop+jwt', jwk: shared })
        .setIssuedAt(Math.floor(now / 1_000))
        .setJti(randomUUID())
        .sign(privateKey);
    },
  };
}
