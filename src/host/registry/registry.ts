// The capability registry: holds the newest list of each server and kind, gives them out as immutable snapshots, and tells what
// changed. It fetches nothing; an old list stays until a new one is set.
import { createFeed, type Feed } from '../../base/index.ts';
import type { Rejected } from '../../protocol/index.ts';
import { createEntry, KINDS, type DefinitionOf, type EntryOf, type Kind } from './entry.ts';
import { createSnapshot, type Listing, type Offer, type Snapshot } from './snapshot.ts';

/** A server as configured. */
export interface RegistryServer {
  readonly name: string;
  readonly priority: number;
}

/** A server's list of one kind, as it was read. */
export interface Listed<K extends Kind> {
  readonly items: readonly DefinitionOf[K][];
  readonly rejected?: readonly Rejected[];
  /** Why the newest attempt failed; `items` are then the ones known from before. */
  readonly stale?: string;
  /** When it was listed, in milliseconds. */
  readonly at: number;
}

/** What became of one server's list of one kind. `changed` are the new entries; a definition that came back is `added`. */
export type RegistryChange = {
  readonly [K in Kind]: {
    readonly server: string;
    readonly kind: K;
    readonly added: readonly EntryOf[K][];
    readonly changed: readonly EntryOf[K][];
    readonly removed: readonly EntryOf[K][];
  };
}[Kind];

export interface Registry {
  /** What is on offer now. A snapshot that was taken never changes. */
  readonly snapshot: Snapshot;
  /** What changed, after the snapshot has; silent when a new list holds the same definitions, in whatever order. */
  readonly changes: Feed<RegistryChange>;
  /** Takes a server's newest list of one kind in place of the one before. Of entries with the same key the first is kept. */
  set<K extends Kind>(server: RegistryServer, kind: K, listed: Listed<K>): void;
  /** Forgets all that a server offered. */
  remove(server: string): void;
  /** Ends the feed. */
  close(): void;
}

/** An empty registry. */
export function createRegistry(): Registry {
  const changes = createFeed<RegistryChange>();
  let offers: ReadonlyMap<string, Offer> = new Map();
  let snapshot: Snapshot | undefined;

  function swap(next: ReadonlyMap<string, Offer>, news: readonly RegistryChange[]): void {
    offers = next;
    snapshot = undefined;
    for (const change of news) {
      if (change.added.length + change.changed.length + change.removed.length > 0) changes.emit(change);
    }
  }

  return {
    get snapshot() {
      return (snapshot ??= createSnapshot(offers));
    },
    changes: changes.feed,
    set({ name, priority }, kind, listed) {
      const before = offers.get(name)?.listings;
      const old = before?.[kind];
      const listing = readListing(name, kind, listed, old);
      const listings = { ...before, [kind]: listing };
      swap(new Map(offers).set(name, { server: name, priority, listings }), [
        difference(name, kind, old?.entries ?? [], listing.entries),
      ]);
    },
    remove(server) {
      const listings = offers.get(server)?.listings;
      if (listings === undefined) return;
      const next = new Map(offers);
      next.delete(server);
      swap(
        next,
        KINDS.map((kind) => difference(server, kind, listings[kind]?.entries ?? [], [])),
      );
    },
    close: () => changes.end(),
  };
}

/** The listing to keep. An entry whose definition is as before stays the same object. */
function readListing<K extends Kind>(server: string, kind: K, listed: Listed<K>, old: Listing<K> | undefined): Listing<K> {
  const before = byKey(old?.entries ?? []);
  const entries = new Map<string, EntryOf[K]>();
  const rejected = [...(listed.rejected ?? [])];
  for (const item of listed.items) {
    const entry = createEntry(kind, server, item);
    const known = before.get(entry.key);
    if (entries.has(entry.key)) rejected.push({ name: entry.key.slice(0, 128), why: 'is listed twice' });
    else entries.set(entry.key, known !== undefined && known.digest === entry.digest ? known : entry);
  }
  return { entries: [...entries.values()], rejected, at: listed.at, ...(listed.stale !== undefined && { stale: listed.stale }) };
}

function difference<K extends Kind>(
  server: string,
  kind: K,
  before: readonly EntryOf[K][],
  after: readonly EntryOf[K][],
): RegistryChange {
  const old = byKey(before);
  const now = byKey(after);
  const change = {
    server,
    kind,
    added: after.filter((entry) => !old.has(entry.key)),
    changed: after.filter((entry) => old.has(entry.key) && old.get(entry.key) !== entry),
    removed: before.filter((entry) => !now.has(entry.key)),
  };
  return change as unknown as RegistryChange;
}

function byKey<E extends { readonly key: string }>(entries: readonly E[]): Map<string, E> {
  return new Map(entries.map((entry) => [entry.key, entry]));
}
