export * from './approval/index.ts';
export * from './config/index.ts';
export { serverLogFile, type ConnectionState } from './connections/index.ts';
export { identify, type IdentityOptions, type ServerIdentity } from './identity/index.ts';
export {
  changeLines,
  driftOf,
  formatLock,
  lockServer,
  parseLock,
  type Drift,
  type Lock,
  type LockedServer,
  type Offer,
} from './lock/index.ts';
export {
  openHost,
  type Host,
  type HostAuthorizer,
  type HostEvent,
  type HostOptions,
  type Said,
  type ServerStatus,
} from './host.ts';
export {
  decide,
  matchingRules,
  parseRule,
  placeOf,
  placesOf,
  readRules,
  replay,
  ROUTES,
  type CallQuestion,
  type Decision,
  type ReadQuestion,
  type Replayed,
  type Rule as PolicyRule,
  type RuleSet,
} from './policy/index.ts';
export { accountOf, serverAuthorizer, type ServerAuthorizerOptions } from './sign-in.ts';
export { createRedact, type Redact } from './record/index.ts';
export * from './registry/index.ts';
export {
  sayOutcome,
  type CallRecord,
  type Outcome,
  type OutcomeType,
  type Route,
  type RouteOptions,
  type ToolOutcome,
} from './router/index.ts';
export {
  createSpill,
  forHuman,
  forModel,
  forWire,
  gutter,
  GUTTER,
  oneLine,
  sayFindings,
  stripHidden,
  visible,
  type Finding,
  type Held,
  type HumanOptions,
  type ModelOptions,
  type ModelPart,
  type OutputVerdict,
  type Spill,
  type TaintMark,
  type Untrusted,
} from './trust/index.ts';
