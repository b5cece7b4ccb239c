export type { Identity } from '../jsonrpc/index.ts';
export { ask, type Ask } from './ask.ts';
export type { Completer, Completers, CompletionContext, Completions } from './completion.ts';
export type { AskOptions, Context, RequestInfo } from './context.ts';
export { httpProfile } from './http-profile.ts';
export { inputRequired, type InputRequired } from './input-required.ts';
export type { ServerChannel } from './line.ts';
export type { PromptDefinition, PromptHandler, PromptReturn } from './prompts.ts';
export type {
  ResourceDefinition,
  ResourceHandler,
  ResourceReturn,
  TemplateDefinition,
  TemplateHandler,
  TemplateVariables,
} from './resources.ts';
export type { StandardSchema } from './schema.ts';
export { httpListener, serveHttp, serveStdio, type HttpServing, type ServeHttpOptions, type StdioServing } from './serve.ts';
export {
  createServer,
  type AcceptOptions,
  type CloseOptions,
  type PromptRegistration,
  type Registration,
  type ResourceRegistration,
  type Server,
  type ServerOptions,
  type TemplateRegistration,
  type ToolRegistration,
} from './server.ts';
export type { TaskOptions, TaskSupport } from './tasks.ts';
export { ToolError } from './tool-error.ts';
export type { ToolDefinition, ToolHandler, ToolReturn } from './tools.ts';
