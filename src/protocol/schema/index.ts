export * from './common.ts';
export * from './content.ts';
export * from './input.ts';
export * from './prompt.ts';
export * from './resource.ts';
export * from './server.ts';
export * from './task.ts';
export * from './tool.ts';
