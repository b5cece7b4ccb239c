// `parley approvals …` and `parley grants …`: calls that wait for somebody, and what was allowed beyond one call. Answered from here, a
// call is not made here: whoever asked for it makes it.
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import {
  answerTicket,
  createRedact,
  gutter,
  oneLine,
  promptLines,
  requestOf,
  visible,
  type Redact,
  type Verdict,
} from '../../host/index.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { Approval, Grant, Store } from '../../store/index.ts';
import { readObject, scopeUntil } from '../ask.ts';
import { exitCode } from '../exit.ts';
import { columns, markdownTable } from '../output.ts';
import type { Run } from '../run.ts';
import type { Workspace } from '../workspace.ts';

interface ApproveOptions {
  readonly for: string;
  readonly pattern: string;
  readonly args?: string;
}

export function addApprovalCommands(program: Command, run: Run): void {
  const approvals = program.command('approvals').description('Answer the calls that wait for somebody');

  approvals
    .command('list', { isDefault: true })
    .description('List the calls that wait; exit code 0 also when there is none')
    .option('--all', 'those that are over too')
    .action(run((workspace, _words, options: { all?: boolean }) => list(workspace, options.all === true)));

  approvals
    .command('show')
    .description('Show one call: all that a terminal would show')
    .argument('<id>')
    .action(run((workspace, [id]) => show(workspace, id as string)));

  approvals
    .command('approve')
    .description('Allow a call; it is made when it is asked for again, or by whoever waits')
    .argument('<id>')
    .option('--for <how long>', 'once, run, always, or a number of days as 30d', 'once')
    .option('--pattern <n>', 'with always and days: which of the patterns that `show` lists', '1')
    .option('--args <json>', 'send these arguments instead; they are checked and decided on anew')
    .action(run((workspace, [id], options: ApproveOptions) => approve(workspace, id as string, options)));

  approvals
    .command('deny')
    .description('Deny a call')
    .argument('<id>')
    .option('--message <text>', 'why, for the people who ask for it')
    .action(
      run((workspace, [id], { message }: { message?: string }) =>
        withStore(workspace, (store) =>
          answer(workspace, store, id as string, { type: 'deny', by: 'person', ...(message !== undefined && { message }) }),
        ),
      ),
    );

  const grants = program.command('grants').description('See and end what was allowed beyond one call');

  grants
    .command('list', { isDefault: true })
    .description('List what is allowed')
    .action(run((workspace) => listGrants(workspace)));

  grants
    .command('revoke')
    .description('End one of them')
    .argument('<id>')
    .action(run((workspace, [id]) => revoke(workspace, id as string)));
}

/** Runs `act` with the store that holds here, which is closed afterwards. */
export async function withStore<T>({ state }: Workspace, act: (store: Store) => Promise<T>): Promise<T> {
  await using store = await state.open();
  return await act(store);
}

function list(workspace: Workspace, all: boolean): Promise<number> {
  return withStore(workspace, async (store) => {
    const found = await store.approvals.list({ limit: 200, ...(!all && { states: ['pending', 'approved', 'dispatching'] }) });
    const redact = listRedact(workspace);
    const tickets = found.map((ticket) => ({ ...ticket, args: redact(ticket.args) }));
    const rows = tickets.map(({ id, state, serverName, tool, args, createdAt }) => [
      id,
      state,
      new Date(createdAt).toISOString(),
      `${serverName}/${oneLine(tool, 80)}`,
      oneLine(JSON.stringify(args), 100),
    ]);
    workspace.printer.result({
      json: { approvals: tickets.map(listed) },
      text: () => (rows.length === 0 ? 'No call waits for approval.' : columns(rows)),
      markdown: () => markdownTable([['id', 'state', 'asked', 'tool', 'arguments'], ...rows]),
      ndjson: () => tickets.map(listed),
    });
    return exitCode.ok;
  });
}

function show(workspace: Workspace, id: string): Promise<number> {
  return withStore(workspace, async (store) => {
    const ticket = await store.approvals.get(id);
    if (ticket === undefined) throw noTicket(id);
    const { state, principal, run, createdAt, expiresAt, decidedBy, message, editedArgs, outcome } = ticket;
    workspace.printer.result({
      json: ticket,
      text: () =>
        [
          ...promptLines(requestOf(ticket)),
          `Asked for ${oneLine(principal, 80)} in ${oneLine(run, 80)} at ${new Date(createdAt).toISOString()}.`,
          `It is ${state}${decidedBy === undefined ? '' : `, by ${oneLine(decidedBy, 80)}`}${outcome === undefined ? '' : `: ${outcome}`}.`,
          ...(state === 'pending' ? [`Undecided by ${new Date(expiresAt).toISOString()}, it is denied.`] : []),
          ...(message === undefined ? [] : [gutter(visible(message))]),
          ...(editedArgs === undefined ? [] : ['With these arguments instead:', gutter(visible(JSON.stringify(editedArgs)))]),
        ].join('\n'),
    });
    return exitCode.ok;
  });
}

