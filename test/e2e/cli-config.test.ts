// A new user: servers are added, looked at, switched off and taken out again, and a project brings some of its own.
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCliHome, type CliHome, type Ran } from '../support/cli.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000 });

const FIXTURE = join(import.meta.dirname, 'fixtures/odd-server.mjs');
const homes: CliHome[] = [];
let user: CliHome;

beforeEach(() => {
  user = createCliHome();
  homes.push(user);
});

afterAll(() => {
  for (const home of homes) {
    expect(home.processes()).toEqual([]);
    home.remove();
  }
});

const parley = (...args: string[]) => user.run(args);
const read = (file: string) => readFileSync(file, 'utf8');
const marks = () => Object.entries(user.mark).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
const command = (way = 'plain') => [process.execPath, FIXTURE, way];
const userFile = () => join(user.home, '.config/parley/parley.jsonc');
const said = ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr });

describe('a server of the user’s, in a repository that somebody else wrote', () => {
  it('does not run what the repository calls by the name of its package', async () => {
    const ran = join(user.home, 'ran');
    const main = `#!/usr/bin/env node\nrequire('node:fs').writeFileSync(${JSON.stringify(ran)}, '');\n`;
    user.write('node_modules/some-server/package.json', { name: 'some-server', version: '1.2.3', bin: 'main.js' });
    chmodSync(user.write('node_modules/some-server/main.js', main), 0o755);
    mkdirSync(join(user.project, 'node_modules/.bin'));
    symlinkSync('../some-server/main.js', join(user.project, 'node_modules/.bin/some-server'));
    user.write('package.json', { name: 'repository', dependencies: { 'some-server': '1.2.3' } });
    const entry = (more: object) => {
      mkdirSync(join(user.home, '.config/parley'), { recursive: true });
      const env = { ...user.mark, npm_config_offline: 'true' };
      const server = { command: 'npx', args: ['-y', 'some-server@1.2.3'], env, ...more };
      writeFileSync(userFile(), JSON.stringify({ mcpServers: { some: server } }));
    };
    entry({});
    expect((await parley('tools', 'list', 'some')).code).toBe(4);
    expect(existsSync(ran)).toBe(false);
    // As it is where the user says so.
    entry({ privateCwd: false });
    await parley('tools', 'list', 'some');
    expect(existsSync(ran)).toBe(true);
  });
});

describe('a server of a project', () => {
  it('runs what was looked at when it was trusted, also from another folder of the project', async () => {
    const script = (mark: string) =>
      `require('node:fs').writeFileSync(${JSON.stringify(join(user.home, mark))}, process.cwd());\n`;
    user.write('server.js', script('trusted'));
    user.write('sub/server.js', script('other'));
    user.write('.mcp.json', { mcpServers: { own: { command: process.execPath, args: ['server.js'], env: user.mark } } });
    expect(await user.trust('own')).toMatchObject({ code: 0 });
    await user.run(['tools', 'list', 'own'], { cwd: join(user.project, 'sub') });
    expect(read(join(user.home, 'trusted'))).toBe(realpathSync(user.project));
    expect(existsSync(join(user.home, 'other'))).toBe(false);
  });
});

