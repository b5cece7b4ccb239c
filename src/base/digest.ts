// One canonical form for JSON values and one digest over it, so that equal values have equal digests.

/** JSON text with object keys in code-unit order (RFC 8785 ordering); `undefined` members are left out. */
export function canonical(value: unknown): string {
  // As JSON has it inside an array.
  if (value === undefined) return 'null';
  if (typeof value === 'string') return quoted(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += text === '' ? canonical(item) : `,${canonical(item)}`;
    return `[${text}]`;
  }
  const record = value as Readonly<Record<string, unknown>>;
  for (const key of inOrder(Object.keys(record))) {
    const member = record[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${quoted(key)}:${canonical(member)}`;
  }
  return `{${text}}`;
}

/** The keys in code-unit order; most come so. */
export function inOrder(keys: string[]): readonly string[] {
  for (let at = 1; at < keys.length; at++) if ((keys[at] as string) < (keys[at - 1] as string)) return keys.sort();
  return keys;
}

/** The text as JSON has it; most needs nothing but the quotes. */
function quoted(text: string): string {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** SHA-256 over the canonical form, in hexadecimal. */
export function digest(value: unknown): string {
  // Importing node:crypto costs a client that never digests anything 1.6 MiB.
  return process.getBuiltinModule('node:crypto').hash('sha256', canonical(value));
}
