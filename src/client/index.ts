export { createCache, type Cache, type CacheKey, type CacheOptions } from './cache.ts';
export { connect, type ConnectOptions } from './connect.ts';
export { answerInput, capabilitiesOf, type InputContext, type InputHandlers } from './inputs.ts';
export type { Listing } from './pages.ts';
export type { CallOptions, News, Session, StartedCall } from './session.ts';
export type { TaskHandle } from './task.ts';
export type { Change, Watch } from './watch.ts';
