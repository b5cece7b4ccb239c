// One thing on offer: a definition as its server sent it, under the names it is known by. Nothing here shows or trusts its text.
import { digest } from '../../base/index.ts';
import type { Prompt, Resource, ResourceTemplate, Tool } from '../../protocol/index.ts';
import { modelName } from './names.ts';

/** What servers offer. */
export type Kind = 'tool' | 'prompt' | 'resource' | 'template';

export const KINDS: readonly Kind[] = ['tool', 'prompt', 'resource', 'template'];

export interface DefinitionOf {
  tool: Tool;
  prompt: Prompt;
  resource: Resource;
  template: ResourceTemplate;
}

interface Offered<K extends Kind> {
  readonly kind: K;
  /** The configured server's name. */
  readonly server: string;
  /** What the protocol knows it by, once a server: the name of a tool or prompt, a resource's URI, a template's URI template. */
  readonly key: string;
  /** The name as the server gave it; those of resources and templates need not be unique. */
  readonly name: string;
  /** As the server sent it. Its text is the server's: untrusted. */
  readonly definition: DefinitionOf[K];
  /** SHA-256 over the definition; computed when first read. */
  readonly digest: string;
}

export interface ToolEntry extends Offered<'tool'> {
  /** The name models call it by. */
  readonly modelName: string;
}
export type PromptEntry = Offered<'prompt'>;
export type ResourceEntry = Offered<'resource'>;
export type TemplateEntry = Offered<'template'>;

export interface EntryOf {
  tool: ToolEntry;
  prompt: PromptEntry;
  resource: ResourceEntry;
  template: TemplateEntry;
}

export type Entry = EntryOf[Kind];

/** The member that names a definition. A definition may hold the others too: they mean nothing there. */
const KEY = { tool: 'name', prompt: 'name', resource: 'uri', template: 'uriTemplate' } as const;

/** The entry of one definition on `server`. */
export function createEntry<K extends Kind>(kind: K, server: string, definition: DefinitionOf[K]): EntryOf[K] {
  let known: string | undefined;
  const entry: Offered<K> = {
    kind,
    server,
    key: (definition as unknown as Record<string, string>)[KEY[kind]] as string,
    name: definition.name,
    definition,
    get digest() {
      return (known ??= digest(definition));
    },
  };
  // Not a spread, which would compute the digest now.
  const named = kind === 'tool' ? Object.assign(entry, { modelName: modelName(server, definition.name) }) : entry;
  return named as unknown as EntryOf[K];
}
