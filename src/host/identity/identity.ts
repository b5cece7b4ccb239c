// What a server is, as one digest: the whole of its launch or its URL, with the programs that it names. Trust and grants are bound to
// this, never to a name. It reads files and starts, connects and fills in nothing.
import { createHash, createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { digest } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { locate } from '../../transport/stdio/index.ts';
import {
  describeServer,
  programName,
  startFolder,
  type HttpLaunch,
  type Launch,
  type Scope,
  type ServerConfig,
  type ServerDefinition,
  type StdioLaunch,
} from '../config/index.ts';
import { isFloating, localPackages } from './floating.ts';

/** One server, as trust and grants know it. */
export interface ServerIdentity {
  /** What grants are bound to: the launch, and what its placeholders for the program, its arguments and its place stand for. */
  readonly digest: string;
  /** What trust is bound to: the launch as it is written, and the files it runs. */
  readonly launch: string;
  /** What `launch` is the digest of, without secrets: to be shown, and compared with what was trusted before. */
  readonly facts: JsonObject;
  /** It fetches what it runs and does not say which version, or takes it from its folder: nothing is allowed for it beyond a run. */
  readonly floating: boolean;
}

export interface IdentityOptions {
  /** What keyed digests of values are made with; read only when there are any. */
  readonly key: () => Uint8Array;
  /** The project's root, the user's home and PATH: what a command is looked up by. */
  readonly workspaceFolder: string;
  readonly home: string;
  readonly path?: string | undefined;
}

/** Larger programs are known by their size and time: a runtime of a hundred megabytes is not read at each start. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Resolves with the identity of a configured server as it is written. Files that are not there are part of it as such. */
export async function identify(server: ServerDefinition, options: IdentityOptions): Promise<ServerIdentity> {
  const { written, source } = server;
  const launched =
    written.kind === 'stdio' ? await stdioFacts(written, source.scope, options) : httpFacts(server, written, options);
  const facts: JsonObject = { scope: source.scope, file: source.file, ...launched };
  const launch = digest(facts);
  // What is in a package that lies there is not looked at.
  const floating = 'packages' in launched || (written.kind === 'stdio' && isFloating(programName(written.command), written.args));
  return { digest: launch, launch, facts, floating };
}

/** Where a sign-in at a server was made, and for what. */
export interface SignedIn {
  readonly issuer: string;
  readonly resource: string;
}

/**
 * The identity with what placeholders of the program, its arguments, its folder or the URL stand for now, and with whose tokens it is
 * given.
 */
export function filledIn(
  identity: ServerIdentity,
  server: ServerConfig,
  { key, signedIn }: Pick<IdentityOptions, 'key'> & { readonly signedIn?: SignedIn | undefined },
): ServerIdentity {
  const open = placesOf(server.written).some((text) => text.includes('${'));
  if (!open && signedIn === undefined) return identity;
  const filled = open ? keyed(JSON.stringify(placesOf(server)), { key }) : undefined;
  const { issuer, resource } = signedIn ?? {};
  return { ...identity, digest: digest({ launch: identity.launch, filled, issuer, resource }) };
}

function placesOf(launch: Launch): readonly string[] {
  if (launch.kind === 'http') return [launch.url];
  const { command, args, cwd = '', sandbox } = launch;
  return [command, ...args, cwd, ...(sandbox?.read ?? []), ...(sandbox?.write ?? [])];
}

async function stdioFacts(launch: StdioLaunch, scope: Scope, options: IdentityOptions): Promise<JsonObject> {
  const { command, args, env, cwd, privateCwd, sandbox } = launch;
  // Where it starts.
  const folder = startFolder(scope, cwd === undefined ? cwd : placed(cwd, options), options.workspaceFolder);
  const runs = (text: string) => fileFacts(placed(text, options), folder);
  const scripts: Record<string, unknown> = {};
  for (const file of scriptsOf(command, args)) {
    const found = await runs(file);
    if (found !== undefined) scripts[file] = found;
  }
  const packages: Record<string, unknown> = {};
  for (const name of privateCwd === true ? [] : localPackages(programName(command), args)) {
    const program = `.bin/${name.slice(name.lastIndexOf('/') + 1)}`;
    for (const file of [`node_modules/${name}/package.json`, `node_modules/${program}`]) {
      const found = await runs(file);
      if (found !== undefined) packages[file] = found;
    }
  }
  return {
    kind: 'stdio',
    command,
    args: args.map((arg) => keyedIfSecret(arg, options)),
    executable: await executableFacts(placed(command, options), env, folder, options),
    ...(Object.keys(scripts).length > 0 && { scripts }),
    ...(Object.keys(packages).length > 0 && { packages }),
    ...(cwd !== undefined && { cwd }),
    ...(privateCwd === true && { privateCwd }),
    ...(sandbox !== undefined && { sandbox: { ...sandbox } }),
    env: valuesOf(env, options),
  };
}

function httpFacts(server: ServerDefinition, { transport, url, headers }: HttpLaunch, options: IdentityOptions): JsonObject {
  const described = describeServer(server);
  const shown = described.kind === 'http' ? described.url : url;
  return {
    kind: 'http',
    transport,
    url: shown,
    // What is hidden in it counts all the same.
    ...(shown !== url && { whole: keyed(url, options) }),
    headers: valuesOf(headers, options),
  };
}

/** By name: the placeholder as written, or a keyed digest of the value. */
function valuesOf(values: Readonly<Record<string, string>>, options: IdentityOptions): JsonObject {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isOnlyPlaceholders(value) ? value : keyed(value, options)]),
  );
}

