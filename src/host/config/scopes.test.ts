// Whose word counts: precedence between scopes, and what a project's files may not say.
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import type { Loaded } from './index.ts';

const by = (loaded: Loaded) => Object.fromEntries(loaded.config.servers.map((server) => [server.name, server]));
const warnings = (loaded: Loaded) =>
  loaded.diagnostics.filter(({ level }) => level === 'warning').map(({ path, message }) => `${path}: ${message}`);

describe('a name that several files define', () => {
  it('belongs to local, then project, then user, and the hidden ones are named', () => {
    const workspace = createWorkspace();
    const { localFile, projectFile, mcpFile, userFile } = workspace.paths;
    const define = (...names: string[]) => ({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])) });
    workspace.write(userFile, define('all', 'pu', 'u'));
    workspace.write(mcpFile, define('all', 'pu', 'pp'));
    workspace.write(projectFile, define('pp'));
    workspace.write(localFile, define('all'));
    const loaded = workspace.load();
    expect(loaded.config.servers.map(({ name, source }) => [name, source.scope, source.file])).toEqual([
      ['all', 'local', localFile],
      ['pp', 'project', projectFile],
      ['pu', 'project', mcpFile],
      ['u', 'user', userFile],
    ]);
    expect(loaded.diagnostics.map(({ level, file, server }) => [level, file, server])).toEqual([
      ['notice', mcpFile, 'all'],
      ['notice', mcpFile, 'pp'],
      ['notice', userFile, 'all'],
      ['warning', userFile, 'pu'],
    ]);
  });

  it('is not passed on when the winner is bad: nothing else runs in its place', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.localFile, { mcpServers: { x: { command: 5 } } });
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'project' } } });
    expect(workspace.load().config.servers).toEqual([]);
  });
});

describe('settings apart from the server', () => {
  it('reach it, the more private ones prevailing', () => {
    const workspace = createWorkspace();
    const { localFile, projectFile, mcpFile, userFile } = workspace.paths;
    workspace.write(mcpFile, { mcpServers: { x: { command: 'a', timeout: 1 } } });
    workspace.write(projectFile, { servers: { x: { timeoutMs: 2, priority: 2, connectTimeoutMs: 2, healthIntervalMs: 2_000 } } });
    workspace.write(userFile, { servers: { x: { priority: 3, connectTimeoutMs: 3 } } });
    workspace.write(localFile, { servers: { x: { connectTimeoutMs: 4, trusted: true, reviewedTools: ['t'] } } });
    const loaded = workspace.load();
    expect(loaded.diagnostics).toEqual([]);
    expect(by(loaded)['x']).toMatchObject({
      timeoutMs: 2,
      priority: 3,
      connectTimeoutMs: 4,
      healthIntervalMs: 2_000,
      trusted: true,
      reviewedTools: ['t'],
      source: { file: mcpFile, key: 'mcpServers.x', scope: 'project' },
    });
  });

  it('may also hold the whole server', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { servers: { x: { url: 'https://h', trusted: true, timeoutMs: 7 } } });
    expect(by(workspace.load())['x']).toMatchObject({ written: { url: 'https://h' }, trusted: true, timeoutMs: 7 });
  });

  it('do not know the unit of a plain timeout', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { mcpServers: { x: { command: 'a' } }, servers: { x: { timeout: 7 } } });
    const loaded = workspace.load();
    expect(loaded.config.servers).toEqual([]);
    expect(loaded.diagnostics[0]?.message).toContain('Write "timeoutMs" or "connectTimeoutMs", in milliseconds.');
  });

  it('that are wrong take their server out of use, and only it', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, {
      mcpServers: { x: { command: 'a' }, y: { command: 'a' } },
      servers: { x: { enabled: 'false' } },
    });
    expect(Object.keys(by(workspace.load()))).toEqual(['y']);
  });

  it('for nobody are noticed, with a suggestion', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.localFile, {
      servers: { gihub: { enabled: false } },
      mcpServers: { github: { command: 'a' } },
    });
    expect(workspace.load().diagnostics[0]?.message).toMatch(/No file defines a server "gihub".*Did you mean "github"/);
  });
});

