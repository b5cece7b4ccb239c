// Everything on offer at one moment, and how a name finds it. Immutable; what is expensive is computed once, when first needed.
import { closest } from '../../base/index.ts';
import { parseTemplate, type Rejected } from '../../protocol/index.ts';
import {
  KINDS,
  type Entry,
  type EntryOf,
  type Kind,
  type ResourceEntry,
  type TemplateEntry,
  type ToolEntry,
  type PromptEntry,
} from './entry.ts';
import { parseName } from './names.ts';
import { createSearch, type Search } from './search.ts';

/** One server's list of one kind. */
export interface Listing<K extends Kind> {
  /** In the server's order; no key twice. */
  readonly entries: readonly EntryOf[K][];
  /** What the server listed and could not be used. */
  readonly rejected: readonly Rejected[];
  /** Why the last attempt to list failed; the entries are then those of the time before. Absent when they are current. */
  readonly stale?: string;
  /** When it was listed, by the clock of whoever listed it, in milliseconds. */
  readonly at: number;
}

/** What one server offers. A kind it was never asked for is absent. */
export interface Offer {
  readonly server: string;
  /** The server with the highest number gets a bare name that several offer. */
  readonly priority: number;
  readonly listings: { readonly [K in Kind]?: Listing<K> };
}

/** What a typed name stands for. `suggestions` are names that come close, ready to be typed. */
export type Lookup<T> =
  | { readonly type: 'found'; readonly entry: T }
  | { readonly type: 'ambiguous'; readonly entries: readonly T[] }
  | { readonly type: 'missing'; readonly suggestions: readonly string[] };

/** A bare name, URI or URI template that several servers offer. */
export interface Conflict {
  readonly kind: Kind;
  readonly key: string;
  /** Highest priority first. */
  readonly entries: readonly Entry[];
  /** The one the bare name stands for; undefined when the highest priority is shared. */
  readonly winner: Entry | undefined;
}

/** A resource to read: the URI to send, and the resource or template that says `server` has it. */
export interface ResourceTarget {
  readonly server: string;
  readonly uri: string;
  readonly entry: ResourceEntry | TemplateEntry;
}

/** Entries are sorted by their server's priority, highest first, then by its name, then as the server lists them. */
export interface Snapshot {
  readonly tools: readonly ToolEntry[];
  readonly prompts: readonly PromptEntry[];
  readonly resources: readonly ResourceEntry[];
  readonly templates: readonly TemplateEntry[];
  /** The servers in the same order. */
  readonly servers: readonly Offer[];
  readonly conflicts: readonly Conflict[];
  /**
   * What a typed name stands for: a tool's model name, a key, a name with its server before it (`server/tool`, `server:uri`),
   * or a bare name, which is that of the server with the highest priority.
   */
  find<K extends Kind>(kind: K, typed: string): Lookup<EntryOf[K]>;
  /** The tool a model means. */
  byModelName(name: string): ToolEntry | undefined;
  /** What to read for a URI, a `server:uri` or a resource's name. A URI that nobody lists is looked for in the templates. */
  findResource(typed: string): Lookup<ResourceTarget>;
  /** One entry for each server that lists `uri`, or, when none does, for each that has a template it fits. */
  resourceOwners(uri: string): readonly (ResourceEntry | TemplateEntry)[];
  /** At most `limit` entries whose name, title or description fits the text, best first. */
  search<K extends Kind = 'tool'>(text: string, limit: number, kind?: K): readonly EntryOf[K][];
}

