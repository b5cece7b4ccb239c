// Changes to configuration files on the user's behalf: add, remove, switch on and off. Each checks before it writes,
// keeps every comment that is not part of what it removes, and never leaves a file half written.
import { didYouMean } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { type Diagnostic, quoted } from './diagnostic.ts';
import { parseDocument } from './document.ts';
import { type Draft, openDraft } from './draft.ts';
import { isRecord } from './fields.ts';
import { describesLaunch } from './launch.ts';
import type { ConfigPaths } from './paths.ts';
import { readEntry } from './sections.ts';
import type { Launch } from './shape.ts';

/** Whose files to change: what `-s/--scope` says. */
export interface EditPlace {
  readonly paths: ConfigPaths;
  readonly scope: 'local' | 'project' | 'user';
}

/** What an edit did. */
export interface Edited {
  /** The files that were written. */
  readonly files: readonly string[];
  /** What the user should know about the entry; notices only. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface AddOptions {
  /** True to put the entry in the place of one of that name. Default false. */
  readonly replace?: boolean;
}

type MemberPath = readonly ['mcpServers' | 'servers', string];

/**
 * Writes a server into the scope's file. `entry` is an object as a Parley file holds it under `mcpServers`, in any accepted
 * spelling; it is written in the common one. In project scope what other applications know goes to `.mcp.json` and Parley's own
 * settings to `.parley/parley.jsonc`. With `replace`, all that the scope said about a server of that name goes, its trust too.
 * @throws ParleyError `usage` when the name is taken or the entry makes no sense in that scope, `config-invalid` when a file
 * cannot be read or written.
 */
export function addServer(place: EditPlace, name: string, entry: unknown, options: AddOptions = {}): Edited {
  const { launch, settings, diagnostics } = checkEntry(place.scope, name, entry);
  const { main, own } = openDrafts(place);
  const [at = [newRoot(main), name] as const] = definitionsIn(main, name);
  if (options.replace !== true && [main, own].some((draft) => definitionsIn(draft, name).length > 0)) {
    throw new ParleyError('usage', `Server ${quoted(name)} exists in ${place.scope} scope. Remove it first, or add --replace.`);
  }
  for (const draft of [main, own]) {
    for (const path of pathsOf(name)) if (draft !== main || path[0] !== at[0]) draft.remove(path);
  }
  const given = entry as Readonly<Record<string, unknown>>;
  const standard = standardEntry(launch, 'type' in given);
  if (main === own) {
    main.set(at, { ...standard, ...settings });
  } else {
    const { timeoutMs, ...rest } = settings;
    const shared = timeoutMs !== undefined && 'timeout' in given;
    main.set(at, { ...standard, ...(shared && { timeout: timeoutMs }) });
    const parley = shared ? rest : settings;
    if (Object.keys(parley).length > 0) own.set(['servers', name], parley);
  }
  return { files: saveAll(own, main), diagnostics };
}

/**
 * Removes a server, and the settings for it, from the scope's files.
 * @throws ParleyError `not-found` when the scope says nothing about it, `config-invalid` when a file cannot be read or written.
 */
export function removeServer(place: EditPlace, name: string): Edited {
  const { main, own } = openDrafts(place);
  requireKnown(place, name, [main, own]);
  for (const draft of [main, own]) for (const path of pathsOf(name)) draft.remove(path);
  return { files: saveAll(main, own), diagnostics: [] };
}

/**
 * Switches a server on or off for the scope. In local and user scope the server may be defined elsewhere, and whether it exists
 * is the caller's to know; in project scope it must be the project's.
 * @throws ParleyError `not-found`, or `config-invalid` when a file cannot be read or written.
 */
