// `parley tools …`: what can be called.
import type { Command } from 'commander';
import { suggestion } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { gutter, oneLine, visible, type Host, type ToolEntry } from '../../host/index.ts';
import { exitCode } from '../exit.ts';
import { columns, markdownTable, type Result } from '../output.ts';
import type { Run } from '../run.ts';
import { refuseUnused, serversFor, settle, usableServer, withHost, type Workspace } from '../workspace.ts';

export function addToolsCommands(program: Command, run: Run): void {
  const tools = program.command('tools').description('Find tools');

  tools
    .command('list', { isDefault: true })
    .description('List tools, of all servers or of one')
    .argument('[server]')
    .action(
      run((workspace, [server]) => {
        const wanted = server === undefined ? undefined : [usableServer(workspace, server).name];
        return withTools(workspace, wanted, (host) => ({ entries: host.registry.snapshot.tools, exit: exitCode.ok }));
      }),
    );

  tools
    .command('search')
    .description('Find tools by words in their names and descriptions')
    .argument('<words...>')
    .option('-n, --limit <count>', 'at most this many', '20')
    .action(
      run((workspace, words, options: { limit: string }) => {
        const limit = Number(options.limit);
        if (!Number.isInteger(limit) || limit < 1) throw new ParleyError('usage', `"${options.limit}" is no number of tools.`);
        return withTools(workspace, undefined, (host) => {
          const entries = host.registry.snapshot.search(words.join(' '), limit);
          return { entries, exit: entries.length === 0 ? exitCode.negative : exitCode.ok };
        });
      }),
    );

  tools
    .command('show')
    .description('Show one tool with its arguments')
    .argument('<tool>')
    .action(run((workspace, [name]) => show(workspace, name as string)));
}

function withTools(
  workspace: Workspace,
  wanted: readonly string[] | undefined,
  choose: (host: Host) => { readonly entries: readonly ToolEntry[]; readonly exit: number },
): Promise<number> {
  return withHost(workspace, wanted, async (host) => {
    await settle(host, workspace);
    const { entries, exit } = choose(host);
    workspace.printer.result(listing(host, entries));
    return exit;
  });
}

function listing(host: Host, entries: readonly ToolEntry[]): Result {
  const rows = entries.map((entry) => [nameOf(entry), oneLine(entry.definition.description ?? entry.definition.title ?? '', 90)]);
  const conflicts = host.registry.snapshot.conflicts.filter(({ kind }) => kind === 'tool');
  return {
    json: {
      tools: entries.map(({ server, modelName, definition }) => ({ server, modelName, ...definition })),
      conflicts: conflicts.map(({ key, entries: among, winner }) => ({
        name: key,
        servers: among.map(({ server }) => server),
        winner: winner?.server ?? null,
      })),
    },
    text: () =>
      [
        entries.length === 0 ? 'No tools.' : columns(rows),
        ...conflicts.map(
          ({ key, entries: among, winner }) =>
            `"${oneLine(key, 80)}" is offered by ${among.map(({ server }) => server).join(', ')}; ` +
            (winner === undefined ? 'name the server too.' : `the bare name is that of ${winner.server}.`),
        ),
      ].join('\n'),
    markdown: () => markdownTable([['tool', 'description'], ...rows]),
    ndjson: () => entries.map(({ server, modelName, definition }) => ({ server, modelName, ...definition })),
  };
}

/** The name a person types. */
function nameOf({ server, name }: ToolEntry): string {
  return `${server}/${oneLine(name, 128)}`;
}

/** The entry a name stands for. @throws ParleyError `not-found` or `usage` */
export async function findTool(host: Host, workspace: Workspace, name: string): Promise<ToolEntry> {
  await settle(host, workspace);
  const found = host.registry.snapshot.find('tool', name);
  if (found.type === 'found') return found.entry;
  if (found.type === 'ambiguous') {
    const names = found.entries.map(nameOf);
    throw new ParleyError('usage', `More than one server has a tool "${name}". Name the server too: ${names.join(', ')}.`);
  }
  refuseUnused(workspace, name);
  const { suggestions } = found;
  const remedy = suggestions.length > 0 ? suggestion(suggestions) : ' `parley tools list` lists all.';
  throw new ParleyError('not-found', `There is no tool "${name}".${remedy}`, { details: { suggestions } });
}

function show(workspace: Workspace, name: string): Promise<number> {
  return withHost(workspace, serversFor(workspace, name), async (host) => {
    const entry = await findTool(host, workspace, name);
    const { definition, server, modelName } = entry;
    const annotations = Object.entries(definition.annotations ?? {}).map(([key, value]) => `${key} ${String(value)}`);
    workspace.printer.result({
      json: { server, modelName, ...definition },
      text: () =>
        [
          columns([
            ['tool', nameOf(entry)],
            ['for models', modelName],
            ['annotations', oneLine(annotations.join(', ') || 'none', 200)],
          ]),
          'description, by the server:',
          gutter(visible(definition.description ?? '(none)', { multiline: true })),
          'arguments:',
          gutter(visible(JSON.stringify(definition.inputSchema, undefined, 2), { multiline: true })),
        ].join('\n'),
    });
    return exitCode.ok;
  });
}
