// `parley mcp login` and `logout`: a person signs in at servers that want it, and out again.
import type { Command } from 'commander';
import { isParleyError, ParleyError } from '../../errors.ts';
import type { KeyPlace, SignInStatus } from '../../auth/index.ts';
import { expandServer, oneLine, type Host, type ServerConfig, type ServerDefinition } from '../../host/index.ts';
import { consentAt } from '../consent.ts';
import { exitCode, exitOfError } from '../exit.ts';
import { createLines, type Lines } from '../lines.ts';
import type { Run } from '../run.ts';
import { hasAuthorization, sayKeyPlace, signInTarget } from '../sign-ins.ts';
import { serverNamed, surroundingsOf, withHost, type Workspace } from '../workspace.ts';

interface LoginOptions {
  readonly all?: boolean;
  readonly account?: string;
  readonly browser?: boolean;
  readonly scope: readonly string[];
  readonly keyIn?: string;
}

/** One sign-in that was made. */
interface Made extends SignInStatus {
  readonly name: string;
  readonly account: string;
  readonly key: KeyPlace;
}

export function addLoginCommands(mcp: Command, run: Run): void {
  mcp
    .command('login')
    .description('Sign in to a server that wants it')
    .argument('[name]')
    .option('--all', 'every server that wants a sign-in and has none')
    .option('--account <account>', 'whose sign-in it is, where you use several; it is used from then on')
    .option('--scope <scope>', 'a scope to ask for besides; may be repeated', (one, before: string[]) => [...before, one], [])
    .option('--browser', 'open a browser, also where there is no terminal')
    .option('--no-browser', 'only print the address, and take the one the browser ends at')
    .option('--key-in <place>', 'keychain or file: where the key of all sign-ins is kept')
    .action(
      run(async (workspace, [name], options: LoginOptions) => {
        if ((name === undefined) === (options.all !== true)) throw new ParleyError('usage', 'Name one server, or give --all.');
        const lines = createLines(workspace.io);
        try {
          return await (name === undefined
            ? loginAll(workspace, options, lines)
            : login(workspace, serverNamed(workspace, name), options, lines));
        } finally {
          lines.close();
        }
      }),
    );

  mcp
    .command('logout')
    .description('Sign out of a server, and forget its tokens')
    .argument('<name>')
    .option('--account <account>', 'whose sign-in to end (default: the one that is used)')
    .action(
      run((workspace, [name], { account }: { account?: string }) =>
        logout(workspace, serverNamed(workspace, name as string), account),
      ),
    );
}

async function login(workspace: Workspace, definition: ServerDefinition, options: LoginOptions, lines: Lines): Promise<number> {
  const made = await signIn(workspace, definition, options, lines);
  workspace.printer.result({ json: made, text: () => say(workspace, made) });
  return exitCode.ok;
}

async function loginAll(workspace: Workspace, options: LoginOptions, lines: Lines): Promise<number> {
  const { config, io, printer } = workspace;
  const wanting = await withHost(workspace, undefined, async (host) => {
    await host.settled({ withinMs: 30_000, signal: io.signal });
    return host.servers.filter(({ state }) => state.type === 'needs-auth').map(({ definition }) => definition);
  });
  const made: Made[] = [];
  const failed: { readonly name: string; readonly error: unknown }[] = [];
  for (const definition of wanting) {
    try {
      made.push(await signIn(workspace, definition, options, lines));
    } catch (error) {
      io.signal.throwIfAborted();
      failed.push({ name: definition.name, error });
      printer.say(`${definition.name}: ${oneLine((error as Error).message, 400)}`);
    }
  }
  printer.result({
    json: {
      signedIn: made,
      failed: failed.map(({ name, error }) => ({
        name,
        error: { code: isParleyError(error) ? error.code : 'internal', message: (error as Error).message },
      })),
    },
    text: () =>
      wanting.length === 0
        ? config.servers.length === 0
          ? 'No servers are configured.'
          : 'No server wants a sign-in.'
        : [...made.map((each) => say(workspace, each)), `${made.length}/${wanting.length} signed in`].join('\n'),
  });
  return failed[0] === undefined ? exitCode.ok : exitOfError(failed[0].error);
}

function say({ paths }: Workspace, { name, account, issuer, scopes, key }: Made): string {
  const rights = scopes.length === 0 ? '' : `, scopes ${oneLine(scopes.join(' '), 400)}`;
  return [
    `Signed in to "${name}" at ${oneLine(issuer, 200)} (account ${account}${rights}).`,
    `Sign-ins are kept encrypted below ${paths.stateDir}, ${sayKeyPlace(key)}.`,
  ].join('\n');
}

