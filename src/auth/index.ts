export { createAuthorizer, type AuthorizerOptions, type OAuthAuthorizer, type SignInStatus } from './provider.ts';
export type { Grant, Interaction, Question, ReturnAddress } from './obtain.ts';
export type { Visit } from './authorize.ts';
export type { ClientIdentity, RegisteredClient } from './register.ts';
export type { ClientAuthentication, IdentityProvider } from './token.ts';
export { createMemoryStore, storeKey, type AuthStore, type StoreName } from './store.ts';
export { discover, type Discovery, type DiscoverOptions } from './discover.ts';
export { createGuard, type Guard, type GuardOptions, type Resolver } from './guard.ts';
export { parseChallenges, type Challenge } from './challenge.ts';
