// Getting tokens for one MCP server: anew, in the way its grant says, or by the refresh token of an earlier sign-in. Whatever is
// secret goes to the issuer it belongs to and to no other.
import { ParleyError } from '../errors.ts';
import { authorizeByCode, type Visit } from './authorize.ts';
import { assumedServer, discoverServer, type Discovery } from './discover.ts';
import { createDpopKey, DPOP_ALGORITHM, type DpopKey } from './dpop.ts';
import type { Guard } from './guard.ts';
import type { Keeping, SignIn } from './keeping.ts';
import { register, standingAt, type ClientIdentity } from './register.ts';
import { shown } from './text.ts';
import {
  refusalCode,
  tokensByAssertion,
  tokensByCredentials,
  tokensByEnterprise,
  tokensByRefresh,
  type Client,
  type IdentityProvider,
  type TokenRequest,
  type Tokens,
} from './token.ts';

/** In whose name tokens are asked for, and how. All but `code` need a client that is registered at the issuer. */
export type Grant =
  /** A person signs in. */
  | { readonly kind: 'code' }
  /** The client itself. */
  | { readonly kind: 'client-credentials' }
  /** The user, for whom their organisation's identity provider vouches. */
  | { readonly kind: 'enterprise'; readonly provider: IdentityProvider }
  /** A workload, by an assertion made for it: a JWT for the issuer, asked for anew each time. */
  | {
      readonly kind: 'assertion';
      readonly assertion: (options: { readonly issuer: string; readonly signal: AbortSignal }) => Promise<string>;
    };

/** What a person may be asked besides the sign-in itself. */
export type Question =
  /** The server names another issuer than the one that was signed in at. */
  | { readonly kind: 'issuer-changed'; readonly server: string; readonly from: string; readonly to: string }
  /** Tokens would be for more than this server: for all of what is under `resource`. */
  | { readonly kind: 'broader-resource'; readonly server: string; readonly resource: string };

/** A person who can take part in a sign-in. */
export interface Interaction {
  /**
   * Opens the address people are sent back to: `redirectUri`, with any port when it has none, or one of its own.
   * @throws ParleyError when that cannot be had
   */
  open(options: { readonly redirectUri: string | undefined; readonly signal: AbortSignal }): Promise<ReturnAddress>;
  /** Asks; without it the answer is no. */
  confirm?(question: Question, options: { readonly signal: AbortSignal }): Promise<boolean>;
}

/** Where one sign-in comes back to. */
export interface ReturnAddress {
  readonly redirectUri: string;
  /** Shows a person where to sign in, and resolves with the address they came back to, with all its parameters. */
  visit(visit: Visit, options: { readonly signal: AbortSignal }): Promise<string>;
  /** Frees the address; never throws. */
  close(): Promise<void>;
}

/** What getting tokens needs, whichever way. */
export interface Means {
  readonly identity: ClientIdentity;
  readonly grant: Grant;
  readonly interact: Interaction | undefined;
  readonly guard: Guard;
  readonly keeping: Keeping;
  readonly now: () => number;
}

export interface Wish {
  readonly scopes: readonly string[];
  /** The sign-in that this one follows. */
  readonly earlier: SignIn | undefined;
  /** True when the server wants tokens bound to a key. */
  readonly bound: boolean;
  readonly signal: AbortSignal;
}

/**
 * Resolves with a new sign-in, which is kept.
 * @throws ParleyError `auth-required` when somebody refuses or nobody can be asked, `protocol-violation`, or what a fetch throws
 */
export async function obtain(found: Discovery, wish: Wish, means: Means): Promise<SignIn> {
  const { server, resource, metadata } = found;
  const { issuer } = server;
  const key = wish.bound ? await keyFor(found, wish.earlier?.key) : undefined;
  const { guard, now, keeping } = means;
  const request = { server, resource, scopes: wish.scopes, guard, dpop: key, now, signal: wish.signal };
  const { client, tokens } = await tokensFor({ ...request, metadata }, wish, means);
  const signIn: SignIn = { issuer, clientId: client.clientId, resource, metadata, tokens, key };
  await keeping.save(signIn);
  return signIn;
}

/**
 * Resolves with the sign-in that is in force after `earlier`: renewed here, or by another process meanwhile. Undefined when the
 * refresh token is of no use any more, which is then forgotten.
 * @throws ParleyError what the token request throws
 */
