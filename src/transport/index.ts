export { createHttpListener, type HttpListener, type HttpListenerOptions } from './http/server.ts';
export type { ListenOptions } from './http/listen.ts';
export type { Admission, Arrival, AskedMethod, Gate, GateRefusal } from './http/gate.ts';
export type { Accept, AcceptContext, HttpProfile, Inspection, Refusal, SessionChannel } from './http/profile.ts';
export { createSseEndpoints, type SseEndpoints, type SseEndpointsOptions } from './sse/server.ts';
export { memoryPair, memoryTransport, type MemoryOptions } from './memory.ts';
export {
  killAllGroups,
  locate,
  stdioServerChannel,
  stdioTransport,
  type LineLimits,
  type SandboxOptions,
  type SandboxStatus,
  type ShutdownTimes,
  type StdioChannel,
  type StdioOptions,
  type StdioServerOptions,
  type StdioTransport,
} from './stdio/index.ts';
export { tap, tapChannel, type Observer, type Passing } from './tap.ts';
export { eitherTransport, type TransportWithFallback } from './either.ts';
export { httpTransport, type HttpTransportOptions } from './http/client.ts';
export type { AuthorizedAnswer, AuthorizedRequest, Authorizer } from './http/authorizer.ts';
export type { HeaderFunction, HeaderSource } from './http/headers.ts';
export { sseTransport, type SseTransportOptions } from './sse/client.ts';
