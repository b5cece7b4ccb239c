export { killAllGroups } from './family.ts';
export { locate } from './locate.ts';
export { stdioServerChannel, type StdioServerOptions } from './server.ts';
export { stdioTransport, type StdioChannel, type StdioOptions, type StdioTransport } from './client.ts';
export type { SandboxOptions, SandboxStatus } from './sandbox.ts';
export type { LineLimits } from './line.ts';
export type { ShutdownTimes } from './child.ts';
