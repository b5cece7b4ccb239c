export type { DefinitionOf, Entry, EntryOf, Kind, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from './entry.ts';
export { modelName, parseName, type NameReading } from './names.ts';
export { createRegistry, type Listed, type Registry, type RegistryChange, type RegistryServer } from './registry.ts';
export type { Conflict, Listing, Lookup, Offer, ResourceTarget, Snapshot } from './snapshot.ts';
