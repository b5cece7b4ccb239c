// `parley mcp …`: which servers there are, and how they are doing.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import {
  addServer,
  changeLines,
  describeServer,
  gutter,
  oneLine,
  removeServer,
  serverLogFile,
  setEnabled,
  visible,
  type Diagnostic,
  type EditPlace,
  type Scope,
  type ServerDescription,
  type ServerStatus,
  type Snapshot,
  formatDiagnostic,
} from '../../host/index.ts';
import { exitCode, exitOfError } from '../exit.ts';
import { columns, markdownTable } from '../output.ts';
import type { Io } from '../io.ts';
import type { Run } from '../run.ts';
import { sandboxJson, saySandbox } from '../sandbox.ts';
import { question } from '../terminal.ts';
import { addLoginCommands, forgetUnused } from './login.ts';
import { errorOf, refuseFaulty, sayState, serverNamed, withHost, type Workspace } from '../workspace.ts';

export function addMcpCommands(program: Command, run: Run): void {
  const mcp = program.command('mcp').description('Configure servers and see how they are doing');

  mcp
    .command('list')
    .description('List the configured servers and whether they can be reached')
    .option('--no-connect', 'only read the configuration')
    .action(run((workspace, _args, options: { connect: boolean }) => list(workspace, options.connect)));

  mcp
    .command('get')
    .description('Show one server: where it is configured, how it is reached and what it offers')
    .argument('<name>')
    .action(run((workspace, [name]) => get(workspace, name as string)));

  mcp
    .command('add')
    .description('Add a server: a URL, or a command after --')
    .argument('<name>')
    .argument('[target...]', 'a URL, or COMMAND ARGS...')
    .option('-t, --transport <kind>', 'stdio, http or sse')
    .option('-s, --scope <scope>', 'local, project or user', 'local')
    .option('-e, --env <K=V>', 'a variable for the server; may be repeated', collect, [])
    .option('-H, --header <header>', 'a header to send, "Name: value"; may be repeated', collect, [])
    .option('--url <url>', 'the URL, if it is not the second argument')
    .option('--trust', 'what the server says about its tools counts')
    .option('--sandbox <mode>', 'run it in a sandbox: required or preferred')
    .option('--replace', 'take the place of a server of that name')
    .action(run((workspace, [name, ...target], options: AddOptions) => add(workspace, name as string, target, options)));

  mcp
    .command('add-json')
    .description('Add a server given as a JSON object, as in a configuration file')
    .argument('<name>')
    .argument('<json>')
    .option('-s, --scope <scope>', 'local, project or user', 'local')
    .option('--replace', 'take the place of a server of that name')
    .action(
      run((workspace, [name, json], options: Pick<AddOptions, 'scope' | 'replace'>) =>
        write(workspace, name as string, parseEntry(json as string), options),
      ),
    );

  mcp
    .command('remove')
    .description('Remove a server')
    .argument('<name>')
    .option('-s, --scope <scope>', 'the scope to remove it from (default: where it is)')
    .action(run((workspace, [name], options: { scope?: string }) => remove(workspace, name as string, options.scope)));

  for (const [verb, state] of [
    ['enable', 'enabled'],
    ['disable', 'disabled'],
  ] as const) {
    mcp
      .command(verb)
      .description(`${verb === 'enable' ? 'Use' : 'Do not use'} a server`)
      .argument('<name>')
      .option('-s, --scope <scope>', 'local, project or user', 'local')
      .action(
        run((workspace, [name], options: { scope: string }) => {
          scopeOf(workspace, name as string);
          setEnabled(place(workspace, options.scope), name as string, state);
          const now = workspace.reload().config.servers.find((each) => each.name === name);
          if (now !== undefined && now.enabled !== (verb === 'enable')) {
            const stays = now.enabled ? 'enabled' : 'disabled';
            throw new ParleyError(
              'usage',
              `Server "${now.name}" stays ${stays}: another file than that of ${options.scope} scope prevails.`,
            );
          }
          workspace.printer.result({
            json: { name, enabled: verb === 'enable' },
            text: () => `Server "${name}" is ${state}.`,
          });
          return exitCode.ok;
        }),
      );
  }

  mcp
    .command('trust')
    .description('Look at a server that this project defines, and let it be started')
    .argument('<name>')
    .option('--digest <digest>', 'agree to exactly this launch, where nobody can be asked')
    .action(run((workspace, [name], options: { digest?: string }) => trust(workspace, name as string, options.digest)));

  addLoginCommands(mcp, run);

  mcp
    .command('doctor')
    .description('Try each server, or one, and say what is wrong')
    .argument('[name]')
    .action(run((workspace, [name]) => doctor(workspace, name)));

  mcp
    .command('logs')
    .description('Show what a server wrote to its standard error')
    .argument('<name>')
    .option('-n, --lines <count>', 'how many of the last lines', '100')
    .action(run((workspace, [name], options: { lines: string }) => logs(workspace, name as string, options.lines)));
}

