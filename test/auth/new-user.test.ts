// A new user meets a server that wants sign-in, with the built command and a real authorization server: told what to run, signed in
// by a browser here or by one elsewhere, still signed in the next day, and out again.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCliHome, type CliHome, type Ran, type RunOptions, type Running } from '../support/cli.ts';
import { signInAt, startAuthorizationServer, SERVER_CLIENT, type AuthorizationServer } from './fixtures/authorization-server.ts';
import { startProtected, type ProtectedServer } from './fixtures/protected-server.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const NEEDED = 'sign-in needed: run `parley mcp login demo`';
const homes: CliHome[] = [];
let user: CliHome;
let as: AuthorizationServer;
let server: ProtectedServer;
/** Access tokens that were given. */
const given = new Set<string>();

beforeEach(async () => {
  user = createCliHome();
  homes.push(user);
  as = await startAuthorizationServer({ format: 'opaque' });
  as.provider.on('access_token.saved', ({ jti }) => given.add(jti));
  const { clientId, secret } = SERVER_CLIENT;
  server = await startProtected({ issuer: as.issuer, introspection: { clientId, authentication: { secret }, cacheMs: 0 } });
});

afterEach(async () => {
  await server.close();
  await as.close();
  given.clear();
});

afterAll(() => {
  for (const home of homes) {
    expect(home.processes()).toEqual([]);
    home.remove();
  }
});

const parley = (...args: string[]) => user.run(args);
const said = ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr });
const add = (name = 'demo', url = server.url) => parley('mcp', 'add', name, url);

/** The address that a person is shown, as soon as it is. */
async function shown(login: Running): Promise<string> {
  await login.said('code_challenge_method=S256');
  await login.said('paste the address');
  return /^http:\S+code_challenge_method=S256\S*/m.exec(`${login.stdout}\n${login.stderr}`)![0];
}

/** Signs in with `parley mcp login WORDS` and a browser elsewhere, as `person`. */
async function login(words: readonly string[], person = 'ann'): Promise<Ran> {
  const running = user.start(['mcp', 'login', ...words], { typing: true });
  running.type(`${await signInAt(await shown(running), person)}\n`);
  return running.ended;
}

/** What happens to access tokens overnight. */
async function nextDay(): Promise<void> {
  for (const token of given) await (await as.provider.AccessToken.find(token))?.destroy();
}

