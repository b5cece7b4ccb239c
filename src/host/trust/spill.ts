// Keeps text that is too long for a model in files that only this user can read, within a limit, until it is closed.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';

export interface SpillOptions {
  /** The folder in which a private one is made. Default: the system's folder for temporary files. */
  readonly directory?: string;
  /** Bytes kept for one server. Default: the limit `maxKeptBytes`. */
  readonly perServer?: number;
  /** Bytes kept in all. Default: the limit `maxKeptBytesInAll`. */
  readonly inAll?: number;
}

export interface Spill extends AsyncDisposable {
  /**
   * The path of a new file with the text, or undefined when there is no room for it or it cannot be written.
   * @throws ParleyError `closed`
   */
  keep(server: string, text: string): Promise<string | undefined>;
  /** Removes every file; waits for those being written. */
  close(): Promise<void>;
}

/** A spill; its folder is made when it first keeps something. */
export function createSpill(options: SpillOptions = {}): Spill {
  const { directory = tmpdir(), perServer = LIMITS.maxKeptBytes.default, inAll = LIMITS.maxKeptBytesInAll.default } = options;
  const used = new Map<string, number>();
  const writing = new Set<Promise<unknown>>();
  let total = 0;
  let folder: Promise<string> | undefined;
  let closing: Promise<void> | undefined;

  const take = (server: string, bytes: number) => {
    used.set(server, (used.get(server) ?? 0) + bytes);
    total += bytes;
  };

  async function write(server: string, bytes: Buffer): Promise<string | undefined> {
    // Taken before the first wait, so that texts kept at the same time count together.
    take(server, bytes.length);
    try {
      folder ??= privateFolder(directory).catch((error: unknown) => {
        // Tried again with the next text.
        folder = undefined;
        throw error;
      });
      const path = join(await folder, `${randomUUID()}.txt`);
      await writeNew(path, bytes);
      return path;
    } catch {
      take(server, -bytes.length);
      return undefined;
    }
  }

  async function remove(): Promise<void> {
    await Promise.allSettled(writing);
    const path = await folder?.catch(() => undefined);
    if (path !== undefined) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }

  const close = () => (closing ??= remove());

  return {
    async keep(server, text) {
      if (closing !== undefined) throw new ParleyError('closed', 'Text was to be kept after the place for it had been closed.');
      const bytes = Buffer.from(text);
      if (total + bytes.length > inAll || (used.get(server) ?? 0) + bytes.length > perServer) return undefined;
      const written = write(server, bytes);
      writing.add(written);
      try {
        return await written;
      } finally {
        writing.delete(written);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A new folder with an unforeseeable name and mode 0700. */
async function privateFolder(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return mkdtemp(join(directory, 'parley-'));
}

/** Only a file that was not there before is written to, and no link is followed. */
async function writeNew(path: string, bytes: Buffer): Promise<void> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(bytes);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
