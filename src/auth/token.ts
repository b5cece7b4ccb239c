// Requests to a token endpoint, one function a grant. What an endpoint says when it refuses is not repeated beyond its error code,
// and what it gives is checked before it is used.
import { decodeJwt, importPKCS8 } from 'jose';
import * as oauth from 'oauth4webapi';
import { isParleyError, ParleyError } from '../errors.ts';
import type { DpopKey } from './dpop.ts';
import type { Guard } from './guard.ts';
import { shown, shownError } from './text.ts';

/** How a client proves at the token endpoint that it is the one it says. */
export type ClientAuthentication =
  | { readonly method: 'none' }
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: string }
  /** `pem` is a PKCS #8 private key. */
  | { readonly method: 'private_key_jwt'; readonly pem: string; readonly algorithm: string };

/** A client as one authorization server knows it. */
export interface Client {
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
}

/** What a token endpoint gave. */
export interface Tokens {
  readonly accessToken: string;
  readonly type: 'bearer' | 'dpop';
  readonly refreshToken?: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The scopes asked for, over all steps. */
  readonly requested: readonly string[];
  /** The scopes given, where the server said so. */
  readonly granted?: readonly string[];
}

/** Where and for what a token is asked. */
export interface TokenRequest {
  readonly server: oauth.AuthorizationServer;
  readonly client: Client;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly guard: Guard;
  /** The key to bind the token to. */
  readonly dpop: DpopKey | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** An identity provider that vouches for a user towards other authorization servers. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Resolves with a current ID token of the user. */
  readonly idToken: (options: { readonly signal: AbortSignal }) => Promise<string>;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const MAX_TOKEN = 16_384;
const MAX_LIFE_S = 10 * 365 * 86_400;

/** The error code with which a token endpoint refused, when that is what the fault is about. */
export function refusalCode(error: unknown): string | undefined {
  return isParleyError(error) && error.cause instanceof Refusal ? error.cause.code : undefined;
}

/** Trades an authorization code; `parameters` are those of a response that was validated. */
export function tokensByCode(
  request: TokenRequest,
  parameters: URLSearchParams,
  { redirectUri, verifier }: { readonly redirectUri: string; readonly verifier: string },
): Promise<Tokens> {
  return ask(request, (server, client, authenticate, options) =>
    oauth.authorizationCodeGrantRequest(server, client, authenticate, parameters, redirectUri, verifier, {
      ...options,
      additionalParameters: { resource: request.resource },
    }),
  );
}

/** Trades a refresh token, which stays valid when no other is given. */
export async function tokensByRefresh(request: TokenRequest, refreshToken: string): Promise<Tokens> {
  const tokens = await ask(request, (server, client, authenticate, options) =>
    oauth.refreshTokenGrantRequest(server, client, authenticate, refreshToken, {
      ...options,
      additionalParameters: { resource: request.resource },
    }),
  );
  return { refreshToken, ...tokens };
}

/** Asks for a token of the client's own. */
export function tokensByCredentials(request: TokenRequest): Promise<Tokens> {
  return ask(request, (server, client, authenticate, options) =>
    oauth.clientCredentialsGrantRequest(server, client, authenticate, parametersOf(request), options),
  );
}

/** Trades a signed assertion that somebody else made for this authorization server. */
export function tokensByAssertion(request: TokenRequest, assertion: string): Promise<Tokens> {
  return ask(request, (server, client, authenticate, options) =>
    oauth.genericTokenEndpointRequest(server, client, authenticate, JWT_BEARER, { ...parametersOf(request), assertion }, options),
  );
}

/**
 * Has the user's identity provider vouch for them, and trades what it says.
 * @see the extension enterprise-managed-authorization
 */
export async function tokensByEnterprise(request: TokenRequest, provider: IdentityProvider): Promise<Tokens> {
  const { server, guard, signal } = request;
  const vouching: oauth.AuthorizationServer = { issuer: provider.issuer, token_endpoint: provider.tokenEndpoint };
  const client = { client_id: provider.clientId };
  const { clientSecret } = provider;
  const authenticate = clientSecret === undefined ? oauth.None() : oauth.ClientSecretPost(clientSecret);
  const parameters = {
    ...parametersOf(request),
    audience: server.issuer,
    requested_token_type: ID_JAG,
    subject_token: await provider.idToken({ signal }),
    subject_token_type: ID_TOKEN,
  };
  const grant = await faultless(vouching, async () => {
    const response = await oauth.genericTokenEndpointRequest(
      vouching,
      client,
      authenticate,
      TOKEN_EXCHANGE,
      parameters,
      overGuard(guard, signal),
    );
    return oauth.processGenericTokenEndpointResponse(vouching, client, response, { recognizedTokenTypes: { n_a: () => {} } });
  });
  if (grant['issued_token_type'] !== ID_JAG || !isFor(grant.access_token, server.issuer)) {
    throw new ParleyError('protocol-violation', `${shown(provider.issuer)} vouched, but not for ${shown(server.issuer)}.`);
  }
  return tokensByAssertion(request, grant.access_token);
}

/** Tells the authorization server that a token is not needed any more. */
export async function revoke(
  request: Pick<TokenRequest, 'server' | 'client' | 'guard' | 'signal'>,
  token: string,
): Promise<void> {
  const { server, guard, signal } = request;
  await faultless(server, async () => {
    const authenticate = await authenticationOf(request.client.authentication);
    const client = { client_id: request.client.clientId };
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, authenticate, token, overGuard(guard, signal)),
    );
  });
}

