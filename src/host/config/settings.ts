// Parley's own settings: those of one server and those of the host. What a project may not say is ignored here, loudly.
import type { Limits } from '../../base/index.ts';
import { createFields, type Fields, isRecord, isTimeoutName, LONGEST_MS } from './fields.ts';
import type { Document } from './document.ts';
import { readLimits } from './limits.ts';
import { readOAuth } from './oauth.ts';
import { LAUNCH_SETTING_KEYS, readLaunchSettings } from './sandbox.ts';
import type { HostSettings, LaunchSettings, RecordSettings, ServerSettings } from './shape.ts';

/** What holds when nobody says anything else, in milliseconds and bytes. */
export const DEFAULT_SETTINGS: HostSettings = {
  connectTimeoutMs: 30_000,
  callTimeoutMs: 60_000,
  healthIntervalMs: 30_000,
  maxResultBytes: 102_400,
};

/** The longest wait a project may ask for its servers; a user may go beyond it. */
const PROJECT_MOST_MS = 600_000;
const LOCAL = 'Set it in your own settings for this project (local scope).';
const TIMES = { least: 1, most: LONGEST_MS };

/** Settings that other applications have too, under these names. */
export const STANDARD_SETTING_KEYS: readonly string[] = ['enabled', 'disabled'];
/** Settings that are Parley's own. */
export const PARLEY_SETTING_KEYS: readonly string[] = [
  'trusted',
  'reviewedTools',
  'private',
  'priority',
  'timeoutMs',
  'connectTimeoutMs',
  'healthIntervalMs',
  'limits',
  'oauth',
  ...LAUNCH_SETTING_KEYS,
];

/** What an entry sets. `timeout` is taken as milliseconds only where the file's application means that by it. */
export function readSettings(fields: Fields, timeout: 'milliseconds' | 'unknown'): Partial<ServerSettings> & LaunchSettings {
  const { scope, form } = fields.document;
  const mine = form === 'parley' ? { ...readOwn(fields), ...readLaunchSettings(fields) } : {};
  if (form === 'standard') {
    const instead =
      'other applications read this file too. Set it under "servers" in .parley/parley.jsonc or in your own settings.';
    for (const key of PARLEY_SETTING_KEYS.filter((own) => fields.has(own))) ignore(fields, key, instead);
  }
  const enabled = readEnabled(fields);
  const timeoutMs = readTimeout(fields, timeout);
  const settings = { ...mine, ...(enabled !== undefined && { enabled }), ...(timeoutMs !== undefined && { timeoutMs }) };
  return scope === 'project' ? lowered(settings, fields) : settings;
}

/** The top-level settings of a Parley file. */
export function readHostSettings(document: Document): Partial<HostSettings> {
  if (!isRecord(document.value)) return {};
  const fields = createFields(document, [], document.value, 'Settings');
  return present({
    connectTimeoutMs: fields.integer('connectTimeoutMs', TIMES),
    callTimeoutMs: fields.integer('callTimeoutMs', TIMES),
    healthIntervalMs: readInterval(fields),
    maxResultBytes: fields.integer('maxResultBytes', { least: 1_024, most: 64 * 1024 * 1024 }),
  });
}

/** What a Parley file says about what is remembered. Where that is kept is for the user to say, and for no project. */
export function readRecordSettings(document: Document): Partial<RecordSettings> {
  if (!isRecord(document.value)) return {};
  const fields = createFields(document, [], document.value, 'Settings');
  const store = fields.text('store');
  const secretArguments = fields.texts('secretArguments');
  if (document.scope !== 'project') return present({ store, secretArguments });
  if (store !== undefined) ignore(fields, 'store', `a project cannot say where you keep your approvals. ${LOCAL}`);
  return present({ secretArguments });
}

/** The limits that a Parley file sets for all servers. */
export function readHostLimits(document: Document): Limits {
  if (!isRecord(document.value)) return {};
  return readLimits(createFields(document, [], document.value, 'Settings')) ?? {};
}

