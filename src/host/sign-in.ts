// From what is configured of a server to the authorizer that signs its requests.
import { ParleyError } from '../errors.ts';
import type { AuthStore, ClientAuthentication, ClientIdentity, Interaction, OAuthAuthorizer } from '../auth/index.ts';
import type { OAuthSettings, ServerConfig } from './config/index.ts';

export interface ServerAuthorizerOptions {
  readonly store: AuthStore;
  /** Who can be asked. Default: nobody; a sign-in that is needed is then a fault that names the command to run. */
  readonly interact?: Interaction;
  /** Whose sign-in it is. Default: the account of the settings, or else the one that people signed in with last. */
  readonly account?: string;
}

/**
 * Resolves with the authorizer for `server` as it is configured; undefined for one that tokens cannot be sent to: a program, or an
 * address over which others could read them. The options of `openHost` have a place for it.
 * @throws ParleyError `config-invalid` for an account that cannot have its name
 */
export async function serverAuthorizer(
  server: ServerConfig,
  { store, interact, account }: ServerAuthorizerOptions,
): Promise<OAuthAuthorizer | undefined> {
  if (server.kind !== 'http') return undefined;
  // Loaded now, since it is large and most servers are programs.
  const { createAuthorizer, isAccountName, mayHaveTokens } = await import('../auth/index.ts');
  if (!mayHaveTokens(new URL(server.url))) return undefined;
  const { oauth = {}, name, url } = server;
  const whose = account ?? (await accountOf(server, store));
  if (!isAccountName(whose)) {
    throw new ParleyError('config-invalid', `Server "${name}": ${JSON.stringify(whose)} cannot be the name of an account.`);
  }
  return createAuthorizer({
    serverUrl: url,
    name,
    store,
    account: whose,
    client: clientOf(oauth),
    grant: { kind: oauth.grant ?? 'code' },
    legacy: oauth.legacy === true ? 'allowed' : 'refused',
    ...(oauth.scopes && { scopes: oauth.scopes }),
    ...(oauth.trustedHosts && { trustedHosts: oauth.trustedHosts }),
    ...(interact && { interact }),
  });
}

/**
 * Resolves with the account that `server` is used with: that of its settings, or else the one that people signed in with last. A
 * client that acts for itself has one of its own, so that nobody acts as that client, nor the client as somebody.
 */
export async function accountOf({ oauth = {}, ...server }: ServerConfig, store: AuthStore): Promise<string> {
  const { account, grant = 'code' } = oauth;
  if (account !== undefined) return account;
  const { createAccounts, DEFAULT_ACCOUNT } = await import('../auth/index.ts');
  if (grant !== 'code') return grant;
  return server.kind === 'http' ? createAccounts(store, server.url).used() : DEFAULT_ACCOUNT;
}

function clientOf({ clientId, issuer, clientMetadataUrl, redirectUri, ...secrets }: OAuthSettings): ClientIdentity {
  const authentication = authenticationOf(secrets);
  return {
    ...(clientId !== undefined &&
      issuer !== undefined && { registered: { issuer, clientId, ...(authentication && { authentication }) } }),
    ...(clientMetadataUrl !== undefined && { metadataUrl: clientMetadataUrl }),
    ...(redirectUri !== undefined && { redirectUri }),
  };
}

function authenticationOf({
  clientSecret,
  privateKey,
  keyAlgorithm = 'ES256',
}: OAuthSettings): { readonly secret: string } | ClientAuthentication | undefined {
  if (clientSecret !== undefined) return { secret: clientSecret };
  return privateKey === undefined ? undefined : { method: 'private_key_jwt', pem: privateKey, algorithm: keyAlgorithm };
}