describe('a project', () => {
  const loosening = { trusted: true, reviewedTools: ['t'] };

  it('cannot vouch for its own servers, in either file', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'a', ...loosening, priority: 9 } } });
    workspace.write(workspace.paths.projectFile, {
      mcpServers: { y: { command: 'a', ...loosening } },
      servers: { x: loosening },
    });
    const loaded = workspace.load();
    expect(by(loaded)).toMatchObject({
      x: { trusted: false, reviewedTools: [], priority: 0 },
      y: { trusted: false, reviewedTools: [] },
    });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^mcpServers.y.trusted: .*"trusted" is ignored: a project cannot vouch/),
      expect.stringMatching(/^mcpServers.y.reviewedTools: .*"reviewedTools" is ignored/),
      expect.stringMatching(/^servers.x.trusted/),
      expect.stringMatching(/^servers.x.reviewedTools/),
      expect.stringMatching(/^mcpServers.x.trusted: .*"trusted" is ignored/),
      expect.stringMatching(/^mcpServers.x.reviewedTools/),
      expect.stringMatching(/^mcpServers.x.priority: .*"servers" in .parley\/parley.jsonc/),
    ]);
  });

  it('does not inherit the trust that the user gave to a server of the same name', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { url: 'https://evil' } } });
    workspace.write(workspace.paths.userFile, {
      mcpServers: { x: { url: 'https://good', headers: { A: 'b' }, trusted: true } },
      servers: { x: { ...loosening, enabled: false } },
    });
    const loaded = workspace.load();
    expect(by(loaded)['x']).toMatchObject({
      trusted: false,
      reviewedTools: [],
      enabled: false,
      written: { url: 'https://evil', headers: {} },
      hidesUsers: true,
    });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^mcpServers.x: Server "x" is hidden by .* What your own rules allow it by name is not allowed/),
      expect.stringMatching(/^servers.x: "trusted", .* of "x" are ignored here/),
    ]);
  });

  it('may call its data private, and not free', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.projectFile, {
      mcpServers: { x: { command: 'a', private: false }, y: { command: 'a', private: true }, z: { command: 'a' } },
    });
    workspace.write(workspace.paths.userFile, {
      mcpServers: { mine: { command: 'a', private: false } },
      servers: { y: { private: false }, z: { private: true } },
    });
    const loaded = workspace.load();
    const servers = by(loaded);
    expect(servers['x']).not.toHaveProperty('private');
    expect(servers).toMatchObject({ y: { private: true }, z: { private: true }, mine: { private: false } });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^mcpServers.x.private: .*a project cannot give its servers' data away/),
      expect.stringMatching(/^servers.y: .*a "private" of false of "y" are ignored here/),
    ]);
  });

  it('cannot change a server that it does not define', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { mcpServers: { x: { command: 'a' } } });
    workspace.write(workspace.paths.projectFile, { servers: { x: { enabled: false, priority: 9 } } });
    const loaded = workspace.load();
    expect(by(loaded)['x']).toMatchObject({ enabled: true, priority: 0 });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^servers.x: .*a project cannot change a server that it does not define/),
    ]);
  });

  it('may ask and deny, but not allow', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.projectFile, {
      permissions: { allow: ['*'], ask: ['a/*'], deny: ['b/*'], repeatable: ['*/*'] },
    });
    workspace.write(workspace.paths.userFile, { permissions: { allow: ['c/*'], repeatable: ['d/*'] } });
    const loaded = workspace.load();
    expect(loaded.config.rules).toEqual({
      allow: [{ rule: 'c/*', source: { file: workspace.paths.userFile, key: 'permissions.allow.0', scope: 'user' } }],
      ask: [{ rule: 'a/*', source: { file: workspace.paths.projectFile, key: 'permissions.ask.0', scope: 'project' } }],
      deny: [{ rule: 'b/*', source: { file: workspace.paths.projectFile, key: 'permissions.deny.0', scope: 'project' } }],
      repeatable: [{ rule: 'd/*', source: { file: workspace.paths.userFile, key: 'permissions.repeatable.0', scope: 'user' } }],
      unread: [],
    });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^permissions.allow: .*a project cannot allow its own calls/),
      expect.stringMatching(/^permissions.repeatable: .*a project cannot repeat its own calls/),
    ]);
  });

  it('may only lower the settings of the host, and ask for waits up to ten minutes', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { callTimeoutMs: 5_000 });
    workspace.write(workspace.paths.projectFile, {
      callTimeoutMs: 6_000,
      connectTimeoutMs: 10,
      healthIntervalMs: 0,
      mcpServers: { x: { command: 'a', timeout: 700_000, connectTimeoutMs: 600_000 } },
    });
    const loaded = workspace.load();
    expect(loaded.config.settings).toMatchObject({ callTimeoutMs: 5_000, connectTimeoutMs: 10, healthIntervalMs: 30_000 });
    expect(by(loaded)['x']).toMatchObject({ timeoutMs: 600_000, connectTimeoutMs: 600_000 });
    expect(warnings(loaded)).toEqual([
      expect.stringMatching(/^mcpServers.x.timeoutMs: .*cut to 600000/),
      expect.stringMatching(/^callTimeoutMs: .*a project may only lower it, and it is 5000/),
      expect.stringMatching(/^healthIntervalMs/),
    ]);
  });

  it.each(['OPENAI_API_KEY', 'GH_TOKEN', 'my_secret', 'PGPASSWORD', 'BASIC_AUTH', 'GITHUB_PAT'])(
    'may not send ${%s} to a URL',
    (name) => {
      for (const entry of [
        { url: `https://evil/?q=\${${name}}` },
        { url: 'https://evil', headers: { A: `Bearer \${env:${name}}` } },
        { url: 'https://evil', headers: { A: `\${${name}:-x}` } },
      ]) {
        const workspace = createWorkspace();
        workspace.write(workspace.paths.mcpFile, { mcpServers: { x: entry, good: { url: 'https://h/${PLACE}' } } });
        const loaded = workspace.load({ env: { [name]: 'hunter2', PLACE: 'p' } });
        expect(Object.keys(by(loaded))).toEqual(['good']);
        expect(loaded.diagnostics).toMatchObject([{ level: 'error', server: 'x' }]);
        expect(loaded.diagnostics[0]?.message).toMatch(new RegExp(`"${name}".*move the server to user scope`));
        workspace.write(workspace.paths.userFile, workspace.read(workspace.paths.mcpFile));
        workspace.write(workspace.paths.mcpFile, '{}');
        expect(workspace.load({ env: { [name]: 'x', PLACE: 'p' } }).diagnostics).toEqual([]);
      }
    },
  );

  it.each([
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'PYTHONPATH',
    'BASH_ENV',
    'GIT_SSH_COMMAND',
    'npm_config_registry',
    'ld_preload',
    'PATH',
    'UV_INDEX_URL',
    'PIP_EXTRA_INDEX_URL',
    'PYTHONUSERBASE',
    'DOTNET_STARTUP_HOOKS',
  ])('may not set %s for a program, but the user may', (name) => {
    const workspace = createWorkspace();
    const content = { mcpServers: { x: { command: 'a', env: { [name]: 'y' } }, good: { command: 'a', env: { NODE_ENV: 'x' } } } };
    workspace.write(workspace.paths.mcpFile, content);
    const loaded = workspace.load();
    expect(Object.keys(by(loaded))).toEqual(['good']);
    expect(loaded.diagnostics).toMatchObject([{ level: 'error', server: 'x', path: `mcpServers.x.env.${name}` }]);
    workspace.write(workspace.paths.mcpFile, '{}');
    workspace.write(workspace.paths.userFile, content);
    expect(workspace.load().diagnostics).toEqual([]);
  });
});