/** MCP_TIMEOUT and MCP_TOOL_TIMEOUT, both in milliseconds. A value that is not a time is passed to `complain` and not used. */
export function settingsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  complain: (variable: string, message: string) => void,
): Partial<HostSettings> {
  const read = (variable: string) => {
    const text = env[variable];
    if (text === undefined || text === '') return undefined;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= LONGEST_MS) return value;
    complain(variable, `${variable} is ignored: it must be a number of milliseconds from 1 to ${LONGEST_MS}.`);
    return undefined;
  };
  return present({ connectTimeoutMs: read('MCP_TIMEOUT'), callTimeoutMs: read('MCP_TOOL_TIMEOUT') });
}

function readOwn(fields: Fields): Partial<ServerSettings> {
  const { scope } = fields.document;
  const trusted = fields.flag('trusted');
  const reviewedTools = fields.texts('reviewedTools');
  const own = present({
    trusted,
    reviewedTools,
    private: fields.flag('private'),
    priority: fields.integer('priority', { least: -1_000_000, most: 1_000_000 }),
    timeoutMs: fields.integer('timeoutMs', TIMES),
    connectTimeoutMs: fields.integer('connectTimeoutMs', TIMES),
    healthIntervalMs: readInterval(fields),
    limits: readLimits(fields),
    oauth: scope === 'project' ? undefined : readOAuth(fields),
  });
  if (scope !== 'project') return own;
  const { trusted: loosens, reviewedTools: frees, private: marked, ...allowed } = own;
  if (fields.has('oauth')) ignore(fields, 'oauth', `a project cannot say in whose name its servers are signed in at. ${LOCAL}`);
  if (loosens === true) ignore(fields, 'trusted', `a project cannot vouch for its own servers. ${LOCAL}`);
  if (frees !== undefined) ignore(fields, 'reviewedTools', `a project cannot free its tools from questions. ${LOCAL}`);
  if (marked === false) ignore(fields, 'private', `a project cannot give its servers' data away. ${LOCAL}`);
  return marked === true ? { ...allowed, private: true } : allowed;
}

function readInterval(fields: Fields): number | undefined {
  return fields.record['healthIntervalMs'] === 0 ? 0 : fields.integer('healthIntervalMs', { least: 1_000, most: LONGEST_MS });
}

function readEnabled(fields: Fields): boolean | undefined {
  const enabled = fields.flag('enabled');
  const disabled = fields.flag('disabled');
  if (enabled !== undefined && enabled === disabled) {
    fields.fail('disabled', '"enabled" and "disabled" contradict each other. Keep one of them.');
  }
  return enabled ?? (disabled === undefined ? undefined : !disabled);
}

function readTimeout(fields: Fields, meaning: 'milliseconds' | 'unknown'): number | undefined {
  for (const key of Object.keys(fields.record).filter(isTimeoutName)) {
    if (PARLEY_SETTING_KEYS.includes(key) || (key === 'timeout' && meaning === 'milliseconds')) continue;
    const instead = fields.document.form === 'parley' ? '"timeoutMs" or "connectTimeoutMs"' : '"timeout"';
    fields.fail(key, `the unit of "${key}" differs between applications and is not guessed. Write ${instead}, in milliseconds.`);
  }
  if (meaning !== 'milliseconds' || !fields.has('timeout')) return undefined;
  if (fields.document.form === 'parley' && fields.has('timeoutMs')) {
    fields.fail('timeout', '"timeout" and "timeoutMs" mean the same. Keep one of them.');
  }
  return fields.integer('timeout', TIMES);
}

/** A project's waits, cut to what a project may ask for. */
function lowered<T extends Partial<ServerSettings>>(settings: T, fields: Fields): T {
  const cut = (key: 'timeoutMs' | 'connectTimeoutMs') => {
    const value = settings[key];
    if (value === undefined || value <= PROJECT_MOST_MS) return {};
    fields.report(
      'warning',
      key,
      `"${key}" is cut to ${PROJECT_MOST_MS}: a project cannot ask for more. Raise it in your own settings.`,
    );
    return { [key]: PROJECT_MOST_MS };
  };
  return { ...settings, ...cut('timeoutMs'), ...cut('connectTimeoutMs') };
}

function ignore(fields: Fields, key: string, why: string): void {
  fields.report('warning', key, `"${key}" is ignored: ${why}`);
}

/** Without members that are undefined. */
function present<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
