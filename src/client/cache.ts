// Results that may be used again (2026-07-28, server/utilities/caching). The principal is part of the key, so that
// nobody is given what another was answered.
import { LIMITS, systemClock, type Clock } from '../base/index.ts';

export interface CacheKey {
  /** Which server: its launch or URL, not the name it gives itself. */
  readonly server: string;
  /** For whom the request was made. */
  readonly principal: string;
  readonly method: string;
  /** The parameter that the result depends on: a URI, or '' for a whole list. */
  readonly argument: string;
}

export interface Cache {
  get(key: CacheKey): unknown;
  /** Keeps `value` for `freshMs` milliseconds; 0 keeps nothing. */
  set(key: CacheKey, value: unknown, freshMs: number, scope: 'public' | 'private'): void;
  /** Forgets what a server answered to a method, for every principal; with `argument`, only that. */
  drop(server: string, method: string, argument?: string): void;
}

export interface CacheOptions {
  /** Default 512. */
  readonly maxEntries?: number;
  /** Characters of JSON in all. Default 32 Mi. */
  readonly maxSize?: number;
  /** Whether results a server calls public are shared between principals. Default `separate`. */
  readonly publicResults?: 'shared' | 'separate';
  readonly clock?: Clock;
}

interface Kept {
  readonly key: CacheKey;
  readonly value: unknown;
  readonly until: number;
  readonly size: number;
}

export function createCache(options: CacheOptions = {}): Cache {
  const {
    maxEntries = LIMITS.maxCacheEntries.default,
    maxSize = LIMITS.maxCacheSize.default,
    publicResults = 'separate',
    clock = systemClock,
  } = options;
  const kept = new Map<string, Kept>();
  let size = 0;

  const remove = (id: string, entry: Kept) => {
    kept.delete(id);
    size -= entry.size;
  };
  const read = (id: string): Kept | undefined => {
    const entry = kept.get(id);
    if (entry !== undefined && entry.until <= clock.now()) {
      remove(id, entry);
      return undefined;
    }
    return entry;
  };

  return {
    get(key) {
      return (read(idOf(key, 'private')) ?? (publicResults === 'shared' ? read(idOf(key, 'public')) : undefined))?.value;
    },
    set(key, value, freshMs, scope) {
      const id = idOf(key, publicResults === 'shared' ? scope : 'private');
      const former = kept.get(id);
      if (former !== undefined) remove(id, former);
      if (freshMs <= 0) return;
      const entry = { key, value, until: clock.now() + freshMs, size: JSON.stringify(value).length };
      if (entry.size > maxSize) return;
      kept.set(id, entry);
      size += entry.size;
      for (const [oldest, old] of kept) {
        if (kept.size <= maxEntries && size <= maxSize) break;
        remove(oldest, old);
      }
    },
    drop(server, method, argument) {
      for (const [id, entry] of kept) {
        const { key } = entry;
        if (key.server === server && key.method === method && (argument === undefined || key.argument === argument))
          remove(id, entry);
      }
    },
  };
}

function idOf({ server, principal, method, argument }: CacheKey, scope: 'public' | 'private'): string {
  return JSON.stringify([server, scope === 'public' ? null : principal, method, argument]);
}