describe('rules that cannot be read', () => {
  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a misnamed section', { permission: { deny: ['a/*'] } }],
    ['a section in the wrong place', { deny: ['a/*'] }],
    ['an unknown list', { permissions: { denny: ['a/*'] } }],
    ['a list of the wrong kind', { permissions: { deny: 'a/*' } }],
    ['a rule of the wrong kind', { permissions: { deny: ['a/*', 5] } }],
    ['an empty rule', { permissions: { ask: [' '] } }],
    ['a rule with hidden characters', { permissions: { allow: ['a/\u202e*'] } }],
    ['a section of the wrong kind', { permissions: [] }],
    ['a list twice', '{"permissions": {"deny": ["a"], "deny": []}}'],
  ])('make the set incomplete: %s', (_, content) => {
    for (const file of ['userFile', 'localFile'] as const) {
      const workspace = createWorkspace();
      workspace.write(workspace.paths[file], content);
      const loaded = workspace.load();
      expect(loaded.config.rules.unread).toEqual([workspace.paths[file]]);
      expect(loaded.diagnostics).toMatchObject([{ level: 'error' }]);
    }
  });

  it('are not missed in .mcp.json, which may hold none', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { permissions: { deny: ['a/*'] } });
    const loaded = workspace.load();
    expect(loaded.config.rules.unread).toEqual([]);
    expect(warnings(loaded)).toEqual([expect.stringMatching(/^permissions: The rules are ignored in this file/)]);
  });
});

describe('what is remembered', () => {
  it('is kept where the user says, and a project may only name more that is secret', () => {
    const workspace = createWorkspace();
    const { projectFile, userFile } = workspace.paths;
    expect(workspace.load().config.records).toBeUndefined();
    workspace.write(userFile, { store: 'postgres://db.example/parley', secretArguments: ['pin_code'] });
    workspace.write(projectFile, { store: 'memory:', secretArguments: ['recipe'] });
    const loaded = workspace.load();
    expect(loaded.config.records?.store).toBe('postgres://db.example/parley');
    expect([...(loaded.config.records?.secretArguments ?? [])].sort()).toEqual(['pin_code', 'recipe']);
    expect(warnings(loaded).some((line) => line.startsWith('store: '))).toBe(true);
  });
});
