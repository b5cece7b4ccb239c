// A machine with an administrator of its own, for the command as it is: in a mount namespace, since nothing else moves his file.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Puts a folder of links to what is in `/etc` in its place, and starts the command there. */
const SCRIPT = 'mount --bind /etc "$1/real" && mount --bind "$1/etc" /etc && shift && exec "$@"';

export interface Machine {
  /** The words that a command is put behind to be run there. */
  readonly behind: readonly string[];
  /** Where the administrator's file is outside of it; inside it is FILE. */
  readonly file: string;
  write(content: string | object): void;
  remove(): void;
}

/** The administrator's file, as the command sees it. */
export const FILE = '/etc/parley/parley.jsonc';

/** A machine whose administrator says nothing yet; undefined where this one lets nobody make one. */
export function createMachine(): Machine | undefined {
  const root = mkdtempSync(join(tmpdir(), 'parley-machine-'));
  const folder = join(root, 'etc/parley');
  mkdirSync(join(root, 'real'));
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const name of readdirSync('/etc').filter((each) => each !== 'parley'))
    symlinkSync(join(root, 'real', name), join(root, 'etc', name));
  const remove = () => rmSync(root, { recursive: true, force: true });
  const file = join(folder, 'parley.jsonc');
  for (const flags of [['--mount'], ['--user', '--map-root-user', '--mount']]) {
    const behind = ['unshare', ...flags, 'sh', '-c', SCRIPT, 'sh', root];
    const [command, ...args] = [...behind, 'true'];
    if (spawnSync(command, args).status !== 0) continue;
    const write: Machine['write'] = (content) => {
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o644 });
    };
    return { behind, file, write, remove };
  }
  remove();
  return undefined;
}
