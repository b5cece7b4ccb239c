// What must stay secret stays so, in all that a sign-in's life leaves behind: what commands print, what they write, what they start,
// and what they ask for.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BIN, createCliHome, type Ran, type RunOptions, type Running } from '../support/cli.ts';
import {
  ROBOT,
  signInAt,
  startAuthorizationServer,
  SERVER_CLIENT,
  type AuthorizationServer,
} from './fixtures/authorization-server.ts';
import { startProtected, type ProtectedServer } from './fixtures/protected-server.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const FIXTURE = join(import.meta.dirname, '../fixtures/stdio-server.mjs');
const WRONG = 'a wrong secret that nobody may see';
const user = createCliHome();
const seen = join(user.home, 'seen');
const program = join(user.home, 'browser');
/** What each kind of secret was, as it came to be. */
const secrets = { access: new Set<string>(), refresh: new Set<string>(), code: new Set<string>(), typed: new Set<string>() };
/** What was printed, by command. */
const printed: string[] = [];
/** Addresses that were asked for, at either server. */
const addresses: string[] = [];
/** Argument lists of what ran below us, and environments of what Parley started. */
const argumentLists = new Set<string>();
const environments = new Set<string>();
let as: AuthorizationServer;
let server: ProtectedServer;

const noteAddress = (message: unknown) => {
  addresses.push((message as { request: { url: string } }).request.url);
};

beforeAll(async () => {
  subscribe('http.server.request.start', noteAddress);
  as = await startAuthorizationServer({ format: 'opaque' });
  as.provider.on('access_token.saved', ({ jti }) => secrets.access.add(jti));
  as.provider.on('client_credentials.saved', ({ jti }) => secrets.access.add(jti));
  as.provider.on('refresh_token.saved', ({ jti }) => secrets.refresh.add(jti));
  as.provider.on('authorization_code.saved', ({ jti }) => secrets.code.add(jti));
  const { clientId, secret } = SERVER_CLIENT;
  server = await startProtected({ issuer: as.issuer, introspection: { clientId, authentication: { secret }, cacheMs: 0 } });
  writeFileSync(program, `#!/bin/sh\n{ printf '%s\\n' "$1"; env; } > '${seen}.part' && mv '${seen}.part' '${seen}'\n`, {
    mode: 0o755,
  });
});

afterAll(async () => {
  unsubscribe('http.server.request.start', noteAddress);
  await server.close();
  await as.close();
  expect(user.processes()).toEqual([]);
  user.remove();
});

/** Looks at all processes below this one, again and again. */
function watchProcesses(): () => void {
  const timer = setInterval(() => {
    const found = new Map<number, { readonly parent: number; readonly line: string }>();
    for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        found.set(pid, { parent, line: readFileSync(`/proc/${pid}/cmdline`, 'utf8') });
      } catch {
        // It ended while it was looked at.
      }
    }
    for (const [pid, { parent, line }] of found) {
      let above: number | undefined = pid;
      while (above !== undefined && above !== process.pid) above = found.get(above)?.parent;
      if (above === undefined) continue;
      argumentLists.add(line.split('\0').join(' '));
      // The commands themselves have what their user gave them, and so has a child that is not yet what it will be.
      if (line.includes(BIN) || parent === process.pid || pid === process.pid) continue;
      try {
        environments.add(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').join('\n'));
      } catch {
        // The same.
      }
    }
  }, 10);
  return () => clearInterval(timer);
}

const start = (words: readonly string[], options: RunOptions = {}): Running =>
  user.start(words, { ...options, env: { ROBOT_SECRET: ROBOT.secret, ...options.env } });
async function parley(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return noted(start(words, options));
}
async function noted(running: Running): Promise<Ran> {
  const ran = await running.ended;
  printed.push(ran.stdout, ran.stderr);
  return ran;
}

async function shown(login: Running): Promise<string> {
  await login.said('paste the address');
  return /^http:\S+code_challenge_method=S256\S*/m.exec(login.stderr)![0];
}

async function pasted(words: readonly string[], change: (address: string) => string = (address) => address): Promise<Ran> {
  const running = start(['-v', 'mcp', 'login', 'demo', '--key-in', 'file', ...words], { typing: true });
  const address = change(await signInAt(await shown(running)));
  secrets.typed.add(address);
  running.type(`${address}\n`);
  return noted(running);
}

