// Where paths lead on this machine. The only thing that the policy asks the world, and only for rules with `under`.
import { lstatSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { startFolder, type ServerDefinition } from '../config/index.ts';

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

/** This machine's own, with the directories that these servers are started in. A placeholder leaves one unknown. */
export function placesOf(
  servers: readonly Pick<ServerDefinition, 'name' | 'source' | 'written'>[],
  { home, workspaceFolder }: { readonly home: string; readonly workspaceFolder: string },
): Places {
  const directories = new Map<string, string>();
  for (const { name, source, written } of servers) {
    if (written.kind !== 'stdio' || written.cwd?.includes('${') === true) continue;
    // A folder of its own has a name that nobody knows before.
    if (written.cwd === undefined && written.privateCwd === true) continue;
    directories.set(name, startFolder(source.scope, written.cwd, workspaceFolder));
  }
  return { home, realpath, workingDirectory: (server) => directories.get(server) };
}

function realpath(path: string): string | undefined {
  try {
    // The system's own, since it goes up from where a link leads and not from where it stands.
    return realpathSync.native(path);
  } catch (error) {
    // A link to what is not there yet is something: whoever writes to it writes elsewhere.
    if (saysNothing(error) && !isThere(path)) return undefined;
    throw error;
  }
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (saysNothing(error)) return false;
    throw error;
  }
}

/** Nothing can be below a file, nor at what is longer than a path can be. */
function saysNothing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '');
}
