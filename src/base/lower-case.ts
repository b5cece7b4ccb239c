// Names in lower case, made once each: a header's name is wanted for every message, and a text made anew each time is also looked up
// anew wherever it is a key.

const KNOWN = new Map<string, string>();
/** A peer may invent names without end. */
const MAX_KNOWN = 256;

/** `name` in lower case. */
export function lowerCase(name: string): string {
  const known = KNOWN.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (KNOWN.size < MAX_KNOWN && name.length <= 64) KNOWN.set(name, lower);
  return lower;
}
