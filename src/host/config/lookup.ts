// Commands that look for what they run in the folder they stand in: in a cloned repository they would run what its author put there.
import { basename, resolve } from 'node:path';
import type { Scope, StdioLaunch } from './shape.ts';

/** Programs that take packages, or settings that say where packages come from, out of their folder. */
const FROM_FOLDER = /^(npx|bunx|pnpx|npm|pnpm|yarn|bun|deno|uvx|uv|pipx)$/;
/** Programs that do so for modules that these options name. */
const BY_OPTION = [
  { program: /^(python[\d.]*w?|pypy[\d.]*|py)$/, option: /^-[A-Za-z]*[mc]/ },
  { program: /^(node|nodejs|tsx|ts-node)$/, option: /^(-r|--require|--import|--loader|--experimental-loader)(=|$)/ },
];

/** True when it depends on its folder which code the command runs. */
export function looksInItsFolder({ command, args }: StdioLaunch): boolean {
  const name = programName(command);
  return (
    FROM_FOLDER.test(name) || BY_OPTION.some(({ program, option }) => program.test(name) && args.some((arg) => option.test(arg)))
  );
}

/** The folder that a server starts in whose `cwd` has no placeholder left: of a project's it is the project's, of others Parley's own. */
export function startFolder(scope: Scope, cwd: string | undefined, workspaceFolder: string): string {
  return cwd === undefined && scope !== 'project' ? process.cwd() : resolve(workspaceFolder, cwd ?? '.');
}

/** The name of a command without its folder, and without the ending of a program. */
export function programName(command: string): string {
  return basename(command.replaceAll('\\', '/'))
    .replace(/\.(exe|cmd|bat|com)$/i, '')
    .toLowerCase();
}
