// The administrator's file: where it is on this system, and whether nobody but an administrator could have written it, or taken it away.
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isForeign, OTHERS } from '../../base/system.ts';
import { quoted } from './diagnostic.ts';

const ROOT = 0;

/** The place of the administrator's file. Nothing moves it, no variable of the environment either. */
export function machineFileOf(platform: NodeJS.Platform): string {
  switch (platform) {
    case 'darwin':
      return '/Library/Application Support/Parley/parley.jsonc';
    case 'win32':
      // In ProgramData anybody may make a folder, and owners cannot be told here.
      return 'C:\\Program Files\\Parley\\parley.jsonc';
    default:
      return '/etc/parley/parley.jsonc';
  }
}

/**
 * What stands against the file as an administrator's word; undefined when nothing does, as where there is none. It and its folder must be
 * root's and writable by nobody else; a file that a program named in its place may also be that of the process's user.
 */
export function againstMachineFile(file: string): string | undefined {
  const owners = file === machineFileOf(process.platform) ? [ROOT] : [ROOT, process.getuid?.()];
  const against = (path: string) => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined || !isForeign(found, OTHERS.write, owners)) return undefined;
    return `${quoted(path)} must belong to root, and nobody else may write to it (chown root, chmod go-w).`;
  };
  try {
    const outer = against(dirname(file));
    if (outer !== undefined || lstatSync(file, { throwIfNoEntry: false }) === undefined) return outer;
    // Whoever may exchange what a link leads to may write it.
    const real = realpathSync(file);
    return against(dirname(real)) ?? against(real);
  } catch (error) {
    return `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`;
  }
}
