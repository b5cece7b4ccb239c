export { filledIn, identify, type IdentityOptions, type ServerIdentity, type SignedIn } from './identity.ts';
