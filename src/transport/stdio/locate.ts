// Which file a command stands for on POSIX systems. It is looked up here, along a path on which no project can put a program
// of its own, and not by the system.
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, posix, resolve, type PlatformPath } from 'node:path';
import { ParleyError } from '../../errors.ts';

export interface LocateOptions {
  /** PATH of the process that is started. */
  readonly path: string | undefined;
  /** The folder it starts in, which a relative path is relative to. Default: ours. */
  readonly cwd?: string | undefined;
}

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The file that `command` stands for: a path, or a name that is looked up in PATH.
 * @throws ParleyError `unreachable` when there is none that may be executed
 */
export function locate(command: string, { path = DEFAULT_PATH, cwd = process.cwd() }: LocateOptions): string {
  const isName = !command.includes('/');
  const places = isName ? searchPath(path).map((folder) => join(folder, command)) : [resolve(cwd, command)];
  const files = places.filter((place) => statSync(place, { throwIfNoEntry: false })?.isFile() ?? false);
  const program = files.find(isExecutable);
  if (program !== undefined) return program;
  throw cannotStart(command, files.length === 0 ? whyNotFound(command, places, path) : WHY_NOT_EXECUTABLE);
}

/** What a search path is to be used for: folders given in full, and not those where a project keeps the programs it brought. */
export function searchPath(path: string, platform: PlatformPath = posix): string[] {
  return path.split(platform.delimiter).filter((folder) => platform.isAbsolute(folder) && !isProjects(folder));
}

/** That `command` cannot be started, and why. */
export function cannotStart(command: string, why: string, cause?: Error): ParleyError {
  return new ParleyError('unreachable', `The command "${command}" cannot be started: ${why}`, { ...(cause && { cause }) });
}

export const WHY_NOT_FOUND = 'it was not found. Install it, or give its full path.';
export const WHY_NOT_EXECUTABLE = 'it may not be executed. Check the file and its permissions.';

function whyNotFound(command: string, places: readonly string[], path: string): string {
  if (places.some((place) => statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false)) {
    return 'it is a folder. Name the program in it.';
  }
  const skipped = path.split(':').filter((folder) => isAbsolute(folder) && isProjects(folder));
  return !command.includes('/') && skipped.some((folder) => isExecutable(join(folder, command)))
    ? 'it is only in a folder node_modules/.bin, where no command is looked up. Give its full path, or start it with npx.'
    : WHY_NOT_FOUND;
}

function isProjects(folder: string): boolean {
  return /[\\/]node_modules[\\/]\.bin[\\/]*$/.test(folder);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
