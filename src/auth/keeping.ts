// One server's sign-in as it is kept: read from the store and checked to be what it is kept as, written together, forgotten
// together.
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { openDpopKey, type DpopKey } from './dpop.ts';
import type { Registration } from './register.ts';
import { named } from './accounts.ts';
import { storeKey, type AuthStore, type StoreName } from './store.ts';
import type { ClientAuthentication, Tokens } from './token.ts';

/** Tokens, and all that they are bound to. */
export interface SignIn {
  readonly issuer: string;
  readonly clientId: string;
  readonly resource: string;
  /** `assumed`: the issuer publishes no metadata. */
  readonly metadata: 'published' | 'assumed';
  readonly tokens: Tokens;
  /** The key of tokens that are bound to one. */
  readonly key: DpopKey | undefined;
}

export interface Keeping {
  load(): Promise<SignIn | undefined>;
  /** Keeps it in the place of any other. */
  save(signIn: SignIn): Promise<void>;
  /** Forgets the tokens of `signIn`, and that the server had them. */
  forget(signIn: SignIn): Promise<void>;
  /** Scopes that were asked for when nobody could consent; forgotten as soon as they are none. */
  wanted(): Promise<readonly string[]>;
  saveWanted(scopes: readonly string[]): Promise<void>;
  /** Runs `act` while no other process renews the tokens of `signIn`. */
  exclusively<T>(signIn: SignIn, act: () => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>;
  /** The registration of ours at an issuer, unless its secret has expired. */
  registration(issuer: string, now: number): Promise<Registration | undefined>;
  saveRegistration(issuer: string, registration: Registration): Promise<void>;
  forgetRegistration(issuer: string): Promise<void>;
}

/** Returns what `store` keeps for an account at `server`, the canonical URI of an MCP server. */
export function createKeeping(store: AuthStore, server: string, account: string): Keeping {
  const whose = { server, ...named(account) };
  const signInName: StoreName = { kind: 'sign-in', ...whose };
  const wantedName: StoreName = { kind: 'wanted', ...whose };
  const tokensName = ({ issuer, clientId, resource }: Pick<SignIn, 'issuer' | 'clientId' | 'resource'>): StoreName => ({
    kind: 'tokens',
    ...whose,
    issuer,
    clientId,
    resource,
  });
  const binding = async (): Promise<Omit<SignIn, 'tokens' | 'key'> | undefined> => {
    const { issuer, clientId, resource, metadata } = (await store.get(signInName)) ?? {};
    if (typeof issuer !== 'string' || typeof clientId !== 'string' || typeof resource !== 'string') return undefined;
    return { issuer, clientId, resource, metadata: metadata === 'assumed' ? 'assumed' : 'published' };
  };
  return {
    async load() {
      const bound = await binding();
      if (bound === undefined) return undefined;
      const kept = await store.get(tokensName(bound));
      const tokens = tokensIn(kept);
      if (tokens === undefined) return undefined;
      const key = isObject(kept?.['key']) ? await openDpopKey(kept['key']) : undefined;
      if ((tokens.type === 'dpop') !== (key !== undefined)) return undefined;
      return { ...bound, tokens, key };
    },
    async save(signIn) {
      const { issuer, clientId, resource, metadata, tokens, key } = signIn;
      const before = await binding();
      // The tokens first: without them the other says nothing.
      await store.set(tokensName(signIn), { ...tokens, ...(key === undefined ? {} : { key: key.jwk }) });
      await store.set(signInName, { issuer, clientId, resource, metadata });
      const old = before && tokensName(before);
      if (old !== undefined && storeKey(old) !== storeKey(tokensName(signIn))) await store.delete(old);
    },
    async forget(signIn) {
      await store.delete(tokensName(signIn));
      await store.delete(signInName);
    },
    async wanted() {
      const { scopes } = (await store.get(wantedName)) ?? {};
      return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [];
    },
    saveWanted: (scopes) => (scopes.length === 0 ? store.delete(wantedName) : store.set(wantedName, { scopes })),
    exclusively: (signIn, act, options) => store.exclusively(tokensName(signIn), act, options),
    async registration(issuer, now) {
      const kept = await store.get({ kind: 'client', issuer });
      const { clientId, redirectUri, authentication, expiresAt } = kept ?? {};
      if (typeof clientId !== 'string' || typeof redirectUri !== 'string' || !isAuthentication(authentication)) return undefined;
      if (expiresAt === undefined) return { clientId, redirectUri, authentication };
      return typeof expiresAt === 'number' && expiresAt > now ? { clientId, redirectUri, authentication, expiresAt } : undefined;
    },
    saveRegistration: (issuer, registration) => store.set({ kind: 'client', issuer }, { ...registration }),
    forgetRegistration: (issuer) => store.delete({ kind: 'client', issuer }),
  };
}

function tokensIn(kept: JsonObject | undefined): Tokens | undefined {
  const { accessToken, type, refreshToken, expiresAt, requested, granted } = kept ?? {};
  if (typeof accessToken !== 'string' || (type !== 'bearer' && type !== 'dpop')) return undefined;
  return {
    accessToken,
    type,
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
    ...(typeof expiresAt === 'number' ? { expiresAt } : {}),
    requested: Array.isArray(requested) ? (requested as string[]) : [],
    ...(Array.isArray(granted) ? { granted: granted as string[] } : {}),
  };
}

function isAuthentication(value: unknown): value is ClientAuthentication {
  if (!isObject(value)) return false;
  const { method, secret } = value;
  return (
    method === 'none' || ((method === 'client_secret_basic' || method === 'client_secret_post') && typeof secret === 'string')
  );
}
