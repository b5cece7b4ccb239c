// The administrator's file: what it says holds whatever the others say, and one that somebody else could have written holds nothing back less.
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decide, readRules, type CallQuestion } from '../policy/index.ts';
import { createIntent } from '../approval/index.ts';
import { createWorkspace, type Workspace } from './fixtures/workspace.ts';
import { configPaths, ownFolders, type Loaded, type LoadOptions } from './index.ts';
import { machineFileOf } from './machine-file.ts';

const IS_ROOT = process.getuid?.() === 0;
const warnings = ({ diagnostics }: Loaded) =>
  diagnostics.filter(({ level }) => level === 'warning').map(({ path, message }) => `${path}: ${message}`);

/** What is decided of a call of the server `desk`. */
function decided({ config }: Loaded, tool: string) {
  const question: CallQuestion = {
    type: 'call',
    intent: createIntent({
      server: 'desk',
      tool: { name: tool, inputSchema: {} },
      args: {},
      principal: 'ann',
      route: 'call',
      taint: [],
    }),
    server: { trusted: false, reviewedTools: [] },
    grants: [],
    rules: readRules(config),
  };
  const { verdict, because } = decide(question);
  return { verdict, because };
}

const DESK = { mcpServers: { desk: { command: 'a' } } };

/** A workspace in which everybody but the administrator allows everything. */
function permissive(): Workspace & { readonly everyWay: readonly LoadOptions[] } {
  const workspace = createWorkspace();
  const all = { permissions: { allow: ['*/*'] } };
  workspace.write(workspace.paths.userFile, { ...DESK, ...all });
  workspace.write(workspace.paths.localFile, all);
  workspace.write(workspace.paths.projectFile, all);
  const configFile = workspace.write(join(workspace.directory, 'given.jsonc'), { ...DESK, ...all });
  const everyWay = [{}, { configFile }, { extra: all }, { configFile, extra: all }, { env: { PARLEY_MACHINE_FILE: '/none' } }];
  return { ...workspace, everyWay };
}

describe('the rules of the administrator', () => {
  it('hold whatever user, project, local, flags and a given file allow', () => {
    const workspace = permissive();
    workspace.write(workspace.machineFile, { permissions: { allow: ['desk/*'], ask: ['desk/send'], deny: ['desk/delete_*'] } });
    for (const way of workspace.everyWay) {
      const loaded = workspace.load(way);
      expect(decided(loaded, 'delete_it')).toEqual({
        verdict: 'deny',
        because: `The rule deny desk/delete_* says so (permissions.deny.0 in ${workspace.machineFile}).`,
      });
      expect(decided(loaded, 'send').verdict).toBe('ask');
      expect(decided(loaded, 'read').verdict).toBe('allow');
      expect(loaded.config.rules.deny[0]?.source.scope).toBe('machine');
      expect(loaded.files[0]).toBe(workspace.machineFile);
    }
  });

  it('allow, and everybody may restrict what they allow', () => {
    const workspace = createWorkspace();
    const { machineFile, paths } = workspace;
    workspace.write(machineFile, { ...DESK, permissions: { allow: ['desk/*'], repeatable: ['desk/read'] } });
    expect(decided(workspace.load(), 'read').verdict).toBe('allow');
    expect(workspace.load().config.rules.repeatable).toHaveLength(1);
    workspace.write(paths.projectFile, { permissions: { deny: ['desk/read'] } });
    workspace.write(paths.userFile, { permissions: { deny: ['desk/send'] } });
    expect(decided(workspace.load(), 'read').verdict).toBe('deny');
    expect(decided(workspace.load(), 'send').verdict).toBe('deny');
    expect(decided(workspace.load(), 'other').verdict).toBe('allow');
  });

  it("allow by name what the user's server may do, and not one that a project puts in its place", () => {
    const workspace = createWorkspace();
    workspace.write(workspace.machineFile, { permissions: { allow: ['desk/*'] } });
    workspace.write(workspace.paths.userFile, DESK);
    expect(decided(workspace.load(), 'read').verdict).toBe('allow');
    workspace.write(workspace.paths.mcpFile, { mcpServers: { desk: { command: 'evil' } } });
    expect(decided(workspace.load(), 'read').verdict).toBe('ask');
  });

  it('are not broken by how a user has a server of the name', () => {
    const workspace = createWorkspace();
    const permissions = { allow: ['desk/* when read-only'] };
    workspace.write(workspace.machineFile, { permissions });
    workspace.write(workspace.paths.userFile, DESK);
    expect(readRules(workspace.load().config).problems).toEqual([]);
    workspace.write(workspace.machineFile, { ...DESK, permissions });
    expect(readRules(workspace.load().config).problems).toEqual([expect.stringContaining('can never match')]);
  });
});

