import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { expandServer, loadConfig, type Scope, type ServerDefinition } from '../config/index.ts';
import { isFloating } from './floating.ts';
import { filledIn, identify, type ServerIdentity } from './identity.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-identity-'));
const bin = join(root, 'bin');
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeEach(() => {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(bin, { recursive: true });
  program('run', '#!/bin/sh\necho one\n');
  writeFileSync(join(root, 'server.js'), 'one();\n');
});

function program(name: string, text: string): void {
  writeFileSync(join(bin, name), text);
  chmodSync(join(bin, name), 0o755);
}

function define(entry: object, name = 's', scope: Scope = 'project'): ServerDefinition {
  const env = { TOKEN: 'a', HOST: 'h.example' };
  const { config } = loadConfig({ cwd: root, home: root, env, extra: { mcpServers: { [name]: entry } } });
  const [server] = config.servers as [ServerDefinition];
  return { ...server, source: { ...server.source, scope } };
}

const key = () => Buffer.alloc(32, 1);
const surroundings = { workspaceFolder: root, home: root, path: bin };
const identityOf = (entry: object, name?: string, options = {}): Promise<ServerIdentity> =>
  identify(define(entry, name), { key, ...surroundings, ...options });
const digestOf = async (...given: Parameters<typeof identityOf>) => (await identityOf(...given)).digest;

describe('the identity of a program', () => {
  const base = { command: 'run', args: ['server.js', 'a'], env: { MODE: 'x', SECRET: '${TOKEN}' } };

  it('is the same under another name and in another order of keys, and holds no value of a variable', async () => {
    const one = await identityOf(base);
    expect(await identityOf({ env: { SECRET: '${TOKEN}', MODE: 'x' }, args: base.args, command: 'run' }, 'other')).toEqual(one);
    expect(JSON.stringify(one.facts)).not.toContain('"x"');
    expect(one.facts).toMatchObject({
      kind: 'stdio',
      command: 'run',
      executable: { path: join(bin, 'run'), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      env: { SECRET: '${TOKEN}' },
    });
  });

  it('is made of the files it runs where it starts: a project’s server at the root, the user’s own where Parley stands', async () => {
    const scripts = async (scope: Scope, more = {}) => {
      const server = define({ ...base, ...more }, 's', scope);
      const started = await expandServer(server, { env: { TOKEN: 'a' }, home: root, workspaceFolder: root });
      const { facts } = await identify(server, { key, ...surroundings });
      return { cwd: started.kind === 'stdio' ? started.cwd : '', scripts: facts['scripts'] };
    };
    const found = { 'server.js': { path: join(root, 'server.js'), sha256: expect.any(String) as string } };
    expect(await scripts('project')).toEqual({ cwd: root, scripts: found });
    expect(await scripts('user')).toEqual({ cwd: undefined, scripts: undefined });
    expect(await scripts('user', { cwd: '.' })).toEqual({ cwd: root, scripts: found });
  });

  it('that takes a package out of its folder in the place of the one it names says so, and is held to no run but its own', async () => {
    const entry = { command: 'npx', args: ['-y', '@some/server@1.2.3', '.'] };
    const before = await identityOf(entry);
    expect(before).toMatchObject({ floating: false });
    expect(before.facts).not.toHaveProperty('packages');
    const folder = join(root, 'node_modules/@some/server');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "version": "1.2.3" }');
    const after = await identityOf(entry);
    expect(after.launch).not.toBe(before.launch);
    expect(after).toMatchObject({
      floating: true,
      facts: { packages: { 'node_modules/@some/server/package.json': { path: join(folder, 'package.json') } } },
    });
    expect(await identityOf({ ...entry, privateCwd: true })).toMatchObject({ floating: false });
    for (const [command, args] of [
      ['npm', ['exec', '--package=@some/server@1.2.3', '--', 'x']],
      ['bunx', ['@some/server']],
    ] as const)
      expect((await identityOf({ command, args })).facts).toHaveProperty('packages');
    expect((await identityOf({ command: 'npm', args: ['start'] })).facts).not.toHaveProperty('packages');
  });

  it.each<[string, () => object]>([
    ['another command', () => (program('run2', '#!/bin/sh\necho one\n'), { ...base, command: 'run2' })],
    ['another argument', () => ({ ...base, args: ['server.js', 'b'] })],
    ['another order of arguments', () => ({ ...base, args: ['a', 'server.js'] })],
    ['another value of a variable', () => ({ ...base, env: { ...base.env, MODE: 'y' } })],
    ['another variable', () => ({ ...base, env: { ...base.env, NEW: '1' } })],
    ['another placeholder', () => ({ ...base, env: { ...base.env, SECRET: '${HOST}' } })],
    ['another folder', () => ({ ...base, cwd: bin })],
    ['a folder of its own', () => ({ ...base, privateCwd: true })],
    ['a sandbox', () => ({ ...base, sandbox: 'required' })],
    ['another program at its place', () => (program('run', '#!/bin/sh\necho two\n'), base)],
    ['another script at its place', () => (writeFileSync(join(root, 'server.js'), 'two();\n'), base)],
    ['no program at its place', () => (rmSync(join(bin, 'run')), base)],
    [
      'a link to another program',
      () => {
        rmSync(join(bin, 'run'));
        program('real', '#!/bin/sh\necho real\n');
        symlinkSync(join(bin, 'real'), join(bin, 'run'));
        return base;
      },
    ],
  ])('is another with %s', async (_, change) => {
    const before = await digestOf(base);
    expect(await digestOf(change())).not.toBe(before);
  });

  it('is not another when a program is written anew with the same content', async () => {
    const before = await digestOf(base);
    program('run', '#!/bin/sh\necho one\n');
    expect(await digestOf(base)).toBe(before);
  });

  it.each([
    ['its arguments stand', { ...base, args: ['server.js', '${HOST}'] }],
    ['the places it may reach stand', { ...base, sandbox: { write: ['${HOST}'] } }],
  ])('covers what %s for, and not the secrets in its variables', async (_, entry) => {
    const server = define(entry);
    const identity = await identityOf(entry);
    const filled = async (env: Record<string, string>) =>
      filledIn(identity, await expandServer(server, { env, home: root, workspaceFolder: root }), { key }).digest;
    expect(await filled({ TOKEN: 'a', HOST: 'h' })).toBe(await filled({ TOKEN: 'b', HOST: 'h' }));
    expect(await filled({ TOKEN: 'a', HOST: 'h' })).not.toBe(await filled({ TOKEN: 'a', HOST: 'i' }));
  });

  it('says nothing of a secret among its arguments but that it is another', async () => {
    const one = await identityOf({ ...base, args: ['--api-key=hunter2'] });
    expect(JSON.stringify(one.facts)).not.toContain('hunter2');
    expect(await digestOf({ ...base, args: ['--api-key=hunter3'] })).not.toBe(one.digest);
  });
});

