// Reads the id and the nature of a JSON-RPC message from the first or last bytes of one that cannot be kept or parsed.
// It never guesses: only members of the outermost object count.
import { isRequestId, type RequestId } from '../../jsonrpc/index.ts';

/** What the beginning of a message tells. `nature` is `unknown` until a telling member was seen. */
export interface Glimpse {
  readonly id: RequestId | undefined;
  readonly nature: 'reply' | 'asks' | 'unknown';
}

/** Bytes at the start of a line that are looked at. */
export const HEAD_BYTES = 4_096;
/** Bytes at the end of a line that are looked at. */
export const TAIL_BYTES = 256;

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+)/y;
const LAST_ID = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** Reads `head`, the beginning of a line, as far as it goes. */
export function glimpse(head: string): Glimpse {
  let id: RequestId | undefined;
  let nature: Glimpse['nature'] = 'unknown';
  let depth = 0;
  let member = '';
  let previous = '';
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(head); match !== null; match = TOKEN.exec(head)) {
    const token = match[1] as string;
    // The last token may be cut off.
    if (TOKEN.lastIndex === head.length) break;
    if (depth === 0 && token !== '{') break;
    if (depth === 1) {
      if (token === ':') {
        member = previous;
        if (member === '"method"') nature = 'asks';
        else if ((member === '"result"' || member === '"error"') && nature === 'unknown') nature = 'reply';
      } else if (member === '"id"' && previous === ':') id = parseId(token);
    }
    if (token === '{' || token === '[') depth++;
    else if ((token === '}' || token === ']') && --depth === 0) break;
    previous = token;
  }
  return { id, nature };
}

/** Reads an id that stands at the very end of a message, as writers that put the result first do. */
export function lastId(tail: string): RequestId | undefined {
  const match = LAST_ID.exec(tail);
  return match === null ? undefined : parseId(match[1] as string);
}

function parseId(token: string): RequestId | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return isRequestId(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
