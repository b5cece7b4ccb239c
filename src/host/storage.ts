// The host's store: opened when it is first needed, and asked at once for calls that a process before this one left open.
import { createMemoryStore, type JournalRecord, type Store } from '../store/index.ts';

/** A store that is there, or how to open one. One that is given is the giver's to close. */
export type StoreSource = Store | (() => Promise<Store>);

export interface Storage {
  /** The store; a promise of it until it is open. */
  get(): Store | Promise<Store>;
  close(): Promise<void>;
}

/** The storage of a host. `recovered` is told of calls whose process is gone, once. Without a source it forgets with the process. */
export function createStorage(source: StoreSource | undefined, recovered: (calls: readonly JournalRecord[]) => void): Storage {
  let ready: Store | undefined;
  let opening: Promise<Store> | undefined;
  let isOwn = true;

  async function open(): Promise<Store> {
    try {
      const store = typeof source === 'function' ? await source() : (source ?? createMemoryStore());
      isOwn = store !== source;
      const calls = await store.journal.recover();
      if (calls.length > 0) recovered(calls);
      ready = store;
      return store;
    } catch (error) {
      // Whoever needs it next tries again.
      opening = undefined;
      throw error;
    }
  }

  const get = () => ready ?? (opening ??= open());
  // Its failure is told whoever needs it.
  if (typeof source !== 'function') Promise.resolve(get()).catch(() => {});
  return {
    get,
    async close() {
      const store = await Promise.resolve(opening).catch(() => undefined);
      if (isOwn) await store?.close();
    },
  };
}
