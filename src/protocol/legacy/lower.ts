// Shapes of the newest model, lowered to what a legacy revision can carry: what it does not know is left out, and content
// it has no block for is put into one it has. Never invents a member.
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import { extension, withoutExtension } from '../extension.ts';
import type { LegacyRevision } from '../revision.ts';
import { FACTS } from './facts.ts';

/** Members of definitions, implementations and links that `revision` does not have. */
function unknownMembers(revision: LegacyRevision): readonly string[] {
  const { titles, icons } = FACTS[revision];
  return [...(titles ? [] : ['title']), ...(icons ? [] : ['icons'])];
}

/** `holder` less `names`; itself when it has none of them. */
export function omit(holder: JsonObject, names: readonly string[]): JsonObject {
  if (!names.some((name) => name in holder)) return holder;
  return Object.fromEntries(Object.entries(holder).filter(([name]) => !names.includes(name)));
}

export function lowerImplementation(implementation: JsonObject, revision: LegacyRevision): JsonObject {
  const unknown = unknownMembers(revision);
  return omit(implementation, FACTS[revision].icons ? unknown : [...unknown, 'description', 'websiteUrl']);
}

/** A resource, a template or a prompt. */
export function lowerDefinition(definition: JsonObject, revision: LegacyRevision): JsonObject {
  const unknown = unknownMembers(revision);
  const lowered = omit(definition, unknown);
  const args = lowered['arguments'];
  if (!Array.isArray(args)) return lowered;
  return { ...lowered, arguments: args.map((argument) => omit(argument as JsonObject, unknown)) };
}

export function lowerTool(tool: JsonObject, revision: LegacyRevision): JsonObject {
  const { hints, titles } = FACTS[revision];
  const { inputSchema, outputSchema, annotations, ...rest } = tool;
  return {
    ...lowerDefinition(rest, revision),
    inputSchema: lowerSchema(inputSchema as JsonObject),
    ...(hints && annotations !== undefined && { annotations }),
    // Earlier revisions know structured content of type object only.
    ...(titles && isObject(outputSchema) && outputSchema['type'] === 'object' && { outputSchema: lowerSchema(outputSchema) }),
  };
}

/** Legacy schemas have no booleans for the schemas of properties. */
function lowerSchema(schema: JsonObject): JsonObject {
  const properties = schema['properties'];
  if (!isObject(properties) || !Object.values(properties).some((property) => typeof property === 'boolean')) return schema;
  const lowered = Object.entries(properties).map(([name, property]) => [
    name,
    property === true ? {} : property === false ? { not: {} } : property,
  ]);
  return { ...schema, properties: Object.fromEntries(lowered) as JsonObject };
}

function lowerBlock(block: JsonObject, revision: LegacyRevision): JsonObject {
  const type = block['type'];
  if (FACTS[revision].blocks.includes(type as string)) {
    return type === 'resource_link' ? lowerDefinition(block, revision) : block;
  }
  const shared = omit(block, ['type', 'data', 'mimeType', 'uri', 'name', 'title', 'description', 'size', 'icons']);
  if (type === 'resource_link') {
    const { uri, name, description } = block as { uri: string; name: string; description?: string };
    return { type: 'text', text: `${name}: ${uri}${description === undefined ? '' : `\n${description}`}`, ...shared };
  }
  if (type === 'audio') {
    const { data, mimeType } = block;
    return { type: 'resource', resource: { uri: 'attachment:audio', mimeType, blob: data }, ...shared };
  }
  return { type: 'text', text: JSON.stringify(block) };
}

export function lowerToolResult(result: JsonObject, revision: LegacyRevision): JsonObject {
  const content = lowerBlocks(result['content'], revision);
  const structured = result['structuredContent'];
  // Earlier revisions know none, or only objects.
  const kept = structured === undefined || (FACTS[revision].titles && isObject(structured));
  if (kept) return content === result['content'] ? result : { ...result, content };
  return { ...omit(result, ['structuredContent']), content };
}

export function lowerMessages(result: JsonObject, revision: LegacyRevision): JsonObject {
  const messages = (result['messages'] as readonly JsonObject[]).map((message) => ({
    ...message,
    content: lowerBlock(message['content'] as JsonObject, revision),
  }));
  return { ...result, messages };
}

/** The blocks themselves when the revision has all of them as they are. */
function lowerBlocks(blocks: unknown, revision: LegacyRevision): unknown {
  const given = blocks as readonly JsonObject[];
  const lowered = given.map((block) => lowerBlock(block, revision));
  return lowered.every((block, at) => block === given[at]) ? given : lowered;
}

export function lowerCapabilities(capabilities: JsonObject, revision: LegacyRevision): JsonObject {
  const known = withoutExtension(capabilities, extension.tasks);
  return FACTS[revision].hints ? known : omit(known, ['completions']);
}
