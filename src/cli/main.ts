// The `parley` command: its options, its commands, and an exit code for all that can happen.
import { Command, CommanderError } from 'commander';
import { ParleyError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { addCallCommand } from './commands/call.ts';
import { addToolsCommands } from './commands/tools.ts';
import { exitCode } from './exit.ts';
import type { Io } from './io.ts';
import { FORMS } from './output.ts';
import { createRun, report, type Run } from './run.ts';

type AddCommands = (program: Command, run: Run) => void;
type Load = () => AddCommands | Promise<AddCommands>;

const approvals: Load = async () => (await import('./commands/approvals.ts')).addApprovalCommands;

/** The commands by their first word, in the order of `--help`. Those that have to be there at once are loaded already. */
const COMMANDS: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['mcp', async () => (await import('./commands/mcp.ts')).addMcpCommands],
  ['auth', async () => (await import('./commands/auth.ts')).addAuthCommands],
  ['tools', () => addToolsCommands],
  ['call', () => addCallCommand],
  ['resources', async () => (await import('./commands/resources.ts')).addResourcesCommands],
  ['prompts', async () => (await import('./commands/prompts.ts')).addPromptsCommands],
  ['policy', async () => (await import('./commands/policy.ts')).addPolicyCommands],
  ['run', async () => (await import('./commands/run.ts')).addRunCommand],
  ['chat', async () => (await import('./commands/chat.ts')).addChatCommand],
  ['lock', async () => (await import('./commands/lock.ts')).addLockCommands],
  ['approvals', approvals],
  ['grants', approvals],
  ['audit', async () => (await import('./commands/audit.ts')).addAuditCommands],
]);

/** Runs the command line `argv` (without node and script) and resolves with its exit code. Never rejects. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let exit: number = exitCode.ok;
  const program = new Command('parley')
    .description('An MCP host: many servers, one registry, and nothing runs that was not allowed.')
    .version(VERSION)
    .option('--config <file>', 'read this file alone')
    .option('-o, --output <form>', FORMS.join(', '), 'text')
    .option('--json', 'the same as --output json')
    .option('-q, --quiet', 'nothing on stderr but errors')
    .option('-v, --verbose', 'more on stderr')
    .option('--allow <rule>', 'allow calls that match server/tool; may be repeated', collect)
    .option('--ask <rule>', 'ask about calls that match; may be repeated', collect)
    .option('--deny <rule>', 'deny calls that match; may be repeated', collect)
    .option('--non-interactive <how>', 'deny or park what a person would be asked about')
    .option('--park-wait <seconds>', 'how long a parked call waits for its answer')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      // Said below, in the form that was asked for.
      outputError: () => {},
    });
  const run = createRun(io, (code) => (exit = code));
  program.addHelpText('after', FIRST_STEPS);
  program.addHelpText('afterAll', ({ command }) =>
    command === program ? '' : '\nOptions of every command, as --json, --allow RULE or --config FILE: parley --help',
  );
  try {
    // As other agents' commands have it: `parley -p "…"` runs a prompt.
    const words = argv[0] === '-p' ? ['run', ...argv] : argv;
    const wanted = COMMANDS.get(firstWord(program, words) ?? '');
    // Help and a misspelt word need them all.
    for (const load of wanted === undefined ? new Set(COMMANDS.values()) : [wanted]) (await load())(program, run);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(io, program.opts(), error);
    if (error.exitCode === 0) return exitCode.ok;
    // Help that was shown for want of a command is not an error of its own.
    if (error.code === 'commander.help') return exitCode.usage;
    return report(io, program.opts(), new ParleyError('usage', sentence(error.message)));
  }
  return io.signal.aborted ? exitCode.interrupted : exit;
}

const FIRST_STEPS = `
Start here:
  parley mcp add everything -- npx -y @modelcontextprotocol/server-everything
  parley mcp list
  parley call everything/get-sum a=2 b=3`;

/** The first word that is no option of `program`, and no value of one. */
function firstWord(program: Command, words: readonly string[]): string | undefined {
  const takers = program.options.flatMap(({ required, short, long }) => (required ? [short, long] : []));
  return words.find((word, at) => !word.startsWith('-') && !takers.includes(words[at - 1] ?? ''));
}

/** What commander says, as we say things. */
function sentence(message: string): string {
  const [first = '', ...rest] = message.replace(/^error: /, '').split('\n');
  return [`${first.charAt(0).toUpperCase()}${first.slice(1).replace(/\.$/, '')}.`, ...rest].join(' ');
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