class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`The token endpoint answered ${code}.`);
    this.code = code;
  }
}

type Send = (
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  authenticate: oauth.ClientAuth,
  options: oauth.TokenEndpointRequestOptions,
) => Promise<Response>;

async function ask(request: TokenRequest, send: Send): Promise<Tokens> {
  const { server, guard, signal, dpop } = request;
  const client = { client_id: request.client.clientId };
  const answer = await faultless(server, async () => {
    const authenticate = await authenticationOf(request.client.authentication);
    const options = { ...overGuard(guard, signal), ...(dpop === undefined ? {} : { DPoP: dpop.handle }) };
    const attempt = async () =>
      oauth.processGenericTokenEndpointResponse(server, client, await send(server, client, authenticate, options));
    return attempt().catch((error: unknown) => {
      // Refused for want of a nonce, which the key has remembered: nothing was used up.
      if (dpop !== undefined && oauth.isDPoPNonceError(error)) return attempt();
      throw error;
    });
  });
  return checkedTokens(answer, request);
}

function checkedTokens(answer: oauth.TokenEndpointResponse, { server, scopes, dpop, now }: TokenRequest): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: life, scope } = answer;
  const type = answer.token_type === 'dpop' ? 'dpop' : 'bearer';
  for (const token of [accessToken, refreshToken ?? 't']) {
    if (token.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(token)) continue;
    throw new ParleyError('protocol-violation', `${shown(server.issuer)} gave a token that no header can carry.`);
  }
  if ((type === 'dpop') !== (dpop !== undefined)) {
    const message = `${shown(server.issuer)} gave a token of type ${type}, which is not what was asked for.`;
    throw new ParleyError('protocol-violation', message);
  }
  return {
    accessToken,
    type,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(life === undefined ? {} : { expiresAt: now() + Math.min(life, MAX_LIFE_S) * 1_000 }),
    requested: scopes,
    ...(scope === undefined ? {} : { granted: scope.split(' ').filter((one) => one !== '') }),
  };
}

function parametersOf({ resource, scopes }: TokenRequest): Record<string, string> {
  return scopes.length === 0 ? { resource } : { resource, scope: scopes.join(' ') };
}

/** Sends the library's requests under the guard, which decides about plain HTTP. */
export function overGuard(guard: Guard, signal: AbortSignal) {
  return {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- it is not for tests alone: the guard allows loopback
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: oauth.CustomFetchOptions<'POST', URLSearchParams>) =>
      guard.fetch(url, { method: 'POST', headers: init.headers, body: init.body.toString(), signal }),
  };
}

/** Resolves with the library's form of it. @throws ParleyError `config-invalid` for a key that is none */
export async function authenticationOf(authentication: ClientAuthentication): Promise<oauth.ClientAuth> {
  switch (authentication.method) {
    case 'none':
      return oauth.None();
    case 'client_secret_basic':
      return basic(authentication.secret);
    case 'client_secret_post':
      return oauth.ClientSecretPost(authentication.secret);
    case 'private_key_jwt': {
      const key = await importPKCS8(authentication.pem, authentication.algorithm).catch(() => {
        // Without the cause, which might show a piece of the key.
        throw new ParleyError('config-invalid', 'The private key of the client is not a PKCS #8 key for its algorithm.');
      });
      return oauth.PrivateKeyJwt(key);
    }
  }
}

/** As RFC 6749, section 2.3.1 has it, in the plain form encoding: servers that forget to decode it understand most of it too. */
function basic(secret: string): oauth.ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, client, _body, headers) => {
    const credentials = `${encoded(client.client_id)}:${encoded(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

/** Runs `act`, and turns what the library throws into a fault without any foreign text. */
export async function faultless<T>({ issuer }: oauth.AuthorizationServer, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isParleyError(error)) throw error;
    if (error instanceof oauth.ResponseBodyError || error instanceof oauth.WWWAuthenticateChallengeError) {
      const code = error instanceof oauth.ResponseBodyError ? error.error : 'invalid_client';
      throw new ParleyError('auth-required', `${shown(issuer)} refused to give a token: ${shownError(code)}.`, {
        cause: new Refusal(code),
      });
    }
    if (error instanceof oauth.OperationProcessingError && error.cause instanceof Response && error.cause.status >= 500) {
      const message = `${shown(issuer)} cannot give a token at the moment (HTTP ${error.cause.status}). Try again later.`;
      throw new ParleyError('unreachable', message, { retryable: true });
    }
    throw new ParleyError('protocol-violation', `${shown(issuer)} did not answer a token request as OAuth has it.`);
  }
}

/** True when a JWT names `audience`. */
function isFor(jwt: string, audience: string): boolean {
  try {
    const { aud } = decodeJwt(jwt);
    return aud !== undefined && [aud].flat().includes(audience);
  } catch {
    return false;
  }
}
