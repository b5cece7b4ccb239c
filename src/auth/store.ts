// Where credentials are kept: the port, the names under which they are kept, and a store that forgets with the process.
// A value is bound to its name, so that what belongs to one server, issuer, client or resource is never read for another.
import { canonical } from '../base/index.ts';
import { abortError, type JsonObject } from '../jsonrpc/index.ts';

/**
 * What a value belongs to. `sign-in`: which issuer, client and resource a server's tokens are for. `tokens`: the tokens
 * themselves. `wanted`: scopes a server asked for when there was nobody to consent. `accounts`: which accounts a server is used
 * with. `client`: a registration of ours at an issuer. `account` is absent for the one that has no name of its own.
 */
export type StoreName =
  | { readonly kind: 'sign-in' | 'wanted'; readonly server: string; readonly account?: string }
  | { readonly kind: 'accounts'; readonly server: string }
  | {
      readonly kind: 'tokens';
      readonly server: string;
      readonly account?: string;
      readonly issuer: string;
      readonly clientId: string;
      readonly resource: string;
    }
  | { readonly kind: 'client'; readonly issuer: string };

/** Keeps values by their names. */
export interface AuthStore {
  /** Resolves with the value, or undefined when there is none that was written under this very name. */
  get(name: StoreName): Promise<JsonObject | undefined>;
  /** Keeps a value; when it resolves the value outlives a crash, as far as the store does. */
  set(name: StoreName, value: JsonObject): Promise<void>;
  delete(name: StoreName): Promise<void>;
  /**
   * Runs `act` while nobody else who uses the store runs one for the same name, in this process or another.
   * @throws ParleyError `timeout` when the others take too long, or the signal's reason
   */
  exclusively<T>(name: StoreName, act: () => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>;
}

/** One text for one name. */
export function storeKey(name: StoreName): string {
  return canonical(name);
}

/** Returns a store that lives as long as the process. */
export function createMemoryStore(): AuthStore {
  const values = new Map<string, string>();
  const turns = createTurns();
  return {
    get: async (name) => {
      const text = values.get(storeKey(name));
      return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
    },
    set: async (name, value) => void values.set(storeKey(name), JSON.stringify(value)),
    delete: async (name) => void values.delete(storeKey(name)),
    exclusively: (name, act, { signal }) => turns(storeKey(name), act, signal),
  };
}

/** Runs acts of the same key one after the other. */
export function createTurns(): <T>(key: string, act: () => Promise<T>, signal: AbortSignal) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, act, signal) => {
    const before = last.get(key);
    let over!: () => void;
    const turn = new Promise<void>((resolve) => (over = resolve));
    const mine = Promise.resolve(before).then(() => turn);
    last.set(key, mine);
    try {
      if (before !== undefined) await untilAborted(before, signal);
      return await act();
    } finally {
      over();
      if (last.get(key) === mine) last.delete(key);
    }
  };
}

/** The outcome of `promise`, or a rejection as soon as the signal aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(abortError(signal, 'Signing in'));
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
