// One canonical form for JSON values and one digest over it, so that equal values have equal digests.

/** JSON text with object keys in code-unit order (RFC 8785 ordering); `undefined` members are left out. */
export function canonical(value: unknown): string {
  // As JSON has it inside an array.
  if (value === undefined) return 'null';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += text === '' ? canonical(item) : `,${canonical(item)}`;
    return `[${text}]`;
  }
  const record = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(member)}`;
  }
  return `{${text}}`;
}

/** SHA-256 over the canonical form, in hexadecimal. */
export function digest(value: unknown): string {
  // Importing node:crypto costs a client that never digests anything 1.6 MiB.
  return process.getBuiltinModule('node:crypto').hash('sha256', canonical(value));
}
