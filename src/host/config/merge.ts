// Many files into one configuration: who wins a name, whose settings reach which server, and what a project may change, or a user
// where an administrator has spoken.
import { didYouMean, type Limits } from '../../base/index.ts';
import { quoted } from './diagnostic.ts';
import { missingVariables } from './expand-server.ts';
import { joinLimits, onlyLowers } from './limits.ts';
import { looksInItsFolder } from './lookup.ts';
import type { Entry, Sections } from './sections.ts';
import type {
  HostConfig,
  HostSettings,
  LaunchSettings,
  Rules,
  Scope,
  SandboxSettings,
  ServerDefinition,
  ServerSettings,
  StdioLaunch,
} from './shape.ts';

type Settings = Partial<ServerSettings> & LaunchSettings;
type Environment = Readonly<Record<string, string | undefined>>;

/** Whose settings for one server prevail over whose. Unlike names, which a project may take from the user, settings follow trust. */
const SETTING_RANK: Readonly<Record<Scope, number>> = { project: 0, user: 1, local: 2, flag: 3, machine: 4 };

/**
 * The configuration of all files. `sections` come in the order of precedence for names, strongest first.
 * An enabled server that needs a variable `env` does not have is left out, with an error.
 */
export function merge(sections: readonly Sections[], defaults: HostSettings, env: Environment): HostConfig {
  const machine = sections.find(({ document }) => document.scope === 'machine');
  const settings = mergeHostSettings(sections, { ...defaults, ...machine?.settings }, machine?.settings);
  const limits = mergeHostLimits(sections, machine?.limits);
  const entries = sections.flatMap((section) => section.entries);
  const winners = claimNames(entries.filter((entry) => entry.defines));
  const users = new Set(entries.filter(({ defines, source }) => defines && source.scope === 'user').map(({ name }) => name));
  const additions = entries.filter((entry) => !entry.defines && appliesTo(entry, winners));
  const servers = [...winners.values()].flatMap((winner): ServerDefinition[] => {
    const own = additions.filter((addition) => addition.name === winner.name);
    if (winner.launch === undefined || winner.failed || own.some((addition) => addition.failed)) return [];
    const hidesUsers = winner.source.scope === 'project' && users.has(winner.name);
    const server = {
      ...define(winner, winner.launch, own, { ...settings, limits, machine: machine?.limits }),
      ...(hidesUsers && { hidesUsers }),
    };
    const missing = server.enabled ? missingVariables(server.written, env) : [];
    for (const { field, message } of missing) {
      winner.document.report('error', [...winner.path, ...field], `Server ${quoted(winner.name)}: ${message}`);
    }
    return missing.length === 0 ? [server] : [];
  });
  return {
    servers,
    rules: joinRules(sections.map((section) => section.rules)),
    settings,
    ...(Object.keys(limits).length > 0 && { limits }),
    inputs: sections.flatMap((section) => section.inputs),
    ...mergeRecords(sections),
  };
}

/** What the files say about what is remembered; the strongest says where, and each may name more that is secret. */
function mergeRecords(sections: readonly Sections[]): Pick<HostConfig, 'records'> {
  const said = [...sections]
    .sort((a, b) => SETTING_RANK[b.document.scope] - SETTING_RANK[a.document.scope])
    .map(({ records }) => records ?? {});
  const store = said.find((each) => each.store !== undefined)?.store;
  const secretArguments = said.flatMap((each) => each.secretArguments ?? []);
  if (store === undefined && secretArguments.length === 0) return {};
  return { records: { ...(store !== undefined && { store }), secretArguments } };
}

/** The first entry of each name. A bad one holds its name all the same: nothing else is run in its place. */
function claimNames(entries: readonly Entry[]): Map<string, Entry> {
  const winners = new Map<string, Entry>();
  for (const entry of entries) {
    const winner = winners.get(entry.name);
    if (winner === undefined) {
      winners.set(entry.name, entry);
      continue;
    }
    // A project that takes over the name of a user's server may be an attack.
    const isUsers = winner.source.scope === 'project' && entry.source.scope === 'user';
    const by = `${winner.source.key} in ${winner.source.file} (${winner.source.scope} scope)`;
    entry.document.report(
      isUsers ? 'warning' : 'notice',
      entry.path,
      `Server ${quoted(entry.name)} is hidden by ${by}. Rename one of them to have both.${isUsers ? ' What your own rules allow it by name is not allowed to the other.' : ''}`,
    );
  }
  return winners;
}

/** True when settings that stand apart from a server may reach the server of that name. Says why not. */
function appliesTo(addition: Entry, winners: ReadonlyMap<string, Entry>): boolean {
  const winner = winners.get(addition.name);
  const { scope } = addition.source;
  if (winner === undefined) {
    // It may be that of another project, or of another user.
    if (isForEveryFolder(scope)) return false;
    addition.document.report(
      'notice',
      addition.path,
      `No file defines a server ${quoted(addition.name)}; these settings have no effect.${didYouMean(addition.name, winners.keys())}`,
    );
    return false;
  }
  if (scope === 'project' && winner.source.scope !== 'project') {
    const why = 'a project cannot change a server that it does not define';
    addition.document.report('warning', addition.path, `The settings for ${quoted(addition.name)} are ignored: ${why}.`);
    return false;
  }
  return true;
}

