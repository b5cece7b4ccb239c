export { createSseEndpoints, type SseEndpoints, type SseEndpointsOptions } from './server.ts';