/** A program that notes the address it is given, as the browser of `options`. */
function browser(): { readonly options: RunOptions; address(): Promise<string>; readonly wasOpened: boolean } {
  const file = join(user.home, 'opened');
  const program = join(user.home, 'browser');
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > '${file}.part' && mv '${file}.part' '${file}'\n`, { mode: 0o755 });
  return {
    options: { env: { BROWSER: program }, typing: true },
    async address() {
      await expect.poll(() => existsSync(file)).toBe(true);
      return readFileSync(file, 'utf8');
    },
    get wasOpened() {
      return existsSync(file);
    },
  };
}

describe('a server that wants sign-in', () => {
  it('says what to run, is signed in at with an address pasted from elsewhere, and stays so until the user signs out', async () => {
    await add();
    const refusal = { code: 3, stdout: '', stderr: `parley: Server "demo": ${NEEDED}.\n` };
    expect(said(await parley('tools', 'list'))).toEqual(refusal);
    expect(said(await parley('call', 'demo/whoami', '--allow', '*/*'))).toEqual(refusal);
    expect((await parley('mcp', 'list')).stdout).toMatch(new RegExp(`^✗ {2}demo {2}.* ${NEEDED}\\.\n0/1 connected\n$`));
    expect((await parley('mcp', 'doctor')).stdout).toContain(`✗ demo: ${NEEDED}.\n`);
    expect(await parley('--json', 'mcp', 'get', 'demo')).toMatchObject({ code: 3, json: { state: 'needs-auth' } });
    expect(as.paths).toEqual([]);

    const made = await login(['demo']);
    expect([made.code, made.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Signed in to "demo" at http:.* \(account default, scopes .*read.*\)\.\nSign-ins are kept encrypted/,
      ),
    ]);
    const listed = await parley('tools', 'list');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toContain('demo/whoami');
    expect(said(await parley('--allow', '*/*', 'call', 'demo/whoami'))).toEqual({ code: 0, stdout: '│ ann\n', stderr: '' });
    expect((await parley('mcp', 'list')).stdout).toContain('1/1 connected\n');

    const grants = () => as.tokens.map(({ grant }) => grant);
    expect(grants()).toEqual(['authorization_code']);
    await nextDay();
    expect((await parley('--allow', '*/*', 'call', 'demo/whoami')).stdout).toBe('│ ann\n');
    await nextDay();
    expect((await parley('tools', 'list')).code).toBe(0);
    expect(grants()).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);

    expect(said(await parley('mcp', 'logout', 'demo'))).toEqual({
      code: 0,
      stdout: 'Signed out of "demo" (account default); its tokens are forgotten.\n',
      stderr: '',
    });
    expect(said(await parley('tools', 'list'))).toEqual(refusal);
    expect((await parley('mcp', 'logout', 'demo')).stdout).toBe('Nobody is signed in to "demo" (account default).\n');
  });

  it('is signed in at with the browser of BROWSER, which is not opened by itself where no terminal is', async () => {
    await add();
    const seen = browser();
    const waiting = user.start(['mcp', 'login', 'demo'], seen.options);
    const address = await shown(waiting);
    expect(seen.wasOpened).toBe(false);
    waiting.type('no address at all\n');
    expect(await waiting.ended).toMatchObject({ code: 4, stdout: '' });
    expect(seen.wasOpened).toBe(false);

    const opened = user.start(['mcp', 'login', 'demo', '--browser'], seen.options);
    expect(await seen.address()).toBe(await shown(opened));
    expect(await seen.address()).not.toBe(address);
    const page = await fetch(await signInAt(await seen.address()));
    expect(await page.text()).toContain('You can close this page');
    expect(await opened.ended).toMatchObject({ code: 0 });
    expect((await parley('tools', 'list')).code).toBe(0);
  });

  const terminal = spawnSync('script', ['--version']).status === 0;
  if (!terminal) process.stdout.write('No terminal is tried: `script` of util-linux cannot be found.\n');
  it.skipIf(!terminal)('is signed in at from a terminal, where a browser is opened unless told not to', async () => {
    await add();
    const seen = browser();
    const quiet = user.start(['mcp', 'login', 'demo', '--no-browser'], { ...seen.options, terminal: true });
    const address = await shown(quiet);
    quiet.type(`${await signInAt(address)}\n`);
    expect(await quiet.ended).toMatchObject({ code: 0 });
    expect(seen.wasOpened).toBe(false);
    const opened = user.start(['mcp', 'login', 'demo'], { ...seen.options, terminal: true });
    await fetch(await signInAt(await seen.address()));
    expect(await opened.ended).toMatchObject({ code: 0 });
  });

  it.skipIf(!terminal)(
    'that names another authorization server is asked about at a terminal; nothing is sent there before',
    async () => {
      await add();
      await login(['demo']);
      const other = await startAuthorizationServer({ format: 'opaque' });
      try {
        server.protectBy(other.issuer);
        const change = `parley: Server "demo" now has another authorization server, "${other.issuer}" instead of "${as.issuer}"; nothing was sent there: ${NEEDED}.\n`;
        for (const words of [
          ['tools', 'list'],
          ['mcp', 'login', 'demo'],
        ]) {
          expect(said(await parley(...words))).toEqual({ code: 3, stdout: '', stderr: change });
        }
        const before = as.tokens.length;
        const no = user.start(['mcp', 'login', 'demo'], { typing: true, terminal: true });
        await no.said('Go on?');
        no.type('\n');
        expect(await no.ended).toMatchObject({ code: 3 });
        expect(other.tokens).toEqual([]);

        const yes = user.start(['mcp', 'login', 'demo', '--no-browser'], { typing: true, terminal: true });
        await yes.said('Go on?');
        yes.type('y\n');
        yes.type(`${await signInAt(await shown(yes))}\n`);
        expect(await yes.ended).toMatchObject({ code: 0 });
        expect((await parley('--json', 'auth', 'status')).json).toMatchObject({ servers: [{ issuer: other.issuer }] });
        expect(as.tokens).toHaveLength(before);
      } finally {
        await other.close();
      }
    },
  );

  it('is used with several accounts, each as itself', async () => {
    await add();
    await login(['demo'], 'ann');
    await login(['demo', '--account', 'work'], 'bob');
    const who = async (...words: string[]) => (await parley('--allow', '*/*', 'call', 'demo/whoami', ...words)).stdout;
    expect(await who()).toBe('│ bob\n');
    const { json } = await parley('--json', 'auth', 'status');
    expect(json).toMatchObject({
      kept: { key: 'file' },
      servers: [
        { server: 'demo', account: 'work', used: true, signedIn: true, issuer: as.issuer, resource: server.url, renewable: true },
        { server: 'demo', account: 'default', used: false, signedIn: true },
      ],
    });
    const { stdout } = await parley('auth', 'status');
    expect(stdout).toMatch(
      /^server +account +signed in at +scopes +valid until\ndemo +work +http:.* read.* \d{4}-\d\d-\d\dT\d\d:\d\dZ, then renewed\n/,
    );
    expect(stdout).toMatch(
      /\ndemo +default \(not used\) .*\nSign-ins are kept encrypted in .*, with their key in a file there, for you alone\.\n$/,
    );

    // The settings prevail, and a second name for the server has an account of its own.
    const settled = user.write('../config.json', { mcpServers: { demo: { url: server.url, oauth: { account: 'default' } } } });
    expect((await parley('--config', settled, '--allow', '*/*', 'call', 'demo/whoami')).stdout).toBe('│ ann\n');

    await parley('mcp', 'logout', 'demo');
    expect(await parley('tools', 'list')).toMatchObject({ code: 3 });
    expect((await parley('mcp', 'logout', 'demo', '--account', 'default')).stdout).toContain('Signed out of "demo"');
    expect((await parley('--json', 'auth', 'status')).json).toMatchObject({ servers: [{ account: 'work', signedIn: false }] });
  });

  it('is signed in at with every other one that wants it', async () => {
    await Promise.all([add(), parley('mcp', 'add', 'nobody', '-s', 'user', 'http://127.0.0.1:9/mcp')]);
    const running = user.start(['--json', 'mcp', 'login', '--all'], { typing: true });
    running.type(`${await signInAt(await shown(running))}\n`);
    expect(await running.ended).toMatchObject({
      code: 0,
      json: { signedIn: [{ name: 'demo', account: 'default' }], failed: [] },
    });
    expect((await parley('mcp', 'login', '--all')).stdout).toBe('No server wants a sign-in.\n');
  });

  it('wants more rights for one tool, which the next sign-in asks for', async () => {
    await add();
    await login(['demo']);
    const refused = await parley('--allow', '*/*', 'call', 'demo/write');
    expect(said(refused)).toEqual({
      code: 3,
      stdout: '',
      stderr: `parley: Server "demo" wants more rights: ${NEEDED}.\n`,
    });
    expect((await login(['demo'])).stderr).toContain('; new are write.');
    expect((await parley('--allow', '*/*', 'call', 'demo/write')).stdout).toBe('│ ann\n');
  });

  it('leaves no tokens behind when it is removed, or its address changes', async () => {
    await add();
    await login(['demo']);
    expect((await parley('mcp', 'add', 'again', server.url)).code).toBe(0);
    const kept = await parley('mcp', 'remove', 'demo');
    expect([kept.code, kept.stderr]).toEqual([0, '']);
    expect((await parley('tools', 'list')).stdout).toContain('again/whoami');
    const changed = await parley('mcp', 'add', 'again', '--replace', `${server.origin}/other`);
    expect([changed.code, changed.stderr]).toEqual([0, 'The sign-in at "again" is forgotten.\n']);
    await parley('mcp', 'add', 'again', '--replace', server.url);
    expect(await parley('tools', 'list')).toMatchObject({ code: 3 });

    await login(['again']);
    expect((await parley('mcp', 'remove', 'again')).stderr).toBe('The sign-in at "again" is forgotten.\n');
    await add('again');
    expect(await parley('tools', 'list')).toMatchObject({ code: 3 });
  });

  it('is left alone when the user gives up', async () => {
    await add();
    const running = user.start(['mcp', 'login', 'demo'], { typing: true });
    await shown(running);
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
    expect(as.tokens).toEqual([]);
    expect((await parley('--json', 'auth', 'status')).json).toMatchObject({ servers: [{ server: 'demo', signedIn: false }] });
  });

  it('is not signed in at where that makes no sense, and says why', async () => {
    await parley('mcp', 'add', 'program', '--', 'true');
    await parley('mcp', 'add', 'own', '-H', 'Authorization: Bearer x', server.url);
    await parley('mcp', 'add', 'plain', 'http://192.0.2.1/mcp');
    user.write('.mcp.json', { mcpServers: { theirs: { type: 'http', url: server.url } } });
    for (const [words, code, message] of [
      [['program'], 1, 'is a program'],
      [['own'], 1, 'Authorization header'],
      [['plain'], 1, 'tokens are sent over https only'],
      [['theirs'], 6, 'parley mcp trust theirs'],
      [['nobody'], 2, 'There is no server "nobody"'],
      [[], 1, 'Name one server, or give --all'],
      [['own', '--all'], 1, 'Name one server, or give --all'],
    ] as const) {
      const ran = await parley('mcp', 'login', ...words);
      expect([words, ran.code, ran.stdout]).toEqual([words, code, '']);
      expect(ran.stderr).toContain(message);
    }
    // Credentials of the user's own are all that is sent, and are named when they are refused.
    const own = await parley('tools', 'list', 'own');
    expect(own.code).toBe(3);
    expect(own.stderr).toContain('headers');
    expect(as.tokens).toEqual([]);
  });
});
