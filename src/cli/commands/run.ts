// `parley run`: one prompt, answered by a model with the tools of all servers.
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import { visible } from '../../host/index.ts';
import { withConversation, withConversationOptions, type ConversationOptions } from '../conversation.ts';
import type { Run } from '../run.ts';
import type { GlobalOptions, Workspace } from '../workspace.ts';

interface RunOptions extends ConversationOptions {
  readonly prompt?: string;
}

const HELP = `
The answer goes to standard output and all else to standard error. With --json one JSON value goes to standard output:
{ text, stopped, turns, calls, usage }.

Exit code: 0 when the model came to an end, also when calls were denied or failed; 1 when a limit of turns, tokens or time
stopped it; 130 when it was interrupted; 3 or 4 when the model refused the key or could not be reached.`;

export function addRunCommand(program: Command, run: Run): void {
  const command = program
    .command('run')
    .description('Let a model answer a prompt with the tools of all servers')
    .argument('[prompt...]', 'the prompt, or - for standard input')
    .option('-p, --prompt <text>', 'the same as the argument');
  withConversationOptions(command)
    .addHelpText('after', HELP)
    .action(run((workspace, words, options: RunOptions) => answer(workspace, words, options)));
}

async function answer(workspace: Workspace, words: readonly string[], options: RunOptions & GlobalOptions): Promise<number> {
  const { io } = workspace;
  const given = [...(options.prompt === undefined ? [] : [options.prompt]), ...words].join(' ');
  const prompt = (given === '-' ? await text(io.stdin) : given).trim();
  if (prompt === '')
    throw new ParleyError('usage', 'There is no prompt. Give it as an argument, or - to read it from standard input.');
  return withConversation(workspace, 'run', options, async ({ screen, ask }) => {
    screen.say(`\n> ${visible(prompt, { multiline: true })}`);
    return ask(prompt, io.signal);
  });
}
