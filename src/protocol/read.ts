// Reads results as servers really send them: what is whole is kept, what is broken is named, and one bad
// entry never costs the rest. Unknown members and unknown kinds of content stay as they came.
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
  Tool,
} from './schema/index.ts';

/** An entry of a list that could not be used, and why. `name` is the server's text. */
export interface Rejected {
  readonly name: string;
  readonly why: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly rejected: readonly Rejected[];
  readonly nextCursor: string | undefined;
}

/** The types that optional members have. */
type MemberTypes = Readonly<Record<string, 'string' | 'object' | 'boolean' | 'number'>>;

const TOOL: MemberTypes = { title: 'string', description: 'string', annotations: 'object', outputSchema: 'object' };
const PROMPT: MemberTypes = { title: 'string', description: 'string', arguments: 'object' };
const RESOURCE: MemberTypes = { title: 'string', description: 'string', mimeType: 'string', annotations: 'object' };
const TOOL_RESULT: MemberTypes = { isError: 'boolean' };
const PROMPT_RESULT: MemberTypes = { description: 'string' };
const COMPLETION: MemberTypes = { total: 'number', hasMore: 'boolean' };

/** A reader of one kind of entry: the entry, or why it cannot be used. */
type ReadEntry<T> = (entry: JsonObject) => T | string;

/** @throws ParleyError `protocol-violation` when the list itself is missing */
function readPage<T>(result: JsonObject, member: string, read: ReadEntry<T>): Page<T> {
  const list = result[member];
  if (!Array.isArray(list)) throw violation(`a list without "${member}"`);
  const items: T[] = [];
  const rejected: Rejected[] = [];
  for (const entry of list as unknown[]) {
    const outcome = isObject(entry) ? read(entry) : 'is not an object';
    if (typeof outcome === 'string') rejected.push({ name: labelOf(entry), why: outcome });
    else items.push(outcome);
  }
  const cursor = result['nextCursor'];
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') throw violation('a nextCursor that is not a string');
  // An empty string is a cursor like any other; only its absence ends the list (server/utilities/pagination).
  return { items, rejected, nextCursor: cursor ?? undefined };
}

export function readTools(result: JsonObject): Page<Tool> {
  return readPage(result, 'tools', (entry) => {
    if (!isName(entry['name'])) return 'has no name';
    if (!isObject(entry['inputSchema'])) return 'has no inputSchema object';
    if (entry['outputSchema'] !== undefined && entry['outputSchema'] !== null && !isObject(entry['outputSchema'])) {
      return 'has an outputSchema that is not an object';
    }
    return without(entry, TOOL) as unknown as Tool;
  });
}

export function readPrompts(result: JsonObject): Page<Prompt> {
  return readPage(result, 'prompts', (entry) => {
    if (!isName(entry['name'])) return 'has no name';
    const args = entry['arguments'];
    if (
      args !== undefined &&
      args !== null &&
      !(Array.isArray(args) && args.every((arg) => isObject(arg) && isName(arg['name'])))
    ) {
      return 'has arguments without names';
    }
    return without(entry, PROMPT) as unknown as Prompt;
  });
}

export function readResources(result: JsonObject): Page<Resource> {
  return readPage(result, 'resources', (entry) => {
    if (!isName(entry['uri'])) return 'has no uri';
    const named = isName(entry['name']) ? entry : { ...entry, name: entry['uri'] };
    return without(named, RESOURCE) as unknown as Resource;
  });
}

export function readResourceTemplates(result: JsonObject): Page<ResourceTemplate> {
  return readPage(result, 'resourceTemplates', (entry) => {
    if (!isName(entry['uriTemplate'])) return 'has no uriTemplate';
    const named = isName(entry['name']) ? entry : { ...entry, name: entry['uriTemplate'] };
    return without(named, RESOURCE) as unknown as ResourceTemplate;
  });
}

/** A result without `content` but with `structuredContent` is taken as one with empty content. */
export function readCallToolResult(result: JsonObject): CallToolResult {
  const content = result['content'] ?? [];
  if (!Array.isArray(content)) throw violation('a tool result whose content is not an array');
  if (result['content'] === undefined && result['structuredContent'] === undefined)
    throw violation('a tool result without content');
  const clean = without(result, TOOL_RESULT);
  if (clean['content'] === content && content.every(isObject)) return clean as unknown as CallToolResult;
  return { ...clean, content: content.filter(isObject) as unknown as ContentBlock[] };
}

export function readReadResourceResult(result: JsonObject): ReadResourceResult {
  const contents = result['contents'];
  if (!Array.isArray(contents)) throw violation('a resource without contents');
  return { ...result, contents: contents.filter(isObject) as unknown as ResourceContents[] };
}

export function readGetPromptResult(result: JsonObject): GetPromptResult {
  const messages = result['messages'];
  if (!Array.isArray(messages)) throw violation('a prompt without messages');
  const whole = messages.filter((message) => isObject(message) && isObject(message['content']));
  return { ...without(result, PROMPT_RESULT), messages: whole };
}

export function readCompleteResult(result: JsonObject): CompleteResult {
  const completion = result['completion'];
  const values = isObject(completion) ? completion['values'] : undefined;
  if (!isObject(completion) || !Array.isArray(values)) throw violation('a completion without values');
  const texts = values.filter((value) => typeof value === 'string').slice(0, 100);
  return { ...result, completion: { ...without(completion, COMPLETION), values: texts } };
}

/** Milliseconds a result may be reused: 0 when the server gave no usable `ttlMs`, and never more than a day. */
export function freshFor(result: JsonObject): number {
  const ttl = result['ttlMs'];
  return typeof ttl === 'number' && ttl > 0 ? Math.min(ttl, 86_400_000) : 0;
}

export function violation(what: string): ParleyError {
  return new ParleyError('protocol-violation', `The server answered with ${what}.`);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function labelOf(entry: unknown): string {
  const label = isObject(entry) ? (entry['name'] ?? entry['uri'] ?? entry['uriTemplate']) : undefined;
  return typeof label === 'string' ? label.slice(0, 128) : '(unnamed)';
}

/** `holder` less those members that are there with another type than given; itself when all is well. */
function without<T extends JsonObject>(holder: T, types: MemberTypes): T {
  let rest: Record<string, unknown> | undefined;
  for (const key in types) {
    const value = holder[key];
    if (value === undefined || (typeof value === types[key] && value !== null)) continue;
    rest ??= { ...holder };
    delete rest[key];
  }
  return (rest as T | undefined) ?? holder;
}
