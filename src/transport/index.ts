export { createHttpListener, type HttpListener, type HttpListenerOptions } from './http/server.ts';
export type { ListenOptions } from './http/listen.ts';
export type { Accept, AcceptContext, HttpProfile, Inspection, Refusal, SessionChannel } from './http/profile.ts';
export { createSseEndpoints, type SseEndpoints, type SseEndpointsOptions } from './sse/server.ts';
