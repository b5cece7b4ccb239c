// Keeps the registry's lists of one server current: listed when the server is ready, again when it announces a change. A
// list that cannot be refreshed stays, marked stale with the reason; it never becomes empty by a fault.
import type { Clock } from '../../base/index.ts';
import type { Listing, News, Session, Watch } from '../../client/index.ts';
import type { ServerCapabilities } from '../../protocol/index.ts';
import type { DefinitionOf, Kind, Registry, RegistryServer } from '../registry/index.ts';
import { createRefresher, type Refresher } from './refresher.ts';

/** What is listed, by the capability that offers it and the news that says it changed. */
const LISTS: { readonly [K in Kind]: ListFacts<K> } = {
  tool: { capability: 'tools', change: 'tools-changed', list: (session, options) => session.listTools(options) },
  prompt: { capability: 'prompts', change: 'prompts-changed', list: (session, options) => session.listPrompts(options) },
  resource: { capability: 'resources', change: 'resources-changed', list: (session, options) => session.listResources(options) },
  template: {
    capability: 'resources',
    change: 'resources-changed',
    list: (session, options) => session.listResourceTemplates(options),
  },
};

interface ListFacts<K extends Kind> {
  readonly capability: keyof ServerCapabilities;
  readonly change: News['type'];
  readonly list: (session: Session, options: { cache: 'fresh' }) => Promise<Listing<DefinitionOf[K]>>;
}

export interface ListerOptions {
  readonly server: RegistryServer;
  readonly registry: Registry;
  readonly clock: Clock;
}

export class Lister {
  readonly #options: ListerOptions;
  readonly #refreshers: Refresher[] = [];
  #watch: Watch | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: ListerOptions) {
    this.#options = options;
  }

  /** Lists what the server offers and keeps following it. Resolves when the first lists are in; never rejects. */
  async follow(session: Session): Promise<void> {
    this.release();
    const kinds = (Object.keys(LISTS) as Kind[]).filter(
      (kind) => session.server.capabilities[LISTS[kind].capability] !== undefined,
    );
    const refreshers = kinds.map((kind) => {
      const refresher = createRefresher({ clock: this.#options.clock, run: () => this.#list(kind, session) });
      return { kind, refresher };
    });
    this.#refreshers.push(...refreshers.map(({ refresher }) => refresher));
    this.#unsubscribe = session.news.subscribe((news) => {
      for (const { kind, refresher } of refreshers) if (LISTS[kind].change === news.type) refresher.request();
    });
    const { tools, prompts, resources } = session.server.capabilities;
    const wanted = {
      ...(tools?.listChanged && { toolsListChanged: true }),
      ...(prompts?.listChanged && { promptsListChanged: true }),
      ...(resources?.listChanged && { resourcesListChanged: true }),
    };
    if (Object.keys(wanted).length > 0) this.#watch = session.watch(wanted);
    await Promise.all(kinds.map((kind) => this.#list(kind, session)));
  }

  /** Stops following; what was listed stays. */
  release(): void {
    this.#unsubscribe?.();
    for (const refresher of this.#refreshers.splice(0)) refresher.close();
    void this.#watch?.close();
    this.#watch = undefined;
  }

  /** Marks every list of the server as out of date. One that was never listed gets an empty list, so that its name is taken. */
  markStale(why: string): void {
    const offer = this.#options.registry.snapshot.servers.find(({ server }) => server === this.#options.server.name);
    const kinds = Object.keys(offer?.listings ?? { tool: undefined }) as Kind[];
    for (const kind of kinds) this.#keep(kind, why);
  }

  async #list<K extends Kind>(kind: K, session: Session): Promise<void> {
    const { registry, server, clock } = this.#options;
    try {
      const { items, rejected } = await LISTS[kind].list(session, { cache: 'fresh' });
      registry.set(server, kind, { items, rejected, at: clock.now() });
    } catch (error) {
      this.#keep(kind, error instanceof Error ? error.message : String(error));
    }
  }

  /** The list as it was, with the reason why it may be out of date. */
  #keep<K extends Kind>(kind: K, stale: string): void {
    const { registry, server, clock } = this.#options;
    const before = registry.snapshot.servers.find((offer) => offer.server === server.name)?.listings[kind];
    const items = (before?.entries ?? []).map(({ definition }) => definition) as DefinitionOf[K][];
    registry.set(server, kind, { items, rejected: before?.rejected ?? [], stale, at: before?.at ?? clock.now() });
  }
}
