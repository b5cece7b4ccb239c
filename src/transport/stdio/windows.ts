// How a command is started on Windows without a shell that reads it: the program is looked up here, and a batch file (npx and
// its like) goes to the command interpreter with arguments that cannot mean anything to it, or not at all.
import { statSync } from 'node:fs';
import { win32 } from 'node:path';
import { ParleyError } from '../../errors.ts';
import { cannotStart, searchPath, WHY_NOT_FOUND } from './locate.ts';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already. */
  readonly verbatim: boolean;
}

export interface LaunchOptions {
  /** The environment of the process: PATH, PATHEXT and COMSPEC count, in any case. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Looks whether a file is there. Default: on this machine. */
  readonly isFile?: (path: string) => boolean;
}

/** What the interpreter or a batch file would read even inside quotes. */
const UNSAFE = /["%!\r\n\0]/;

/**
 * What to give to `spawn` for `command` with `args`.
 * @throws ParleyError `unreachable` when there is no such program, or when a batch file would misread an argument
 */
export function windowsLaunch(command: string, args: readonly string[], options: LaunchOptions): Launch {
  const program = find(command, options);
  // Not left to the system, which looks in the current folder first.
  if (program === undefined) throw cannotStart(command, WHY_NOT_FOUND);
  if (!/\.(?:cmd|bat)$/i.test(program)) return { command: program, args, verbatim: false };
  const script = npmScript(program, options);
  if (script !== undefined) return { command: script.node, args: [script.file, ...args], verbatim: false };
  if ([program, ...args].some((word) => UNSAFE.test(word))) {
    const name = win32.basename(program);
    throw new ParleyError(
      'unreachable',
      `The batch file "${name}" cannot be started: an argument holds a quote, a percent or exclamation mark, or a line break. ` +
        'Name the program behind it instead, such as node with the path of its script.',
    );
  }
  const interpreter = valueOf(options.env, 'COMSPEC') ?? 'C:\\Windows\\System32\\cmd.exe';
  const line = [program, ...args].map(quoted).join(' ');
  return { command: interpreter, args: ['/d', '/s', '/v:off', '/c', `"${line}"`], verbatim: true };
}

/** What npm's own batch files start, where it lies beside them: it takes any argument, and they do not. */
function npmScript(program: string, { isFile = isFileHere }: LaunchOptions): { node: string; file: string } | undefined {
  const name = /^(npm|npx)\.cmd$/i.exec(win32.basename(program))?.[1];
  if (name === undefined) return undefined;
  const folder = win32.dirname(program);
  const node = win32.join(folder, 'node.exe');
  const file = win32.join(folder, 'node_modules', 'npm', 'bin', `${name.toLowerCase()}-cli.js`);
  return isFile(node) && isFile(file) ? { node, file } : undefined;
}

/** The file that `command` stands for. Unlike the system, this does not look in the current folder. */
function find(command: string, { env, cwd = process.cwd(), isFile = isFileHere }: LaunchOptions): string | undefined {
  const extensions = (valueOf(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((extension) => extension !== '');
  const isComplete = extensions.some((extension) => command.toLowerCase().endsWith(extension.toLowerCase()));
  const folders = /[\\/:]/.test(command) ? [cwd] : searchPath(valueOf(env, 'PATH') ?? '', win32);
  return folders
    .flatMap((folder) => (isComplete ? [''] : extensions).map((extension) => win32.resolve(folder, command + extension)))
    .find((path) => isFile(path));
}

/** In quotes, as the C runtime of the program reads them: a backslash before the closing one is doubled. */
function quoted(word: string): string {
  return `"${word.replace(/\\+$/, '$&$&')}"`;
}

function valueOf(env: Readonly<Record<string, string>>, wanted: string): string | undefined {
  return Object.entries(env).find(([name]) => name.toUpperCase() === wanted)?.[1];
}

function isFileHere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
