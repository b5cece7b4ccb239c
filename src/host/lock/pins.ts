// What a tool was when it was first allowed, kept beyond the run: one that turned afterwards is held until somebody saw what changed.
// For servers that no project locks.
import { canonical } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Pin, Store } from '../../store/index.ts';
import { changeLines } from './changes.ts';
import { compareDefinitions } from './compare.ts';
import type { Drift } from './review.ts';

/** A tool as it is now. */
export interface PinnedTool {
  /** Digest of its server's identity. */
  readonly server: string;
  readonly name: string;
  readonly digest: string;
  readonly definition: JsonObject;
}

export interface Pins {
  /** What became of a tool since it was kept; undefined when it is the same, or was never kept. At once when the store was read. */
  drift(tool: PinnedTool): Drift | undefined | Promise<Drift | undefined>;
  /** Keeps a tool as it is, in the place of what was kept of it. Undefined where nothing has to be written. */
  keep(tool: PinnedTool, by: string): Promise<void> | undefined;
}

export interface PinsOptions {
  readonly store: () => Store | Promise<Store>;
  /** The names of the tools there are, so that a text that begins to speak of one is noticed. */
  readonly others: () => readonly string[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** What the store has of one server, by the tool's name. */
type Kept = Map<string, Pin>;

/** Pins in a store. What it holds of a server is read once: only this host's own calls change what it has to know. */
export function createPins({ store, others, now = Date.now }: PinsOptions): Pins {
  const known = new Map<string, Kept>();
  const reading = new Map<string, Promise<Kept>>();

  async function read(server: string): Promise<Kept> {
    try {
      const pins = await (await store()).pins.of(server);
      const kept = new Map(pins.filter(({ kind }) => kind === 'tool').map((pin) => [pin.name, pin]));
      known.set(server, kept);
      return kept;
    } finally {
      reading.delete(server);
    }
  }

  function of(server: string): Promise<Kept> {
    const under = reading.get(server) ?? read(server);
    reading.set(server, under);
    return under;
  }

  function compare(kept: Kept, { name, digest, definition }: PinnedTool): Drift | undefined {
    const pin = kept.get(name);
    if (pin === undefined || pin.digest === digest) return undefined;
    const before = JSON.parse(pin.canonical) as JsonObject;
    const names = others().filter((other) => other !== name);
    const { type, reasons } = compareDefinitions(before, definition, { others: names });
    const level = type === 'text' ? 'notice' : 'blocked';
    return { level, kind: 'tool', name, reasons, changes: changeLines(before, definition) };
  }

  async function put({ server, name, digest, definition }: PinnedTool, by: string): Promise<void> {
    const kept = known.get(server) ?? (await of(server));
    if (kept.get(name)?.digest === digest) return;
    const pin: Pin = { server, kind: 'tool', name, digest, canonical: canonical(definition), reviewedBy: by, at: now() };
    await (await store()).pins.put([pin]);
    kept.set(name, pin);
  }

  return {
    drift(tool) {
      const kept = known.get(tool.server);
      return kept === undefined ? of(tool.server).then((read) => compare(read, tool)) : compare(kept, tool);
    },
    keep: (tool, by) => (known.get(tool.server)?.get(tool.name)?.digest === tool.digest ? undefined : put(tool, by)),
  };
}
