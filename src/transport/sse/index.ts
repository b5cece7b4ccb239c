export { createSseEndpoints, type SseEndpoints, type SseEndpointsOptions } from './server.ts';
export { sseTransport, type SseTransportOptions } from './client.ts';