function approve(workspace: Workspace, id: string, options: ApproveOptions): Promise<number> {
  return withStore(workspace, async (store) => {
    const ticket = await store.approvals.get(id);
    if (ticket === undefined) throw noTicket(id);
    const args = options.args === undefined ? undefined : readObject(options.args);
    if (options.args !== undefined && args === undefined)
      throw new ParleyError('usage', '--args takes one JSON object: the arguments to send.');
    return answer(workspace, store, id, { ...allowance(ticket, options), ...(args && { args }) });
  });
}

function allowance(ticket: Approval, { for: duration, pattern: choice }: ApproveOptions): Verdict & { readonly type: 'allow' } {
  if (duration === 'once' || duration === 'run') return { type: 'allow', scope: duration };
  const until = scopeUntil(duration);
  if (duration !== 'always' && until === undefined)
    throw new ParleyError('usage', `--for is once, run, always or 1d to 30d, not "${duration}".`);
  const { proposals = [], because } = requestOf(ticket);
  if (proposals.length === 0) throw new ParleyError('usage', `Nothing can be allowed beyond this run: ${because}`);
  const pattern = proposals[Number(choice) - 1]?.pattern;
  if (pattern === undefined) throw new ParleyError('usage', `There is no pattern ${choice}; there are ${proposals.length}.`);
  return until === undefined ? { type: 'allow', scope: 'always', pattern } : { type: 'allow', pattern, ...until };
}

async function answer({ printer, state }: Workspace, store: Store, id: string, verdict: Verdict): Promise<number> {
  const { won, approval } = await answerTicket(store, id, { ...verdict, who: state.user, channel: 'cli' });
  const words = verdict.type === 'allow' ? 'approved' : 'denied';
  if (!won && approval.state !== words) {
    printer.error('denied', `It is too late: ${id} is ${approval.state}.`);
    return exitCode.negative;
  }
  printer.result({
    json: { id, state: approval.state, won },
    text: () => `${id} is ${approval.state}.${verdict.type === 'allow' ? ' Call again, if nobody waits for it.' : ''}`,
  });
  return exitCode.ok;
}

function listGrants(workspace: Workspace): Promise<number> {
  return withStore(workspace, async (store) => {
    const redact = listRedact(workspace);
    const grants = (await store.grants.active()).map((grant) => withoutSecrets(grant, redact));
    const rows = grants.map((grant) => [
      grant.id,
      `${grant.serverName}/${oneLine(grant.tool, 80)}`,
      grant.run === undefined
        ? grant.expiresAt === undefined
          ? 'always'
          : `until ${new Date(grant.expiresAt).toISOString()}`
        : 'run',
      `by ${oneLine(grant.by, 40)}`,
      oneLine(grant.pattern === undefined ? 'any arguments' : JSON.stringify(grant.pattern), 120),
    ]);
    workspace.printer.result({
      json: { grants },
      text: () => (rows.length === 0 ? 'Nothing is allowed beyond one call.' : columns(rows)),
      markdown: () => markdownTable([['id', 'tool', 'how long', 'by', 'arguments'], ...rows]),
      ndjson: (): readonly Grant[] => grants,
    });
    return exitCode.ok;
  });
}

function revoke(workspace: Workspace, id: string): Promise<number> {
  return withStore(workspace, async (store) => {
    const count = await store.grants.revoke({ id }, { why: `Revoked by ${workspace.state.user}.` });
    if (count === 0) throw new ParleyError('not-found', `There is no grant ${oneLine(id, 64)}. See \`parley grants list\`.`);
    workspace.printer.result({ json: { id, revoked: true }, text: () => `${id} is revoked.` });
    return exitCode.ok;
  });
}

/** A list is no place for secrets; `show` shows all that is sent. */
function listRedact({ state, config }: Workspace): Redact {
  return createRedact({ key: state.key, names: config.records?.secretArguments ?? [] });
}

/** The grant with what its pattern wants of arguments that hold secrets hidden. */
function withoutSecrets(grant: Grant, redact: Redact): Grant {
  const { args } = grant.pattern ?? {};
  if (!isObject(args)) return grant;
  const hidden = Object.entries(args).map(([pointer, matcher]) => {
    const name = pointer.slice(pointer.lastIndexOf('/') + 1);
    return [pointer, redact({ [name]: matcher })[name]];
  });
  return { ...grant, pattern: { ...grant.pattern, args: Object.fromEntries(hidden) as JsonObject } };
}

/** A ticket in a list: without what is shown of it, and without arguments that somebody put in place of its own. */
function listed({ shown: _shown, editedArgs: _edited, ...ticket }: Approval) {
  return ticket;
}

function noTicket(id: string): ParleyError {
  return new ParleyError('not-found', `There is no ticket ${oneLine(id, 64)}. See \`parley approvals list\`.`);
}
