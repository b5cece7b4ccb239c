// `parley resources …`: what can be read.
import type { Command } from 'commander';
import { oneLine, type Host } from '../../host/index.ts';
import { columns, markdownTable } from '../output.ts';
import { printOutcome } from '../outcome.ts';
import type { Run } from '../run.ts';
import { refuseUnused, serversFor, settle, withHost } from '../workspace.ts';
import { completeAndPrint } from './completion.ts';
import { addListCommand } from './listing.ts';

export function addResourcesCommands(program: Command, run: Run): void {
  const resources = program.command('resources').description('Find and read resources');

  addListCommand(resources, run, 'resources and templates', listing);

  resources
    .command('read')
    .description('Read one resource by its URI, its name, or server:uri')
    .argument('<resource>')
    .action(
      run((workspace, [name]) =>
        withHost(workspace, serversFor(workspace, name as string), async (host) => {
          const outcome = await host.readResource(name as string, { signal: workspace.io.signal });
          // There may be nothing of that name because no server could be reached.
          if (outcome.type === 'unknown') {
            await settle(host, workspace);
            refuseUnused(workspace, name as string);
          }
          return printOutcome(workspace.printer, outcome);
        }),
      ),
    );

  resources
    .command('complete')
    .description('List values for a variable of a template')
    .argument('<template>', 'the URI template, or its name')
    .argument('<variable>')
    .argument('[value]', 'what was typed so far')
    .action(
      run((workspace, [template, variable, value = '']) =>
        completeAndPrint(workspace, 'template', template as string, variable as string, value),
      ),
    );
}

function listing({ registry: { snapshot } }: Host) {
  const { resources, templates } = snapshot;
  const rows = [
    ...resources.map(({ server, key, definition }) => [
      server,
      oneLine(key, 120),
      oneLine(definition.title ?? definition.name, 60),
    ]),
    ...templates.map(({ server, key, definition }) => [
      server,
      oneLine(key, 120),
      oneLine(definition.title ?? definition.name, 60),
    ]),
  ];
  return {
    json: {
      resources: resources.map(({ server, definition }) => ({ server, ...definition })),
      resourceTemplates: templates.map(({ server, definition }) => ({ server, ...definition })),
    },
    text: () => (rows.length === 0 ? 'No resources.' : columns(rows)),
    markdown: () => markdownTable([['server', 'uri', 'name'], ...rows]),
    ndjson: () => [...resources, ...templates].map(({ server, definition }) => ({ server, ...definition })),
  };
}
