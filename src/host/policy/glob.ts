// Patterns with `*` and `?`, compared without regular expressions: the time is at most pattern length × text length.

/** True when a pattern stands for more than its own text. */
export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/**
 * True when `pattern` covers all of `text`: `*` is any run of characters, also none and also `/`; `?` is one character. Case
 * counts.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  // Where to go on after the newest star when what follows it does not fit: one character further on.
  let star = -1;
  let retry = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      star = inPattern++;
      retry = at;
    } else if (wanted === '?') {
      inPattern++;
      at += widthAt(text, at);
    } else if (wanted === text[at]) {
      inPattern++;
      at++;
    } else if (star !== -1) {
      inPattern = star + 1;
      retry += widthAt(text, retry);
      at = retry;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
}

/** Code units of the character at `at`. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}
