// What most commands begin with: read the configuration, say what is wrong in it, and open a host over the servers wanted.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { didYouMean } from '../base/index.ts';
import {
  formatDiagnostic,
  gutter,
  loadConfig,
  oneLine,
  openHost,
  ownFolders,
  parkApprover,
  parseLock,
  parseName,
  parseRule,
  visible,
  type Approver,
  type Diagnostic,
  type Host,
  type HostConfig,
  type Loaded,
  type Lock,
  type Route,
  type ServerDefinition,
  type ServerStatus,
  type Surroundings,
} from '../host/index.ts';
import type { JournalRecord } from '../store/index.ts';
import { terminalApprover } from './ask.ts';
import { terminalInputs } from './inputs.ts';
import type { Io } from './io.ts';
import { openLaunchTrust, type LaunchTrust } from './launch-trust.ts';
import { liveSaid } from './policy.ts';
import { createPrinter, type OutputOptions, type Printer } from './output.ts';
import { openSignIns, type SignIns } from './sign-ins.ts';
import { openState, type State } from './state.ts';

/** Options that every command takes. */
export interface GlobalOptions extends OutputOptions {
  readonly config?: string;
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  /** What becomes of a call that needs a person: `deny` it, or `park` it as a ticket. Default: ask at the terminal, if there is one. */
  readonly nonInteractive?: string;
  /** Seconds that a parked call waits for its answer. Default 0. */
  readonly parkWait?: string;
}

export interface Workspace extends Loaded {
  readonly io: Io;
  readonly printer: Printer;
  /** Who is asked. */
  readonly approver: Approver | undefined;
  readonly state: State;
  readonly trust: LaunchTrust;
  readonly signIns: SignIns;
  readonly logDir: string;
  /** The one file that is read, where `--config` names one. */
  readonly configFile: string | undefined;
  /** What the files say now. */
  reload(): Loaded;
}

/**
 * The configuration that holds here; what is wrong in it is said on stderr.
 * @throws ParleyError `config-invalid` when the file given by `--config` cannot be used at all, or a rule of the command line not be read
 */
export function openWorkspace(io: Io, options: GlobalOptions): Workspace {
  const printer = createPrinter(io, options);
  const { allow = [], ask = [], deny = [] } = options;
  const given = { allow, ask, deny };
  for (const effect of ['allow', 'ask', 'deny'] as const)
    for (const rule of given[effect]) parseRule(effect, rule, { file: `--${effect}`, key: '', scope: 'flag' });
  const hasRules = allow.length + ask.length + deny.length > 0;
  const load = () =>
    loadConfig({
      cwd: io.cwd,
      env: io.env,
      home: io.home,
      ...(options.config !== undefined && { configFile: options.config }),
      ...(hasRules && { extra: { permissions: given } }),
    });
  const loaded = load();
  const file = options.config === undefined ? undefined : resolve(io.cwd, options.config);
  const unusable = loaded.diagnostics.find((each) => each.level === 'error' && each.file === file && each.path === '');
  if (unusable !== undefined) throw new ParleyError('config-invalid', formatDiagnostic(unusable));
  for (const diagnostic of loaded.diagnostics) {
    const line = formatDiagnostic(diagnostic);
    if (diagnostic.level === 'notice' && !explains(diagnostic, loaded.diagnostics)) printer.detail(line);
    else if (diagnostic.level === 'error') printer.error('config-invalid', line);
    else printer.say(line);
  }
  const { stateDir } = loaded.paths;
  const state = openState(stateDir, loaded.config);
  return {
    ...loaded,
    io,
    printer,
    state,
    approver: approverFor(io, options, state),
    trust: openLaunchTrust(state, surroundingsOf({ io, paths: loaded.paths })),
    signIns: openSignIns(stateDir),
    logDir: join(stateDir, 'logs'),
    configFile: file,
    reload: load,
  };
}

/** True for a notice about a server that cannot be used, such as a key that has no effect: it may be why. */
function explains({ file, server }: Diagnostic, all: readonly Diagnostic[]): boolean {
  return server !== undefined && all.some((each) => each.level === 'error' && each.file === file && each.server === server);
}

function approverFor(io: Io, { nonInteractive, parkWait }: GlobalOptions, state: State): Approver | undefined {
  const waitMs = Number(parkWait ?? 0) * 1_000;
  if (!(waitMs >= 0)) throw new ParleyError('usage', `"${String(parkWait)}" is no number of seconds.`);
  if (parkWait !== undefined && nonInteractive !== 'park')
    throw new ParleyError('usage', '--park-wait goes with --non-interactive park.');
  switch (nonInteractive) {
    case undefined:
      return io.interactive ? terminalApprover(io, state.user) : undefined;
    case 'deny':
      return undefined;
    case 'park':
      return parkApprover({ store: state.open, waitMs });
    default:
      throw new ParleyError('usage', `--non-interactive is deny or park, not "${nonInteractive}".`);
  }
}

