// `parley lock …`: what of this project's servers was reviewed, and what became of it since.
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import {
  driftOf,
  formatLock,
  gutter,
  lockServer,
  oneLine,
  writeWhole,
  type Drift,
  type Host,
  type Lock,
  type LockedServer,
  type Offer,
  type ServerStatus,
} from '../../host/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { exitCode } from '../exit.ts';
import type { Run } from '../run.ts';
import { question } from '../terminal.ts';
import { lockFile, readLock, sayState, serverNamed, withHost, type Workspace } from '../workspace.ts';

export function addLockCommands(program: Command, run: Run): void {
  const lock = program.command('lock').description('Hold the servers of this project to what was reviewed');

  lock
    .command('check')
    .description('Compare what the servers offer with parley.lock; exit code 7 when something is to be reviewed')
    .argument('[server...]')
    .action(run((workspace, names) => compare(workspace, names, 'summary')));

  lock
    .command('diff')
    .description('The same, with what was and what is')
    .argument('[server...]')
    .action(run((workspace, names) => compare(workspace, names, 'lines')));

  lock
    .command('update')
    .description('Show what changed and, when you agree, write parley.lock')
    .argument('[server...]')
    .option('--yes', 'agree without being asked')
    .action(run((workspace, names, options: { yes?: boolean }) => update(workspace, names, options.yes === true)));
}

/** What one server offers beside what was reviewed of it; `drifts` is undefined for one that could not be reached. */
interface Report {
  readonly status: ServerStatus;
  readonly locked: LockedServer;
  readonly drifts: readonly Drift[] | undefined;
}

async function compare(workspace: Workspace, names: readonly string[], detail: Detail): Promise<number> {
  const lock = readLock(workspace);
  if (lock === undefined) {
    throw new ParleyError(
      'not-found',
      `There is no parley.lock in ${workspace.paths.root}. Make one with \`parley lock update\`.`,
    );
  }
  return withOffers(workspace, names, lock, (reports) => {
    workspace.printer.result({
      json: { servers: reports.map(toJson) },
      text: () => reports.map((each) => toText(each, detail)).join('\n'),
    });
    const drifts = reports.flatMap(({ drifts: each }) => each ?? []);
    if (drifts.some(({ level }) => level === 'blocked')) return exitCode.changed;
    return reports.every((report) => report.drifts !== undefined) ? exitCode.ok : exitCode.unreachable;
  });
}

async function update(workspace: Workspace, names: readonly string[], agreed: boolean): Promise<number> {
  const { io, printer, paths } = workspace;
  const before = readLock(workspace) ?? (new Map() as Lock);
  return withOffers(workspace, names, before, async (reports, offers) => {
    const absent = reports.filter(({ drifts }) => drifts === undefined);
    for (const { status } of absent) printer.say(`${oneLine(status.name, 80)} stays as it was: ${sayState(status)}`);
    const known = new Set(workspace.config.servers.map(({ name }) => name));
    const kept = [...before].filter(([name]) => known.has(name));
    const after: Lock = new Map([...kept, ...offers]);
    const text = formatLock(after);
    const result = (state: 'written' | 'unchanged' | 'kept') => ({
      json: { file: lockFile(paths.root), state, servers: reports.map(toJson) },
    });
    if (before.size > 0 && text === formatLock(before)) {
      printer.result({ ...result('unchanged'), text: () => 'parley.lock is up to date.' });
      return absent.length === 0 ? exitCode.ok : exitCode.unreachable;
    }
    for (const report of reports) if (report.drifts !== undefined) printer.say(toText(report, 'lines'));
    if (!agreed && !io.interactive) {
      throw new ParleyError(
        'usage',
        'Nobody can be asked whether this is right, and nothing was written. Look at what stands above, then add --yes.',
      );
    }
    const answer = agreed ? 'y' : await question(io, 'Write parley.lock? [y]es (Enter leaves it as it is): ', io.signal);
    if (!/^y(es)?$/i.test(answer?.trim() ?? '')) {
      printer.result({ ...result('kept'), text: () => 'parley.lock stays as it was.' });
      return exitCode.denied;
    }
    writeWhole(lockFile(paths.root), text, { access: 'shared' });
    printer.result({
      ...result('written'),
      text: () => `Wrote ${lockFile(paths.root)}: ${after.size} ${after.size === 1 ? 'server' : 'servers'}.`,
    });
    return absent.length === 0 ? exitCode.ok : exitCode.unreachable;
  });
}

