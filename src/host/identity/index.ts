export { filledIn, identify, type IdentityOptions, type ServerIdentity } from './identity.ts';
