// What one file says, section by section. A bad entry is named and marked; its neighbours are read all the same.
import type { Limits } from '../../base/index.ts';
import { kindOf, quoted } from './diagnostic.ts';
import type { Document } from './document.ts';
import { hasPlaceholder, references } from './expand.ts';
import { createFields, type Fields, isRecord, isTimeoutName } from './fields.ts';
import { isLoaderVariable, isSecretName } from './guard.ts';
import type { Path } from './jsonc.ts';
import { describesLaunch, eachText, LAUNCH_KEYS, looksLikeServer, readLaunch } from './launch.ts';
import { cleanServerName, isServerName } from './name.ts';
import { isMisnamedPermissions, readPermissions } from './permissions.ts';
import {
  PARLEY_SETTING_KEYS,
  readHostLimits,
  readHostSettings,
  readRecordSettings,
  readSettings,
  STANDARD_SETTING_KEYS,
} from './settings.ts';
import type {
  HostSettings,
  InputPrompt,
  Launch,
  LaunchSettings,
  RecordSettings,
  Rules,
  ServerSettings,
  Source,
} from './shape.ts';

/** One named entry. With `defines` it claims its name even when it failed; otherwise it only adds settings to a server. */
export interface Entry {
  readonly name: string;
  readonly source: Source;
  readonly document: Document;
  readonly path: Path;
  readonly defines: boolean;
  readonly launch?: Launch;
  readonly settings: Partial<ServerSettings> & LaunchSettings;
  /** True when something in it is wrong, which has been reported; the server must not be used. */
  readonly failed: boolean;
}

export interface Sections {
  readonly document: Document;
  readonly entries: readonly Entry[];
  readonly rules: Rules;
  readonly settings: Partial<HostSettings>;
  readonly records?: Partial<RecordSettings>;
  readonly limits?: Limits;
  readonly inputs: readonly InputPrompt[];
}

const ROOT_KEYS = {
  standard: ['mcpServers', 'servers', 'inputs', '$schema'],
  parley: [
    'mcpServers',
    'servers',
    'permissions',
    'connectTimeoutMs',
    'callTimeoutMs',
    'healthIntervalMs',
    'maxResultBytes',
    'store',
    'secretArguments',
    'limits',
    'inputs',
    '$schema',
  ],
} as const;
const ENTRY_KEYS = [...LAUNCH_KEYS, ...STANDARD_SETTING_KEYS, ...PARLEY_SETTING_KEYS];

/** Everything the file says, as far as it makes sense; the rest is reported on the document. */
export function readSections(document: Document): Sections {
  const root = document.value;
  if (!isRecord(root)) {
    document.report('error', [], `The file must hold an object, not ${kindOf(root)}.`);
    return {
      document,
      entries: [],
      rules: { ...NO_RULES, unread: document.form === 'standard' ? [] : [document.file] },
      settings: {},
      inputs: [],
    };
  }
  const misnamed = checkRootKeys(document, root);
  const entries = (['mcpServers', 'servers'] as const).flatMap((key) => readEntries(document, key, root[key]));
  if (document.form === 'standard')
    return { document, entries, rules: NO_RULES, settings: {}, inputs: readInputs(document, root) };
  const rules = readPermissions(document);
  return {
    document,
    entries,
    rules: { ...rules, unread: misnamed ? [document.file] : rules.unread },
    settings: readHostSettings(document),
    records: readRecordSettings(document),
    limits: readHostLimits(document),
    inputs: readInputs(document, root),
  };
}

const NO_RULES: Rules = { allow: [], ask: [], deny: [], unread: [] };

/** Reports keys at the top that mean nothing. True when one of them may have been meant to hold rules. */
function checkRootKeys(document: Document, root: Record<string, unknown>): boolean {
  const known: readonly string[] = ROOT_KEYS[document.form];
  const unknown = Object.keys(root).filter((key) => !known.includes(key));
  let misnamed = false;
  for (const key of unknown) {
    const value = root[key];
    if (document.form === 'parley' && isMisnamedPermissions(key)) {
      misnamed = true;
      document.report(
        'error',
        [key],
        `The key ${quoted(key)} is not known here. Rules stand under "permissions". Until this is corrected, nothing is allowed to run.`,
      );
    } else if (document.form === 'standard' && key === 'permissions') {
      document.report(
        'warning',
        [key],
        'The rules are ignored in this file, which other applications read too. Put them into .parley/parley.jsonc.',
      );
    } else if (looksLikeServer(value)) {
      document.report('error', [key], `The server ${quoted(key)} stands at the top of the file. Put it under "mcpServers".`);
    } else if (holdsServers(value)) {
      document.report(
        'error',
        [key],
        `The key ${quoted(key)} is not read. Servers stand under "mcpServers" at the top of the file.`,
      );
    } else {
      // In a file that other applications read too, it may be theirs.
      const level = document.form === 'parley' ? 'warning' : 'notice';
      document.report(level, [key], `The key ${quoted(key)} is not known and has no effect.`);
    }
  }
  return misnamed;
}

