// Several processes with one stored sign-in, and an issuer that gives each refresh token once and takes all tokens back when one
// is presented twice.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { browserInteraction, createAuthorizer, createFileStore, type AuthorizerOptions } from '../../src/auth/index.ts';
import { signInAt, startAuthorizationServer, type AuthorizationServer } from './fixtures/authorization-server.ts';
import { startProtected, type ProtectedServer } from './fixtures/protected-server.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000 });

let directory = '';
let as: AuthorizationServer;
let server: ProtectedServer;
const running: ChildProcess[] = [];
beforeEach(async () => {
  directory = join(mkdtempSync(join(tmpdir(), 'parley-auth-')), 'credentials');
  as = await startAuthorizationServer({ format: 'opaque' });
  const introspection = { clientId: 'mcp-server', authentication: { secret: 'server secret' }, cacheMs: 0 };
  server = await startProtected({ issuer: as.issuer, introspection });
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  await server.close();
  await as.close();
  rmSync(join(directory, '..'), { recursive: true });
});

/** Milliseconds after which a token is about to end. */
const NEARLY_OVER_MS = 3_590_000;

/** A person signs in, and their sign-in is stored. */
async function signIn(options: Partial<AuthorizerOptions> = {}): Promise<void> {
  const interact = browserInteraction({ show: () => {}, open: async (url) => void (await fetch(await signInAt(url))) });
  const store = createFileStore({ directory });
  await createAuthorizer({ serverUrl: server.url, store, client: {}, interact, ...options }).signIn();
}

interface Caller {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
  next(): Promise<string | undefined>;
  call(): Promise<string | undefined>;
}

async function caller(aheadMs: number, fate = 'lives'): Promise<Caller> {
  const args = [join(import.meta.dirname, 'fixtures', 'caller.mjs'), server.url, directory, String(aheadMs), fate];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  running.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value as string | undefined;
  expect(await next()).toBe('ready');
  return {
    child,
    exit: once(child, 'exit'),
    next,
    call() {
      child.stdin.write('call\n');
      return next();
    },
  };
}

const files = () => readdirSync(directory).map((name) => join(directory, name));
const refreshes = () => as.tokens.filter(({ grant }) => grant === 'refresh_token');

it('five processes that find the token at its end present the refresh token once, and all stay signed in', async () => {
  await signIn();
  const callers = await Promise.all(Array.from({ length: 5 }, () => caller(NEARLY_OVER_MS)));
  expect(await Promise.all(callers.map((each) => each.call()))).toEqual(Array.from({ length: 5 }, () => 'ann'));
  expect(refreshes().map(({ status }) => status)).toEqual([200]);
  expect(await Promise.all(callers.map((each) => each.call()))).toEqual(Array.from({ length: 5 }, () => 'ann'));
  // The new refresh token is good as well: nothing was presented twice.
  const later = await Promise.all(Array.from({ length: 2 }, () => caller(2 * NEARLY_OVER_MS)));
  expect(await Promise.all(later.map((each) => each.call()))).toEqual(['ann', 'ann']);
  expect(refreshes().map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(refreshes().map(({ parameters }) => parameters.get('refresh_token'))).size).toBe(2);
  for (const { child } of [...callers, ...later]) child.stdin?.end();
  await Promise.all([...callers, ...later].map(({ exit }) => exit));
  expect(files().filter((file) => !file.endsWith('.json'))).toEqual([]);
});

it('five processes whose token was taken back renew it once as well', async () => {
  await signIn();
  const callers = await Promise.all(Array.from({ length: 5 }, () => caller(0)));
  expect(await Promise.all(callers.map((each) => each.call()))).toEqual(Array.from({ length: 5 }, () => 'ann'));
  await as.endAccessTokens();
  expect(await Promise.all(callers.map((each) => each.call()))).toEqual(Array.from({ length: 5 }, () => 'ann'));
  expect(refreshes().map(({ status }) => status)).toEqual([200]);
  for (const { child } of callers) child.stdin?.end();
  await Promise.all(callers.map(({ exit }) => exit));
});

it('a process that dies between the answer of the issuer and the store leaves what can be recovered from', async () => {
  await signIn();
  const before = files().map((file) => readFileSync(file, 'utf8'));
  const doomed = await caller(NEARLY_OVER_MS, 'killed');
  doomed.child.stdin?.write('call\n');
  expect(await doomed.exit).toEqual([null, 'SIGKILL']);
  expect(refreshes().map(({ status }) => status)).toEqual([200]);
  // What was there is whole, and nobody else's to read.
  const kept = files().filter((file) => file.endsWith('.json'));
  expect(kept.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
  expect(kept.map((file) => statSync(file).mode & 0o777)).toEqual(before.map(() => 0o600));
  // The next finds no lock in its way, presents what it has, and is told by the issuer that it was used.
  const next = await caller(NEARLY_OVER_MS);
  expect(await next.call()).toBe('auth-required');
  expect(refreshes().map(({ status, error }) => [status, error])).toEqual([
    [200, undefined],
    [400, 'invalid_grant'],
  ]);
  // It is not presented a third time, and a person puts all right.
  expect(await next.call()).toBe('auth-required');
  expect(refreshes()).toHaveLength(2);
  await signIn();
  expect(await next.call()).toBe('ann');
  next.child.stdin?.end();
  await next.exit;
  expect(files().filter((file) => !file.endsWith('.json'))).toEqual([]);
});
