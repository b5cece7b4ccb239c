// One canonical form for JSON values and one digest over it, so that equal values have equal digests.
import { createHash } from 'node:crypto';

/** JSON text with object keys in code-unit order (RFC 8785 ordering); `undefined` members are left out. */
export function canonical(value: unknown): string {
  // As JSON has it inside an array.
  if (value === undefined) return 'null';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}

/** SHA-256 over the canonical form, in hexadecimal. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex');
}
