// In what surroundings a server runs, and who may say so.
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import { describeServer, expandServer, type Loaded, type ServerDefinition } from './index.ts';

const one = (loaded: Loaded) => loaded.config.servers[0] as ServerDefinition;
const says = ({ diagnostics }: Loaded) => diagnostics.map(({ level, message }) => `${level}: ${message}`).join('\n');
const CLOSED = { read: [], write: [], network: false };

/** What the files of each scope say of the server `x`, which the project defines unless `by` says otherwise. */
function load(settings: { project?: object; user?: object; local?: object }, by: 'project' | 'user' = 'project'): Loaded {
  const { paths, write, load: read } = createWorkspace();
  const server = { mcpServers: { x: { command: 'x' } } };
  if (by === 'project') write(paths.mcpFile, server);
  const entry = (own: object | undefined) => ({ servers: { x: own ?? {} } });
  if (settings.project !== undefined) write(paths.projectFile, entry(settings.project));
  if (settings.local !== undefined) write(paths.localFile, entry(settings.local));
  if (settings.user !== undefined || by === 'user')
    write(paths.userFile, { ...entry(settings.user), ...(by === 'user' && server) });
  return read();
}

describe('the sandbox of a server', () => {
  it('is none by default, and closed where only its mode is said', () => {
    expect(one(load({})).written).toEqual({ kind: 'stdio', command: 'x', args: [], env: {} });
    expect(one(load({ local: { sandbox: 'preferred' } })).written).toMatchObject({ sandbox: { mode: 'preferred', ...CLOSED } });
    expect(one(load({ local: { sandbox: {} } })).written).toMatchObject({ sandbox: { mode: 'required', ...CLOSED } });
  });

  it('is part of the launch, so that trust is bound to it, and is shown with it', () => {
    const server = one(load({ local: { sandbox: { read: ['/a'], network: true }, privateCwd: true } }));
    const sandbox = { mode: 'required', read: ['/a'], write: [], network: true };
    expect(server.written).toMatchObject({ sandbox, privateCwd: true });
    expect(server).not.toHaveProperty('sandbox');
    expect(describeServer(server)).toMatchObject({ sandbox, privateCwd: true });
  });

  it.each([
    ['npx', ['-y', 'pkg@1.0.0'], true],
    ['/usr/bin/npx', ['pkg'], true],
    ['C:\\node\\npx.cmd', ['pkg'], true],
    ['uvx', ['pkg'], true],
    ['python3', ['-m', 'pkg'], true],
    ['python3.12', ['-um', 'pkg'], true],
    ['node', ['--import', 'pkg', '/srv/x.mjs'], true],
    ['python3', ['/srv/x.py', '--mode'], false],
    ['node', ['/srv/x.mjs'], false],
    ['docker', ['run', 'x'], false],
  ])('of the user’s that is %s %j starts in a folder of its own in every project: %s', (command, args, isAlone) => {
    const { paths, write, load: read } = createWorkspace();
    const all = (settings: object = {}) => ({ mcpServers: { x: { command, args, ...settings } } });
    const written = () => one(read()).written;
    write(paths.userFile, all());
    expect(written()).toEqual({ kind: 'stdio', command, args, env: {}, ...(isAlone && { privateCwd: true }) });
    for (const said of [{ privateCwd: false }, { cwd: '${workspaceFolder}' }]) {
      write(paths.userFile, all(said));
      expect(written()).not.toHaveProperty('privateCwd');
    }
    // What is written for this project is meant for its folder.
    for (const file of [paths.localFile, paths.mcpFile]) {
      write(file, all());
      expect(written()).not.toHaveProperty('privateCwd');
    }
  });

  it.each([
    [{ sandbox: 'yes' }, 'must be one of required, preferred, off'],
    [{ sandbox: { mode: 'on' } }, 'must be one of required, preferred, off'],
    [{ sandbox: { read: '/a' } }, 'list of texts'],
    [{ sandbox: { network: 'all' } }, 'true or false'],
    [{ privateCwd: 1 }, 'true or false'],
    [{ sandbox: { read: ['${input:}'] } }, 'error'],
  ])('%j is refused, and the server with it', (local, message) => {
    const loaded = load({ local });
    expect(says(loaded)).toContain(message);
    expect(loaded.config.servers).toEqual([]);
  });

  it('means nothing for a URL, which is said', () => {
    const { paths, write, load: read } = createWorkspace();
    write(paths.userFile, { mcpServers: { x: { url: 'https://example.com', sandbox: 'required' } } });
    expect(says(read())).toContain('mean nothing for a URL');
  });

  it('has its paths filled in and made whole', async () => {
    const server = one(load({ local: { sandbox: { read: ['data', '${userHome}/x'], write: ['${workspaceFolder}/out'] } } }));
    const ready = await expandServer(server, { env: {}, home: '/home/u', workspaceFolder: '/w' });
    expect(ready).toMatchObject({ sandbox: { read: ['/w/data', '/home/u/x'], write: ['/w/out'] } });
  });
});

describe('a project', () => {
  it('may close its servers in, and open what is its own', () => {
    const sandbox = { read: ['${workspaceFolder}', 'data'], write: ['${workspaceFolder}/out'] };
    const loaded = load({ project: { sandbox } });
    expect(loaded.diagnostics).toEqual([]);
    expect(one(loaded).written).toMatchObject({ sandbox: { mode: 'required', ...sandbox, network: false } });
  });

  it('opens nothing that lies elsewhere', () => {
    const read = ['/etc', '${userHome}/.ssh', '${workspaceFolder}/../x', '../x', '${X:-/}', '${workspaceFolder}x', 'a/../../b'];
    const loaded = load({ project: { sandbox: { read, network: true } } });
    expect(one(loaded).written).toMatchObject({ sandbox: { mode: 'required', ...CLOSED } });
    expect(loaded.diagnostics.filter(({ level }) => level === 'warning')).toHaveLength(read.length + 1);
  });

  it('cannot let its servers out', () => {
    const loaded = load({ project: { sandbox: 'off' }, local: {} });
    expect(says(loaded)).toContain('a project cannot let its servers out');
  });

  it('has no say where the user has spoken', () => {
    const user = { mode: 'required', read: ['/a'], write: [], network: true };
    expect(one(load({ project: { sandbox: {} }, local: { sandbox: user } })).written).toMatchObject({ sandbox: user });
    expect(one(load({ project: { sandbox: {} }, local: { sandbox: 'off' } })).written).not.toHaveProperty('sandbox');
  });

  it('gets nothing of what the user opened for a server of his own by that name', () => {
    const open = { mode: 'preferred', read: ['/a'], write: ['/b'], network: true };
    expect(one(load({ user: { sandbox: open } })).written).toMatchObject({ sandbox: { mode: 'preferred', ...CLOSED } });
    const both = load({ project: { sandbox: { read: ['data'] } }, user: { sandbox: open } });
    expect(one(both).written).toMatchObject({ sandbox: { mode: 'required', read: ['data'], write: [], network: false } });
    expect(one(load({ project: { sandbox: {} }, user: { sandbox: 'off' } })).written).toHaveProperty('sandbox');
    expect(one(load({ user: { sandbox: open } }, 'user')).written).toMatchObject({ sandbox: open });
  });
});
