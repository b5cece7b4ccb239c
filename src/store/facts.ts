// Facts as text: JSON of a bounded size, read back as it was written.
import { limitOf, overLimit, type Limits } from '../base/index.ts';
import type { JsonObject } from '../jsonrpc/index.ts';

export interface Facts {
  /**
   * Returns the fact's text.
   * @throws ParleyError `limit` when it is too large to be kept
   */
  write(fact: object): string;
  /** Throws as `write` does; what surely takes no more than `most` bytes is not written for that. */
  admit(fact: object, most: number): void;
  read<T>(text: string): T;
  /** True when it is not too large to be kept. */
  fits(text: string): boolean;
}

export function createFacts(limits: Limits = {}): Facts {
  const allowed = limitOf('maxFactBytes', limits.maxFactBytes);
  const fits = (text: string) => text.length <= allowed && Buffer.byteLength(text) <= allowed;
  const write = (fact: object) => {
    const text = JSON.stringify(fact);
    if (fits(text)) return text;
    const size = Buffer.byteLength(text);
    throw overLimit('maxFactBytes', size, `A fact of ${size} bytes is too large to be remembered; nothing was done.`, allowed);
  };
  return {
    fits,
    write,
    admit(fact, most) {
      if (most > allowed) write(fact);
    },
    read: <T>(text: string) => JSON.parse(text) as T,
  };
}

/**
 * The most bytes that the value's JSON may take: a character takes six when it is escaped, a number never more than 24.
 * @throws TypeError when it cannot be written
 */
export function mostBytes(value: unknown): number {
  if (typeof value === 'string') return 6 * value.length + 2;
  if (typeof value === 'bigint') throw new TypeError('JSON has no number of this kind.');
  if (typeof value !== 'object' || value === null) return 24;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value) bytes += mostBytes(item) + 1;
  else for (const name in value) bytes += 6 * name.length + 4 + mostBytes((value as JsonObject)[name]);
  return bytes;
}
