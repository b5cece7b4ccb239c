// What a server wrote to its standard error: the last of it in memory, and all of it, capped, in a file if one is wanted.
// The text is the server's: untrusted, and never parsed.

const RING_BYTES = 262_144;
const LINE_BYTES = 8_192;
const NEWLINE = 0x0a;

/** Takes whole or partial chunks; lines beyond 8 KiB are cut, and only the last 256 KiB are kept. */
export class StderrTail {
  readonly #spill: ((bytes: Buffer) => void) | undefined;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #lineLength = 0;
  #cut = false;

  /** `spill` gets everything that is kept, before the oldest of it falls out. */
  constructor(spill?: (bytes: Buffer) => void) {
    this.#spill = spill;
  }

  push(chunk: Buffer): void {
    for (const piece of this.#shortened(chunk)) {
      this.#spill?.(piece);
      this.#cut ||= piece.length > RING_BYTES;
      this.#keep(piece.subarray(-RING_BYTES));
    }
  }

  /** The kept text, at most its last `bytes` bytes, beginning with a whole line. */
  text(bytes: number = RING_BYTES): string {
    const kept = this.#buffer.subarray(0, this.#length);
    const end = kept.subarray(-bytes);
    if (end.length === kept.length && !this.#cut) return end.toString();
    return end.subarray(end.indexOf(NEWLINE) + 1).toString();
  }

  /** The chunk without what goes beyond the line cap; the newlines stay. */
  #shortened(chunk: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length;) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline === -1 ? chunk.length : newline;
      const fits = at + Math.max(0, LINE_BYTES - this.#lineLength);
      if (end > fits) {
        if (fits > from) pieces.push(chunk.subarray(from, fits));
        from = end;
      }
      this.#lineLength = newline === -1 ? this.#lineLength + end - at : 0;
      at = end + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
    return pieces;
  }

  /** Twice the ring is allocated at most, so that old bytes are moved out rarely. */
  #keep(bytes: Buffer): void {
    if (this.#length + bytes.length > this.#buffer.length) {
      const kept = Math.min(this.#length, RING_BYTES - bytes.length);
      const size = Math.min(2 * RING_BYTES, Math.max(4_096, 2 * (kept + bytes.length)));
      const target = size > this.#buffer.length ? Buffer.allocUnsafeSlow(size) : this.#buffer;
      this.#buffer.copy(target, 0, this.#length - kept, this.#length);
      this.#cut ||= kept < this.#length;
      this.#buffer = target;
      this.#length = kept;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length += bytes.length;
  }
}
