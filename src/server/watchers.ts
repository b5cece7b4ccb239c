// Who wants to hear of which changes: streams of modern clients and sessions of earlier ones alike. All changes of one turn of
// the event loop are told once.
import type { JsonObject } from '../jsonrpc/index.ts';
import { notification } from '../protocol/index.ts';

export type Changed = 'tools' | 'prompts' | 'resources';

export interface Watcher {
  hears(changed: Changed): boolean;
  /** Whether it wants to know that the resource `uri` has new contents. */
  follows(uri: string): boolean;
  /** Whether it wants to know how the task `taskId` stands. */
  tracks(taskId: string): boolean;
  tell(method: string, params: JsonObject): void;
  /** Ends it from the server's side. */
  finish(): void;
}

const METHOD: Readonly<Record<Changed, string>> = {
  tools: notification.toolsChanged,
  prompts: notification.promptsChanged,
  resources: notification.resourcesChanged,
};

export class Watchers {
  readonly #watchers = new Set<Watcher>();
  readonly #changed = new Set<Changed>();
  readonly #updated = new Set<string>();
  readonly #tasks = new Map<string, () => JsonObject>();
  #scheduled = false;

  get size(): number {
    return this.#watchers.size;
  }

  /** Returns the function that takes it out. */
  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** A list has changed. */
  changed(kind: Changed): void {
    this.#changed.add(kind);
    this.#schedule();
  }

  /** A resource has new contents. */
  updated(uri: string): void {
    this.#updated.add(uri);
    this.#schedule();
  }

  /** A task stands otherwise than before; `describe` says how, when it is told. */
  taskChanged(taskId: string, describe: () => JsonObject): void {
    this.#tasks.set(taskId, describe);
    this.#schedule();
  }

  /** Tells what is still to be told, then ends all watchers. */
  finish(): void {
    this.#flush();
    for (const watcher of [...this.#watchers]) watcher.finish();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const changed = [...this.#changed];
    const updated = [...this.#updated];
    this.#changed.clear();
    const tasks = [...this.#tasks];
    this.#updated.clear();
    this.#tasks.clear();
    for (const watcher of [...this.#watchers]) {
      for (const kind of changed) if (watcher.hears(kind)) watcher.tell(METHOD[kind], {});
      for (const uri of updated) if (watcher.follows(uri)) watcher.tell(notification.resourceUpdated, { uri });
      for (const [id, describe] of tasks) if (watcher.tracks(id)) watcher.tell(notification.taskChanged, describe());
    }
  }
}