interface AddOptions {
  readonly scope: string;
  readonly transport?: string;
  readonly env: readonly string[];
  readonly header: readonly string[];
  readonly url?: string;
  readonly trust?: boolean;
  readonly sandbox?: string;
  readonly replace?: boolean;
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

async function list(workspace: Workspace, connect: boolean): Promise<number> {
  const { config, printer } = workspace;
  if (config.servers.length === 0) refuseFaulty(workspace);
  if (!connect || config.servers.every(({ enabled }) => !enabled)) {
    const described = config.servers.map(describeServer);
    printer.result({
      json: { servers: described },
      ndjson: () => described,
      text: () =>
        described.length === 0
          ? 'No servers are configured. Add one with `parley mcp add`.'
          : columns(
              described.map((server) => [server.name, server.enabled ? '' : 'disabled', target(server), server.source.scope]),
            ),
    });
    return exitCode.ok;
  }
  return withHost(workspace, undefined, async (host) => {
    await host.settled({ signal: workspace.io.signal });
    const rows = host.servers.map((status) => ({ status, offers: offersOf(host.registry.snapshot.servers, status.name) }));
    const disabled = config.servers.filter(({ enabled }) => !enabled).map(describeServer);
    const ready = rows.filter(({ status }) => status.state.type === 'ready').length;
    const table = [
      ...rows.map(({ status, offers }) => [
        status.state.type === 'ready' ? '✓' : '✗',
        status.name,
        target(describeServer(status.definition)),
        status.definition.source.scope,
        status.state.type === 'ready'
          ? [sayState(status), offers || 'offers nothing', saySandbox(status, 'short') ?? []].flat().join(', ')
          : sayState(status),
      ]),
      ...disabled.map((server) => ['-', server.name, target(server), server.source.scope, 'disabled']),
    ];
    const servers = [
      ...rows.map(({ status }) => ({ ...describeServer(status.definition), ...stateJson(status), ...sandboxJson(status) })),
      ...disabled.map((server) => ({ ...server, state: 'disabled' })),
    ];
    printer.result({
      json: { servers },
      ndjson: () => servers,
      text: () => `${columns(table)}\n${ready}/${rows.length} connected`,
      markdown: () => markdownTable([['', 'server', 'target', 'scope', 'state'], ...table]),
    });
    return exitCode.ok;
  });
}

/** How many of each kind a server offers; '' when nothing. */
function offersOf(servers: Snapshot['servers'], name: string): string {
  const listings = servers.find(({ server }) => server === name)?.listings ?? {};
  const count = (word: string, listing: { readonly entries: readonly unknown[] } | undefined) =>
    listing === undefined || listing.entries.length === 0
      ? []
      : [`${listing.entries.length} ${word}${listing.entries.length === 1 ? '' : 's'}`];
  const parts = [
    ...count('tool', listings.tool),
    ...count('prompt', listings.prompt),
    ...count('resource', listings.resource),
    ...count('template', listings.template),
  ];
  return parts.join(', ');
}

function stateJson({ state }: ServerStatus) {
  if (state.type === 'ready') {
    const { era, revision, server } = state.session;
    return { state: 'ready', era, revision, serverInfo: server.info ?? null, capabilities: server.capabilities };
  }
  if ('error' in state) {
    const { error } = state;
    const name = state.type === 'needs-auth' ? state.type : 'failed';
    return { state: name, error: { code: 'code' in error ? error.code : 'internal', message: error.message } };
  }
  return { state: state.type };
}

/** How a server is reached, on one line, without secrets. */
function target(server: ServerDescription): string {
  return oneLine(
    server.kind === 'stdio'
      ? [server.command, ...server.args].join(' ')
      : `${server.url} (${server.transport === 'either' ? 'http or sse' : server.transport})`,
    100,
  );
}

async function get(workspace: Workspace, name: string): Promise<number> {
  const server = serverNamed(workspace, name);
  const description = describeServer(server);
  const facts: [string, string][] = [
    ['server', name],
    ['from', `${server.source.key} in ${server.source.file} (${server.source.scope})`],
    ['target', target(description)],
    ...(description.kind === 'stdio'
      ? ([['variables', description.env.join(', ') || 'none']] as [string, string][])
      : ([['headers', description.headers.join(', ') || 'none']] as [string, string][])),
    ['trusted', server.trusted ? 'yes: what it says of its tools counts' : 'no: what it says of its tools does not count'],
    ['reviewed tools', server.reviewedTools.join(', ') || 'none'],
    ['private', server.private === undefined ? 'towards other servers' : server.private ? 'yes: towards all servers' : 'no'],
  ];
  if (!server.enabled) {
    workspace.printer.result({
      json: { ...description, state: 'disabled' },
      text: () => columns([...facts, ['state', 'disabled']]),
    });
    return exitCode.ok;
  }
  return withHost(workspace, [name], async (host) => {
    await host.settled({ signal: workspace.io.signal });
    const [status] = host.servers as [ServerStatus];
    const info = status.state.type === 'ready' ? status.state.session.server.info : undefined;
    workspace.printer.result({
      json: {
        ...description,
        trusted: server.trusted,
        reviewedTools: server.reviewedTools,
        private: server.private ?? null,
        ...stateJson(status),
        ...sandboxJson(status),
      },
      text: () =>
        columns([
          ...facts,
          ['state', sayState(status)],
          ...[saySandbox(status, 'full') ?? []].flat().map((text) => ['sandbox', text]),
          ...(info === undefined ? [] : [['calls itself', oneLine(`${info.name} ${info.version}`, 80)]]),
          ...(info === undefined ? [] : [['offers', offersOf(host.registry.snapshot.servers, name) || 'nothing']]),
        ]),
    });
    return status.state.type === 'ready' ? exitCode.ok : exitOfError(errorOf(status));
  });
}

function place({ paths, configFile }: Workspace, scope: string): EditPlace {
  if (configFile !== undefined) {
    throw new ParleyError(
      'usage',
      `--config names ${configFile}, which is edited by hand. Leave it out to change your own settings.`,
    );
  }
  if (scope === 'machine') {
    throw new ParleyError(
      'usage',
      `${paths.machineFile} is the administrator's: it is edited as such, by hand. Use local, project or user.`,
    );
  }
  if (scope !== 'local' && scope !== 'project' && scope !== 'user') {
    throw new ParleyError('usage', `There is no scope "${scope}". Use local, project or user.`);
  }
  return { paths, scope };
}

function add(workspace: Workspace, name: string, words: readonly string[], options: AddOptions): Promise<number> {
  const [first, ...rest] = options.url === undefined ? words : [options.url, ...words];
  if (first === undefined) throw new ParleyError('usage', 'Give a URL, or a command after --.');
  const isUrl = /^https?:\/\//i.test(first);
  if (!isUrl && /^[a-z][a-z0-9+.-]*:\/\//i.test(first))
    throw new ParleyError('usage', `"${first}" is no URL of an MCP server: it begins with http:// or https://.`);
  const { transport } = options;
  if (transport !== undefined && !['stdio', 'http', 'sse'].includes(transport)) {
    throw new ParleyError('usage', `There is no transport "${transport}". Use stdio, http or sse.`);
  }
  if (isUrl !== (transport === undefined ? isUrl : transport !== 'stdio')) {
    throw new ParleyError('usage', `"${first}" does not go with the transport ${transport ?? 'stdio'}.`);
  }
  if (isUrl && rest.length > 0) throw new ParleyError('usage', `A URL takes no arguments: "${rest.join(' ')}".`);
  const env = Object.fromEntries(options.env.map((pair) => split(pair, '=', '-e K=V')));
  const headers = Object.fromEntries(options.header.map((pair) => split(pair, ':', '-H "Name: value"')));
  // Other applications take an entry of `.mcp.json` without a type for a command.
  const type = transport ?? (isUrl && options.scope === 'project' ? 'http' : undefined);
  const entry = {
    ...(type !== undefined && { type }),
    ...(isUrl ? { url: first } : { command: first, args: rest }),
    ...(options.env.length > 0 && { env }),
    ...(options.header.length > 0 && { headers }),
    ...(options.trust === true && { trusted: true }),
    ...(options.sandbox !== undefined && { sandbox: options.sandbox }),
  };
  return write(workspace, name, entry, options);
}

function split(pair: string, separator: string, form: string): [string, string] {
  const at = pair.indexOf(separator);
  if (at < 1) throw new ParleyError('usage', `"${pair}" is not of the form ${form}.`);
  return [pair.slice(0, at).trim(), separator === ':' ? pair.slice(at + 1).trim() : pair.slice(at + 1)];
}

function parseEntry(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new ParleyError('usage', `The entry is not valid JSON: ${(error as Error).message}.`, { cause: error });
  }
}

async function write(
  workspace: Workspace,
  name: string,
  entry: unknown,
  options: { readonly scope: string; readonly replace?: boolean },
): Promise<number> {
  const { printer } = workspace;
  const at = place(workspace, options.scope);
  const { files, diagnostics } = addServer(at, name, entry, { replace: options.replace === true });
  say(workspace, diagnostics);
  // Who adds a server to a project by hand has seen it.
  if (at.scope === 'project') {
    const { config } = workspace.reload();
    const server = config.servers.find((each) => each.name === name);
    if (server !== undefined) await workspace.trust.add(server, 'cli');
  }
  await forgetSignIns(workspace, name, at.scope);
  printer.result({
    json: { name, scope: at.scope, files },
    text: () => `Added server "${name}" (${at.scope}) to ${files.join(', ')}.`,
  });
  return exitCode.ok;
}

/** What was signed in at under an address that is not configured any more is of no use, and nobody would look for it. */
async function forgetSignIns(workspace: Workspace, name: string, scope: Scope): Promise<void> {
  const before = workspace.config.servers.find((each) => each.name === name && each.source.scope === scope);
  if (before === undefined || !(await forgetUnused(workspace, before))) return;
  workspace.printer.say(`The sign-in at "${name}" is forgotten.`);
}

function say({ printer }: Workspace, diagnostics: readonly Diagnostic[]): void {
  for (const diagnostic of diagnostics) printer.say(formatDiagnostic(diagnostic));
}

/** The scope that defines a server, also where its entry cannot be used. @throws ParleyError `not-found` */
function scopeOf(workspace: Workspace, name: string): string {
  const { paths, diagnostics } = workspace;
  const scopes: Readonly<Record<string, Scope>> = {
    [paths.machineFile]: 'machine',
    [paths.mcpFile]: 'project',
    [paths.userFile]: 'user',
    [paths.localFile]: 'local',
  };
  const fault = diagnostics.find(({ level, server }) => level === 'error' && server === name);
  return (fault && scopes[fault.file]) ?? serverNamed(workspace, name).source.scope;
}

async function remove(workspace: Workspace, name: string, scope: string | undefined): Promise<number> {
  const from = scope ?? scopeOf(workspace, name);
  if (from === 'flag') throw new ParleyError('usage', `Server "${name}" is from the file given by --config. Edit that file.`);
  const at = place(workspace, from);
  const { files } = removeServer(at, name);
  await forgetSignIns(workspace, name, at.scope);
  workspace.printer.result({
    json: { name, scope: from, files },
    text: () => `Removed server "${name}" from ${files.join(', ')}.`,
  });
  return exitCode.ok;
}

async function trust(workspace: Workspace, name: string, digest: string | undefined): Promise<number> {
  const server = serverNamed(workspace, name);
  const { printer, io } = workspace;
  const { now, before } = await workspace.trust.look(server);
  const { launch, facts, floating } = now;
  const json = { name, digest: launch, launch: facts };
  const isOwn = server.source.scope !== 'project';
  if (isOwn || before?.digest === launch) {
    const because = isOwn ? `: it is no project's (${server.source.scope})` : '';
    printer.result({ json: { ...json, trusted: true }, text: () => `Server "${name}" may be started as it is${because}.` });
    return exitCode.ok;
  }
  const changes = before === undefined ? undefined : changeLines(before.launch, facts);
  const lines = [
    `Server "${name}" of ${server.source.file} ${changes === undefined ? 'wants to be started like this:' : 'has changed since it was trusted:'}`,
    gutter(changes?.join('\n') ?? visible(JSON.stringify(facts, undefined, 2), { multiline: true })),
    ...(floating ? ['It fetches what it runs, and does not say exactly which version.'] : []),
    `The digest of the whole is ${launch}`,
  ];
  if (digest === undefined) printer.say(lines.join('\n'));
  if (digest !== undefined ? digest !== launch : !(await agrees(io, name))) {
    const why = digest === undefined ? 'Nobody agreed' : 'That is not the digest of the launch as it is now';
    const remedy = `Look at it, then run \`parley mcp trust ${name} --digest ${launch}\`.`;
    throw new ParleyError('denied', `${why}: server "${name}" is not started. ${remedy}`);
  }
  await workspace.trust.add(server, digest === undefined ? 'terminal' : 'cli');
  printer.result({
    json: { ...json, trusted: true },
    text: () => `Server "${name}" may be started as it is now. Any change asks again.`,
  });
  return exitCode.ok;
}

/** True when a person says so at the terminal. */
async function agrees(io: Io, name: string): Promise<boolean> {
  if (!io.interactive) return false;
  const answer = await question(io, `May "${name}" be started like this? Type yes to agree (Enter does not): `, io.signal);
  return answer?.trim().toLowerCase() === 'yes';
}

async function doctor(workspace: Workspace, name: string | undefined): Promise<number> {
  const wanted = name === undefined ? undefined : [serverNamed(workspace, name).name];
  const { printer, diagnostics, io } = workspace;
  return withHost(workspace, wanted, async (host) => {
    await host.settled({ signal: io.signal });
    const reports = host.servers.map((status) => {
      const listings = host.registry.snapshot.servers.find(({ server }) => server === status.name)?.listings ?? {};
      const rejected = Object.values(listings).flatMap((listing) => listing.rejected);
      const stale = Object.values(listings).flatMap((listing) => listing.stale ?? []);
      return { status, rejected, stale, healthy: status.state.type === 'ready' && stale.length === 0 };
    });
    const broken = diagnostics.filter(({ level }) => level === 'error').length;
    const notices = diagnostics.filter(({ level }) => level === 'notice').map((each) => `  ${formatDiagnostic(each)}`);
    printer.result({
      json: {
        configuration: diagnostics,
        servers: reports.map(({ status, rejected, stale, healthy }) => ({
          name: status.name,
          healthy,
          ...stateJson(status),
          ...sandboxJson(status),
          rejected,
          stale,
        })),
      },
      text: () =>
        [
          `configuration: ${broken === 0 ? 'well' : `${broken} ${broken === 1 ? 'error' : 'errors'}, listed above`}`,
          ...notices,
          ...reports.flatMap(({ status, rejected, stale, healthy }) => [
            `${healthy ? '✓' : '✗'} ${status.name}: ${[
              sayState(status),
              ...(healthy ? [offersOf(host.registry.snapshot.servers, status.name) || 'offers nothing'] : []),
              saySandbox(status, 'full') ?? [],
            ]
              .flat()
              .join(', ')}`,
            ...withheld(status, io.env),
            ...(status.state.type === 'ready' ? stale : []).map((why) => `    a list could not be read: ${oneLine(why, 200)}`),
            ...rejected.map((entry) => `    left out: ${oneLine(entry.name, 80)}, which ${oneLine(entry.why, 160)}`),
          ]),
        ].join('\n'),
    });
    return broken === 0 && reports.every(({ healthy }) => healthy) ? exitCode.ok : exitCode.negative;
  });
}

/** What a program that downloads or calls out may need from this environment, and gets only where its `env` names it. */
const OUTWARD =
  /^(?:https?_proxy|all_proxy|no_proxy|node_extra_ca_certs|ssl_cert_(?:file|dir)|npm_config_registry|(?:pip|uv)_.*index.*)$/i;

/** A line that names those of them that a program which did not come up was started without. */
function withheld({ state, definition }: ServerStatus, env: Io['env']): readonly string[] {
  const server = describeServer(definition);
  if (state.type === 'ready' || server.kind !== 'stdio') return [];
  const names = Object.keys(env).filter((name) => OUTWARD.test(name) && !server.env.includes(name));
  if (names.length === 0) return [];
  return [`    it does not get ${names.join(', ')} of this environment; if it needs one, add it with -e NAME='\${NAME}'`];
}

function logs(workspace: Workspace, name: string, lines: string): number {
  const server = serverNamed(workspace, name);
  const count = Number(lines);
  if (!Number.isInteger(count) || count < 1) throw new ParleyError('usage', `"${lines}" is no number of lines.`);
  const file = serverLogFile(workspace.logDir, server.name);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    workspace.printer.error('not-found', `Server "${name}" has written nothing yet (${file}).`);
    return exitCode.negative;
  }
  const last = text.trimEnd().split('\n').slice(-count);
  workspace.printer.result({ json: { file, lines: last }, text: () => gutter(last.join('\n')), raw: () => last.join('\n') });
  return exitCode.ok;
}
