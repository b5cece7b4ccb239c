// Reads every file that counts and gives one configuration, with everything that is wrong said beside it.
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Diagnostic } from './diagnostic.ts';
import { type Document, type DocumentPlace, parseDocument, readDocument } from './document.ts';
import { merge } from './merge.ts';
import { type ConfigPaths, configPaths, type Standpoint } from './paths.ts';
import { readSections } from './sections.ts';
import { DEFAULT_SETTINGS, settingsFromEnvironment } from './settings.ts';
import type { HostConfig } from './shape.ts';

export interface LoadOptions extends Partial<Omit<Standpoint, 'machineFile'>> {
  /**
   * An absolute path in the place of the administrator's file, or false for none: for a program that answers for its own policy. Default:
   * the file that the administrator of this system has for everybody, which the `parley` command always reads.
   */
  readonly machineFile?: string | false;
  /** Reads this file alone, beside the administrator's, as the user's own word: it may hold everything a Parley file may. Relative to `cwd`. */
  readonly configFile?: string;
  /** More of the same from the command line, in the shape of a Parley file; it prevails over every file but the administrator's. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface Loaded {
  readonly config: HostConfig;
  /** In the order of the files. A server that an `error` names is not in `config`, or has lost what the message says. */
  readonly diagnostics: readonly Diagnostic[];
  readonly paths: ConfigPaths;
  /** The files that were looked for; some need not be there. When one of them is another than before, so may be the rest. */
  readonly files: readonly string[];
}

/**
 * The configuration that holds here, with what is wrong in it. Never throws for what a file says.
 * Names are taken in the order machine, flag, local, project, user. Placeholders stay as written; an enabled server whose variables are
 * not set is left out with an error. Defaults are the process's own directory, environment and home, and the system's `machineFile`.
 */
export function loadConfig(options: LoadOptions = {}): Loaded {
  const { cwd = process.cwd(), env = process.env, home = homedir(), machineFile, configFile, extra } = options;
  const paths = configPaths({ cwd, env, home, ...(typeof machineFile === 'string' && { machineFile }) });
  const diagnostics: Diagnostic[] = [];
  const documents: Document[] = [];
  const broken: string[] = [];
  const take = (place: DocumentPlace, read: Document | 'absent' | 'broken') => {
    if (typeof read === 'object') documents.push(read);
    // Rules that may have stood in a file that cannot be used are not to be forgotten.
    else if (read === 'broken' && place.form === 'parley') broken.push(place.file);
  };
  const look = (place: DocumentPlace) => {
    const read = readDocument(place, diagnostics);
    const missing = read === 'absent' && place.scope === 'flag';
    if (missing) diagnostics.push({ level: 'error', file: place.file, path: '', message: 'There is no such file.' });
    take(place, missing ? 'broken' : read);
  };
  const machines: DocumentPlace[] = machineFile === false ? [] : [{ file: paths.machineFile, scope: 'machine', form: 'parley' }];
  const users = places(paths, configFile === undefined ? undefined : resolve(cwd, configFile));
  machines.forEach(look);
  if (extra !== undefined) {
    const place = { file: 'the command line', scope: 'flag', form: 'parley' } as const;
    take(place, parseDocument(place, JSON.stringify(extra), diagnostics));
  }
  users.forEach(look);
  const fromEnvironment = settingsFromEnvironment(env, (path, message) => {
    diagnostics.push({ level: 'warning', file: '(environment)', path, message });
  });
  const config = merge(documents.map(readSections), { ...DEFAULT_SETTINGS, ...fromEnvironment }, env);
  const rules = { ...config.rules, unread: [...broken, ...config.rules.unread] };
  return { config: { ...config, rules }, diagnostics, paths, files: [...machines, ...users].map(({ file }) => file) };
}

/** Files in the order in which they win names. */
function places(paths: ConfigPaths, only: string | undefined): DocumentPlace[] {
  if (only !== undefined) return [{ file: only, scope: 'flag', form: 'parley' }];
  return [
    { file: paths.localFile, scope: 'local', form: 'parley' },
    { file: paths.projectFile, scope: 'project', form: 'parley' },
    { file: paths.mcpFile, scope: 'project', form: 'standard' },
    { file: paths.userFile, scope: 'user', form: 'parley' },
  ];
}
