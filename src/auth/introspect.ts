// Tokens whose issuer has to be asked about them. Answers are kept for a moment, so that a revoked token is good for no longer than
// that; who sends many tokens that mean nothing makes few requests at once and no others forgotten.
// @see RFC 7662
import * as oauth from 'oauth4webapi';
import { ParleyError } from '../errors.ts';
import { digest, type Clock } from '../base/index.ts';
import type { Guard } from './guard.ts';
import { untilAborted } from './store.ts';
import { shown } from './text.ts';
import { authenticationAt, type RegisteredClient } from './register.ts';
import { authenticationOf, faultless, overGuard } from './token.ts';
import { readClaims, type TokenVerifier, type Verdict } from './verify.ts';

export interface IntrospectionOptions {
  /** What this server is to the issuer; only such may ask. */
  readonly client: Omit<RegisteredClient, 'issuer'>;
  readonly audiences: readonly string[];
  readonly guard: Guard;
  /** Resolves with the issuer's metadata. */
  readonly server: () => Promise<oauth.AuthorizationServer>;
  /** Milliseconds for which an answer is used. */
  readonly cacheMs: number;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Answers that are kept, of each kind. */
const MAX_KEPT = 1_000;
const MAX_ASKING = 32;

/** Returns who asks the issuer about each token. */
export function createIntrospection(options: IntrospectionOptions): TokenVerifier {
  const { client, audiences, guard, server, cacheMs, clock, now } = options;
  const good = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  const bad = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  const asking = new Map<string, Promise<Verdict>>();

  async function ask(token: string): Promise<Verdict> {
    const as = await server();
    if (as.introspection_endpoint === undefined)
      throw new ParleyError('protocol-violation', `${shown(as.issuer)} has no introspection_endpoint.`);
    const claims = await faultless(as, async () => {
      const authenticate = await authenticationOf(authenticationAt(client.authentication, as));
      const own = { client_id: client.clientId };
      const signal = new AbortController().signal;
      const response = await oauth.introspectionRequest(as, own, authenticate, token, {
        ...overGuard(guard, signal),
        additionalParameters: { token_type_hint: 'access_token' },
      });
      return oauth.processIntrospectionResponse(as, own, response);
    });
    if (!claims.active) return { invalid: 'The token is not valid, or not any more' };
    return readClaims({ ...claims }, { issuer: as.issuer, audiences, named: 'optional', now: now() });
  }

  function keep(key: string, verdict: Verdict): void {
    const kept = 'token' in verdict ? good : bad;
    kept.set(key, { verdict, until: clock.now() + cacheMs });
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!);
  }

  return {
    async verify(token, { signal }) {
      const key = digest(token);
      const kept = good.get(key) ?? bad.get(key);
      const isOver = kept !== undefined && 'token' in kept.verdict && kept.verdict.token.expiresAt <= now();
      if (kept !== undefined && clock.now() < kept.until && !isOver) return kept.verdict;
      good.delete(key);
      bad.delete(key);
      let answer = asking.get(key);
      if (answer === undefined) {
        if (asking.size >= MAX_ASKING) {
          throw new ParleyError('limit', 'Too many tokens are being asked about at once.', {
            details: { limit: 'introspection', allowed: MAX_ASKING },
          });
        }
        answer = ask(token).finally(() => asking.delete(key));
        asking.set(key, answer);
        answer.then(
          (verdict) => keep(key, verdict),
          () => {
            // Whoever waits hears of it; nothing is kept.
          },
        );
      }
      return untilAborted(answer, signal);
    },
  };
}