describe('a file of the administrator that cannot be used', () => {
  const broken = (workspace: ReturnType<typeof permissive>, why: RegExp) => {
    for (const way of workspace.everyWay) {
      const loaded = workspace.load(way);
      expect(decided(loaded, 'read')).toEqual({
        verdict: 'deny',
        because: `The permission rules are broken, and one of them may deny this. The rules of ${workspace.machineFile} cannot be read.`,
      });
      expect(loaded.diagnostics).toContainEqual(
        expect.objectContaining({ level: 'error', file: workspace.machineFile, message: expect.stringMatching(why) as string }),
      );
    }
  };
  const written = () => {
    const workspace = permissive();
    workspace.write(workspace.machineFile, {});
    expect(decided(workspace.load(), 'read').verdict).toBe('allow');
    return workspace;
  };

  it.each([
    ['the file', 'group', 0o664],
    ['the file', 'everybody', 0o646],
    ['its folder', 'group', 0o775],
    ['its folder', 'everybody', 0o757],
  ])('since %s may be written by %s denies everything', (what, _, mode) => {
    const workspace = written();
    const { machineFile } = workspace;
    const path = what === 'the file' ? machineFile : dirname(machineFile);
    chmodSync(path, mode);
    broken(workspace, new RegExp(`not used: "${path}" must belong to root, and nobody else may write to it`));
  });

  it.skipIf(!IS_ROOT).each(['the file', 'its folder'])('since %s is of somebody else denies everything', (what) => {
    const workspace = written();
    chownSync(what === 'the file' ? workspace.machineFile : dirname(workspace.machineFile), 65_534, 65_534);
    broken(workspace, /must belong to root/);
  });

  it('denies everything also where it was taken out of a folder that others may write to', () => {
    const workspace = written();
    rmSync(workspace.machineFile);
    expect(decided(workspace.load(), 'read').verdict).toBe('allow');
    chmodSync(dirname(workspace.machineFile), 0o777);
    broken(workspace, /must belong to root/);
  });

  it('since it is a link to nothing, or into a folder of others, denies everything', () => {
    const workspace = written();
    const elsewhere = join(workspace.directory, 'elsewhere');
    rmSync(workspace.machineFile);
    symlinkSync(join(elsewhere, 'parley.jsonc'), workspace.machineFile);
    broken(workspace, /cannot be read \(ENOENT\)/);
    workspace.write(join(elsewhere, 'parley.jsonc'), {});
    expect(decided(workspace.load(), 'read').verdict).toBe('allow');
    chmodSync(elsewhere, 0o777);
    broken(workspace, new RegExp(`"${elsewhere}" must belong to root`));
  });

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a misnamed section', { rules: {} }],
  ])('since it is %s denies everything', (_, content) => {
    const workspace = permissive();
    workspace.write(workspace.machineFile, content);
    broken(workspace, /./);
  });

  it('since it is a folder denies everything', () => {
    const workspace = permissive();
    mkdirSync(workspace.machineFile, { recursive: true, mode: 0o755 });
    broken(workspace, /not a regular file/);
  });
});

