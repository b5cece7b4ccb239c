// The front door: what every user of Parley meets, whichever rooms they use. Each room has a subpath of its own.
export {
  ERRORS,
  isParleyError,
  ParleyError,
  RpcError,
  type ErrorCode,
  type ErrorDetails,
  type ErrorFacts,
  type ErrorOptions,
} from './errors.ts';
export { LIMITS, type Limit, type LimitName, type Limits } from './base/index.ts';
export type {
  Channel,
  Ending,
  JsonObject,
  Message,
  Origin,
  Problem,
  Receiver,
  RequestId,
  SendOptions,
  Transport,
} from './jsonrpc/index.ts';
