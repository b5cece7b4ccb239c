// Bytes as text. Most JSON is ASCII, and that is found out and decoded in a third of the time that UTF-8 takes.
import { isAscii, isUtf8 } from 'node:buffer';

/** The text of `bytes`; undefined when they are not all ASCII. */
export function asciiOf(bytes: Buffer): string | undefined {
  return isAscii(bytes) ? bytes.toString('latin1') : undefined;
}

/** The text of `bytes`, a byte order mark included; undefined when they are not UTF-8. */
export function textOf(bytes: Buffer): string | undefined {
  return asciiOf(bytes) ?? (isUtf8(bytes) ? bytes.toString() : undefined);
}