/** True for a map of servers under another name, at most one level further down. */
function holdsServers(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.values(value).some(
    (member) => looksLikeServer(member) || (isRecord(member) && Object.values(member).some(looksLikeServer)),
  );
}

function readEntries(document: Document, key: 'mcpServers' | 'servers', map: unknown): Entry[] {
  if (map === undefined) return [];
  if (isRecord(map)) return Object.entries(map).flatMap(([name, value]) => readEntry(document, [key, name], value) ?? []);
  document.report('error', [key], `"${key}" must be an object of names and servers, not ${kindOf(map)}.`);
  return [];
}

/** One entry. */
export function readEntry(
  document: Document,
  path: readonly ['mcpServers' | 'servers', string],
  value: unknown,
): Entry | undefined {
  const [key, name] = path;
  if (!isServerName(name)) {
    const why = 'A name has 1 to 64 letters, digits, ".", "_" or "-", begins with a letter or digit, and has no "__".';
    document.report('error', path, `The name ${quoted(name)} cannot be used. ${why} Call it "${cleanServerName(name)}".`);
    return undefined;
  }
  const defines = document.form === 'standard' || key === 'mcpServers' || !isRecord(value) || describesLaunch(value);
  const source = { file: document.file, key: path.join('.'), scope: document.scope };
  const entry = { name, source, document, path, defines };
  if (!isRecord(value)) {
    document.report('error', path, `Server ${quoted(name)}: it must be an object, not ${kindOf(value)}.`);
    return { ...entry, settings: {}, failed: true };
  }
  if (document.spoiled(path)) return { ...entry, settings: {}, failed: true };
  const fields = createFields(document, path, value, `Server ${quoted(name)}`);
  const launch = defines ? readLaunch(fields) : undefined;
  if (launch !== undefined) checkReferences(launch, fields);
  const timeout = document.form === 'standard' || key === 'mcpServers' ? 'milliseconds' : 'unknown';
  const settings = readSettings(fields, timeout);
  if (launch?.kind === 'stdio' && settings.oauth !== undefined) {
    fields.fail('oauth', '"oauth" is for a server with "url". A program gets what it needs from "env".');
  }
  fields.expectOnly([...ENTRY_KEYS, ...Object.keys(value).filter(isTimeoutName)]);
  return { ...entry, ...(launch !== undefined && { launch }), settings, failed: fields.failed };
}

/** Placeholders that are none, and what a project may not put into its servers' environment or send to a URL. */
function checkReferences(launch: Launch, fields: Fields): void {
  const byProject = fields.document.scope === 'project';
  eachText(launch, (text, field) => {
    const [key, name] = field;
    if (byProject && key === 'env' && isLoaderVariable(name)) {
      fields.fail(
        field,
        `the variable ${quoted(name)} can make a program run other code, and a project may not set it. If you want this server, add it in user scope.`,
      );
    }
    if (!hasPlaceholder(text)) return;
    try {
      for (const reference of references(text)) {
        if (!byProject || reference.kind !== 'variable' || (key !== 'url' && key !== 'headers') || !isSecretName(reference.name))
          continue;
        fields.fail(
          field,
          `a project may not send the variable ${quoted(reference.name)} to a URL, as its name says it is a secret. To allow it, move the server to user scope.`,
        );
      }
    } catch (error) {
      fields.fail(field, (error as Error).message);
    }
  });
}

function readInputs(document: Document, root: Record<string, unknown>): InputPrompt[] {
  const { inputs } = root;
  if (inputs === undefined) return [];
  if (!Array.isArray(inputs)) {
    document.report('error', ['inputs'], `"inputs" must be a list, not ${kindOf(inputs)}.`);
    return [];
  }
  return inputs.flatMap((input: unknown, at): InputPrompt[] => {
    if (isRecord(input) && typeof input['id'] === 'string') {
      const { id, description, password } = input;
      const source = { file: document.file, key: `inputs.${at}`, scope: document.scope };
      return [{ id, description: typeof description === 'string' ? description : '', secret: password !== false, source }];
    }
    document.report('error', ['inputs', at], 'An input must be an object with an "id".');
    return [];
  });
}
