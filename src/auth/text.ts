// How foreign text may stand in a message: as what it is, escaped and short.

/** Longest piece of foreign text in a message. */
const MAX_SHOWN = 200;

/** A value from metadata for a message: in quotes, printable ASCII only, cut to 200 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_SHOWN) : (value ?? null)).slice(0, MAX_SHOWN + 2);
  return text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** An OAuth error code as it may be shown: one of the well-formed ones, or a word that says nothing. */
export function shownError(code: unknown): string {
  return typeof code === 'string' && /^[a-z][a-z0-9_]{0,60}$/.test(code) ? code : 'an unknown error';
}