export function setEnabled(place: EditPlace, name: string, state: 'enabled' | 'disabled'): Edited {
  const { main, own } = openDrafts(place);
  if (place.scope === 'project') requireKnown(place, name, [main, own]);
  const [at = ['servers', name] as const] = definitionsIn(own, name);
  const present = own.get(at);
  const keys = ['enabled', 'disabled'].filter((key) => isRecord(present) && key in present);
  for (const key of keys.length === 0 ? ['enabled'] : keys) own.set([...at, key], key === state);
  return { files: saveAll(own), diagnostics: [] };
}

/** `main` holds definitions, `own` Parley's settings; they are one file in local and user scope. */
function openDrafts({ paths, scope }: EditPlace): { main: Draft; own: Draft } {
  if (scope === 'project') {
    const main = openDraft({ file: paths.mcpFile, scope, form: 'standard' }, paths);
    return { main, own: openDraft({ file: paths.projectFile, scope, form: 'parley' }, paths) };
  }
  const main = openDraft({ file: scope === 'user' ? paths.userFile : paths.localFile, scope, form: 'parley' }, paths);
  return { main, own: main };
}

function saveAll(...drafts: readonly Draft[]): string[] {
  return [...new Set(drafts)].filter((draft) => draft.save()).map((draft) => draft.file);
}

function pathsOf(name: string): readonly MemberPath[] {
  return [
    ['mcpServers', name],
    ['servers', name],
  ];
}

/** Where the file defines the server; an entry under `servers` of a Parley file may be settings alone. */
function definitionsIn(draft: Draft, name: string): MemberPath[] {
  return pathsOf(name).filter((path) => {
    const value = draft.get(path);
    if (value === undefined) return false;
    return draft.form === 'standard' || path[0] === 'mcpServers' || !isRecord(value) || describesLaunch(value);
  });
}

/** The root key for a new entry: the file's own where it has only the other one. */
function newRoot(draft: Draft): MemberPath[0] {
  return draft.form === 'standard' && draft.get(['mcpServers']) === undefined && draft.get(['servers']) !== undefined
    ? 'servers'
    : 'mcpServers';
}

function requireKnown({ scope }: EditPlace, name: string, drafts: readonly Draft[]): void {
  const names = drafts.flatMap((draft) => ['mcpServers', 'servers'].flatMap((key) => Object.keys(draft.get([key]) ?? {})));
  if (names.includes(name)) return;
  throw new ParleyError('not-found', `There is no server ${quoted(name)} in ${scope} scope.${didYouMean(name, new Set(names))}`);
}

/** The entry as reading the scope's file would take it. What reading would refuse or ignore is not written at all. */
function checkEntry(scope: EditPlace['scope'], name: string, entry: unknown) {
  const found: Diagnostic[] = [];
  const document = parseDocument(
    { file: '(new entry)', scope, form: 'parley' },
    JSON.stringify({ mcpServers: { [name]: entry ?? null } }),
    found,
  );
  const servers = document === 'broken' || !isRecord(document.value) ? undefined : document.value['mcpServers'];
  const read = document === 'broken' || !isRecord(servers) ? undefined : readEntry(document, ['mcpServers', name], servers[name]);
  const against = found.filter((diagnostic) => diagnostic.level !== 'notice');
  if (read?.launch === undefined || against.length > 0) {
    throw new ParleyError('usage', `Nothing was written. ${against.map((diagnostic) => diagnostic.message).join(' ')}`);
  }
  return { launch: read.launch, settings: read.settings, diagnostics: found };
}

/** The fields that other applications know, in the spelling most of them use. */
function standardEntry(launch: Launch, typed: boolean): Readonly<Record<string, unknown>> {
  if (launch.kind === 'stdio') {
    const { command, args, env, cwd } = launch;
    return {
      ...(typed && { type: 'stdio' }),
      command,
      args,
      ...(Object.keys(env).length > 0 && { env }),
      ...(cwd !== undefined && { cwd }),
    };
  }
  const { transport, url, headers } = launch;
  return {
    ...(transport !== 'either' && { type: transport }),
    url,
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}
