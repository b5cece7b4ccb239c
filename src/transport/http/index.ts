export type { Identity } from '../../jsonrpc/index.ts';
export { createHttpListener, type HttpListener, type HttpListenerOptions } from './server.ts';
export type { ListenOptions } from './listen.ts';
export type { Admission, Arrival, AskedMethod, Gate, GateRefusal } from './gate.ts';
export type { Accept, AcceptContext, HttpProfile, Inspection, Refusal, SessionChannel } from './profile.ts';
export { httpTransport, type HttpTransportOptions } from './client.ts';
export type { AuthorizedAnswer, AuthorizedRequest, Authorizer } from './authorizer.ts';
export type { HeaderFunction, HeaderSource } from './headers.ts';
