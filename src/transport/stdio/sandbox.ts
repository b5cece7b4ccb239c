// Runs a server where it sees a read-only system, an empty home and nothing else of the machine, by way of bubblewrap on Linux.
// Where that does not work it says so; nothing is ever called sandboxed that is not.
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { ParleyError } from '../../errors.ts';
import { locate } from './locate.ts';

/** What a sandboxed process may reach beside the system. All paths are absolute. */
export interface SandboxOptions {
  /** `required`: it is not started without a sandbox. `preferred`: it is, where there is none. */
  readonly mode: 'required' | 'preferred';
  /** Files and folders it may read. Default none. */
  readonly read?: readonly string[];
  /** Files and folders it may change. Hooks and settings in them that other programs run stay as they are. Default none. */
  readonly write?: readonly string[];
  /** True when it may use the network, this machine's own services included. Default false: it has none at all. */
  readonly network?: boolean;
  /** Folders that it finds empty, wherever they are. Default none. */
  readonly hide?: readonly string[];
}

/** Whether a process runs in a sandbox, and if not, why. */
export type SandboxStatus = { readonly sandboxed: true } | { readonly sandboxed: false; readonly reason: string };

/** A process as it is to be started, and what is to be said of it. */
export interface Confined {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly status: SandboxStatus;
}

export interface Confinable {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/**
 * The process in its sandbox, or as it is where there is none and none is required.
 * @throws ParleyError `sandbox-unavailable` when one is required and cannot be made · `config-invalid` for paths that make no sense ·
 *   `unreachable` when the command cannot be started
 */
export async function confine(process: Confinable, sandbox: SandboxOptions | undefined): Promise<Confined> {
  const plain = ({ command, args, env }: Confinable, reason: string) => ({
    ...{ command, args, env },
    status: { sandboxed: false, reason } as const,
  });
  if (sandbox === undefined) return plain(process, 'its settings do not ask for it');
  const found = await findSandbox();
  if (!found.works) {
    if (sandbox.mode === 'preferred') return plain(process, found.reason);
    const message = `"${process.command}" is not started: it must run in a sandbox, and ${found.reason}. Install bubblewrap where it works, or change the server's "sandbox" setting.`;
    throw new ParleyError('sandbox-unavailable', message);
  }
  const { command, args, cwd } = process;
  // Its temporary files lie in the sandbox as well.
  const { TMPDIR: _, ...env } = process.env;
  const program = locate(command, { path: env['PATH'], cwd });
  const flags = bubblewrapFlags({ program, cwd, home: homedir(), sandbox, realPath });
  return { command: found.program, args: [...flags, '--', program, ...args], env, status: { sandboxed: true } };
}

/** What every sandbox begins with; also the trial of whether one can be made. */
const BASE: readonly string[] = [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--ro-bind', '/usr', '/usr'],
];
/** Beside /usr. On most systems they are links into it. */
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix/store'];
/** What other programs run or obey without being asked: not to be written by a server, also where it may write all around. */
const GUARDED = [
  ...['.git/hooks', '.git/config', '.vscode', '.idea', '.envrc', '.mcp.json', '.parley', 'parley.lock'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.profile', '.zshrc', '.zshenv', '.zprofile', '.config/fish', '.ssh'],
];

export interface PlanOptions {
  /** The file that is run. It alone is to be seen, whatever folder it is in. */
  readonly program: string;
  readonly cwd: string | undefined;
  readonly home: string;
  readonly sandbox: SandboxOptions;
  /** The path without links, or undefined when nothing is there. */
  readonly realPath: (path: string) => string | undefined;
}

/** The flags that make bubblewrap build the sandbox. @throws ParleyError `config-invalid` for paths that make no sense */
export function bubblewrapFlags({ program, cwd, home, sandbox, realPath }: PlanOptions): string[] {
  const { read = [], write = [], network = false, hide = [] } = sandbox;
  const flags = [...BASE, ...SYSTEM.flatMap((path) => ['--ro-bind-try', path, path])];
  if (network) flags.push('--share-net', '--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve');
  flags.push('--tmpfs', home);
  const binds = [
    ...[...new Set([program, realPath(program) ?? program])].map((path) => ({ flag: '--ro-bind', path })),
    ...read.map((path) => ({ flag: '--ro-bind', path: checked(path, 'read', realPath) })),
    ...write.map((path) => ({ flag: '--bind', path: checked(notHome(path, home), 'write', realPath) })),
  ].filter(({ path }) => ![...SYSTEM, '/usr'].some((system) => isWithin(path, system)));
  // What lies deeper comes later and so prevails; at the same place the right to write does.
  for (const { flag, path } of binds.sort((a, b) => depth(a.path) - depth(b.path))) flags.push(flag, path, path);
  for (const root of write) {
    for (const path of GUARDED.map((name) => join(root, name)).filter((each) => realPath(each) !== undefined)) {
      // The folder above is held in its place, or it could be moved away with what is in it.
      if (dirname(path) !== root) flags.push('--bind', dirname(path), dirname(path));
      flags.push('--ro-bind', path, path);
    }
  }
  for (const path of hide) {
    const real = realPath(path);
    if (real !== undefined) for (const each of new Set([path, real])) flags.push('--tmpfs', each);
  }
  const seen = [...SYSTEM, '/usr', '/tmp', home, ...read, ...write];
  if (cwd !== undefined && !seen.some((path) => isWithin(cwd, path))) {
    throw invalid(`its working folder "${cwd}" is not among what it may read. Add it to "read", or take "cwd" away.`);
  }
  return [...flags, '--chdir', cwd ?? home];
}

function checked(path: string, key: 'read' | 'write', realPath: PlanOptions['realPath']): string {
  if (!isAbsolute(path)) throw invalid(`"${path}" under "${key}" is not a full path.`);
  if (realPath(path) === undefined) throw invalid(`"${path}" under "${key}" does not exist.`);
  return path;
}

/** Whoever may write the whole home can make the user's own shell run what he likes. */
function notHome(path: string, home: string): string {
  if (isWithin(home, path)) throw invalid(`"${path}" under "write" would open the whole home folder. Name the folders it needs.`);
  return path;
}

function invalid(why: string): ParleyError {
  return new ParleyError('config-invalid', `The sandbox cannot be made as it is set: ${why}`);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function depth(path: string): number {
  return path.split(sep).filter((part) => part !== '').length;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

type Found = { readonly works: true; readonly program: string } | { readonly works: false; readonly reason: string };

const TRIAL_MS = 10_000;
let found: Promise<Found> | undefined;

/** The sandbox of this machine: tried once. */
function findSandbox(): Promise<Found> {
  return (found ??= trySandbox());
}

function trySandbox(): Promise<Found> {
  if (process.platform !== 'linux') {
    return Promise.resolve({ works: false, reason: 'there is none for this system (bubblewrap is for Linux)' });
  }
  let program: string;
  try {
    program = locate('bwrap', { path: process.env['PATH'] });
  } catch {
    return Promise.resolve({ works: false, reason: 'bubblewrap (bwrap) is not installed' });
  }
  const flags = [...BASE, ...SYSTEM.flatMap((path) => ['--ro-bind-try', path, path])];
  return new Promise((resolve) => {
    execFile(program, [...flags, '--', '/bin/sh', '-c', ':'], { timeout: TRIAL_MS, env: {} }, (error, _, stderr) => {
      if (error === null) return resolve({ works: true, program });
      const [why = ''] = stderr.trim().split('\n');
      resolve({ works: false, reason: `bubblewrap does not work here (${why.replace(/^bwrap: /, '') || error.message})` });
    });
  });
}