/** The snapshot of what all servers offer. */
export function createSnapshot(offers: ReadonlyMap<string, Offer>): Snapshot {
  const servers = [...offers.values()].sort((a, b) => b.priority - a.priority || (a.server < b.server ? -1 : 1));
  const shelves = {
    tool: once(() => stock(servers, 'tool')),
    prompt: once(() => stock(servers, 'prompt')),
    resource: once(() => stock(servers, 'resource')),
    template: once(() => stock(servers, 'template')),
  };
  const shelf = <K extends Kind>(kind: K) => (shelves[kind] as unknown as () => Shelf<K>)();
  const modelNames = once(() => firstOf(shelf('tool').entries, (tool) => tool.modelName));
  const matchers = once(() => shelf('template').entries.map((entry) => ({ entry, match: matcherOf(entry) })));
  const conflicts = once(() => KINDS.flatMap((kind) => conflictsOf(kind)));

  const priority = (entry: Entry) => offers.get(entry.server)?.priority ?? 0;

  /** The one of the highest priority, if there is one. `entries` are sorted and not empty. */
  function winner<E extends Entry>(entries: readonly E[]): E | undefined {
    const [first, second] = entries;
    return second !== undefined && priority(second) === priority(first as E) ? undefined : first;
  }

  function choose<E extends Entry>(entries: readonly E[]): Lookup<E> {
    const entry = winner(entries);
    if (entry !== undefined) return { type: 'found', entry };
    return { type: 'ambiguous', entries: entries.filter((other) => priority(other) === priority(entries[0] as E)) };
  }

  function conflictsOf(kind: Kind): Conflict[] {
    return [...shelf(kind).byKey]
      .filter(([, entries]) => entries.length > 1)
      .map(([key, entries]) => ({ kind, key, entries, winner: winner<Entry>(entries) }));
  }

  /** The entries a typed name fits, from its most exact reading that fits any. */
  function fitting<K extends Kind>(kind: K, typed: string): readonly EntryOf[K][] {
    const { byKey, byName } = shelf(kind);
    if (kind === 'tool') {
      const tool = modelNames().get(typed);
      if (tool !== undefined) return [tool] as unknown as EntryOf[K][];
    }
    // A URI means itself, whatever separators it holds.
    const whole = kind === 'resource' || kind === 'template' ? byKey.get(typed) : undefined;
    if (whole !== undefined) return whole;
    const readings = parseName(typed, offers);
    for (const { server, name } of readings) {
      // A text that begins with a server's name is never taken for a bare name: another server could pose as it.
      if (server === undefined && readings.length > 1) return [];
      for (const known of [byKey.get(name), byName.get(name)]) {
        const fit = known?.filter((entry) => server === undefined || entry.server === server) ?? [];
        if (fit.length > 0) return fit;
      }
    }
    return [];
  }

  function find<K extends Kind>(kind: K, typed: string): Lookup<EntryOf[K]> {
    const { found } = shelf(kind);
    const known = found.get(typed);
    if (known !== undefined) return known;
    const entries = fitting(kind, typed);
    if (entries.length === 0) return { type: 'missing', suggestions: suggest(kind, typed) };
    const chosen = choose(entries);
    found.set(typed, chosen);
    return chosen;
  }

  function suggest(kind: Kind, typed: string): readonly string[] {
    const { byKey, byName, entries } = shelf(kind);
    const [reading] = parseName(typed, offers);
    if (reading?.server === undefined) {
      const near = closest(typed, new Set([...byKey.keys(), ...byName.keys()]));
      return near.length > 0 ? near : closest(typed, entries.map(qualified));
    }
    const { server, name } = reading;
    const own = entries.filter((entry) => entry.server === server);
    return closest(
      name,
      own.map((entry) => entry.key),
    ).map((key) => qualified({ kind, server, key }));
  }

  /** The first template of each server that `uri` fits. */
  function templatesFor(uri: string): readonly TemplateEntry[] {
    const fit = matchers().filter(({ match }) => match(uri));
    return [
      ...firstOf(
        fit.map(({ entry }) => entry),
        (entry) => entry.server,
      ).values(),
    ];
  }

  function findResource(typed: string): Lookup<ResourceTarget> {
    const listed = fitting('resource', typed);
    if (listed.length > 0) return target(choose(listed), (entry) => entry.key);
    for (const { server, name } of parseName(typed, offers)) {
      const fit = templatesFor(name).filter((entry) => server === undefined || entry.server === server);
      if (fit.length > 0) return target(choose(fit), () => name);
    }
    return { type: 'missing', suggestions: suggest('resource', typed) };
  }

  return {
    get tools() {
      return shelf('tool').entries;
    },
    get prompts() {
      return shelf('prompt').entries;
    },
    get resources() {
      return shelf('resource').entries;
    },
    get templates() {
      return shelf('template').entries;
    },
    servers,
    get conflicts() {
      return conflicts();
    },
    find,
    byModelName: (name) => modelNames().get(name),
    findResource,
    resourceOwners: (uri) => shelf('resource').byKey.get(uri) ?? templatesFor(uri),
    search: <K extends Kind = 'tool'>(text: string, limit: number, kind?: K) => shelf(kind ?? ('tool' as K)).search(text, limit),
  };
}

/** All entries of one kind, and the ways to them. */
interface Shelf<K extends Kind> {
  readonly entries: readonly EntryOf[K][];
  readonly byKey: ReadonlyMap<string, readonly EntryOf[K][]>;
  readonly byName: ReadonlyMap<string, readonly EntryOf[K][]>;
  readonly search: Search<EntryOf[K]>;
  /** What was found before, by the name that was typed: no more than the few names that each entry has. */
  readonly found: Map<string, Lookup<EntryOf[K]>>;
}

function stock<K extends Kind>(servers: readonly Offer[], kind: K): Shelf<K> {
  const entries = servers.flatMap(({ listings }) => listings[kind]?.entries ?? []);
  const byKey = grouped(entries, (entry) => entry.key);
  const search = once(() => createSearch(entries));
  return {
    entries,
    byKey,
    byName: kind === 'tool' || kind === 'prompt' ? byKey : grouped(entries, (entry) => entry.name),
    search: (text, limit) => search()(text, limit),
    found: new Map(),
  };
}

/** A template that cannot be read fits nothing; it is still listed. */
function matcherOf(entry: TemplateEntry): (uri: string) => boolean {
  try {
    const template = parseTemplate(entry.key);
    return (uri) => template.match(uri) !== undefined;
  } catch {
    return () => false;
  }
}

function target<E extends ResourceEntry | TemplateEntry>(found: Lookup<E>, uri: (entry: E) => string): Lookup<ResourceTarget> {
  const of = (entry: E): ResourceTarget => ({ server: entry.server, uri: uri(entry), entry });
  if (found.type === 'found') return { type: 'found', entry: of(found.entry) };
  return found.type === 'ambiguous' ? { type: 'ambiguous', entries: found.entries.map(of) } : found;
}

/** How a person types it so that nothing else can be meant. */
function qualified({ kind, server, key }: { kind: Kind; server: string; key: string }): string {
  return `${server}${kind === 'tool' || kind === 'prompt' ? '/' : ':'}${key}`;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** The first item of each key, in their order. */
function firstOf<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T> {
  const first = new Map<string, T>();
  for (const item of items) if (!first.has(keyOf(item))) first.set(keyOf(item), item);
  return first;
}

function once<T>(compute: () => T): () => T {
  let done: { readonly value: T } | undefined;
  return () => (done ??= { value: compute() }).value;
}
