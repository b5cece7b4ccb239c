// What a server offers of one kind, in the order it was registered, cut into pages. A cursor names the entry after which a page
// begins, so it stays good while entries come and go, and on every process that registers the same.
import { RpcError } from '../errors.ts';
import { rpcCode, type JsonObject } from '../jsonrpc/index.ts';
import { ParleyError } from '../errors.ts';
import type { ClientMethod, ServerDialect } from '../protocol/index.ts';

/** An entry as it stands in the list. */
interface Listed {
  readonly wire: JsonObject;
}

interface Held<Entry> {
  readonly order: number;
  entry: Entry;
}

export interface ListOptions {
  /** In messages: "tool". */
  readonly noun: string;
  readonly method: ClientMethod;
  /** The member of the result that holds the entries. */
  readonly member: string;
  readonly pageSize: number;
  readonly onChange: () => void;
}

const CURSOR = /^([a-z]+):(\d{1,15})$/;

export class List<Entry extends Listed> implements Iterable<Entry> {
  readonly #options: ListOptions;
  readonly #held = new Map<string, Held<Entry>>();
  /** First pages on the wire, by dialect; most lists have no other. */
  readonly #firstPages = new Map<ServerDialect, JsonObject>();
  #next = 0;

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /** True when anything was ever offered: a capability once declared stays. */
  get wasUsed(): boolean {
    return this.#next > 0;
  }

  get(key: string): Entry | undefined {
    return this.#held.get(key)?.entry;
  }

  keys(): IterableIterator<string> {
    return this.#held.keys();
  }

  *[Symbol.iterator](): IterableIterator<Entry> {
    for (const { entry } of this.#held.values()) yield entry;
  }

  /** @throws ParleyError `usage` when the key is taken */
  add(key: string, entry: Entry): void {
    const { noun } = this.#options;
    if (key === '') throw new ParleyError('usage', `A ${noun} needs a name.`);
    if (this.#held.has(key))
      throw new ParleyError('usage', `There is a ${noun} "${key}" already. Remove it first, or update it.`);
    this.#held.set(key, { order: this.#next++, entry });
    this.#changed();
  }

  /** Puts another entry in the place of one; false when that is gone. */
  replace(key: string, entry: Entry): boolean {
    const held = this.#held.get(key);
    if (held === undefined) return false;
    held.entry = entry;
    this.#changed();
    return true;
  }

  remove(key: string): boolean {
    if (!this.#held.delete(key)) return false;
    this.#changed();
    return true;
  }

  /** @throws RpcError -32602 for a cursor that is none of this list */
  page(cursor: unknown, dialect: ServerDialect): JsonObject {
    if (cursor !== undefined && cursor !== null) return this.#page(this.#read(cursor), dialect);
    let page = this.#firstPages.get(dialect);
    if (page === undefined) {
      page = this.#page(-1, dialect);
      this.#firstPages.set(dialect, page);
    }
    return page;
  }

  #page(after: number, dialect: ServerDialect): JsonObject {
    const { method, member, pageSize, noun } = this.#options;
    const entries: JsonObject[] = [];
    let last = after;
    for (const { order, entry } of this.#held.values()) {
      if (order <= after) continue;
      if (entries.length === pageSize) {
        const nextCursor = Buffer.from(`${noun}:${last}`).toString('base64url');
        return dialect.encode(method, { [member]: entries, nextCursor });
      }
      entries.push(entry.wire);
      last = order;
    }
    return dialect.encode(method, { [member]: entries });
  }

  #read(cursor: unknown): number {
    const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
    const [, noun, order] = CURSOR.exec(text) ?? [];
    // The decoder skips what is not of its alphabet.
    const isWhole = Buffer.from(text).toString('base64url') === cursor;
    if (!isWhole || noun !== this.#options.noun || Number(order) >= this.#next) {
      throw new RpcError(rpcCode.invalidParams, 'Invalid params: the cursor is not one of this list. List again from the start');
    }
    return Number(order);
  }

  #changed(): void {
    this.#firstPages.clear();
    this.#options.onChange();
  }
}
