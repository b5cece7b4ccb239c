// Where configuration, state and cache live. Only names are worked out here; of the disk it asks what exists.
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { digest } from '../../base/index.ts';
import { machineFileOf } from './machine-file.ts';

/** Where somebody stands: the working directory, the environment, the home directory, and under which administrator. */
export interface Standpoint {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The administrator's file. Default: where this system keeps such files. */
  readonly machineFile?: string;
}

/** All absolute. None needs to exist. */
export interface ConfigPaths {
  /** The nearest directory upwards that has `.mcp.json`, `.parley` or `.git`; the working directory when none has. */
  readonly root: string;
  /** `.mcp.json` of the project: standard fields, shared with other applications. */
  readonly mcpFile: string;
  /** `.parley/parley.jsonc` of the project. */
  readonly projectFile: string;
  /** `$XDG_CONFIG_HOME/parley/parley.jsonc`: the user's, for every project. */
  readonly userFile: string;
  /** The user's private settings for this project. Below the user's configuration, so that no repository can ship it. */
  readonly localFile: string;
  /** The administrator's, for every user: `/etc/parley/parley.jsonc`, or where the system keeps such files. */
  readonly machineFile: string;
  readonly stateDir: string;
  readonly cacheDir: string;
}

/** The paths that hold for a standpoint. Variables of XDG count only when they are absolute, as its specification says. */
export function configPaths({ cwd, env, home, machineFile = machineFileOf(process.platform) }: Standpoint): ConfigPaths {
  const root = projectRoot(resolve(cwd));
  const { config, stateDir, cacheDir } = ownFolders({ env, home });
  return {
    root,
    mcpFile: join(root, '.mcp.json'),
    projectFile: join(root, '.parley', 'parley.jsonc'),
    userFile: join(config, 'parley.jsonc'),
    localFile: join(config, 'projects', `${localName(root)}.jsonc`),
    machineFile,
    stateDir,
    cacheDir,
  };
}

/** Where Parley keeps what is the user's or the administrator's, and no server's. */
export function ownFolders({ env, home }: Pick<Standpoint, 'env' | 'home'>) {
  const base = (variable: string, ...fallback: string[]) => {
    const value = env[variable];
    return join(value !== undefined && isAbsolute(value) ? value : join(home, ...fallback), 'parley');
  };
  return {
    config: base('XDG_CONFIG_HOME', '.config'),
    stateDir: base('XDG_STATE_HOME', '.local', 'state'),
    cacheDir: base('XDG_CACHE_HOME', '.cache'),
    machine: dirname(machineFileOf(process.platform)),
  };
}

function projectRoot(cwd: string): string {
  for (let directory = cwd; ; directory = dirname(directory)) {
    if (['.mcp.json', '.parley', '.git'].some((mark) => existsSync(join(directory, mark)))) return directory;
    if (dirname(directory) === directory) return cwd;
  }
}

/** One name for one project: by its real path, so that a link to it is the same project and a copy of it is another. */
function localName(root: string): string {
  const real = existsSync(root) ? realpathSync(root) : root;
  const readable = basename(real)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 40);
  return `${readable}-${digest(real).slice(0, 16)}`;
}
