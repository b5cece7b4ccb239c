// Reads WWW-Authenticate: what a server wants before it answers. Tolerant of what servers really send, and never confused by text
// inside quotes.
// @see RFC 9110, section 11.6.1

/** One challenge of a header that may hold several. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Values by their names in lower case; of a name given twice, the first. Untrusted. */
  readonly params: ReadonlyMap<string, string>;
}

const SEPARATORS = /[\s,]*/y;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const EQUALS = /[ \t]*=[ \t]*/y;
const TOKEN68 = /[ \t]+[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|$))/y;
const QUOTED = /"((?:[^"\\]|\\[^])*)"/y;
/** More than a token: an unquoted URL is common. */
const BARE = /[^\s,"]+/y;
const NEXT_PART = /(?:[^",]|"(?:[^"\\]|\\[^])*"?)*/y;

/**
 * Returns the challenges of a WWW-Authenticate header, or of several, in their order. What makes no sense is left out.
 * Parameters may be separated by blanks alone, and a value may stand without quotes.
 */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(', ');
  const found: { scheme: string; params: Map<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return undefined;
    at = pattern.lastIndex;
    return match;
  };
  for (;;) {
    take(SEPARATORS);
    if (at >= text.length) return found;
    const word = take(TOKEN)?.[0].toLowerCase();
    if (word === undefined) {
      // Not the beginning of anything: on to what comes after the next comma.
      if (take(NEXT_PART)?.[0] === '') at++;
      continue;
    }
    if (take(EQUALS) === undefined) {
      found.push({ scheme: word, params: new Map() });
      take(TOKEN68);
      continue;
    }
    const quoted = take(QUOTED)?.[1]?.replace(/\\([^])/g, '$1');
    const value = quoted ?? take(BARE)?.[0];
    const params = found.at(-1)?.params;
    if (value !== undefined && params !== undefined && !params.has(word)) params.set(word, value);
  }
}

/** The first challenge of one of `schemes`, the earlier scheme before the later. */
export function challengeOf(challenges: readonly Challenge[], ...schemes: string[]): Challenge | undefined {
  for (const scheme of schemes) {
    const found = challenges.find((challenge) => challenge.scheme === scheme);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The scopes of a space-separated list, each once, in their order; what RFC 6749 does not allow in a scope is left out. */
export function scopesOf(list: string | undefined): string[] {
  const scopes = (list ?? '').split(' ').filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  return [...new Set(scopes)];
}
