// `parley policy …`: is the policy whole, what does it say of one call, and what would another one have said.
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { didYouMean } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import {
  createIntent,
  decide,
  matchingRules,
  oneLine,
  parseName,
  placeOf,
  ROUTES,
  type HostConfig,
  type CallQuestion,
  type ReadQuestion,
  type PolicyRule,
  type RuleSet,
  type TaintMark,
} from '../../host/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Tool } from '../../protocol/index.ts';
import { readArguments } from '../arguments.ts';
import { exitCode } from '../exit.ts';
import { decisionAsJson, isAboutRules, policyOf, ruleAsJson, sayRule } from '../policy.ts';
import type { Run } from '../run.ts';
import { serverNamed, withHost, type Workspace } from '../workspace.ts';
import { testPolicy, type PolicyTestOptions } from './policy-test.ts';
import { findTool } from './tools.ts';

export function addPolicyCommands(program: Command, run: Run): void {
  const policy = program.command('policy').description('Check, explain and try the rules that allow, ask and deny');

  policy
    .command('check')
    .description('Name everything that is wrong in the rules, with file and key; exit code 2 when something is')
    .action(run((workspace) => check(workspace), { broken: exitCode.negative }));

  policy
    .command('explain')
    .description('Say what is decided of one call, and by which rule: parley policy explain server/tool key=value')
    .argument('<target>', 'server/tool, server/resource:URI or server/prompt:NAME')
    .argument('[arguments...]', 'as for parley call')
    .option('--route <route>', 'as if it came this way', 'call')
    .option('--principal <name>', 'as if it was for somebody else')
    .option('--tainted', 'as if the run had read what anybody may have written, and private data')
    .action(
      run((workspace, [target, ...words], options: ExplainOptions) => explain(workspace, target as string, words, options)),
    );

  policy
    .command('test')
    .description('Decide the calls of the journal again by an edited policy, and show what would change')
    .requiredOption('--policy <file>', 'a Parley file with the rules to try')
    .option('--limit <n>', 'calls to look at, the newest first', '1000')
    .action(run((workspace, _words, options: PolicyTestOptions) => testPolicy(workspace, options)));
}

interface ExplainOptions {
  readonly route: string;
  readonly principal?: string;
  readonly tainted?: boolean;
}

function check(workspace: Workspace): number {
  const { config, diagnostics, printer } = workspace;
  const { problems, rules } = policyOf(workspace);
  // What is said of a file is said already, on standard error.
  const broken = problems.length > 0;
  const unnamed = unknownServers(rules, config);
  const machines = rules.filter(({ source }) => source.scope === 'machine').length;
  const files = diagnostics.filter(isAboutRules).map(({ level, file, path, message }) => ({ level, file, key: path, message }));
  printer.result({
    json: { ok: !broken, problems, files, notices: unnamed, rules: rules.length, machineRules: machines },
    text: () =>
      [
        ...problems,
        ...unnamed,
        `${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}, ${machines > 0 ? `${machines} of them the machine's, ` : ''}${broken ? 'and nothing may run' : 'in order'}.`,
      ].join('\n'),
  });
  return broken ? exitCode.negative : exitCode.ok;
}

/** A rule may be about a server of another project; a slip of the pen looks the same, and is worth a line. */
function unknownServers(rules: readonly PolicyRule[], { servers }: HostConfig): readonly string[] {
  const names = servers.map(({ name }) => name);
  return rules.flatMap(({ effect, text: written, source, server }) =>
    /[*?]/.test(server) || names.includes(server)
      ? []
      : [
          `The ${effect} rule "${oneLine(written, 80)}" (${placeOf(source)}) is about "${oneLine(server, 64)}", which is not configured here.${didYouMean(server, names)}`,
        ],
  );
}

async function explain(workspace: Workspace, target: string, words: readonly string[], options: ExplainOptions): Promise<number> {
  const { printer } = workspace;
  if (!(ROUTES as readonly string[]).includes(options.route))
    throw new ParleyError(
      'usage',
      `There is no route "${options.route}".${didYouMean(options.route, ROUTES)} Routes are ${ROUTES.join(', ')}.`,
    );
  const rules = policyOf(workspace);
  const question = await questionOf(workspace, target, words, { ...options, rules });
  const decision = decide(question);
  const others = matchingRules(question).filter((rule) => rule !== decision.rule);
  printer.result({
    json: { ...decisionAsJson(decision), others: others.map(ruleAsJson), policyVersion: rules.version(serverOf(question)) },
    text: () =>
      [
        `${decision.verdict}: ${decision.because}`,
        ...(others.length > 0 ? ['Other rules that match:', ...others.map((rule) => `  ${sayRule(rule)}`)] : []),
      ].join('\n'),
  });
  return exitCode.ok;
}

function serverOf(question: CallQuestion | ReadQuestion): string {
  return question.type === 'call' ? question.intent.server : question.server;
}

async function questionOf(
  workspace: Workspace,
  target: string,
  words: readonly string[],
  { route, principal = workspace.state.user, tainted = false, rules }: ExplainOptions & { readonly rules: RuleSet },
): Promise<CallQuestion | ReadQuestion> {
  const taint: readonly TaintMark[] = tainted
    ? [{ server: 'somewhere', from: 'something', untrusted: true, private: 'to-all', digest: '' }]
    : [];
  const [, name, kind, rest] = /^([^/]+)\/(resource|prompt):(.+)$/.exec(target) ?? [];
  if (name !== undefined && rest !== undefined) {
    const { name: server } = serverNamed(workspace, name);
    const args = kind === 'prompt' ? await argumentsOf(workspace, words, { type: 'object' }) : {};
    return { type: 'read', kind: kind as 'resource' | 'prompt', server, name: rest, args, principal, route, taint, rules };
  }
  const { server, tool, args } = await callOf(workspace, target, words);
  const { trusted, reviewedTools } = serverNamed(workspace, server);
  const intent = createIntent({ server, tool, args, principal, route, taint });
  return { type: 'call', intent, server: { trusted, reviewedTools }, grants: [], rules };
}

/** The call as it would be made. Of a server that cannot be reached, the tool is taken for one that says nothing of itself. */
async function callOf(
  workspace: Workspace,
  target: string,
  words: readonly string[],
): Promise<{ readonly server: string; readonly tool: Tool; readonly args: JsonObject }> {
  const known = new Set(workspace.config.servers.map(({ name }) => name));
  const [reading] = parseName(target, known).filter(({ server }) => server !== undefined);
  if (reading?.server === undefined)
    throw new ParleyError('usage', `"${target}" names no server that is configured. Write server/tool.`);
  const { server, name } = reading;
  try {
    return await withHost(workspace, [server], async (host) => {
      const { definition } = await findTool(host, workspace, `${server}/${name}`);
      return { server, tool: definition, args: await argumentsOf(workspace, words, definition.inputSchema) };
    });
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'usage') throw error;
    workspace.printer.say(`What ${server}/${oneLine(name, 80)} says of itself is not known: ${(error as Error).message}`);
    return { server, tool: { name, inputSchema: {} }, args: await argumentsOf(workspace, words, {}) };
  }
}

function argumentsOf({ io }: Workspace, words: readonly string[], schema: JsonObject): Promise<JsonObject> {
  return readArguments({ words, cwd: io.cwd, schema, readStdin: () => text(io.stdin) });
}
