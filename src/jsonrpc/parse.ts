// Parses the JSON of a peer. How deep it goes and how many values it has is found out before anything is built, so that no
// later walk over a message can exhaust the stack or the memory.
import { limitOf, overLimit } from '../base/index.ts';

export interface JsonLimits {
  /** Arrays and objects inside each other. */
  readonly maxJsonDepth?: number | undefined;
  /** Values of every kind, the outermost included. */
  readonly maxJsonValues?: number | undefined;
}

/**
 * The value of a JSON text.
 * @throws ParleyError `limit` when it is nested too deep or has too many values · SyntaxError when it is no JSON
 */
export function parseJson(text: string, limits: JsonLimits = {}): unknown {
  const maxDepth = limitOf('maxJsonDepth', limits.maxJsonDepth);
  const maxValues = limitOf('maxJsonValues', limits.maxJsonValues);
  // Each level takes two characters, each value one and a comma: most messages are too short to break either limit.
  if (text.length > 2 * maxDepth || text.length >= 2 * maxValues) scan(text, maxDepth, maxValues);
  return JSON.parse(text);
}

/** Counts levels and values without building any. Says nothing about text that is no JSON. */
function scan(text: string, maxDepth: number, maxValues: number): void {
  let depth = 0;
  let values = 1;
  /** Where the array or object began whose first member has not been counted yet. */
  let opened = -1;
  const count = () => {
    if (++values > maxValues) throw tooMany(maxValues, values);
  };
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x2c: // ,
        if (opened !== -1) count();
        opened = -1;
        count();
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (opened !== -1) count();
        opened = at;
        if (++depth > maxDepth) throw tooDeep(maxDepth, depth);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        if (opened !== -1 && !isBlank(text, opened + 1, at)) count();
        opened = -1;
        break;
      default:
    }
  }
}

/** The index of the quotation mark that ends the string which begins at `start`; the length of the text when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === 0x5c) before--;
    // An even number of backslashes stands for half as many characters and does not escape the mark.
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text.charCodeAt(at) > 0x20) return false;
  return true;
}

function tooDeep(allowed: number, observed: number) {
  return overLimit('maxJsonDepth', observed, `A message nested more than ${String(allowed)} levels deep was refused.`, allowed);
}

function tooMany(allowed: number, observed: number) {
  return overLimit('maxJsonValues', observed, `A message of more than ${String(allowed)} values was refused.`, allowed);
}
