import { existsSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, isParleyError } from '../../errors.ts';
import { createWorkspace, type Workspace } from './fixtures/workspace.ts';
import { addServer, removeServer, setEnabled } from './index.ts';

const at = (workspace: Workspace, scope: 'local' | 'project' | 'user') => ({ paths: workspace.paths, scope });

/** Expects `act` to fail with `code`, and gives its message. */
function refused(code: ErrorCode, act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isParleyError(error, code)) return error.message;
    throw error;
  }
  return expect.fail('it was not refused');
}

describe('addServer', () => {
  it('makes the files it needs, the standard fields apart from Parley’s own in a project', () => {
    const workspace = createWorkspace();
    const { mcpFile, projectFile } = workspace.paths;
    const entry = { command: ['npx', '-y', 'x'], environment: { A: '${B:-c}' }, timeout: 5_000, priority: 3, disabled: true };
    expect(addServer(at(workspace, 'project'), 'x', entry)).toEqual({ files: [projectFile, mcpFile], diagnostics: [] });
    expect(workspace.read(mcpFile)).toBe(
      `{
  "mcpServers": {
    "x": {
      "command": "npx",
      "args": ["-y", "x"],
      "env": {
        "A": "\${B:-c}"
      },
      "timeout": 5000
    }
  }
}
`,
    );
    expect(JSON.parse(workspace.read(projectFile))).toEqual({ servers: { x: { priority: 3, enabled: false } } });
    expect(workspace.load().config.servers).toMatchObject([{ name: 'x', timeoutMs: 5_000, priority: 3, enabled: false }]);
  });

  it('writes everything into one file that only the user can read in local and user scope', () => {
    for (const [scope, key] of [
      ['local', 'localFile'],
      ['user', 'userFile'],
    ] as const) {
      const workspace = createWorkspace();
      const file = workspace.paths[key];
      const entry = {
        type: 'streamable-http',
        serverUrl: 'https://h/mcp',
        headers: { A: 'b' },
        trusted: true,
        timeout: 7,
        extra: 1,
      };
      const edited = addServer(at(workspace, scope), 'x', entry);
      expect(edited.files).toEqual([file]);
      expect(edited.diagnostics).toMatchObject([{ level: 'notice', path: 'mcpServers.x.extra' }]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(workspace.load()).toMatchObject({
        diagnostics: [],
        config: {
          servers: [
            {
              written: { kind: 'http', url: 'https://h/mcp', headers: { A: 'b' }, transport: 'http' },
              trusted: true,
              timeoutMs: 7,
              source: { scope },
            },
          ],
        },
      });
      if (scope === 'local') expect(workspace.read(file)).toMatch(/^\/\/ .*"[^\n]*\/project"/);
    }
  });

  it('keeps comments and the form of what is there', () => {
    const workspace = createWorkspace();
    const { mcpFile } = workspace.paths;
    workspace.write(mcpFile, '{\n\t// ours\n\t"servers": {\n\t\t"a": {"command": "a"}, // first\n\t},\n}\n');
    addServer(at(workspace, 'project'), 'b', { url: 'https://h' });
    expect(workspace.read(mcpFile)).toBe(
      '{\n\t// ours\n\t"servers": {\n\t\t"a": {"command": "a"}, // first\n\t\t"b": {\n\t\t\t"url": "https://h"\n\t\t},\n\t},\n}\n',
    );
  });

  it('refuses a name that is taken, unless it is to be replaced', () => {
    const workspace = createWorkspace();
    const { mcpFile, projectFile } = workspace.paths;
    workspace.write(mcpFile, '{"mcpServers": {"x": {"url": "https://old"}, "y": {"url": "https://y"}}} // end\n');
    workspace.write(projectFile, '{"servers": {"x": {"priority": 5}, "y": {"priority": 6}}}');
    const place = at(workspace, 'project');
    expect(refused('usage', () => addServer(place, 'x', { command: 'a' }))).toContain('exists in project scope');
    expect(workspace.read(mcpFile)).toContain('https://old');
    addServer(place, 'x', { command: 'a' }, { replace: true });
    expect(workspace.read(mcpFile)).toBe(
      '{"mcpServers": {"x": {\n  "command": "a",\n  "args": []\n}, "y": {"url": "https://y"}}} // end\n',
    );
    expect(workspace.read(projectFile)).toBe('{"servers": {"y": {"priority": 6}}}');
  });

  it('lets no trust pass to what replaces a server', () => {
    const workspace = createWorkspace();
    const { userFile } = workspace.paths;
    workspace.write(userFile, {
      mcpServers: { x: { url: 'https://old', trusted: true } },
      servers: { x: { reviewedTools: ['t'] } },
    });
    addServer(at(workspace, 'user'), 'x', { url: 'https://new' }, { replace: true });
    expect(workspace.load().config.servers).toMatchObject([
      { written: { url: 'https://new' }, trusted: false, reviewedTools: [] },
    ]);
    expect(JSON.parse(workspace.read(userFile))).toEqual({ mcpServers: { x: { url: 'https://new' } }, servers: {} });
  });

  it('replaces an entry that stands there twice by one', () => {
    const workspace = createWorkspace();
    const { userFile } = workspace.paths;
    workspace.write(userFile, '{"mcpServers": {"x": {"command": "a"}, "x": {"command": "b"}}}');
    addServer(at(workspace, 'user'), 'x', { command: 'c' }, { replace: true });
    expect(workspace.load()).toMatchObject({ diagnostics: [], config: { servers: [{ written: { command: 'c' } }] } });
  });

  it.each([
    ['a__b', { command: 'a' }, /Call it "a_b"/],
    ['__proto__', { command: 'a' }, /never allowed/],
    ['x', { command: 'npx -y a' }, /Write "command": "npx"/],
    ['x', undefined, /it must be an object/],
    ['x', { command: 'a', trusted: true }, /a project cannot vouch/],
    ['x', { command: 'a', env: { NODE_OPTIONS: 'x' } }, /add it in user scope/],
    ['x', { url: 'https://h', headers: { A: '${MY_TOKEN}' } }, /move the server to user scope/],
  ])('writes nothing of what a project may not say or nobody could read: %s %j', (name, entry, message) => {
    const workspace = createWorkspace();
    expect(refused('usage', () => addServer(at(workspace, 'project'), name, entry))).toMatch(message);
    expect(readdirSync(workspace.project)).toEqual(['.git']);
  });

  it('does not touch a file that is broken', () => {
    const workspace = createWorkspace();
    for (const text of ['{"mcpServers": {', '[]', '{"mcpServers": 5}']) {
      const file = workspace.write(workspace.paths.userFile, text);
      expect(refused('config-invalid', () => addServer(at(workspace, 'user'), 'x', { command: 'a' }))).not.toBe('');
      expect(workspace.read(file)).toBe(text);
    }
  });

  it('does not follow a project’s link out of the project', () => {
    const workspace = createWorkspace();
    const { mcpFile, projectFile } = workspace.paths;
    const outside = workspace.write(join(workspace.home, 'precious.json'), '{}');
    symlinkSync(outside, mcpFile);
    const place = at(workspace, 'project');
    expect(refused('config-invalid', () => addServer(place, 'x', { command: 'a' }))).toContain('outside the project');
    expect(workspace.read(outside)).toBe('{}');
    symlinkSync(workspace.home, dirname(projectFile));
    workspace.write(join(workspace.home, 'parley.jsonc'), '{"mcpServers": {"x": {"command": "a"}}}');
    expect(refused('config-invalid', () => setEnabled(place, 'x', 'disabled'))).toContain('outside the project');
  });

  it('says what the file system says when the file cannot be written', () => {
    const workspace = createWorkspace();
    workspace.write(join(workspace.home, '.config'), 'a file where a directory should be');
    expect(refused('config-invalid', () => addServer(at(workspace, 'user'), 'x', { command: 'a' }))).toMatch(
      /could not be written \(/,
    );
  });
});

describe('removeServer', () => {
  it('takes the server and the settings for it out of the scope, and no comment of others', () => {
    const workspace = createWorkspace();
    const { mcpFile, projectFile } = workspace.paths;
    workspace.write(
      mcpFile,
      '{\n  "mcpServers": {\n    // a is ours\n    "a": { "command": "a" },\n    // b is not\n    "b": { "command": "b" }\n  }\n}\n',
    );
    workspace.write(projectFile, '{\n  // settings\n  "servers": { "b": { "priority": 1 } }\n}\n');
    expect(removeServer(at(workspace, 'project'), 'b').files).toEqual([mcpFile, projectFile]);
    expect(workspace.read(mcpFile)).toBe(
      '{\n  "mcpServers": {\n    // a is ours\n    "a": { "command": "a" }\n    // b is not\n  }\n}\n',
    );
    expect(workspace.read(projectFile)).toBe('{\n  // settings\n  "servers": {}\n}\n');
  });

  it('says when there is none, and which ones are near', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { mcpServers: { github: { command: 'a' } } });
    expect(refused('not-found', () => removeServer(at(workspace, 'user'), 'gihub'))).toMatch(
      /in user scope. Did you mean "github"/,
    );
    expect(refused('not-found', () => removeServer(at(workspace, 'project'), 'x'))).toContain('in project scope');
    expect(existsSync(workspace.paths.mcpFile)).toBe(false);
  });
});