/** The configured server called `name`. @throws ParleyError `not-found` */
export function serverNamed({ config, diagnostics }: Workspace, name: string): ServerDefinition {
  const server = config.servers.find((each) => each.name === name);
  if (server !== undefined) return server;
  const fault = diagnostics.find((each) => each.level === 'error' && each.server === name);
  if (fault !== undefined)
    throw new ParleyError('not-found', `Server "${name}" is left out until ${fault.file} is corrected.`, {
      details: { server: name },
    });
  const names = config.servers.map((each) => each.name);
  const known = names.length === 0 ? ' None is configured: add one with `parley mcp add`.' : didYouMean(name, names);
  throw new ParleyError('not-found', `There is no server "${name}".${known}`, { details: { server: name } });
}

/** What placeholders are filled in from here. */
export function surroundingsOf({ io, paths }: Pick<Workspace, 'io' | 'paths'>): Surroundings {
  return { env: io.env, home: io.home, workspaceFolder: paths.root, signal: io.signal };
}

export interface WorkspaceHostOptions {
  /** Who is asked, where it is not whoever the workspace names. */
  readonly approver?: Approver | undefined;
  readonly route: Route;
}

/** A host over the servers of the workspace, or only over those `wanted`. Says what an earlier process left open. */
export function openWorkspaceHost(
  workspace: Workspace,
  wanted: readonly string[] | undefined,
  { route, approver = workspace.approver }: WorkspaceHostOptions,
): Host {
  const { config, io, printer, state, signIns, logDir, configFile } = workspace;
  const servers = wanted === undefined ? config.servers : config.servers.filter(({ name }) => wanted.includes(name));
  const host = openHost({
    config: { ...config, servers } satisfies HostConfig,
    surroundings: surroundingsOf(workspace),
    logDir,
    store: state.open,
    key: state.key,
    principal: state.user,
    route,
    said: liveSaid(workspace),
    ownFolders: [...Object.values(ownFolders(io)), ...state.files, ...(configFile === undefined ? [] : [configFile])],
    authorizer: (server) => signIns.authorizer(server),
    lock: readLock(workspace),
    ...(approver && { approver }),
    ...(io.interactive && { inputs: (server: string) => terminalInputs(io, server) }),
  });
  host.events.subscribe((event) => {
    if (event.type === 'recovered') for (const call of event.calls) printer.say(sayRecovered(call));
    if (event.type === 'trouble') printer.say(`parley: ${event.error.message}`);
  });
  for (const problem of host.policy.problems) printer.error('config-invalid', `${problem} Until then, nothing may run.`);
  return host;
}

function sayRecovered({ id, at, serverName, tool, state }: JournalRecord): string {
  const what = `${serverName}/${oneLine(tool, 128)}, of ${new Date(at).toISOString()}`;
  return `The process that made a call ended before its answer came (${what}, ${id}): the outcome is ${state}. It may have been carried out; look before you make it again.`;
}

/** The lock of the project; undefined where there is none. @throws ParleyError `config-invalid` */
export function readLock({ paths }: Pick<Workspace, 'paths'>): Lock | undefined {
  const file = lockFile(paths.root);
  return existsSync(file) ? parseLock(readFileSync(file, 'utf8'), file) : undefined;
}

export function lockFile(root: string): string {
  return join(root, 'parley.lock');
}

/** The servers that a typed name may belong to: the one it names, or all. */
export function serversFor({ config }: Workspace, typed: string): readonly string[] | undefined {
  const enabled = config.servers.filter((server) => server.enabled).map(({ name }) => name);
  const named = namedIn(typed, enabled);
  return named.length === 0 ? undefined : named;
}

/** @throws ParleyError `not-found` when nothing called `typed` is there because its server is disabled, or left out for a fault */
export function refuseUnused(workspace: Workspace, typed: string): void {
  const disabled = workspace.config.servers.filter(({ enabled }) => !enabled).map(({ name }) => name);
  const [name] = namedIn(typed, [...disabled, ...faulty(workspace)]);
  if (name !== undefined) usableServer(workspace, name);
}

/** @throws ParleyError `config-invalid` when there are servers, none of which can be used */
export function refuseFaulty(workspace: Workspace): void {
  if (faulty(workspace).length > 0)
    throw new ParleyError('config-invalid', 'No server can be used until the configuration is corrected.');
}