/** @throws ParleyError why it did not come to it, or why the server does not take what came of it */
async function signIn(workspace: Workspace, definition: ServerDefinition, options: LoginOptions, lines: Lines): Promise<Made> {
  const { io, signIns } = workspace;
  const { signal } = io;
  const server = await checked(workspace, definition);
  const accounts = await signIns.accounts(server.url);
  const account = options.account ?? (await signIns.accountOf(server));
  const mine = signIns.as(account);
  const interact = await consentAt(io, { server: server.name, account, browser: options.browser, lines });
  const authorizer = await mine.authorizer(server, { interact });
  if (authorizer === undefined) {
    throw new ParleyError('config-invalid', `Server "${server.name}": tokens are sent over https only. Use its https URL.`);
  }
  return withHost({ ...workspace, signIns: mine }, [server.name], async (host) => {
    const challenge = await challengeOf(host, server.name, signal);
    const key = await (await signIns.store()).prepare(keyPlace(options.keyIn), { signal });
    await authorizer.signIn({ challenge, scopes: options.scope, signal });
    // What the settings say is not changed by a sign-in, and no other name of the server is.
    const { account: fixed, grant = 'code' } = server.oauth ?? {};
    await (fixed === undefined && grant === 'code' ? accounts.use(account, { signal }) : accounts.add(account, { signal }));
    const status = (await authorizer.status()) as SignInStatus;
    // Better now than at the next command.
    await host.restart(server.name);
    await host.session(server.name, { signal });
    return { name: server.name, account, ...status, key };
  });
}

/** The server, ready to be signed in at. @throws ParleyError why it is none for that */
async function checked(workspace: Workspace, definition: ServerDefinition): Promise<ServerConfig & { readonly kind: 'http' }> {
  const { name, written, enabled } = definition;
  if (written.kind !== 'http') {
    throw new ParleyError('usage', `Server "${name}" is a program, which gets what it needs from \`env\`. There is no sign-in.`);
  }
  if (hasAuthorization(written.headers)) {
    throw new ParleyError(
      'usage',
      `Server "${name}" is sent the Authorization header of its \`headers\`. Remove that to sign in.`,
    );
  }
  if (!enabled) throw new ParleyError('usage', `Server "${name}" is disabled. Run \`parley mcp enable ${name}\` first.`);
  if (!(await workspace.trust.covers(definition))) {
    const message = `Server "${name}" is defined by this project and not trusted yet. Look at it, then run \`parley mcp trust ${name}\`.`;
    throw new ParleyError('denied', message);
  }
  return (await expandServer(definition, surroundingsOf(workspace))) as ServerConfig & { readonly kind: 'http' };
}

/** What the server says when it is asked without a sign-in that serves; undefined when it says nothing, or wants none. */
async function challengeOf(host: Host, name: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await host.session(name, { signal });
    return undefined;
  } catch (error) {
    if (!isParleyError(error, 'auth-required')) throw error;
    return error.details.challenge;
  }
}

function keyPlace(text: string | undefined): KeyPlace | undefined {
  if (text === undefined || text === 'keychain' || text === 'file') return text;
  throw new ParleyError('usage', `A key cannot be kept in "${text}". Use keychain or file.`);
}

async function logout(workspace: Workspace, definition: ServerDefinition, wanted: string | undefined): Promise<number> {
  const { signIns, printer, io } = workspace;
  const { name } = definition;
  const server = await signInTarget(definition, surroundingsOf(workspace));
  if (server === undefined) throw new ParleyError('usage', `Server "${name}" is none that is signed in at.`);
  const accounts = await signIns.accounts(server.url);
  const account = wanted ?? (await signIns.accountOf(server));
  const signedOut = await forget(workspace, definition, account);
  if (signedOut) await accounts.forget(account, { signal: io.signal });
  printer.result({
    json: { name, account, signedOut },
    text: () =>
      signedOut
        ? `Signed out of "${name}" (account ${account}); its tokens are forgotten.`
        : `Nobody is signed in to "${name}" (account ${account}).`,
  });
  return exitCode.ok;
}

/** Ends one sign-in, also when the secrets to tell the issuer so are not at hand. True when there was one. */
async function forget(workspace: Workspace, definition: ServerDefinition, account: string): Promise<boolean> {
  const { signIns, io } = workspace;
  const surroundings = surroundingsOf(workspace);
  const server =
    (await expandServer(definition, surroundings).catch(() => undefined)) ?? (await signInTarget(definition, surroundings));
  const authorizer = server && (await signIns.authorizer(server, { account }));
  const had = (await authorizer?.status()) !== undefined;
  await authorizer?.signOut({ signal: io.signal });
  return had;
}

/** Ends the sign-ins of all accounts at a server whose address nobody has configured any more. True when there was one. */
export async function forgetUnused(workspace: Workspace, before: ServerDefinition): Promise<boolean> {
  const { signIns, io } = workspace;
  const urlOf = async (definition: ServerDefinition) => {
    const target = await signInTarget(definition, surroundingsOf(workspace));
    return target && new URL(target.url).href;
  };
  const server = await signInTarget(before, surroundingsOf(workspace));
  const still = await Promise.all(workspace.reload().config.servers.map(urlOf));
  if (server === undefined || still.includes(new URL(server.url).href)) return false;
  const accounts = await signIns.accounts(server.url);
  let any = false;
  for (const account of new Set([...(await accounts.list()), await signIns.accountOf(server)])) {
    if (!(await forget(workspace, before, account))) continue;
    await accounts.forget(account, { signal: io.signal });
    any = true;
  }
  return any;
}
