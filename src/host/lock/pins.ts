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
  /** What became of a tool since it was kept; undefined when it is the same, or was never kept. */
  drift(tool: PinnedTool): Promise<Drift | undefined>;
  /** Keeps a tool as it is, in the place of what was kept of it. */
  keep(tool: PinnedTool, by: string): Promise<void>;
}

export interface PinsOptions {
  readonly store: () => Store | Promise<Store>;
  /** The names of the tools there are, so that a text that begins to speak of one is noticed. */
  readonly others: () => readonly string[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Pins in a store. What it holds of a server is read once: only this host's own calls change what it has to know. */
export function createPins({ store, others, now = Date.now }: PinsOptions): Pins {
  const known = new Map<string, Promise<Map<string, Pin>>>();
  const of = (server: string) => {
    const reading = known.get(server) ?? read(server);
    known.set(server, reading);
    reading.catch(() => known.delete(server));
    return reading;
  };
  const read = async (server: string) => {
    const pins = await (await store()).pins.of(server);
    return new Map(pins.filter(({ kind }) => kind === 'tool').map((pin) => [pin.name, pin]));
  };
  return {
    async drift({ server, name, digest, definition }) {
      const pin = (await of(server)).get(name);
      if (pin === undefined || pin.digest === digest) return undefined;
      const before = JSON.parse(pin.canonical) as JsonObject;
      const names = others().filter((other) => other !== name);
      const { type, reasons } = compareDefinitions(before, definition, { others: names });
      const level = type === 'text' ? 'notice' : 'blocked';
      return { level, kind: 'tool', name, reasons, changes: changeLines(before, definition) };
    },
    async keep({ server, name, digest, definition }, by) {
      const kept = await of(server);
      if (kept.get(name)?.digest === digest) return;
      const pin: Pin = { server, kind: 'tool', name, digest, canonical: canonical(definition), reviewedBy: by, at: now() };
      await (await store()).pins.put([pin]);
      kept.set(name, pin);
    },
  };
}
