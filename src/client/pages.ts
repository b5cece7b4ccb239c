// Follows nextCursor to the end of a list (server/utilities/pagination), bounded, and never twice to the same page.
import { limitOf, overLimit, type Clock, type Limits } from '../base/index.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import { freshFor, violation, type Page, type Rejected } from '../protocol/index.ts';

/** A whole list. `rejected` names the entries that could not be used; they never cost the others. */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly rejected: readonly Rejected[];
}

export interface Walked<T> extends Listing<T> {
  /** Milliseconds for which all of its pages are still fresh. */
  readonly freshMs: number;
  /** `public` only when every page says so. */
  readonly scope: 'public' | 'private';
}

type WalkLimits = Pick<Limits, 'maxPages' | 'maxItems' | 'maxCursor'>;

/**
 * Fetches pages until one has no nextCursor. An empty string is a cursor.
 * @throws ParleyError `protocol-violation` for a repeated cursor, `limit` past `limits`
 */
export async function walkPages<T>(
  fetchPage: (cursor: string | undefined) => Promise<JsonObject>,
  read: (result: JsonObject) => Page<T>,
  clock: Clock,
  limits: WalkLimits = {},
): Promise<Walked<T>> {
  const maxPages = limitOf('maxPages', limits.maxPages);
  const maxItems = limitOf('maxItems', limits.maxItems);
  const maxCursor = limitOf('maxCursor', limits.maxCursor);
  const items: T[] = [];
  const rejected: Rejected[] = [];
  const seen = new Set<string>();
  let freshUntil = Infinity;
  let scope: 'public' | 'private' = 'public';
  let cursor: string | undefined;
  for (;;) {
    const result = await fetchPage(cursor);
    const page = read(result);
    for (const item of page.items) items.push(item);
    rejected.push(...page.rejected);
    freshUntil = Math.min(freshUntil, clock.now() + freshFor(result));
    if (result['cacheScope'] !== 'public') scope = 'private';
    cursor = page.nextCursor;
    if (cursor === undefined) return { items, rejected, freshMs: freshUntil - clock.now(), scope };
    // All of them are kept while the list is walked.
    if (cursor.length > maxCursor) {
      const what = `A list of the server has a cursor of more than ${String(maxCursor)} characters; it was not used.`;
      throw overLimit('maxCursor', cursor.length, what, maxCursor);
    }
    if (seen.has(cursor)) throw violation('a list whose cursor repeats, so it has no end; the list was not used');
    seen.add(cursor);
    if (seen.size >= maxPages) throw tooLong('maxPages', maxPages, seen.size + 1);
    if (items.length > maxItems) throw tooLong('maxItems', maxItems, items.length);
  }
}

function tooLong(limit: keyof WalkLimits, allowed: number, observed: number) {
  const what = limit === 'maxPages' ? 'pages' : 'entries';
  return overLimit(limit, observed, `A list of the server has more than ${String(allowed)} ${what}; it was not used.`, allowed);
}
