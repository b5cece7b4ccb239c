// Facts as text: JSON of a bounded size, read back as it was written.
import { limitOf, overLimit, type Limits } from '../base/index.ts';

export interface Facts {
  /**
   * Returns the fact's text.
   * @throws ParleyError `limit` when it is too large to be kept
   */
  write(fact: object): string;
  read<T>(text: string): T;
  /** True when it is not too large to be kept. */
  fits(text: string): boolean;
}

export function createFacts(limits: Limits = {}): Facts {
  const allowed = limitOf('maxFactBytes', limits.maxFactBytes);
  const fits = (text: string) => text.length <= allowed && Buffer.byteLength(text) <= allowed;
  return {
    fits,
    write(fact) {
      const text = JSON.stringify(fact);
      if (fits(text)) return text;
      const size = Buffer.byteLength(text);
      throw overLimit('maxFactBytes', size, `A fact of ${size} bytes is too large to be remembered; nothing was done.`, allowed);
    },
    read: <T>(text: string) => JSON.parse(text) as T,
  };
}