describe('what else the administrator says', () => {
  it('wins the name of a server, and leaves the user what it does not say of it', () => {
    const workspace = createWorkspace();
    const { machineFile, paths } = workspace;
    const define = (command: string) => ({ mcpServers: { desk: { command } } });
    workspace.write(machineFile, {
      mcpServers: { desk: { command: 'machine', trusted: true, priority: 3 } },
      servers: { notes: { sandbox: 'required' } },
    });
    workspace.write(paths.userFile, { ...define('user'), servers: { desk: { priority: 9, timeoutMs: 7, trusted: false } } });
    workspace.write(paths.localFile, { ...define('local'), servers: { notes: { sandbox: 'off' } } });
    workspace.write(paths.mcpFile, { mcpServers: { desk: { command: 'project' }, notes: { command: 'b' } } });
    const configFile = workspace.write(join(workspace.directory, 'given.jsonc'), { ...define('given') });
    const { servers } = workspace.load().config;
    expect(servers).toMatchObject([
      {
        name: 'desk',
        written: { command: 'machine' },
        source: { file: machineFile, key: 'mcpServers.desk', scope: 'machine' },
        trusted: true,
        priority: 3,
        timeoutMs: 7,
      },
      { name: 'notes', written: { command: 'b', sandbox: { mode: 'required' } } },
    ]);
    expect(workspace.load({ configFile }).config.servers).toMatchObject([{ name: 'desk', written: { command: 'machine' } }]);
    expect(workspace.load().diagnostics.filter(({ server }) => server === 'desk')).toHaveLength(3);
  });

  it('of a name in every project does not vouch for the server that a project calls so', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.machineFile, { servers: { desk: { trusted: true, reviewedTools: ['t'], private: false } } });
    workspace.write(workspace.paths.mcpFile, DESK);
    const [server] = workspace.load().config.servers;
    expect(server).toMatchObject({ trusted: false, reviewedTools: [] });
    expect(server).not.toHaveProperty('private');
  });

  it('is the most that others may set, for all servers and for one', () => {
    const workspace = createWorkspace();
    const { machineFile, paths } = workspace;
    workspace.write(machineFile, {
      callTimeoutMs: 5_000,
      limits: { maxPages: 20, maxItems: 1_000 },
      mcpServers: { own: { command: 'a', limits: { maxPages: 40 } } },
    });
    workspace.write(paths.userFile, {
      callTimeoutMs: 6_000,
      connectTimeoutMs: 6_000,
      limits: { maxPages: 21, maxItems: 500, maxRounds: 3 },
      mcpServers: { x: { command: 'a', limits: { maxPages: 22, maxItems: 900 } } },
      servers: { own: { limits: { maxPages: 39 } } },
    });
    workspace.write(paths.projectFile, { callTimeoutMs: 4_000, limits: { maxPages: 19, maxItems: 501 } });
    const loaded = workspace.load();
    expect(loaded.config.settings).toMatchObject({ callTimeoutMs: 4_000, connectTimeoutMs: 6_000 });
    expect(loaded.config.limits).toEqual({ maxPages: 19, maxItems: 500, maxRounds: 3 });
    expect(loaded.config.servers.map(({ name, limits }) => [name, limits])).toEqual([
      ['own', { maxPages: 39, maxItems: 500, maxRounds: 3 }],
      ['x', { maxPages: 19, maxItems: 900, maxRounds: 3 }],
    ]);
    const set = 'the administrator of this machine set it to';
    expect(warnings(loaded)).toEqual([
      `callTimeoutMs: "callTimeoutMs" is ignored: ${set} 5000, and it may only be lowered.`,
      `limits.maxPages: "limits.maxPages" is ignored: ${set} 20, and it may only be lowered.`,
      'limits.maxItems: "limits.maxItems" is ignored: a project may only lower it, and it is 500.',
      `mcpServers.x.limits.maxPages: Server "x": "limits.maxPages" is ignored: ${set} 20, and it may only be lowered.`,
    ]);
  });

  it('of what is remembered holds for everybody', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.machineFile, { store: 'postgres://db.example/parley', secretArguments: ['pin'] });
    workspace.write(workspace.paths.userFile, { store: 'memory:', secretArguments: ['code'] });
    const { records } = workspace.load({ extra: { store: 'memory:' } }).config;
    expect(records).toEqual({ store: 'postgres://db.example/parley', secretArguments: ['pin', 'code'] });
  });
});

describe('the place of the file', () => {
  it('is one a system, and no variable moves it', () => {
    expect((['linux', 'freebsd', 'darwin', 'win32'] as const).map(machineFileOf)).toEqual([
      '/etc/parley/parley.jsonc',
      '/etc/parley/parley.jsonc',
      '/Library/Application Support/Parley/parley.jsonc',
      'C:\\Program Files\\Parley\\parley.jsonc',
    ]);
    const { project: cwd, home } = createWorkspace();
    const env = { XDG_CONFIG_HOME: '/c', XDG_CONFIG_DIRS: '/c', ProgramData: '/c', ProgramFiles: '/c' };
    expect(configPaths({ cwd, env, home }).machineFile).toBe(machineFileOf(process.platform));
    expect(Object.values(ownFolders({ env, home }))).toContain(dirname(machineFileOf(process.platform)));
  });

  it('is for a program to choose, or to do without', () => {
    const workspace = permissive();
    workspace.write(workspace.machineFile, { permissions: { deny: ['*/*'] } });
    const loaded = workspace.load({ machineFile: false });
    expect(decided(loaded, 'read').verdict).toBe('allow');
    expect(loaded.files).not.toContain(workspace.machineFile);
  });
});