/** Connects to the project's servers, or those named, and hands over what each offers beside what was reviewed of it. */
async function withOffers(
  workspace: Workspace,
  names: readonly string[],
  lock: Lock,
  act: (reports: readonly Report[], offers: Lock) => number | Promise<number>,
): Promise<number> {
  const servers = names.length > 0 ? names.map((name) => serverNamed(workspace, name)) : workspace.config.servers;
  const wanted = servers.filter(({ enabled, source }) => enabled && (source.scope === 'project' || names.length > 0));
  const foreign = wanted.find(({ source }) => source.scope !== 'project');
  if (foreign !== undefined) {
    throw new ParleyError(
      'usage',
      `Server "${foreign.name}" is no project's (${foreign.source.scope}); parley.lock is for those that the project defines.`,
    );
  }
  if (wanted.length === 0)
    throw new ParleyError('not-found', 'This project defines no server that is enabled; there is nothing to lock.');
  const only = wanted.map(({ name }) => name);
  return withHost(workspace, only, async (host) => {
    await host.settled({ signal: workspace.io.signal });
    const offers = new Map<string, LockedServer>();
    const reports = host.servers.map((status): Report => {
      const offer = offerOf(host, status);
      const locked = lock.get(status.name) ?? NEVER;
      if (offer === undefined) return { status, locked, drifts: undefined };
      offers.set(status.name, lockServer(status.definition, offer));
      return { status, locked, drifts: driftOf(locked, status.definition, offer) };
    });
    return act(reports, offers);
  });
}

/** Of a server that is not in the lock. */
const NEVER: LockedServer = { launch: {}, tools: new Map(), prompts: new Map() };

/** What a server offers; undefined unless all of it is known. */
function offerOf({ registry }: Host, { name, state }: ServerStatus): Offer | undefined {
  if (state.type !== 'ready') return undefined;
  const { instructions } = state.session.server;
  const of = (entries: readonly { readonly server: string; readonly definition: object }[]) =>
    entries.filter(({ server }) => server === name).map(({ definition }) => definition as JsonObject);
  const { tools, prompts } = registry.snapshot;
  const known = tools.map((tool) => tool.name);
  return { ...(instructions !== undefined && { instructions }), tools: of(tools), prompts: of(prompts), known };
}

type Detail = 'summary' | 'lines';

function toText({ status, locked, drifts }: Report, detail: Detail): string {
  const name = oneLine(status.name, 80);
  if (drifts === undefined) return `✗ ${name}: ${sayState(status)}`;
  if (drifts.length === 0) return `✓ ${name}: as it was reviewed`;
  const blocked = drifts.some(({ level }) => level === 'blocked');
  const lines = drifts.flatMap(({ level, kind, name: of, reasons, changes }) => [
    `  ${level === 'blocked' ? 'review' : 'notice'}: ${kind}${of === '' ? '' : ` ${oneLine(of, 128)}`}: ${reasons.join('; ')}`,
    ...(detail === 'lines' && changes.length > 0 ? [gutter(changes.join('\n'))] : []),
  ]);
  const changed = locked === NEVER ? 'it was never reviewed' : 'changed since it was reviewed';
  return [`${blocked ? '✗' : '✓'} ${name}: ${blocked ? changed : 'other words, and nothing else'}`, ...lines].join('\n');
}

function toJson({ status, drifts }: Report): object {
  return { name: status.name, reached: drifts !== undefined, drifts: drifts ?? [] };
}