/** True for `${A}` and `Bearer ${A}`: nothing in it needs hiding. */
function isOnlyPlaceholders(value: string): boolean {
  return value.includes('${') && /^(?:bearer |basic |token )?(?:\$\{[^{}:]*(?::[A-Za-z0-9_.][A-Za-z0-9_.-]*)?\})+$/i.test(value);
}

function keyedIfSecret(arg: string, options: IdentityOptions): string {
  const [, name, value] = /^(--?[\w-]*(?:key|token|secret|password|auth)[\w-]*=)(.+)$/is.exec(arg) ?? [];
  if (name === undefined || value === undefined || isOnlyPlaceholders(value)) return arg;
  return name + keyed(value, options);
}

function keyed(text: string, { key }: Pick<IdentityOptions, 'key'>): string {
  return `keyed:${createHmac('sha256', key()).update('parley identity\n').update(text).digest('hex').slice(0, 32)}`;
}

/** The text with places filled in, which are no secrets; other placeholders stay. */
function placed(text: string, { workspaceFolder, home }: IdentityOptions): string {
  return text.replaceAll('${workspaceFolder}', workspaceFolder).replaceAll('${userHome}', home);
}

async function executableFacts(
  command: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
  { path }: IdentityOptions,
): Promise<JsonObject | string> {
  if (command.includes('${')) return 'not known before its placeholders are filled in';
  const search = env['PATH'] ?? path;
  try {
    return (await fileFacts(locate(command, { path: search?.includes('${') === true ? path : search, cwd }), cwd)) ?? 'not there';
  } catch {
    return 'not there';
  }
}

/** Programs that run the file they are given. */
const INTERPRETER =
  /^(node|nodejs|bun|deno|tsx|ts-node|python[\d.]*w?|pypy[\d.]*|ruby|perl|php|lua[\d.]*|java|sh|bash|dash|zsh|ksh|pwsh)$/;
const SCRIPT = /\.([cm]?[jt]sx?|py|pyz|rb|pl|php|lua|jar|sh|ps1|wasm)$/i;

/** The arguments that name what is run: those that look like scripts, and the first word that an interpreter gets. */
function scriptsOf(command: string, args: readonly string[]): readonly string[] {
  const values = args.map((arg) => (arg.startsWith('-') ? arg.slice(arg.indexOf('=') + 1) : arg));
  const found = new Set(values.filter((value) => SCRIPT.test(value)));
  const first = args.find((arg) => !arg.startsWith('-'));
  if (first !== undefined && INTERPRETER.test(programName(command))) found.add(first);
  return [...found].filter((file) => !/^[a-z][a-z0-9+.-]+:/i.test(file));
}

/** Digests of files by what says that they are as they were. */
const known = new Map<string, string>();
const MOST_KNOWN = 256;

/** The real path of a file and what is in it; undefined when there is no such file. */
async function fileFacts(file: string, cwd: string): Promise<JsonObject | undefined> {
  try {
    const path = await realpath(resolve(cwd, file));
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    if (size > MOST_BYTES) return { path, bytes: size, modifiedAt: Math.trunc(mtimeMs) };
    const state = `${path}\n${[dev, ino, size, mtimeMs, ctimeMs].join(' ')}`;
    const sha256 = known.get(state) ?? (await sha256Of(path));
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(state, sha256);
    return { path, sha256 };
  } catch {
    return undefined;
  }
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
