// Hears of what others write: by looking now and then, and at once when a bell rings. It starts with the first listener.
import { createFeed, type Clock, type Feed, type Timer } from '../../base/index.ts';
import type { StoreChange } from '../store.ts';
import type { Engine } from './engine.ts';

export interface Follower {
  readonly changes: Feed<StoreChange>;
  /** What this process wrote, with the versions it made: heard at once, and not again when it looks. */
  wrote(versions: ReadonlyMap<StoreChange, number>): void;
  end(): Promise<void>;
}

/** Returns a follower that tells of what was changed after now. */
export async function createFollower(engine: Engine, { clock }: { readonly clock: Clock }): Promise<Follower> {
  const source = createFeed<StoreChange>();
  const query = engine.db.selectFrom('versions').select(['kind', 'version']);
  const versions = () => engine.read((session) => session.run(query));
  const known = new Map((await versions()).map(({ kind, version }) => [kind, version]));
  let follows = false;
  let ended = false;
  let timer: Timer | undefined;
  let stopListening = () => {};
  let looking: Promise<void> | undefined;
  let again = false;

  const saw = (kind: StoreChange, version: number) => {
    if (version <= (known.get(kind) ?? 0)) return;
    known.set(kind, version);
    source.emit(kind);
  };

  /** Looks; asked while it looks, once more. */
  function look(): void {
    if (ended) return;
    timer?.cancel();
    if (looking !== undefined) {
      again = true;
      return;
    }
    looking = lookOnce().finally(() => {
      looking = undefined;
      if (again) {
        again = false;
        return look();
      }
      if (ended) return;
      timer = clock.after(engine.lookMs, look);
      timer.hold('release');
    });
  }

  async function lookOnce(): Promise<void> {
    try {
      if (!(await engine.mayHaveMoved())) return;
      for (const { kind, version } of await versions()) saw(kind, version);
    } catch {
      // The next look comes by itself.
    }
  }

  function follow(): void {
    if (follows || ended) return;
    follows = true;
    stopListening = engine.listen(look);
    look();
  }

  return {
    changes: {
      subscribe(listener) {
        const stop = source.feed.subscribe(listener);
        follow();
        return stop;
      },
      [Symbol.asyncIterator]() {
        const iterator = source.feed[Symbol.asyncIterator]();
        follow();
        return iterator;
      },
    },
    wrote(made) {
      engine.ring();
      for (const [kind, version] of made) saw(kind, version);
    },
    async end() {
      ended = true;
      timer?.cancel();
      stopListening();
      await looking;
      source.end();
    },
  };
}