/** Every file below `directory`. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

it('tokens, codes, verifiers and client secrets are nowhere to be seen, from the first refusal to the sign-out', async () => {
  const stopWatching = watchProcesses();
  const call = (name: string, ...more: string[]) => parley(['-v', '--allow', '*/*', 'call', name, ...more]);
  const robot = { clientId: ROBOT.clientId, clientSecret: '${ROBOT_SECRET}', issuer: as.issuer, grant: 'client-credentials' };
  await parley(['mcp', 'add', 'demo', server.url]);
  await parley(['mcp', 'add-json', 'robot', JSON.stringify({ url: server.url, oauth: { ...robot, scopes: ['read'] } })]);
  await parley(['mcp', 'add', 'program', '-e', 'A=b', '--', process.execPath, FIXTURE]);

  expect((await parley(['-v', 'tools', 'list', 'demo'])).code).toBe(3);
  expect((await pasted([], (address) => address.replace('state=', 'state=x'))).code).toBe(4);
  expect((await pasted([])).code).toBe(0);
  expect((await call('demo/whoami')).stdout).toContain('ann');
  expect((await parley(['--json', '--allow', '*/*', 'call', 'demo/whoami'])).code).toBe(0);
  for (const token of secrets.access) await (await as.provider.AccessToken.find(token))?.destroy();
  expect((await call('demo/whoami')).code).toBe(0);
  expect((await call('demo/write')).code).toBe(3);

  const opened = start(['-v', 'mcp', 'login', 'demo', '--browser'], { env: { BROWSER: program }, typing: true });
  await expect.poll(() => existsSync(seen)).toBe(true);
  const [address = '', ...environment] = readFileSync(seen, 'utf8').split('\n');
  environments.add(environment.join('\n'));
  const callback = await signInAt(address);
  secrets.typed.add(callback);
  await fetch(callback);
  expect((await noted(opened)).code).toBe(0);
  expect((await call('demo/write')).code).toBe(0);

  expect((await call('robot/whoami')).stdout).toContain('robot');
  for (const token of secrets.access) await (await as.provider.ClientCredentials.find(token))?.destroy();
  expect((await parley(['-v', '--allow', '*/*', 'call', 'robot/whoami'], { env: { ROBOT_SECRET: WRONG } })).code).toBe(3);

  for (const words of [
    ['auth', 'status'],
    ['mcp', 'list'],
    ['mcp', 'get', 'demo'],
    ['mcp', 'get', 'robot'],
    ['mcp', 'doctor'],
    ['tools', 'list'],
  ]) {
    await Promise.all([parley(['-v', ...words]), parley(['--json', ...words])]);
  }
  await as.revokeAll();
  expect((await call('demo/whoami')).code).toBe(3);
  expect((await pasted([])).code).toBe(0);
  const kept = filesBelow(user.home).map((file) => [file, readFileSync(file, 'latin1')] as const);
  expect((await parley(['-v', 'mcp', 'logout', 'demo'])).code).toBe(0);
  stopWatching();

  // All of it happened.
  const verifiers = as.tokens.flatMap(({ parameters }) => parameters.get('code_verifier') ?? []);
  const basic = [ROBOT.secret, WRONG].map((secret) => Buffer.from(`${ROBOT.clientId}:${secret}`).toString('base64'));
  const everything = [
    ...Object.values(secrets).flatMap((kind) => [...kind]),
    ...[...secrets.typed].map((text) => new URL(text).searchParams.get('code')!),
    ...verifiers,
    ...basic,
    ROBOT.secret,
    WRONG,
  ];
  expect([secrets.code.size, secrets.typed.size, verifiers.length]).toEqual([4, 4, 3]);
  expect(secrets.access.size).toBeGreaterThan(4);
  expect(secrets.refresh.size).toBeGreaterThan(2);
  expect(as.came.join('\n')).toContain(verifiers[0]);
  expect([...argumentLists].some((line) => line.includes('mcp login demo'))).toBe(true);
  expect([...environments].some((text) => text.includes('A=b'))).toBe(true);
  expect(environments.size).toBeGreaterThan(1);
  expect(kept.some(([file]) => file.includes('/sign-ins/'))).toBe(true);

  const isCallback = (text: string) => [...secrets.typed].some((typed) => typed.endsWith(text));
  const places: Readonly<Record<string, readonly string[]>> = {
    'what was printed': printed,
    'an argument list': [...argumentLists],
    'an environment': [...environments],
    // But for where a browser comes back to.
    'an address': addresses.filter((text) => !isCallback(text)),
    'a file': kept.map(([, text]) => text),
    'a file at the end': filesBelow(user.home).map((file) => readFileSync(file, 'latin1')),
    'a file of the project': filesBelow(user.project).map((file) => readFileSync(file, 'latin1')),
  };
  for (const [place, texts] of Object.entries(places)) {
    for (const secret of everything) {
      for (const written of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
        const found = texts.find((text) => text.includes(written));
        expect(found === undefined ? undefined : [place, written, found.slice(0, 2_000)]).toBeUndefined();
      }
    }
  }
});