/** Names of servers with an entry that cannot be used. */
function faulty({ diagnostics }: Workspace): readonly string[] {
  return diagnostics.flatMap(({ level, server }) => (level === 'error' && server !== undefined ? [server] : []));
}

function namedIn(typed: string, names: readonly string[]): readonly string[] {
  return parseName(typed, new Set(names)).flatMap(({ server }) => (server === undefined ? [] : [server]));
}

/** The server called `name`, which is to be used. @throws ParleyError `not-found` when there is none, or it is disabled */
export function usableServer(workspace: Workspace, name: string): ServerDefinition {
  const server = serverNamed(workspace, name);
  if (!server.enabled) throw disabled(name);
  return server;
}

function disabled(server: string): ParleyError {
  const message = `Server "${server}" is disabled. Use it again with \`parley mcp enable ${server}\`.`;
  return new ParleyError('not-found', message, { details: { server } });
}

/** Runs `act` with a host that is closed afterwards, however it ends. */
export async function withHost<T>(
  workspace: Workspace,
  wanted: readonly string[] | undefined,
  act: (host: Host) => Promise<T>,
): Promise<T> {
  const host = openWorkspaceHost(workspace, wanted, { route: 'call' });
  try {
    return await act(host);
  } finally {
    await host.close();
  }
}

/** Milliseconds that what concerns many servers waits for slow ones before it goes on with those that are there. */
const PATIENCE_MS = 10_000;

/**
 * Waits for the servers and says which could not be reached. One server alone is waited for until its own time-out.
 * @throws ParleyError why, when none could
 */
export async function settle(host: Host, workspace: Workspace): Promise<void> {
  const { printer, io } = workspace;
  if (host.servers.length === 0) refuseFaulty(workspace);
  await host.settled({ signal: io.signal, ...(host.servers.length > 1 && { withinMs: PATIENCE_MS }) });
  const { servers } = host;
  const absent = servers.filter(({ state }) => state.type !== 'ready');
  const [first, ...others] = absent;
  if (first === undefined) return;
  const each = absent.map((status) => `  ${status.name}: ${sayState(status)}`);
  if (absent.length < servers.length) {
    printer.say([`${servers.length - absent.length}/${servers.length} servers connected`, ...each].join('\n'));
    return;
  }
  const error = errorOf(first);
  if (others.length === 0) throw error;
  const code = isParleyError(error) ? error.code : 'unreachable';
  throw new ParleyError(code, `None of ${servers.length} servers could be reached:\n${each.join('\n')}`, { cause: error });
}

/** Why a server that is not ready cannot be used. */
export function errorOf({ name, state }: ServerStatus): Error {
  if ('error' in state) return isParleyError(state.error) ? state.error : refused(name, state.error);
  return new ParleyError('timeout', `Server "${name}" is still connecting. Try again, or run \`parley mcp doctor ${name}\`.`);
}

/** The fault of a server that answers the greeting with an error. */
function refused(name: string, error: Error): ParleyError {
  const code = error instanceof RpcError ? ` ${String(error.code)}` : '';
  const what = `It answered the greeting with error${code}, ${JSON.stringify(oneLine(error.message, 200))}.`;
  return new ParleyError('unreachable', `Server "${name}": ${what} Check that it is an MCP server, and what its own log says.`, {
    cause: error,
    details: { server: name },
  });
}

/** How a server is doing, in one line or, with what it wrote before it stopped, a few. */
export function sayState(status: ServerStatus): string {
  const { state } = status;
  switch (state.type) {
    case 'ready':
      return `connected, ${state.session.revision}`;
    case 'connecting':
      return state.error === undefined ? 'still connecting' : failure(errorOf(status), status.name);
    case 'waiting':
    case 'needs-auth':
    case 'failed':
      return failure(errorOf(status), status.name);
    case 'idle':
    case 'closed':
      return state.type;
    default:
      return state satisfies never;
  }
}

/** The last lines a server wrote before it stopped say more than any message of ours. */
const TAIL_LINES = 20;

function failure(error: Error, name: string): string {
  const message = visible(error.message.replace(`Server "${name}": `, ''));
  const tail = stderrOf(error);
  return tail === undefined ? message : `${message}\n${gutter(tail)}`;
}

/** The last lines that a server wrote to its standard error, where it wrote any. Untrusted. */
export function stderrOf(error: unknown): string | undefined {
  const tail = isParleyError(error) ? (error.details.stderrTail ?? '').trimEnd() : '';
  return tail === '' ? undefined : tail.split('\n').slice(-TAIL_LINES).join('\n');
}