describe('the identity of a URL', () => {
  it('is another with tokens of another issuer, or for another resource', async () => {
    const entry = { url: 'https://h.example/mcp' };
    const identity = await identityOf(entry);
    const server = await expandServer(define(entry), { env: {}, home: root, workspaceFolder: root });
    const of = (issuer: string, resource = 'https://h.example/mcp') =>
      filledIn(identity, server, { key, signedIn: { issuer, resource } }).digest;
    expect(filledIn(identity, server, { key })).toEqual(identity);
    expect(of('https://a.example')).toBe(of('https://a.example'));
    const digests = [
      identity.digest,
      of('https://a.example'),
      of('https://b.example'),
      of('https://a.example', 'https://h.example'),
    ];
    expect(new Set(digests).size).toBe(4);
  });

  const base = { url: 'https://h.example/mcp?team=a', headers: { Authorization: 'Bearer ${TOKEN}', 'X-Team': 'a' } };

  it('is another with another URL, header or value, and holds none of them that could be a secret', async () => {
    const one = await identityOf(base);
    expect(JSON.stringify(one.facts)).not.toMatch(/team=a|"a"/);
    expect(one.facts).toMatchObject({ url: 'https://h.example/mcp?team=***', headers: { Authorization: 'Bearer ${TOKEN}' } });
    for (const other of [
      { ...base, url: 'https://h.example/mcp?team=b' },
      { ...base, url: 'https://h.example:8443/mcp?team=a' },
      { ...base, url: 'http://h.example/mcp?team=a' },
      { ...base, headers: { ...base.headers, 'X-Team': 'b' } },
      { ...base, headers: { ...base.headers, 'X-New': '1' } },
      { ...base, type: 'sse' },
    ]) {
      expect(await digestOf(other), JSON.stringify(other)).not.toBe(one.digest);
    }
  });

  it('is another under another key', async () => {
    expect(await digestOf(base, 's', { key: () => Buffer.alloc(32, 2) })).not.toBe(await digestOf(base));
  });
});

it.each<[string, readonly string[], boolean]>([
  ['npx', ['-y', 'server'], true],
  ['npx', ['-y', 'server@latest'], true],
  ['npx', ['-y', 'server@^1.2.3'], true],
  ['npx', ['-y', 'server@1.2.3'], false],
  ['npx', ['-y', '@scope/server@1.2.3-rc.1', '--flag'], false],
  ['npx', ['--package=server@1.2.3', 'tool'], false],
  ['npx', ['-p', 'server', '-p', 'other@1.2.3', 'tool'], true],
  ['npx', [], true],
  ['npm', ['exec', 'server'], true],
  ['npm', ['run', 'server'], false],
  ['pnpm', ['dlx', 'server@1.0.0'], false],
  ['uvx', ['server'], true],
  ['uvx', ['server==1.2'], false],
  ['uvx', ['--from', 'pkg==1.2.3', 'server'], false],
  ['uv', ['tool', 'run', 'server'], true],
  ['uv', ['run', 'server.py'], false],
  ['docker', ['run', '-i', 'image:1'], true],
  ['docker', ['run', '-i', `image@sha256:${'0'.repeat(64)}`], false],
  ['docker', ['version'], false],
  ['node', ['server.js'], false],
])('%s %j is floating: %s', (command, args, floating) => {
  expect(isFloating(command, args)).toBe(floating);
});
