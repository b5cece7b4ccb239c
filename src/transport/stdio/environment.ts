// The environment a server process starts with: a short list of harmless variables and what its configuration declares.
// Nothing else of ours is ever passed on, so no secret of this process reaches a child.
import { posix, win32 } from 'node:path';
import { searchPath } from './locate.ts';

const POSIX = new Set(['HOME', 'LOGNAME', 'USER', 'PATH', 'SHELL', 'LANG', 'TZ', 'TMPDIR']);

const WINDOWS = new Set([
  'SYSTEMROOT',
  'WINDIR',
  'COMSPEC',
  'PATH',
  'PATHEXT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'HOMEDRIVE',
  'HOMEPATH',
  'PROGRAMDATA',
]);

export interface EnvironmentOptions {
  /** Variables of the server's own; they win. */
  readonly declared?: Readonly<Record<string, string>> | undefined;
  /** Where the harmless ones come from. Default: this process. */
  readonly from?: NodeJS.ProcessEnv;
  readonly platform?: NodeJS.Platform;
}

/** The whole environment for a server process. On Windows, names are compared without regard to case. */
export function childEnvironment(options: EnvironmentOptions = {}): Record<string, string> {
  const { declared = {}, from = process.env, platform = process.platform } = options;
  const windows = platform === 'win32';
  const paths = windows ? win32 : posix;
  const allowed = windows ? isAllowedOnWindows : isAllowedOnPosix;
  // Variables by the name they are compared by; the later one wins.
  const chosen = new Map<string, [name: string, value: string]>();
  const choose = (name: string, value: string) => void chosen.set(windows ? name.toUpperCase() : name, [name, value]);
  if (!windows) choose('TERM', 'dumb');
  for (const [name, value] of Object.entries(from)) {
    // A value that begins so is a shell function exported by an old bash: code, not data.
    if (value === undefined || !allowed(name) || value.startsWith('()')) continue;
    choose(name, name.toUpperCase() === 'PATH' ? searchPath(value, paths).join(paths.delimiter) : value);
  }
  for (const [name, value] of Object.entries(declared)) choose(name, value);
  return Object.fromEntries(chosen.values());
}

function isAllowedOnPosix(name: string): boolean {
  return POSIX.has(name) || name.startsWith('LC_');
}

function isAllowedOnWindows(name: string): boolean {
  const upper = name.toUpperCase();
  return WINDOWS.has(upper) || upper.startsWith('PROGRAMFILES');
}
