// `parley auth status`: who is signed in where, until when, and where that is kept. Nothing of it is a secret.
import type { Command } from 'commander';
import { oneLine, type ServerDefinition } from '../../host/index.ts';
import { exitCode } from '../exit.ts';
import { columns, markdownTable } from '../output.ts';
import type { Run } from '../run.ts';
import { sayKeyPlace, signInTarget } from '../sign-ins.ts';
import { surroundingsOf, type Workspace } from '../workspace.ts';

export function addAuthCommands(program: Command, run: Run): void {
  program
    .command('auth')
    .description('See who is signed in where')
    .command('status', { isDefault: true })
    .description('List the sign-ins at the configured servers')
    .action(run((workspace) => status(workspace)));
}

const HEAD = ['server', 'account', 'signed in at', 'scopes', 'valid until'];

async function status(workspace: Workspace): Promise<number> {
  const { config, signIns, printer } = workspace;
  const servers = (await Promise.all(config.servers.map((server) => signInsOf(workspace, server)))).flat();
  const store = await signIns.store();
  const key = await store.keyPlace();
  const rows = servers.map(({ server, account, used, signIn }) => [
    server,
    used || signIn === undefined ? account : `${account} (not used)`,
    ...(signIn === undefined
      ? ['no', '', '']
      : [oneLine(signIn.issuer, 100), oneLine(signIn.scopes.join(' '), 100) || 'none', validity(signIn)]),
  ]);
  const kept =
    key === undefined ? 'Nothing is kept yet.' : `Sign-ins are kept encrypted in ${store.directory}, ${sayKeyPlace(key)}.`;
  printer.result({
    json: {
      kept: { directory: store.directory, key: key ?? null },
      servers: servers.map(({ signIn, ...who }) => ({ ...who, signedIn: signIn !== undefined, ...signIn })),
    },
    text: () =>
      [servers.length === 0 ? 'No configured server could be signed in at.' : columns([HEAD, ...rows]), kept].join('\n'),
    markdown: () => [markdownTable([HEAD, ...rows]), '', kept].join('\n'),
  });
  return exitCode.ok;
}

/** The sign-ins at one server, that of the account in use first, whether there is one or not. */
async function signInsOf({ signIns, ...workspace }: Workspace, definition: ServerDefinition) {
  const server = await signInTarget(definition, surroundingsOf(workspace));
  if (server === undefined) return [];
  const accounts = await signIns.accounts(server.url);
  const used = await signIns.accountOf(server);
  const all = [used, ...(await accounts.list()).filter((account) => account !== used)];
  const found = await Promise.all(
    all.map(async (account) => {
      const signIn = await (await signIns.authorizer(server, { account }))?.status();
      return { server: server.name, account, used: account === used, signIn };
    }),
  );
  return found.filter((each) => each.used || each.signIn !== undefined);
}

function validity({ expiresAt, renewable }: { readonly expiresAt: number | undefined; readonly renewable: boolean }): string {
  const until = expiresAt === undefined ? 'the server does not say' : `${new Date(expiresAt).toISOString().slice(0, 16)}Z`;
  return renewable ? `${until}, then renewed` : until;
}
