// Where paths lead on this machine. The only thing that the policy asks the world, and only for rules with `under`.
import { lstatSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';

export interface Places {
  /** What `~` stands for. */
  readonly home: string;
  /**
   * The path without links, or undefined when there is nothing at it.
   * @throws when it cannot be told
   */
  readonly realpath: (path: string) => string | undefined;
  /** The directory a server works in, where it is known and on this machine. */
  readonly workingDirectory: (server: string) => string | undefined;
}

/** This machine's own. */
export const LOCAL_PLACES: Places = { home: homedir(), realpath, workingDirectory: () => undefined };

function realpath(path: string): string | undefined {
  try {
    // The system's own, since it goes up from where a link leads and not from where it stands.
    return realpathSync.native(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') return undefined;
    // A link to what is not there yet is something: whoever writes to it writes elsewhere.
    if (code === 'ENOENT' && lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    throw error;
  }
}
