export { hostToolbox, MOST_TOOLS } from './host-toolbox.ts';
export type { AgentEvent, CallLogEntry, CallStart, Observe } from './log.ts';
export { runAgent, type AgentOptions, type AgentResult, type Budget } from './loop.ts';
export type {
  Finish,
  GenerateOptions,
  Model,
  ModelMessage,
  ModelReply,
  ModelRequest,
  ModelTool,
  ModelToolCall,
  Usage,
} from './model.ts';
export * from './providers/index.ts';
export type { ToolCallOptions, Toolbox, ToolReply } from './toolbox.ts';
