// The one way to watch changes: a feed that any number of listeners follow, by callback or as an async iterable.

/** News as it happens. A listener hears what comes after it subscribed; nothing is replayed. */
export interface Feed<T> extends AsyncIterable<T> {
  /** Calls `listener` for every value; returns the function that stops it. A listener must not throw. */
  subscribe(listener: (value: T) => void): () => void;
}

/** A feed together with the right to put values into it and to end it. */
export interface FeedSource<T> {
  readonly feed: Feed<T>;
  emit(value: T): void;
  /** Ends every iteration; later values are ignored. */
  end(): void;
}

/** Values an iteration may fall behind before the oldest are dropped. */
const ITERATION_BACKLOG = 1_000;

export function createFeed<T>(): FeedSource<T> {
  const listeners = new Set<(value: T) => void>();
  const enders = new Set<() => void>();
  let ended = false;

  const feed: Feed<T> = {
    subscribe(listener) {
      // A wrapper, so that the same function subscribed twice is two subscriptions.
      const entry = (value: T) => listener(value);
      if (!ended) listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    [Symbol.asyncIterator]() {
      const backlog: T[] = [];
      let done = ended;
      const waiting: (() => void)[] = [];
      const wake = () => {
        for (const goOn of waiting.splice(0)) goOn();
      };
      const stop = () => {
        done = true;
        unsubscribe();
        enders.delete(stop);
        wake();
      };
      const unsubscribe = feed.subscribe((value) => {
        if (backlog.length === ITERATION_BACKLOG) backlog.shift();
        backlog.push(value);
        wake();
      });
      if (!ended) enders.add(stop);
      return {
        async next(): Promise<IteratorResult<T>> {
          while (backlog.length === 0) {
            if (done) return { done: true, value: undefined };
            await new Promise<void>((resolve) => waiting.push(resolve));
          }
          return { done: false, value: backlog.shift() as T };
        },
        async return(): Promise<IteratorResult<T>> {
          backlog.length = 0;
          stop();
          return { done: true, value: undefined };
        },
      };
    },
  };

  return {
    feed,
    emit(value) {
      // Over a copy, for one that subscribes now hears the next value first; one that was stopped meanwhile hears nothing.
      for (const listener of [...listeners]) if (listeners.has(listener)) listener(value);
    },
    end() {
      ended = true;
      listeners.clear();
      for (const stop of [...enders]) stop();
    },
  };
}