function define(
  winner: Entry,
  launch: ServerDefinition['written'],
  additions: readonly Entry[],
  host: HostSettings & AllLimits,
): ServerDefinition {
  const layers = [winner, ...additions].sort((a, b) => SETTING_RANK[a.source.scope] - SETTING_RANK[b.source.scope]);
  const { sandbox, privateCwd, ...settings } = layers.reduce<Settings>(
    (below, layer) => ({ ...below, ...trustedPart(layer, winner, below) }),
    {},
  );
  const isSet = sandbox !== undefined || privateCwd !== undefined;
  if (launch.kind === 'http' && isSet) {
    winner.document.report('notice', winner.path, `"sandbox" and "privateCwd" of ${quoted(winner.name)} mean nothing for a URL.`);
  }
  const limits = limitsFor(layers, host);
  return {
    enabled: true,
    trusted: false,
    reviewedTools: [],
    priority: 0,
    timeoutMs: host.callTimeoutMs,
    connectTimeoutMs: host.connectTimeoutMs,
    healthIntervalMs: host.healthIntervalMs,
    ...settings,
    ...(Object.keys(limits).length > 0 && { limits }),
    name: winner.name,
    source: winner.source,
    // Not as settings: whoever trusts a server trusts it as it is confined.
    written:
      launch.kind === 'http'
        ? launch
        : {
            ...launch,
            ...((privateCwd ?? standsApart(winner, launch)) && { privateCwd: true }),
            ...(typeof sandbox === 'object' && { sandbox }),
          },
  };
}

/** True for what is meant for every project, and not for this one. */
function isForEveryFolder(scope: Scope): boolean {
  return scope === 'user' || scope === 'machine';
}

/** True for a server that is meant for every folder, and would run what some folder has in it instead. */
function standsApart({ source: { scope } }: Entry, launch: StdioLaunch): boolean {
  return isForEveryFolder(scope) && launch.cwd === undefined && looksInItsFolder(launch);
}

/** The limits that hold for all servers, and what the administrator said of them. */
interface AllLimits {
  readonly limits: Limits;
  readonly machine: Limits | undefined;
}

/** The limits of the server that the entries of `layers` are about. */
function limitsFor(layers: readonly Entry[], all: AllLimits): Limits {
  const isMachines = ({ source }: Entry) => source.scope === 'machine';
  const machines = layers.find(isMachines)?.settings.limits;
  const machine = { ...all.machine, ...machines };
  return layers
    .filter((layer) => !isMachines(layer))
    .reduce<Limits>(
      (below, { name: server, source: { scope }, settings: { limits: asked }, document, path }) =>
        joinLimits(below, asked, { scope, machine }, (name, message) =>
          document.report('warning', [...path, 'limits', name], `Server ${quoted(server)}: ${message}`),
        ),
      { ...all.limits, ...machines },
    );
}

/** Trust that was given to a name in every project does not pass to whatever a project calls by that name. */
function trustedPart(layer: Entry, winner: Entry, below: Settings): Settings {
  if (!isForEveryFolder(layer.source.scope) || winner.source.scope !== 'project') return layer.settings;
  const { trusted, reviewedTools, oauth, private: marked, sandbox, ...rest } = layer.settings;
  if (trusted === true || reviewedTools !== undefined || oauth !== undefined || marked === false) {
    const why = 'this project defines a server of that name itself. Set them in your own settings for this project (local scope)';
    layer.document.report(
      'warning',
      layer.path,
      `"trusted", "reviewedTools", "oauth" and a "private" of false of ${quoted(layer.name)} are ignored here: ${why}.`,
    );
  }
  // The rooms that the user opened for a server of his own are not the project's either.
  const confined = typeof sandbox === 'object' ? { sandbox: closedIn(below.sandbox, sandbox) } : {};
  return { ...rest, ...confined, ...(marked === true && { private: true }) };
}

/** The project's own sandbox, if it has one, required if either says so. */
function closedIn(projects: Settings['sandbox'], { mode }: SandboxSettings): SandboxSettings {
  const opened = typeof projects === 'object' ? projects : { mode, read: [], write: [], network: false };
  return { ...opened, mode: mode === 'required' ? mode : opened.mode };
}

/** What the files of others than the administrator say, the user's by trust and then the project's, which may only lower it. */
function othersOf(sections: readonly Sections[]): readonly Sections[] {
  const layers = [...sections].sort((a, b) => SETTING_RANK[a.document.scope] - SETTING_RANK[b.document.scope]);
  const of = (isOne: (scope: Scope) => boolean) => layers.filter(({ document }) => isOne(document.scope));
  return [...of((scope) => scope !== 'project' && scope !== 'machine'), ...of((scope) => scope === 'project')];
}

function mergeHostSettings(
  sections: readonly Sections[],
  defaults: HostSettings,
  machine: Partial<HostSettings> = {},
): HostSettings {
  const result: Record<keyof HostSettings, number> = { ...defaults };
  for (const { document, settings } of othersOf(sections)) {
    for (const [key, value] of Object.entries(settings) as [keyof HostSettings, number][]) {
      const most = document.scope === 'project' ? result[key] : machine[key];
      // Zero is no end.
      const lower = most === undefined || most === value || (value !== 0 && (value < most || most === 0));
      if (lower) result[key] = value;
      else document.report('warning', [key], `"${key}" is ignored: ${onlyLowers(document.scope, most)}`);
    }
  }
  return result;
}

function mergeHostLimits(sections: readonly Sections[], machine: Limits = {}): Limits {
  return othersOf(sections).reduce<Limits>(
    (below, { document, limits }) =>
      joinLimits(below, limits, { scope: document.scope, machine }, (name, message) =>
        document.report('warning', ['limits', name], message),
      ),
    machine,
  );
}

function joinRules(all: readonly Rules[]): Rules {
  return {
    allow: all.flatMap((rules) => rules.allow),
    ask: all.flatMap((rules) => rules.ask),
    deny: all.flatMap((rules) => rules.deny),
    repeatable: all.flatMap((rules) => rules.repeatable ?? []),
    unread: all.flatMap((rules) => rules.unread),
  };
}
