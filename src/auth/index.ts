export {
  createAuthorizer,
  mayHaveTokens,
  type AuthorizerOptions,
  type OAuthAuthorizer,
  type SignInOptions,
  type SignInStatus,
} from './provider.ts';
export { createAccounts, DEFAULT_ACCOUNT, isAccountName, type Accounts } from './accounts.ts';
export type { Grant, Interaction, Question, ReturnAddress } from './obtain.ts';
export type { Visit } from './authorize.ts';
export type { ClientIdentity, RegisteredClient } from './register.ts';
export type { ClientAuthentication, IdentityProvider } from './token.ts';
export { createMemoryStore, storeKey, type AuthStore, type StoreName } from './store.ts';
export { createFileStore, type FileStoreOptions } from './file-store.ts';
export { createSealedStore, type KeyPlace, type SealedStore, type SealedStoreOptions } from './sealed-store.ts';
export { systemKeychain, type Keychain } from './keychain.ts';
export { browserInteraction, openBrowser, type BrowserOptions, type OpenBrowserOptions } from './browser.ts';
export { discover, type Discovery, type DiscoverOptions } from './discover.ts';
export { createGuard, type Guard, type GuardOptions, type Resolver } from './guard.ts';
export { parseChallenges, type Challenge } from './challenge.ts';
export { requireBearer, type BearerOptions } from './bearer.ts';
export type { TokenClaims, TokenVerifier, Verdict } from './verify.ts';
