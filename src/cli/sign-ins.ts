// The sign-ins of this user: where they are kept, and who signs requests with them. Nothing in here asks a person.
import { join } from 'node:path';
import type { Accounts, KeyPlace, SealedStore } from '../auth/index.ts';
import {
  accountOf,
  expandServer,
  serverAuthorizer,
  type ServerAuthorizerOptions,
  type ServerConfig,
  type ServerDefinition,
  type Surroundings,
} from '../host/index.ts';

/** Whose sign-in, and who can be asked. */
type AuthorizerOptions = Omit<ServerAuthorizerOptions, 'store'>;

export interface SignIns {
  store(): Promise<SealedStore>;
  /** What signs the requests to `server`; undefined where tokens cannot be sent. */
  authorizer(server: ServerConfig, options?: AuthorizerOptions): ReturnType<typeof serverAuthorizer>;
  accounts(url: string): Promise<Accounts>;
  /** The account that `server` is used with. */
  accountOf(server: ServerConfig): Promise<string>;
  /** The same for one account, whichever is used otherwise. */
  as(account: string): SignIns;
}

/** The sign-ins that are kept below `stateDir`. */
export function openSignIns(stateDir: string): SignIns {
  let opened: SealedStore | undefined;
  const store = async () => {
    // Loaded now: most commands have nothing to do with sign-in.
    const { createSealedStore } = await import('../auth/index.ts');
    return (opened ??= createSealedStore({ directory: join(stateDir, 'sign-ins') }));
  };
  const ofAccount = (own: { readonly account?: string }): SignIns => ({
    store,
    authorizer: async (server, options = {}) =>
      server.kind === 'http' ? serverAuthorizer(server, { store: await store(), ...own, ...options }) : undefined,
    async accounts(url) {
      const { createAccounts } = await import('../auth/index.ts');
      return createAccounts(await store(), url);
    },
    accountOf: async (server) => own.account ?? accountOf(server, await store()),
    as: (account) => ofAccount({ account }),
  });
  return ofAccount({});
}

/** Where the key of the store is, in words. */
export function sayKeyPlace(place: KeyPlace): string {
  return place === 'keychain' ? "with their key in the system's keychain" : 'with their key in a file there, for you alone';
}

/**
 * The server as far as its sign-in goes: without the headers, and without the secrets of its client, which may not be at hand.
 * Undefined for a program, for a server with an Authorization header of its own, and for an address that cannot be told.
 */
export async function signInTarget(
  definition: ServerDefinition,
  surroundings: Surroundings,
): Promise<(ServerConfig & { readonly kind: 'http' }) | undefined> {
  const { written, oauth, ...rest } = definition;
  if (written.kind !== 'http' || hasAuthorization(written.headers)) return undefined;
  const { account, grant } = oauth ?? {};
  const own = { ...(account !== undefined && { account }), ...(grant !== undefined && { grant }) };
  const plain = { ...rest, written: { ...written, headers: {} }, oauth: own };
  const server = await expandServer(plain, surroundings).catch(() => undefined);
  return server?.kind === 'http' ? server : undefined;
}

/** True when one of the headers is Authorization. */
export function hasAuthorization(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}
