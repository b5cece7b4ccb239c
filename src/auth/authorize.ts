// The authorization code flow: what a person is sent to, and what is checked before anything they bring back is used.
// @see 2026-07-28 basic/authorization, "Authorization Response Validation"; RFC 7636; RFC 9207
import { timingSafeEqual } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import { ParleyError } from '../errors.ts';
import { shown, shownError } from './text.ts';
import { tokensByCode, type TokenRequest, type Tokens } from './token.ts';

/** What a person is asked to open. */
export interface Visit {
  /** An https URL, or one of this machine when the MCP server is on it; serialised, so it never begins with a dash. */
  readonly url: string;
  /** Who will ask them to sign in. */
  readonly issuer: string;
  /** What the token will be for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Those of the scopes that were not asked for before. */
  readonly added: readonly string[];
}

export interface CodeFlow extends TokenRequest {
  /** `assumed`: there are no metadata that could say whether PKCE is supported. */
  readonly metadata: 'published' | 'assumed';
  readonly redirectUri: string;
  /** The scopes that an earlier sign-in asked for. */
  readonly before: readonly string[];
  /** Sends a person there and resolves with the address they came back to. */
  readonly visit: (visit: Visit, options: { readonly signal: AbortSignal }) => Promise<string>;
}

/**
 * Resolves with the tokens a person's consent brought.
 * @throws ParleyError `protocol-violation` when PKCE is not supported or the response is not to this request, `auth-required` when
 * it was refused, or what the token request throws
 */
export async function authorizeByCode(flow: CodeFlow): Promise<Tokens> {
  const { server, client, resource, scopes, before, redirectUri, guard, signal } = flow;
  const url = guard.check(server.authorization_endpoint ?? '', 'The authorization_endpoint of the authorization server');
  const supported = server.code_challenge_methods_supported;
  if (flow.metadata === 'published' && supported?.includes('S256') !== true) {
    const message = `${shown(server.issuer)} does not say that it supports PKCE with S256, without which a sign-in is not safe.`;
    throw new ParleyError('protocol-violation', message);
  }
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const asked = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    // OpenID Connect gives no refresh token without it.
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  const added = scopes.filter((scope) => !before.includes(scope));
  const callback = await flow.visit({ url: url.href, issuer: server.issuer, resource, scopes, added }, { signal });
  const parameters = validated(callback, { server, clientId: client.clientId, redirectUri, state });
  return tokensByCode(flow, parameters, { redirectUri, verifier });
}

interface Expected {
  readonly server: oauth.AuthorizationServer;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
}

/** The parameters of an authorization response, once nothing speaks against it. */
function validated(callback: string, { server, clientId, redirectUri, state }: Expected): URLSearchParams {
  const url = URL.canParse(callback) ? new URL(callback) : undefined;
  const expected = new URL(redirectUri);
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) throw foreign('came to another address');
  const parameters = url.searchParams;
  const single = (name: string): string | undefined => {
    const values = parameters.getAll(name);
    if (values.length > 1) throw foreign(`has more than one ${name}`);
    return values[0];
  };
  // Before anything else is looked at: a response with another state belongs to another request.
  if (!equal(single('state') ?? '', state)) throw foreign('has not the state of this sign-in');
  const issuer = single('iss');
  if (issuer === undefined ? server.authorization_response_iss_parameter_supported === true : issuer !== server.issuer) {
    throw foreign('is not from the authorization server that was asked');
  }
  const error = single('error');
  if (error !== undefined) {
    throw new ParleyError('auth-required', `${shown(server.issuer)} refused the sign-in: ${shownError(error)}.`);
  }
  const code = single('code');
  if (code === undefined || code === '') throw foreign('has no code');
  try {
    return oauth.validateAuthResponse(server, { client_id: clientId }, parameters, state);
  } catch {
    throw foreign('is not one of the code flow');
  }
}

function foreign(why: string): ParleyError {
  return new ParleyError('protocol-violation', `The answer to the sign-in ${why}; it was not used. Sign in again.`);
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