describe('setEnabled', () => {
  it('writes into Parley’s file of a project, not into the one that others read', () => {
    const workspace = createWorkspace();
    const { mcpFile, projectFile } = workspace.paths;
    const text = '{"mcpServers": {"x": {"command": "a"}}}';
    workspace.write(mcpFile, text);
    const place = at(workspace, 'project');
    setEnabled(place, 'x', 'disabled');
    expect(workspace.read(mcpFile)).toBe(text);
    expect(JSON.parse(workspace.read(projectFile))).toEqual({ servers: { x: { enabled: false } } });
    expect(workspace.load().config.servers).toMatchObject([{ enabled: false }]);
    setEnabled(place, 'x', 'enabled');
    expect(workspace.load().config.servers).toMatchObject([{ enabled: true }]);
    expect(refused('not-found', () => setEnabled(place, 'y', 'enabled'))).toContain('"y"');
  });

  it('overrides what another application wrote as disabled', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'a', disabled: true } } });
    setEnabled(at(workspace, 'project'), 'x', 'enabled');
    expect(workspace.load().config.servers).toMatchObject([{ enabled: true }]);
  });

  it.each([
    ['{"mcpServers": {"x": {"command": "a"}}}', '{"mcpServers": {"x": {"command": "a", "enabled": false}}}'],
    ['{"mcpServers": {"x": {"disabled": false, "command": "a"}}}', '{"mcpServers": {"x": {"disabled": true, "command": "a"}}}'],
    ['{"servers": {"x": {"url": "https://h", "enabled": true}}}', '{"servers": {"x": {"url": "https://h", "enabled": false}}}'],
    ['{"servers": {"x": {"priority": 1}}} // c', '{"servers": {"x": {"priority": 1, "enabled": false}}} // c'],
  ])('changes the one word in the user’s file: %s', (before, after) => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, before);
    setEnabled(at(workspace, 'user'), 'x', 'disabled');
    expect(workspace.read(workspace.paths.userFile)).toBe(after);
  });

  it('switches a project’s server off for one user alone', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'a' } } });
    setEnabled(at(workspace, 'local'), 'x', 'disabled');
    expect(workspace.load().config.servers).toMatchObject([{ enabled: false, source: { scope: 'project' } }]);
    expect(readdirSync(workspace.project).sort()).toEqual(['.git', '.mcp.json']);
  });

  it('writes nothing when nothing changes', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, '{"mcpServers": {"x": {"command": "a", "enabled": true}}}');
    expect(setEnabled(at(workspace, 'user'), 'x', 'enabled').files).toEqual([]);
  });
});
