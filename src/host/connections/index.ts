export { Connection, type ConnectionOptions } from './connection.ts';
export type { ConnectionState } from './state.ts';
export { Lister, type ListerOptions } from './lister.ts';
export { openTransport, serverLogFile, type OpenTransportOptions } from './open-transport.ts';
