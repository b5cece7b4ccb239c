// Resources and resource templates: how they are defined, and what becomes of a read.
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import {
  method,
  parseTemplate,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
  type UriTemplate,
} from '../protocol/index.ts';
import { stringParam, type Call } from './call.ts';
import type { Completers } from './completion.ts';
import type { Context } from './context.ts';
import type { InputRequired } from './input-required.ts';
import type { List } from './list.ts';
import { perform } from './perform.ts';

export type ResourceDefinition = Resource;

/** Text, bytes, or a whole result. Undefined means that there is no such resource. */
export type ResourceReturn = string | Uint8Array | ReadResourceResult | InputRequired | undefined;

export type ResourceHandler = (context: Context) => ResourceReturn | Promise<ResourceReturn>;

export interface TemplateDefinition extends ResourceTemplate {
  /** Suggestions for variables, by their names. */
  readonly complete?: Completers;
}

/** Exploded variables (`{/path*}`) are lists, all others are strings. Values are decoded and may hold any character. */
export type TemplateVariables = Readonly<Record<string, string | string[]>>;

/** `uri` is the whole of what is read. */
export type TemplateHandler = (
  variables: TemplateVariables,
  context: Context,
  uri: string,
) => ResourceReturn | Promise<ResourceReturn>;

export interface HeldResource {
  readonly definition: ResourceDefinition;
  readonly handler: ResourceHandler;
  readonly wire: JsonObject;
}

export interface HeldTemplate {
  readonly definition: TemplateDefinition;
  readonly handler: TemplateHandler;
  readonly wire: JsonObject;
  readonly template: UriTemplate;
}

export function holdResource(definition: ResourceDefinition, handler: ResourceHandler): HeldResource {
  return { definition, handler, wire: definition as unknown as JsonObject };
}

/** @throws ParleyError `usage` for a template that is none, or a completer of a variable it does not have */
export function holdTemplate(definition: TemplateDefinition, handler: TemplateHandler): HeldTemplate {
  const { complete = {}, ...wire } = definition;
  const template = parseTemplate(definition.uriTemplate);
  const stray = Object.keys(complete).find((name) => !template.variables.includes(name));
  if (stray !== undefined) {
    throw new ParleyError('usage', `The template ${definition.uriTemplate} has no variable "${stray}" to complete.`);
  }
  return { definition, handler, wire: wire, template };
}

export async function readResource(
  resources: List<HeldResource>,
  templates: List<HeldTemplate>,
  call: Call,
): Promise<JsonObject> {
  const { dialect } = call;
  const uri = stringParam(call.params, 'uri');
  const found = find(uri, resources, templates);
  if (found === undefined) throw dialect.resourceNotFound(uri);
  const outcome = await perform(call, (context) => found.read(context));
  if (outcome.type === 'input') return dialect.encode(method.readResource, outcome.result);
  if (outcome.value === undefined) throw dialect.resourceNotFound(uri);
  return dialect.encode(method.readResource, resultOf(uri, found.mimeType, outcome.value));
}

interface Found {
  readonly mimeType: string | undefined;
  read(context: Context): ResourceReturn | Promise<ResourceReturn>;
}

/** A resource of just this URI, else the first template that fits. */
function find(uri: string, resources: List<HeldResource>, templates: List<HeldTemplate>): Found | undefined {
  const resource = resources.get(uri);
  if (resource !== undefined) return { mimeType: resource.definition.mimeType, read: resource.handler };
  for (const { template, handler, definition } of templates) {
    const variables = template.match(uri);
    if (variables === undefined) continue;
    return { mimeType: definition.mimeType, read: (context) => handler(variables, context, uri) };
  }
  return undefined;
}

function resultOf(uri: string, mimeType: string | undefined, returned: string | Uint8Array | ReadResourceResult): JsonObject {
  const about = { uri, ...(mimeType !== undefined && { mimeType }) };
  if (typeof returned === 'string') return { contents: [{ ...about, text: returned }] };
  if (returned instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = returned;
    return { contents: [{ ...about, blob: Buffer.from(buffer, byteOffset, byteLength).toString('base64') }] };
  }
  if (isObject(returned) && Array.isArray(returned['contents'])) return returned;
  throw new ParleyError('internal', `The handler of resource ${uri.slice(0, 256)} returned neither text, bytes nor a result.`);
}