describe('parley mcp', () => {
  it('says that nothing is configured yet, and how to begin', async () => {
    expect(said(await parley('mcp', 'list'))).toEqual({
      code: 0,
      stdout: 'No servers are configured. Add one with `parley mcp add`.\n',
      stderr: '',
    });
    expect(said(await parley('mcp', 'get', 'any'))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'parley: There is no server "any". None is configured: add one with `parley mcp add`.\n',
    });
    expect(existsSync(userFile())).toBe(false);
  });

  it('adds a program that is then used, shown and removed', async () => {
    const added = await parley('mcp', 'add', 'odd', '-s', 'user', ...marks(), '-e', 'TOKEN=s3cret', '--', ...command(), '--flag');
    expect(said(added)).toEqual({ code: 0, stdout: `Added server "odd" (user) to ${userFile()}.\n`, stderr: '' });
    expect(JSON.parse(read(userFile()))).toEqual({
      mcpServers: {
        odd: {
          command: process.execPath,
          args: [FIXTURE, 'plain', '--flag'],
          env: { ...user.mark, TOKEN: 's3cret' },
        },
      },
    });
    expect(statSync(userFile()).mode & 0o077).toBe(0);

    const [tools, list, got, json] = await Promise.all([
      parley('tools', 'list'),
      parley('mcp', 'list'),
      parley('mcp', 'get', 'odd'),
      parley('--json', 'mcp', 'get', 'odd'),
    ]);
    expect(tools.stdout).toBe('odd/echo  The tool echo.\nodd/slow  The tool slow.\n');
    expect(list.stdout).toMatch(/^✓ {2}odd {2}.* connected, 2025-06-18, 2 tools, not sandboxed\n1\/1 connected\n$/);
    expect(got.stdout).toMatch(/from +mcpServers\.odd in .*parley\.jsonc \(user\)/);
    expect(got.stdout).toMatch(/calls itself +odd 1\n/);
    expect(json.json).toMatchObject({ name: 'odd', state: 'ready', revision: '2025-06-18', trusted: false });
    for (const { stdout, stderr } of [tools, list, got, json]) expect(stdout + stderr).not.toContain('s3cret');

    const again = await parley('--json', 'mcp', 'add', 'odd', '-s', 'user', '--', 'other');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(/exists in user scope/);
    expect((await parley('mcp', 'add', 'odd', '-s', 'user', '--replace', '--', 'other')).code).toBe(0);
    expect(JSON.parse(read(userFile()))).toEqual({ mcpServers: { odd: { command: 'other', args: [] } } });

    expect(said(await parley('mcp', 'remove', 'odd'))).toEqual({
      code: 0,
      stdout: `Removed server "odd" from ${userFile()}.\n`,
      stderr: '',
    });
    expect(await parley('mcp', 'remove', 'odd')).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(read(userFile()))).toEqual({ mcpServers: {} });
  });

  it('adds URLs with headers, in each scope to the file that is meant', async () => {
    const url = 'https://example.test/mcp';
    expect((await parley('mcp', 'add', 'a', url, '-H', 'Authorization: Bearer ${TOKEN}', '-s', 'user')).code).toBe(0);
    expect(JSON.parse(read(userFile()))).toEqual({ mcpServers: { a: { url, headers: { Authorization: 'Bearer ${TOKEN}' } } } });
    expect((await parley('mcp', 'add', 'b', '-t', 'sse', '--url', url)).code).toBe(0);
    expect((await parley('mcp', 'add', 'c', url, '-s', 'project')).code).toBe(0);
    expect(JSON.parse(read(join(user.project, '.mcp.json')))).toEqual({ mcpServers: { c: { type: 'http', url } } });
    const listed = await user.run(['--json', 'mcp', 'list', '--no-connect'], { env: { TOKEN: 'x' } });
    expect(listed.stderr).toBe('');
    const { servers } = listed.json as { servers: { name: string; transport: string; source: { scope: string } }[] };
    expect(servers.map(({ name, transport, source }) => [name, transport, source.scope])).toEqual([
      ['b', 'sse', 'local'],
      ['c', 'http', 'project'],
      ['a', 'either', 'user'],
    ]);
    // What is local is for this project alone.
    const elsewhere = join(user.project, '../elsewhere');
    mkdirSync(elsewhere);
    const there = await user.run(['--json', 'mcp', 'list', '--no-connect'], { cwd: elsewhere, env: { TOKEN: 'x' } });
    expect((there.json as { servers: { name: string }[] }).servers.map(({ name }) => name)).toEqual(['a']);
  });

  it('changes no file that --config names', async () => {
    const file = user.write('own.jsonc', {});
    const added = await parley('--config', file, 'mcp', 'add', 'odd', '--', ...command());
    expect(said(added)).toMatchObject({ code: 1, stdout: '' });
    expect(added.stderr).toContain('edited by hand');
  });

  it('adds what other applications write as JSON, and refuses what makes no sense', async () => {
    const entry = { command: process.execPath, args: [FIXTURE, 'plain'], env: user.mark, timeout: 5_000 };
    expect((await parley('mcp', 'add-json', 'odd', JSON.stringify(entry), '-s', 'user')).code).toBe(0);
    expect((await parley('tools', 'list', 'odd')).stdout).toContain('odd/echo');
    const before = read(userFile());
    const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [['add-json', 'x', '{'], /The entry is not valid JSON/],
      [['add-json', 'x', '{"comand":"a"}'], /Nothing was written.*needs "command"/],
      [['add', 'x__y', '--', 'a'], /Nothing was written.*Call it "x_y"/],
      [['add', 'x'], /Give a URL, or a command after --/],
      [['add', 'x', '-t', 'http', 'prog'], /"prog" does not go with the transport http/],
      [['add', 'x', '-s', 'global', 'prog'], /There is no scope "global"/],
      [['add', 'x', '-e', 'NOTHING', '--', 'prog'], /"NOTHING" is not of the form -e K=V/],
    ];
    const refused = await Promise.all(wrong.map(([args]) => parley('mcp', ...args)));
    wrong.forEach(([args, message], at) => {
      expect({ args, code: refused[at]?.code, stdout: refused[at]?.stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(refused[at]?.stderr).toMatch(message);
    });
    expect(read(userFile())).toBe(before);
  });

  it('switches a server off and on again, and keeps the comments of the file', async () => {
    await parley('mcp', 'add', 'odd', ...marks(), '--', ...command());
    const { servers } = (await parley('--json', 'mcp', 'list', '--no-connect')).json as {
      servers: { source: { file: string } }[];
    };
    const file = servers[0]?.source.file as string;
    writeFileSync(file, read(file).replace('{', '{\n  // Mine.'));
    expect(said(await parley('mcp', 'disable', 'odd'))).toEqual({ code: 0, stdout: 'Server "odd" is disabled.\n', stderr: '' });
    const [list, tools, got, call] = await Promise.all([
      parley('mcp', 'list'),
      parley('tools', 'list'),
      parley('mcp', 'get', 'odd'),
      parley('--allow', 'odd/*', 'call', 'odd/echo'),
    ]);
    expect(list.stdout).toMatch(/^odd {2}disabled {2}/);
    expect(tools.stdout).toBe('No tools.\n');
    expect(got.stdout).toMatch(/state +disabled/);
    expect(call).toMatchObject({ code: 2, stdout: '' });
    expect((await parley('mcp', 'enable', 'odd')).stdout).toBe('Server "odd" is enabled.\n');
    expect((await parley('tools', 'list')).stdout).toContain('odd/echo');
    expect(read(file)).toContain('// Mine.');
    expect(await parley('mcp', 'enable', 'od')).toMatchObject({ code: 2, stderr: expect.stringContaining('"odd"') as string });
  });

  it('shows what a server wrote to its standard error', async () => {
    await parley('mcp', 'add', 'odd', ...marks(), '--', ...command());
    expect(await parley('mcp', 'logs', 'odd')).toMatchObject({ code: 2, stdout: '' });
    for (const text of ['a', 'b']) await parley('--allow', 'odd/*', 'call', 'odd/echo', `text=${text}`);
    const logs = await parley('mcp', 'logs', 'odd');
    expect(logs.stdout).toMatch(/^│ called echo\n[^]*│ called echo\n$/);
    const one = await parley('--json', 'mcp', 'logs', 'odd', '-n', '1');
    expect(one.json).toMatchObject({ lines: ['called echo'] });
    expect(await parley('mcp', 'logs', 'odd', '-n', 'all')).toMatchObject({ code: 1 });
    expect(await parley('mcp', 'logs', 'dod')).toMatchObject({ code: 2 });
  });

  it('finds out what is wrong with which server', async () => {
    await parley('mcp', 'add', 'well', ...marks(), '--', ...command());
    expect(await parley('mcp', 'doctor')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^configuration: well\n✓ well: connected, 2025-06-18, 2 tools, not sandboxed \(its settings do not ask for it\)\n$/,
      ) as string,
    });
    await parley('mcp', 'add', 'gone', '--', 'parley-no-such-command');
    await parley('mcp', 'add', 'strange', ...marks(), '--', ...command('alien'));
    const all = await parley('mcp', 'doctor');
    expect(all.code).toBe(2);
    expect(all.stdout).toMatch(/✓ well: connected/);
    expect(all.stdout).toMatch(/✗ gone: The command "parley-no-such-command" cannot be started/);
    expect(all.stdout).toMatch(/✗ strange: No protocol revision in common/);
    const one = await parley('--json', 'mcp', 'doctor', 'well');
    expect(one).toMatchObject({ code: 0 });
    expect(one.json).toMatchObject({ configuration: [], servers: [{ name: 'well', healthy: true }] });
  });
});

