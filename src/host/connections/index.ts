export { Connection, type ConnectionOptions } from './connection.ts';
export { createRefresher, type Refresher, type RefresherOptions } from './refresher.ts';
export { LOSS_WINDOW_MS, MAX_ATTEMPTS, MAX_LOSSES, next, type ConnectionEvent, type ConnectionState } from './state.ts';
export { Lister, type ListerOptions } from './lister.ts';
export { openTransport, serverLogFile, type OpenTransportOptions } from './open-transport.ts';