export async function renew(earlier: SignIn, means: Means, signal: AbortSignal): Promise<SignIn | undefined> {
  const { keeping, guard, now } = means;
  const { issuer, resource, metadata, key } = earlier;
  const server = metadata === 'assumed' ? assumedServer(issuer) : await discoverServer(issuer, { guard, signal });
  const standing = standingAt(server, means.identity);
  const client = standing.kind === 'known' ? standing.client : await keeping.registration(server.issuer, now());
  if (client?.clientId !== earlier.clientId || server.issuer !== issuer) return undefined;
  const renewing = async (): Promise<SignIn | undefined> => {
    const current = await keeping.load();
    if (current !== undefined && current.clientId !== earlier.clientId) return undefined;
    if (current !== undefined && current.tokens.accessToken !== earlier.tokens.accessToken) return current;
    const { refreshToken, requested, granted } = current?.tokens ?? {};
    if (current === undefined || refreshToken === undefined) return undefined;
    // A caller who gives up must not cut it off: the answer may hold the only refresh token that is still valid.
    const uncut = new AbortController().signal;
    const request = { server, client, resource, scopes: requested ?? [], guard, dpop: key, now, signal: uncut };
    const renewed = await tokensByRefresh(request, refreshToken).catch((error: unknown) => {
      if (['invalid_grant', 'invalid_client', 'unauthorized_client'].includes(refusalCode(error) ?? '')) return undefined;
      throw error;
    });
    // A person may have signed in anew while the issuer was asked, or out: that is not undone by an answer to what was before.
    const latest = await keeping.load();
    if (latest?.tokens.accessToken !== current.tokens.accessToken) return latest;
    const { refreshToken: _, ...rest } = current.tokens;
    const tokens = renewed === undefined ? rest : granted === undefined ? renewed : { granted, ...renewed };
    await keeping.save({ ...current, tokens });
    return renewed === undefined ? undefined : { ...current, tokens };
  };
  return keeping.exclusively(earlier, renewing, { signal });
}

type Request = Omit<TokenRequest, 'client'> & Pick<Discovery, 'metadata'>;
type Obtained = { readonly client: Client; readonly tokens: Tokens };

async function tokensFor(request: Request, wish: Wish, means: Means): Promise<Obtained> {
  const { grant, identity } = means;
  if (grant.kind === 'code') return signedIn(request, wish, means);
  const standing = standingAt(request.server, identity);
  if (standing.kind === 'register' || identity.registered === undefined) {
    throw new ParleyError(
      'config-invalid',
      `The grant ${grant.kind} needs a client that is registered at the issuer. Configure it.`,
    );
  }
  const { client } = standing;
  const asked = { ...request, client };
  const { issuer } = request.server;
  switch (grant.kind) {
    case 'client-credentials':
      return { client, tokens: await tokensByCredentials(asked) };
    case 'enterprise':
      return { client, tokens: await tokensByEnterprise(asked, grant.provider) };
    case 'assertion':
      return { client, tokens: await tokensByAssertion(asked, await grant.assertion({ issuer, signal: request.signal })) };
  }
}

async function signedIn(
  request: Request,
  { earlier }: Wish,
  { identity, interact, guard, keeping, now }: Means,
): Promise<Obtained> {
  const { server, signal } = request;
  if (interact === undefined) throw new ParleyError('auth-required', 'A person has to sign in, and nobody can be asked here.');
  const standing = standingAt(server, identity);
  const known = standing.kind === 'known' ? undefined : await keeping.registration(server.issuer, now());
  const anywhere = () => interact.open({ redirectUri: identity.redirectUri, signal });
  // Where an earlier sign-in came back to, since a registration is for that address; but the port may be taken by now.
  const address = await (known === undefined
    ? anywhere()
    : interact.open({ redirectUri: known.redirectUri, signal }).catch(anywhere));
  try {
    const { redirectUri } = address;
    let client = standing.kind === 'known' ? standing.client : known?.redirectUri === redirectUri ? known : undefined;
    if (client === undefined) {
      const registration = await register(server, { identity, redirectUri, guard, signal });
      await keeping.saveRegistration(server.issuer, registration);
      client = registration;
    }
    const visit = (to: Visit, options: { readonly signal: AbortSignal }) => address.visit(to, options);
    const before = earlier?.tokens.requested ?? [];
    const tokens = await authorizeByCode({ ...request, client, redirectUri, before, visit }).catch(async (error: unknown) => {
      // The server has forgotten the client it registered: the next sign-in registers another.
      if (standing.kind === 'register' && refusalCode(error) === 'invalid_client')
        await keeping.forgetRegistration(server.issuer);
      throw error;
    });
    return { client, tokens };
  } finally {
    await address.close();
  }
}

async function keyFor({ server }: Discovery, earlier: DpopKey | undefined): Promise<DpopKey> {
  const algorithms = server.dpop_signing_alg_values_supported;
  if (Array.isArray(algorithms) && algorithms.includes(DPOP_ALGORITHM)) return earlier ?? createDpopKey();
  const message = `The MCP server wants tokens bound to a key, which ${shown(server.issuer)} does not give with ${DPOP_ALGORITHM}.`;
  throw new ParleyError('auth-required', message);
}