describe('a project that brings servers', () => {
  /** Starts nothing but what leaves a trace. */
  const started = () =>
    existsSync(join(user.project, 'started')) ? read(join(user.project, 'started')).trim().split('\n').length : 0;
  const entry = (more: object = {}) => ({
    command: process.execPath,
    args: [FIXTURE, 'plain'],
    env: { ...user.mark, STARTED: join(user.project, 'started') },
    ...more,
  });
  const bring = (server: object, name = 'theirs') => user.write('.mcp.json', { mcpServers: { [name]: server } });

  it('has none of them started until the user trusts it, and any change of the launch asks again', async () => {
    const file = bring(entry());
    const untrusted = async (why = 'not trusted yet') => {
      const before = started();
      const tools = await parley('tools', 'list');
      expect(tools).toMatchObject({ code: 6, stdout: '' });
      expect(tools.stderr).toMatch(/^parley: Server "theirs": It is defined by this project and .*`parley mcp trust theirs`/);
      expect(tools.stderr).toContain(why);
      expect(started()).toBe(before);
    };
    const trusted = async () => {
      const before = started();
      expect(await parley('tools', 'list')).toMatchObject({ code: 0, stdout: expect.stringContaining('theirs/echo') as string });
      expect(started()).toBeGreaterThan(before);
    };
    const trust = async (...told: readonly string[]) => {
      const before = started();
      // Nobody can be asked, so it is only shown, with the digest to agree to.
      const shown = await parley('mcp', 'trust', 'theirs');
      expect(shown).toMatchObject({ code: 6, stdout: '' });
      for (const text of told) expect(shown.stderr).toContain(text);
      expect(await parley('mcp', 'trust', 'theirs', '--digest', '0'.repeat(64))).toMatchObject({ code: 6 });
      expect(await user.trust('theirs')).toMatchObject({ code: 0 });
      expect(started()).toBe(before);
    };

    await untrusted();
    const [call, list, doctor, got] = await Promise.all([
      parley('--json', '--allow', '*/*', 'call', 'theirs/echo', 'text=x'),
      parley('mcp', 'list'),
      parley('mcp', 'doctor'),
      parley('--json', 'mcp', 'get', 'theirs'),
    ]);
    expect(call).toMatchObject({ code: 6, stdout: '' });
    expect(list).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✗ {2}theirs .*not trusted yet/) as string });
    expect(doctor).toMatchObject({ code: 2 });
    expect(got).toMatchObject({ code: 6 });
    expect(got.json).toMatchObject({ state: 'failed', error: { code: 'denied' } });
    expect(started()).toBe(0);

    await trust(`Server "theirs" of ${file} wants to be started`, JSON.stringify(FIXTURE));
    await trusted();
    for (const changed of [
      entry({ args: [FIXTURE, 'plain', '--more'] }),
      entry({ env: { ...entry().env, NODE_ENV: 'x' } }),
      entry({ cwd: user.home }),
    ]) {
      bring(changed);
      await untrusted('has changed since it was trusted');
    }
    // As it was when it was trusted, it still is; and so is the changed one once it was agreed to.
    bring(entry());
    await trusted();
    bring(entry({ args: [FIXTURE, 'plain', '--more'] }));
    await trust(`Server "theirs" of ${file} has changed since it was trusted`, '│ +   "--more"');
    await trusted();
  });

  it('cannot trust itself, nor have its own rules allow its calls', async () => {
    bring(entry());
    user.write('.parley/parley.jsonc', {
      servers: { theirs: { trusted: true, reviewedTools: ['echo'] } },
      permissions: { allow: ['theirs/*'] },
    });
    user.write('.parley/trusted-launches.json', []);
    expect((await parley('tools', 'list')).code).toBe(6);
    await user.trust('theirs');
    const call = await parley('--json', 'call', 'theirs/echo', 'text=x');
    expect(call).toMatchObject({ code: 6, stdout: '' });
    const got = await parley('--json', 'mcp', 'get', 'theirs');
    expect(got.json).toMatchObject({ trusted: false, reviewedTools: [] });
    // The user's own word does it.
    expect(await parley('--json', '--allow', 'theirs/echo', 'call', 'theirs/echo', 'text=x')).toMatchObject({ code: 0 });
  });

  it('does not take the name of a server that the user has', async () => {
    await parley('mcp', 'add', 'mine', ...marks(), '--', ...command());
    bring({ command: 'parley-no-such-command' }, 'mine');
    expect((await parley('tools', 'list')).stdout).toContain('mine/echo');
  });

  it('is trusted with what the user adds to it by hand', async () => {
    expect((await parley('mcp', 'add', 'ours', '-s', 'project', ...marks(), '--', ...command())).code).toBe(0);
    expect((await parley('tools', 'list')).stdout).toContain('ours/echo');
  });

  it('elsewhere, with the same file, is another project', async () => {
    bring(entry());
    await user.trust('theirs');
    const copy = join(user.project, '../copy');
    mkdirSync(copy);
    writeFileSync(join(copy, '.mcp.json'), read(join(user.project, '.mcp.json')));
    expect((await user.run(['tools', 'list'], { cwd: copy })).code).toBe(6);
  });
});
