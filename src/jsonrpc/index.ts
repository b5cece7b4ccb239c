export type {
  Channel,
  ChannelTerms,
  Ending,
  Identity,
  OpenOptions,
  Origin,
  Problem,
  Receiver,
  SendOptions,
  Transport,
} from './channel.ts';
export {
  isObject,
  isRequestId,
  rpcCode,
  sort,
  type ErrorObject,
  type Failure,
  type Incoming,
  type JsonObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Success,
} from './message.ts';
export { parseJson, type JsonLimits } from './parse.ts';
export { abortError, seconds, type Progress } from './pending.ts';
export {
  createPeer,
  type Conventions,
  type GiveUp,
  type Peer,
  type PeerOptions,
  type PeerStats,
  type RequestContext,
  type RequestHandler,
  type RequestOptions,
} from './peer.ts';
