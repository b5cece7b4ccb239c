// `parley chat`: a conversation with a model, line by line.
import type { Command } from 'commander';
import { isParleyError } from '../../errors.ts';
import {
  sayServers,
  sayTools,
  withConversation,
  withConversationOptions,
  type Conversation,
  type ConversationOptions,
} from '../conversation.ts';
import { exitCode, exitOfError } from '../exit.ts';
import { createLines } from '../lines.ts';
import type { Run } from '../run.ts';
import type { GlobalOptions, Workspace } from '../workspace.ts';

const COMMANDS = [
  '/tools    the tools of all servers',
  '/servers  how the servers are doing',
  '/help     this',
  '/quit     the end, as Ctrl-D',
].join('\n');

const HELP = `
Each line is one message, and the conversation goes on until the end of the input. Ctrl-C gives up the answer under way; at
the prompt it ends the chat. In the chat:
${COMMANDS.replace(/^/gm, '  ')}

Exit code: that of \`parley run\` for the last message.`;

export function addChatCommand(program: Command, run: Run): void {
  const command = program.command('chat').description('Talk with a model that has the tools of all servers');
  withConversationOptions(command)
    .addHelpText('after', HELP)
    .action(run((workspace, _words, options: ConversationOptions) => chat(workspace, options)));
}

function chat(workspace: Workspace, options: ConversationOptions & GlobalOptions): Promise<number> {
  const { io } = workspace;
  return withConversation(workspace, 'chat', options, async (conversation) => {
    const { host, screen } = conversation;
    screen.say('Write a message, or /help.');
    const lines = createLines(io);
    let exit: number = exitCode.ok;
    try {
      while (true) {
        const line = (await lines.next('> '))?.trim();
        if (line === undefined || line === '/quit' || line === '/exit') return exit;
        if (line === '') continue;
        if (line === '/tools') sayTools(host, screen, 'all');
        else if (line === '/servers') sayServers(host, screen);
        else if (line === '/help') screen.say(COMMANDS);
        else if (/^\/\w*$/.test(line)) screen.say(`There is no ${line}.\n${COMMANDS}`);
        else exit = await answer(workspace, conversation, line);
      }
    } finally {
      lines.close();
    }
  });
}

/** Has one message answered. What goes wrong with the model is said, and the conversation goes on. */
async function answer({ io, printer }: Workspace, { ask }: Conversation, line: string): Promise<number> {
  const stop = new AbortController();
  const release = io.catchInterrupts(() => {
    // The next one is for the whole chat.
    release();
    stop.abort();
  });
  try {
    return await ask(line, AbortSignal.any([io.signal, stop.signal]));
  } catch (error) {
    if (!isParleyError(error)) throw error;
    printer.error(error.code, error.message);
    return exitOfError(error);
  } finally {
    release();
  }
}
