// One table of methods: what each takes and gives, in which eras it exists, and what follows from calling it.
// The protocol's method names stand nowhere else as text.
import type { JsonObject } from '../jsonrpc/index.ts';
import type { Era } from './revision.ts';
import type {
  CallToolParams,
  CallToolResult,
  CompleteParams,
  CompleteResult,
  DiscoverResult,
  GetPromptParams,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  LoggingLevel,
  ReadResourceParams,
  ReadResourceResult,
  ServerCapabilities,
  SubscriptionFilter,
  TaskParams,
  UpdateTaskParams,
} from './schema/index.ts';

interface Page {
  readonly cursor?: string;
}

/** Requests a client sends: method → params and result. */
export interface ClientMethods {
  'server/discover': { params: Record<never, never>; result: DiscoverResult };
  initialize: { params: JsonObject; result: JsonObject };
  ping: { params: Record<never, never>; result: JsonObject };
  'tools/list': { params: Page; result: ListToolsResult };
  'tools/call': { params: CallToolParams; result: CallToolResult };
  'prompts/list': { params: Page; result: ListPromptsResult };
  'prompts/get': { params: GetPromptParams; result: GetPromptResult };
  'resources/list': { params: Page; result: ListResourcesResult };
  'resources/templates/list': { params: Page; result: ListResourceTemplatesResult };
  'resources/read': { params: ReadResourceParams; result: ReadResourceResult };
  'resources/subscribe': { params: { readonly uri: string }; result: JsonObject };
  'resources/unsubscribe': { params: { readonly uri: string }; result: JsonObject };
  'subscriptions/listen': { params: { readonly notifications: SubscriptionFilter }; result: JsonObject };
  'completion/complete': { params: CompleteParams; result: CompleteResult };
  'logging/setLevel': { params: { readonly level: LoggingLevel }; result: JsonObject };
  'tasks/get': { params: TaskParams; result: JsonObject };
  'tasks/update': { params: UpdateTaskParams; result: JsonObject };
  'tasks/cancel': { params: TaskParams; result: JsonObject };
}

export type ClientMethod = keyof ClientMethods;

export interface MethodFacts {
  readonly eras: readonly Era[];
  /** The server capability that offers it. */
  readonly capability?: keyof ServerCapabilities;
  /** May answer `input_required` (2026-07-28, patterns/mrtr). */
  readonly mayAskInput: boolean;
  /** May answer `task` to a client that declared the extension (SEP-2663, "Supported Methods"). */
  readonly mayBecomeTask?: true;
  /** Doing it twice does no harm, so it may be sent again after a loss. */
  readonly repeatable: boolean;
  /** Its result carries `ttlMs` and `cacheScope`. */
  readonly cacheable: boolean;
  /** The parameter mirrored in the `Mcp-Name` header. */
  readonly nameParam?: 'name' | 'uri' | 'taskId';
}

const BOTH: readonly Era[] = ['modern', 'legacy'];
const MODERN: readonly Era[] = ['modern'];
const LEGACY: readonly Era[] = ['legacy'];

const read = { mayAskInput: false, repeatable: true, cacheable: false } as const;
const ofTask = { ...read, eras: MODERN, nameParam: 'taskId' } as const;
const list = { eras: BOTH, mayAskInput: false, repeatable: true, cacheable: true } as const;

export const METHODS: Readonly<Record<ClientMethod, MethodFacts>> = {
  'server/discover': { ...read, eras: MODERN, cacheable: true },
  initialize: { ...read, eras: LEGACY, repeatable: false },
  ping: { ...read, eras: LEGACY },
  'tools/list': { ...list, capability: 'tools' },
  'tools/call': {
    eras: BOTH,
    capability: 'tools',
    mayAskInput: true,
    mayBecomeTask: true,
    repeatable: false,
    cacheable: false,
    nameParam: 'name',
  },
  'prompts/list': { ...list, capability: 'prompts' },
  'prompts/get': { ...read, eras: BOTH, capability: 'prompts', mayAskInput: true, nameParam: 'name' },
  'resources/list': { ...list, capability: 'resources' },
  'resources/templates/list': { ...list, capability: 'resources' },
  'resources/read': { ...list, capability: 'resources', mayAskInput: true, nameParam: 'uri' },
  'resources/subscribe': { ...read, eras: LEGACY, capability: 'resources' },
  'resources/unsubscribe': { ...read, eras: LEGACY, capability: 'resources' },
  'subscriptions/listen': { ...read, eras: MODERN },
  'completion/complete': { ...read, eras: BOTH, capability: 'completions' },
  'logging/setLevel': { ...read, eras: LEGACY, capability: 'logging' },
  'tasks/get': ofTask,
  // A server ignores answers it has had already, and the second cancellation.
  'tasks/update': ofTask,
  'tasks/cancel': ofTask,
};

/** Names for the methods a client calls. */
export const method = {
  discover: 'server/discover',
  initialize: 'initialize',
  ping: 'ping',
  listTools: 'tools/list',
  callTool: 'tools/call',
  listPrompts: 'prompts/list',
  getPrompt: 'prompts/get',
  listResources: 'resources/list',
  listResourceTemplates: 'resources/templates/list',
  readResource: 'resources/read',
  subscribe: 'resources/subscribe',
  unsubscribe: 'resources/unsubscribe',
  listen: 'subscriptions/listen',
  complete: 'completion/complete',
  setLogLevel: 'logging/setLevel',
  getTask: 'tasks/get',
  updateTask: 'tasks/update',
  cancelTask: 'tasks/cancel',
} as const satisfies Record<string, ClientMethod>;

/** Names for what a server asks of a client: as requests in the legacy era, inside input-required results in the modern. */
export const inputMethod = {
  elicit: 'elicitation/create',
  sample: 'sampling/createMessage',
  listRoots: 'roots/list',
} as const;

export type InputMethod = (typeof inputMethod)[keyof typeof inputMethod];

/** Names of notifications, both directions. */
export const notification = {
  initialized: 'notifications/initialized',
  cancelled: 'notifications/cancelled',
  progress: 'notifications/progress',
  log: 'notifications/message',
  toolsChanged: 'notifications/tools/list_changed',
  promptsChanged: 'notifications/prompts/list_changed',
  resourcesChanged: 'notifications/resources/list_changed',
  resourceUpdated: 'notifications/resources/updated',
  rootsChanged: 'notifications/roots/list_changed',
  acknowledged: 'notifications/subscriptions/acknowledged',
  elicitationComplete: 'notifications/elicitation/complete',
  taskChanged: 'notifications/tasks',
} as const;

/** The facts of a method, or undefined for one that is not in the table (an extension's). */
export function factsOf(name: string): MethodFacts | undefined {
  return Object.hasOwn(METHODS, name) ? METHODS[name as ClientMethod] : undefined;
}
