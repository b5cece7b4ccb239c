// How a server is signed in at: who may say so, and what makes no sense.
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import { describeServer, expandServer, type ServerDefinition } from './index.ts';

const URL = 'https://mcp.example/mcp';
const CLIENT = { clientId: 'c', issuer: 'https://as.example' };

function load(file: 'userFile' | 'localFile' | 'projectFile' | 'mcpFile', entry: object) {
  const workspace = createWorkspace();
  workspace.write(workspace.paths[file], { mcpServers: { x: { url: URL, ...entry } } });
  const { config, diagnostics } = workspace.load();
  return { server: config.servers[0], problems: diagnostics.map(({ level, path, message }) => `${level} ${path}: ${message}`) };
}

describe('oauth', () => {
  it.each(['userFile', 'localFile'] as const)('is taken from the user (%s)', (file) => {
    const oauth = {
      ...CLIENT,
      clientSecret: '${X_SECRET}',
      account: 'work',
      grant: 'client-credentials',
      scopes: ['a', 'b:c'],
      legacy: true,
      trustedHosts: ['as.internal'],
    };
    expect(load(file, { oauth })).toMatchObject({ server: { oauth }, problems: [] });
  });

  it.each(['projectFile', 'mcpFile'] as const)('is ignored in a project, loudly (%s)', (file) => {
    const { server, problems } = load(file, { oauth: { ...CLIENT, trustedHosts: ['169.254.169.254'] } });
    expect(server).toBeDefined();
    expect(server).not.toHaveProperty('oauth');
    expect(problems).toEqual([expect.stringMatching(/^warning mcpServers\.x\.oauth: .*"oauth" is ignored/)]);
  });

  it('of a name in every project does not pass to what a project calls by that name', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { url: 'https://evil.example' } } });
    workspace.write(workspace.paths.userFile, { servers: { x: { oauth: { account: 'work' }, priority: 3 } } });
    const { config, diagnostics } = workspace.load();
    expect(config.servers[0]).toMatchObject({ priority: 3 });
    expect(config.servers[0]).not.toHaveProperty('oauth');
    expect(diagnostics.map(({ level, path }) => [level, path])).toEqual([['warning', 'servers.x']]);
    workspace.write(workspace.paths.localFile, { servers: { x: { oauth: { account: 'mine' } } } });
    expect(workspace.load().config.servers[0]).toMatchObject({ oauth: { account: 'mine' } });
  });

  it.each<[string, object]>([
    ['a client without its issuer', { clientId: 'c' }],
    ['an issuer without a client', { issuer: 'https://as.example' }],
    ['a secret without a client', { clientSecret: 's' }],
    ['a secret and a key', { ...CLIENT, clientSecret: 's', privateKey: 'k' }],
    ['an algorithm without a key', { ...CLIENT, keyAlgorithm: 'ES256' }],
    ['two ways to be known', { ...CLIENT, clientMetadataUrl: 'https://me.example/client' }],
    ['a client of its own without credentials', { ...CLIENT, grant: 'client-credentials' }],
    ['a grant there is not', { grant: 'password' }],
    ['a scope that is two', { scopes: ['a b'] }],
    ['a member of the wrong kind', { legacy: 'yes' }],
    ['a placeholder that is none', { ...CLIENT, clientSecret: '${' }],
  ])('is refused as a whole, and the server with it: %s', (_, oauth) => {
    const { server, problems } = load('userFile', { oauth });
    expect(server).toBeUndefined();
    expect(problems.every((problem) => problem.startsWith('error mcpServers.x.oauth'))).toBe(true);
    expect(problems).not.toEqual([]);
  });

  it('is for servers at a URL, and its members have to be known', () => {
    expect(load('userFile', { oauth: { acount: 'x' } }).problems).toEqual([
      expect.stringMatching(/^notice .*"acount" is not known.*"account"/),
    ]);
    expect(load('userFile', { oauth: 'x' }).problems).toEqual([expect.stringMatching(/^error mcpServers\.x\.oauth/)]);
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { mcpServers: { x: { command: 'x', oauth: { account: 'a' } } } });
    expect(workspace.load().config.servers).toEqual([]);
  });

  it('is filled in when the server is, without a word in what is printed of the server', async () => {
    const { server } = load('userFile', { oauth: { ...CLIENT, clientSecret: '${X_SECRET}', scopes: ['${X_SECRET}'] } });
    const where = { home: '/home/u', workspaceFolder: '/w' };
    const expanded = await expandServer(server as ServerDefinition, { ...where, env: { X_SECRET: 's3cret' } });
    expect(expanded.oauth).toEqual({ ...CLIENT, clientSecret: 's3cret', scopes: ['${X_SECRET}'] });
    expect(JSON.stringify(describeServer(expanded))).not.toContain('s3cret');
    await expect(expandServer(server as ServerDefinition, { ...where, env: {} })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('Server "x" (oauth.clientSecret): the variable "X_SECRET" is not set') as string,
    });
  });

  it('asks for an input of a secret once', async () => {
    const { server } = load('userFile', { oauth: { ...CLIENT, clientSecret: '${input:s}' } });
    const asked: string[] = [];
    const inputs = (id: string) => (asked.push(id), 'typed');
    const expanded = await expandServer(server as ServerDefinition, { env: {}, home: '/', workspaceFolder: '/', inputs });
    expect([expanded.oauth?.clientSecret, asked]).toEqual(['typed', ['s']]);
  });
});
