// `parley prompts …`: prompts that servers offer.
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import { oneLine, type Host } from '../../host/index.ts';
import { columns, markdownTable } from '../output.ts';
import { printOutcome } from '../outcome.ts';
import type { Run } from '../run.ts';
import { refuseUnused, serversFor, settle, withHost } from '../workspace.ts';
import { completeAndPrint } from './completion.ts';
import { addListCommand } from './listing.ts';

export function addPromptsCommands(program: Command, run: Run): void {
  const prompts = program.command('prompts').description('Find and get prompts');

  addListCommand(prompts, run, 'prompts', listing);

  prompts
    .command('get')
    .description('Get a prompt: parley prompts get server/prompt key=value')
    .argument('<prompt>')
    .argument('[arguments...]', 'key=value')
    .action(
      run((workspace, [name, ...words]) =>
        withHost(workspace, serversFor(workspace, name as string), async (host) => {
          const args = Object.fromEntries(words.map(pair));
          const outcome = await host.getPrompt(name as string, words.length === 0 ? undefined : args, {
            signal: workspace.io.signal,
          });
          // There may be nothing of that name because no server could be reached.
          if (outcome.type === 'unknown') {
            await settle(host, workspace);
            refuseUnused(workspace, name as string);
          }
          return printOutcome(workspace.printer, outcome);
        }),
      ),
    );

  prompts
    .command('complete')
    .description('List values for an argument of a prompt')
    .argument('<prompt>')
    .argument('<argument>')
    .argument('[value]', 'what was typed so far')
    .action(
      run((workspace, [prompt, argument, value = '']) =>
        completeAndPrint(workspace, 'prompt', prompt as string, argument as string, value),
      ),
    );
}

function pair(word: string): [string, string] {
  const at = word.indexOf('=');
  if (at < 1) throw new ParleyError('usage', `"${word}" is no argument. Write key=value.`);
  return [word.slice(0, at), word.slice(at + 1)];
}

function listing({ registry: { snapshot } }: Host) {
  const rows = snapshot.prompts.map(({ server, name, definition }) => [
    `${server}/${oneLine(name, 128)}`,
    (definition.arguments ?? [])
      .map((argument) => oneLine(argument.required === true ? argument.name : `[${argument.name}]`, 40))
      .join(' '),
    oneLine(definition.description ?? definition.title ?? '', 80),
  ]);
  return {
    json: { prompts: snapshot.prompts.map(({ server, definition }) => ({ server, ...definition })) },
    text: () => (rows.length === 0 ? 'No prompts.' : columns(rows)),
    markdown: () => markdownTable([['prompt', 'arguments', 'description'], ...rows]),
    ndjson: () => snapshot.prompts.map(({ server, definition }) => ({ server, ...definition })),
  };
}
