// A file of bounded size that a server's standard error is appended to: `file`, and what came before it as `file.1`.
// Written synchronously, so that the last words before a crash are in it. Holds untrusted bytes: whoever shows it must clean them.
import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const DEFAULT_MAX_BYTES = 5 * 1_048_576;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** Appends to one file, readable by this user only. The first fault ends it; it never throws. */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #onFault: (error: unknown) => void;
  #fd: number | undefined;
  #size = 0;

  /** `onFault` hears once why nothing more is written. `maxBytes` is the size at which the file is moved away, by default 5 MiB. */
  constructor(path: string, onFault: (error: unknown) => void, maxBytes: number = DEFAULT_MAX_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#onFault = onFault;
    this.#attempt(() => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      this.#open();
    });
  }

  write(bytes: Buffer): void {
    if (this.#fd === undefined) return;
    this.#attempt(() => {
      if (this.#size > 0 && this.#size + bytes.length > this.#maxBytes) {
        this.close();
        renameSync(this.#path, `${this.#path}.1`);
        this.#open();
      }
      writeSync(this.#fd as number, bytes);
      this.#size += bytes.length;
    });
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeSync(fd);
  }

  #open(): void {
    this.#fd = openSync(this.#path, FLAGS, 0o600);
    // The file may be older than this rule.
    fchmodSync(this.#fd, 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.close();
      this.#onFault(error);
    }
  }
}
