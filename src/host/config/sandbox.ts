// In what surroundings a server's process runs, as a file says it. A project's files may close its servers in, and open nothing
// that lies outside of the project.
import { isAbsolute } from 'node:path';
import { hasPlaceholder, references } from './expand.ts';
import type { Fields } from './fields.ts';
import type { LaunchSettings, SandboxSettings } from './shape.ts';

const MODES = ['required', 'preferred', 'off'] as const;
type Mode = (typeof MODES)[number];
const LOCAL = 'Set it in your own settings for this project (local scope).';

/** The keys that are read here. */
export const LAUNCH_SETTING_KEYS: readonly string[] = ['sandbox', 'privateCwd'];

/** What an entry says of the surroundings of its process; what is wrong with it is said. */
export function readLaunchSettings(entry: Fields): LaunchSettings {
  const privateCwd = entry.flag('privateCwd');
  const sandbox = readSandbox(entry);
  return { ...(privateCwd !== undefined && { privateCwd }), ...(sandbox !== undefined && { sandbox }) };
}

function readSandbox(entry: Fields): LaunchSettings['sandbox'] {
  const { sandbox } = entry.record;
  const isProject = entry.document.scope === 'project';
  const fields = typeof sandbox === 'string' ? undefined : entry.object('sandbox');
  if (fields === undefined && typeof sandbox !== 'string') return undefined;
  fields?.expectOnly(['mode', 'read', 'write', 'network']);
  const mode = typeof sandbox === 'string' ? sandbox : (fields?.text('mode') ?? 'required');
  if (!isMode(mode)) {
    entry.fail('sandbox', `"sandbox" must be one of ${MODES.join(', ')}, or an object with one of them as "mode".`);
    return undefined;
  }
  if (mode === 'off') {
    if (!isProject) return 'off';
    entry.report('warning', 'sandbox', `"sandbox" is ignored: a project cannot let its servers out. ${LOCAL}`);
    return undefined;
  }
  const paths = (key: 'read' | 'write') => (fields?.texts(key) ?? []).filter((path) => fields && mayName(fields, key, path));
  const network = fields?.flag('network') ?? false;
  if (network && isProject) fields?.report('warning', 'network', `"network" is ignored: a project cannot open it. ${LOCAL}`);
  const settings: SandboxSettings = { mode, read: paths('read'), write: paths('write'), network: network && !isProject };
  return settings;
}

/** Says what is wrong with a path. */
function mayName(fields: Fields, key: 'read' | 'write', path: string): boolean {
  try {
    if (hasPlaceholder(path)) references(path);
  } catch (error) {
    fields.fail(key, (error as Error).message);
    return false;
  }
  if (fields.document.scope !== 'project' || isInProject(path)) return true;
  fields.report('warning', key, `a path of "${key}" is ignored: a project cannot open what lies outside of it. ${LOCAL}`);
  return false;
}

/** True for a path that is written so that it can only mean a place in the project. Links in it are looked at when it is used. */
function isInProject(path: string): boolean {
  const inside = path.replace(/^\$\{workspaceFolder\}(?:\/|$)/, '');
  return !isAbsolute(inside) && !hasPlaceholder(inside) && !inside.split(/[\\/]/).includes('..');
}

function isMode(text: string): text is Mode {
  return (MODES as readonly string[]).includes(text);
}
