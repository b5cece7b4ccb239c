// All but the levels of logging are types alone: of those nothing is loaded.
export * from './common.ts';
export type * from './content.ts';
export type * from './input.ts';
export type * from './prompt.ts';
export type * from './resource.ts';
export type * from './server.ts';
export type * from './task.ts';
export type * from './tool.ts';
