// Reading: every accepted spelling, and every kind of bad entry beside a good one.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import { formatDiagnostic, type Loaded } from './index.ts';

const names = (loaded: Loaded) => loaded.config.servers.map((server) => server.name);
const errors = (loaded: Loaded) => loaded.diagnostics.filter((diagnostic) => diagnostic.level === 'error');

/** Loads one entry `x` beside a good one in `.mcp.json`. */
function loadEntry(entry: unknown, file: 'mcpFile' | 'userFile' = 'mcpFile') {
  const workspace = createWorkspace();
  workspace.write(workspace.paths[file], { mcpServers: { good: { command: 'ok' }, x: entry } });
  const loaded = workspace.load();
  return { loaded, server: loaded.config.servers.find((candidate) => candidate.name === 'x') };
}

describe('an entry in .mcp.json', () => {
  const stdio = { kind: 'stdio', command: 'npx', args: [], env: {} };
  const http = { kind: 'http', url: 'https://h/mcp', headers: {}, transport: 'either' };
  it.each([
    [{ command: 'npx' }, stdio],
    [
      { command: 'npx', args: ['-y', 'a'] },
      { ...stdio, args: ['-y', 'a'] },
    ],
    [{ type: 'stdio', command: 'npx' }, stdio],
    [
      { type: 'local', command: ['npx', '-y'], args: ['a'] },
      { ...stdio, args: ['-y', 'a'] },
    ],
    [
      { command: '/My Apps/x', args: [] },
      { ...stdio, command: '/My Apps/x' },
    ],
    [
      { command: 'npx', env: { A: '1' } },
      { ...stdio, env: { A: '1' } },
    ],
    [
      { command: 'npx', environment: { A: '1' } },
      { ...stdio, env: { A: '1' } },
    ],
    [
      { command: 'npx', envs: { A: '' } },
      { ...stdio, env: { A: '' } },
    ],
    [
      { command: 'npx', cwd: 'sub' },
      { ...stdio, cwd: 'sub' },
    ],
    [{ url: 'https://h/mcp' }, http],
    [{ serverUrl: 'https://h/mcp' }, http],
    [{ baseUrl: 'https://h/mcp' }, http],
    [{ httpUrl: 'https://h/mcp' }, { ...http, transport: 'http' }],
    [{ type: 'remote', url: 'https://h/mcp' }, http],
    [
      { type: 'http', url: 'https://h/mcp' },
      { ...http, transport: 'http' },
    ],
    [
      { type: 'streamable-http', url: 'https://h/mcp' },
      { ...http, transport: 'http' },
    ],
    [
      { type: 'streamableHttp', url: 'https://h/mcp' },
      { ...http, transport: 'http' },
    ],
    [
      { type: 'sse', url: 'https://h/mcp' },
      { ...http, transport: 'sse' },
    ],
    [
      { url: 'https://h/mcp', headers: { 'X-A': 'b' } },
      { ...http, headers: { 'X-A': 'b' } },
    ],
  ])('may be spelled %j', (entry, written) => {
    const { loaded, server } = loadEntry(entry);
    expect(loaded.diagnostics).toEqual([]);
    expect(server?.written).toEqual(written);
  });

  it.each([
    [{}, { enabled: true, trusted: false, reviewedTools: [], priority: 0, timeoutMs: 60_000, connectTimeoutMs: 30_000 }],
    [{ disabled: true }, { enabled: false }],
    [{ disabled: false }, { enabled: true }],
    [{ enabled: false }, { enabled: false }],
    [{ enabled: true, disabled: false }, { enabled: true }],
    [{ timeout: 5_000 }, { timeoutMs: 5_000 }],
  ])('with %j has the settings %j', (entry, settings) => {
    const { loaded, server } = loadEntry({ command: 'npx', ...entry });
    expect(loaded.diagnostics).toEqual([]);
    expect(server).toMatchObject(settings);
  });

  it.each([
    ['neither command nor url', {}, /needs "command" \(a program\) or "url"/],
    ['a type without its url', { type: 'http' }, /needs "url"/],
    ['both command and url', { command: 'a', url: 'https://h' }, /both "command" and "url"/],
    ['a type that contradicts', { type: 'sse', command: 'a' }, /"type" needs "url"/],
    ['a type that contradicts the url', { type: 'stdio', url: 'https://h' }, /"type" needs "command"/],
    ['an unknown type', { type: 'websocket', url: 'https://h' }, /"websocket" is not known. There are stdio, .*remote/],
    [
      'a command line',
      { command: 'npx -y foo' },
      /Write "command": "npx", "args": \["-y", "foo"\]; or, if it is one path.*"args": \[\]/,
    ],
    ['a command of the wrong kind', { command: 5 }, /"command" must be a text, not this number/],
    ['an empty command', { command: ' ' }, /"command" must be a text, not an empty text/],
    ['an empty list', { command: [] }, /"command" is an empty list/],
    ['args of the wrong kind', { command: 'a', args: '-y' }, /"args" must be a list of texts, not a text/],
    [
      'an arg of the wrong kind',
      { command: 'a', args: ['-p', 80] },
      /"args.1" must be a text, not this number. Put it in double quotes/,
    ],
    ['an env value of the wrong kind', { command: 'a', env: { PORT: 80 } }, /"env.PORT" must be a text/],
    ['an impossible env name', { command: 'a', env: { 'A=B': '1' } }, /"A=B" is not a name a variable can have/],
    ['two env keys', { command: 'a', env: {}, environment: {} }, /"env" and "environment" mean the same/],
    ['headers for a program', { command: 'a', headers: {} }, /"headers" are for a server with "url"/],
    ['args for a URL', { url: 'https://h', args: [] }, /"args" is for a server with "command"/],
    ['two url keys', { url: 'https://h', serverUrl: 'https://h' }, /"url" and "serverUrl" mean the same/],
    ['no whole URL', { url: 'h/mcp' }, /must be a whole URL that begins with https/],
    ['another scheme', { url: 'file:///etc/passwd' }, /must be a whole URL that begins with https/],
    ['a password in the URL', { url: 'https://u:hunter2@h' }, /holds a user name or password.*"Authorization"/],
    ['an impossible header name', { url: 'https://h', headers: { 'A B': 'c' } }, /"A B" is not a name a header can have/],
    ['a header with a line break', { url: 'https://h', headers: { A: 'hunter2\r\nX: y' } }, /the header "A" holds a line break/],
    ['one header twice', { url: 'https://h', headers: { A: '1', a: '2' } }, /the header "a" stands there twice/],
    ['a contradiction', { command: 'a', enabled: true, disabled: true }, /"enabled" and "disabled" contradict/],
    ['disabled as text', { command: 'a', disabled: 'yes' }, /"disabled" must be true or false, not a text/],
    ['a time-out in seconds', { command: 'a', timeoutSeconds: 5 }, /"timeoutSeconds" differs.*Write "timeout", in milliseconds/],
    ['another time-out', { command: 'a', startup_timeout_sec: 5 }, /"startup_timeout_sec" differs/],
    ['an impossible time-out', { command: 'a', timeout: -1 }, /"timeout" must be a whole number from 1 to/],
    ['a placeholder that is none', { command: 'a', args: ['${A B}'] }, /"\$\{A B" is not a placeholder/],
    ['an unset variable', { command: 'a', env: { T: '${NOPE}' } }, /the variable "NOPE" is not set. Set it, or write a default/],
    ['no object', 'npx', /it must be an object, not a text/],
    ['a NUL', { command: 'a', args: ['\0'] }, /"args.0" holds a NUL/],
  ])('with %s is named, and the others still work', (_, entry, message) => {
    const { loaded } = loadEntry(entry);
    expect(names(loaded)).toEqual(['good']);
    const [error, ...more] = errors(loaded);
    expect(more).toEqual([]);
    expect(error).toMatchObject({ server: 'x', path: expect.stringMatching(/^mcpServers\.x/) as string, line: 1 });
    expect(error?.message).toMatch(message);
    expect(error?.message).toMatch(/^Server "x": /);
    expect(JSON.stringify(loaded)).not.toContain('hunter2');
  });

  it.each([
    ['_x', '"x"'],
    ['a b', '"a-b"'],
    ['a__b', '"a_b"'],
    ['a/b', '"a-b"'],
    ['Ünï', '"Uni"'],
    ['', '"server"'],
    ['x'.repeat(65), `"${'x'.repeat(64)}"`],
    ['a\u202eb\u001b', '"a-b"'],
  ])('whose name is %j gets a better one suggested', (name, suggestion) => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { [name]: { command: 'a' }, good: { command: 'ok' } } });
    const loaded = workspace.load();
    expect(names(loaded)).toEqual(['good']);
    expect(errors(loaded)).toHaveLength(1);
    expect(errors(loaded)[0]?.message).toContain(`Call it ${suggestion}.`);
    expect(errors(loaded)[0]?.message).not.toMatch(/[\p{C}]/u);
  });

  it('with a key that is not known works, with a notice and a suggestion', () => {
    const { loaded, server } = loadEntry({ command: 'a', arg: ['x'] });
    expect(server).toBeDefined();
    expect(loaded.diagnostics).toMatchObject([{ level: 'notice', path: 'mcpServers.x.arg' }]);
    expect(loaded.diagnostics[0]?.message).toContain('Did you mean "args"');
  });

  it('that needs an unset variable is listed all the same while it is disabled', () => {
    const { loaded, server } = loadEntry({ command: '${NOPE}', disabled: true });
    expect(server?.enabled).toBe(false);
    expect(loaded.diagnostics).toEqual([]);
  });

  it('keeps its placeholders: nothing is filled in while reading', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'a', args: ['${SECRET_THING}'] } } });
    const loaded = workspace.load({ env: { SECRET_THING: 'hunter2' } });
    expect(loaded.config.servers[0]?.written).toMatchObject({ args: ['${SECRET_THING}'] });
    expect(JSON.stringify(loaded)).not.toContain('hunter2');
  });
});

describe('a file', () => {
  it('may have comments, trailing commas and a byte order mark, and be in the form of VS Code', () => {
    const workspace = createWorkspace();
    workspace.write(
      workspace.paths.mcpFile,
      '\ufeff{\n// c\n"servers": { "x": { "command": "a", /* b */ }, },\n"inputs": [{"id": "k", "description": "Key", "password": true}, {"id": "u", "password": false}],\n}\n',
    );
    const loaded = workspace.load();
    expect(loaded.diagnostics).toEqual([]);
    expect(names(loaded)).toEqual(['x']);
    expect(loaded.config.inputs).toMatchObject([
      { id: 'k', description: 'Key', secret: true },
      { id: 'u', description: '', secret: false },
    ]);
  });

  it('that cannot be parsed is one error with its place, and the other files count', () => {
    const workspace = createWorkspace();
    const file = workspace.write(workspace.paths.mcpFile, '{\n  "mcpServers": {\n    "x": {"command" "a"},\n    "y": [}\n');
    workspace.write(workspace.paths.userFile, { mcpServers: { mine: { command: 'a' } } });
    const loaded = workspace.load();
    expect(names(loaded)).toEqual(['mine']);
    expect(loaded.diagnostics.map(formatDiagnostic)).toEqual([
      `${file}:3:21 The file is not used: a colon is missing after the key.`,
    ]);
  });

  it.each([
    ['empty', '', /it is empty/],
    ['not an object', '[]', /must hold an object, not a list/],
    ['nested too deep', `{"mcpServers": ${'['.repeat(100_000)}`, /nested more than 64 deep/],
    ['too large', `{"a": "${'x'.repeat(1024 * 1024)}"}`, /larger than 1048576 bytes/],
    ['with one section twice', '{"mcpServers": {}, "mcpServers": {}}', /"mcpServers" stands here twice/],
    ['with a dangerous key', '{"__proto__": {}}', /"__proto__" is never allowed/],
    ['with a section that is no object', '{"mcpServers": []}', /"mcpServers" must be an object of names and servers/],
  ])('that is %s is one error', (_, text, message) => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, text);
    workspace.write(workspace.paths.userFile, { mcpServers: { mine: { command: 'a' } } });
    const loaded = workspace.load();
    expect(names(loaded)).toEqual(['mine']);
    expect(loaded.diagnostics).toHaveLength(1);
    expect(loaded.diagnostics[0]).toMatchObject({ level: 'error', message: expect.stringMatching(message) as string });
  });

  it('that is no text, no file or an endless one is an error, not a wait', () => {
    const workspace = createWorkspace();
    const { mcpFile, userFile, projectFile } = workspace.paths;
    mkdirSync(userFile, { recursive: true });
    workspace.write(projectFile, '');
    rmSync(projectFile);
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', projectFile]);
    symlinkSync('/dev/zero', mcpFile);
    const loaded = workspace.load();
    expect(loaded.diagnostics.map(({ message }) => message)).toEqual(
      Array(3).fill('The file is not used: it is not a regular file.'),
    );
    rmSync(mcpFile);
    writeFileSync(mcpFile, Buffer.from([0xff, 0xfe, 0x7b, 0x00]));
    expect(workspace.load().diagnostics).toContainEqual(
      expect.objectContaining({ file: mcpFile, message: 'The file is not used: it is not UTF-8 text.' }),
    );
  });

  it.each([
    [{ x: { command: 'a' } }, /The server "x" stands at the top of the file. Put it under "mcpServers"/],
    [{ mcp_servers: { x: { command: 'a' } } }, /The key "mcp_servers" is not read. Servers stand under "mcpServers"/],
    [{ McpServers: { x: { url: 'https://h' } } }, /The key "McpServers" is not read/],
    [{ mcp: { servers: { x: { command: 'a' } } } }, /The key "mcp" is not read/],
  ])('with servers under the wrong key names the right one: %j', (content, message) => {
    for (const file of ['mcpFile', 'userFile'] as const) {
      const workspace = createWorkspace();
      workspace.write(workspace.paths[file], content);
      const loaded = workspace.load();
      expect(names(loaded)).toEqual([]);
      expect(loaded.diagnostics).toMatchObject([{ level: 'error', message: expect.stringMatching(message) as string }]);
    }
  });

  it('with an entry that is written twice, or holds a dangerous key, loses that entry alone', () => {
    const workspace = createWorkspace();
    workspace.write(
      workspace.paths.mcpFile,
      `{"mcpServers": {
        "twice": {"command": "a"},
        "good": {"command": "ok"},
        "twice": {"command": "b"},
        "inner": {"command": "a", "command": "b"},
        "proto": {"command": "a", "env": {"__proto__": "x"}},
        "constructor": {"command": "a"}
      }}`,
    );
    const loaded = workspace.load();
    expect(names(loaded)).toEqual(['good']);
    expect(errors(loaded).map(({ path }) => path)).toEqual([
      'mcpServers.twice',
      'mcpServers.inner.command',
      'mcpServers.proto.env.__proto__',
      'mcpServers.constructor',
    ]);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('with keys that mean nothing is read, with a notice', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { $schema: 's', version: 1, mcpServers: {} });
    expect(workspace.load().diagnostics).toMatchObject([{ level: 'notice', path: 'version' }]);
  });
});

describe('loadConfig', () => {
  it('with a config file reads that one alone, and everything in it counts', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.mcpFile, { mcpServers: { other: { command: 'a' } } });
    workspace.write(join(workspace.project, 'only.jsonc'), {
      mcpServers: { x: { command: 'a', timeout: 5, trusted: true, reviewedTools: ['t'], priority: 3 } },
      permissions: { allow: ['x/*'], ask: ['x/b'], deny: ['x/c'] },
      callTimeoutMs: 9,
    });
    const { config, diagnostics } = workspace.load({ configFile: 'only.jsonc' });
    expect(diagnostics).toEqual([]);
    expect(config.servers).toMatchObject([
      {
        name: 'x',
        timeoutMs: 5,
        trusted: true,
        reviewedTools: ['t'],
        priority: 3,
        source: { scope: 'flag', key: 'mcpServers.x' },
      },
    ]);
    expect(config.rules).toMatchObject({
      allow: [{ rule: 'x/*' }],
      ask: [{ rule: 'x/b' }],
      deny: [{ rule: 'x/c' }],
      unread: [],
    });
    expect(config.settings.callTimeoutMs).toBe(9);
  });

  it('says so when the config file is missing, and holds the rules for incomplete', () => {
    const { config, diagnostics } = createWorkspace().load({ configFile: '/nowhere/x.jsonc' });
    expect(diagnostics).toMatchObject([{ level: 'error', file: '/nowhere/x.jsonc' }]);
    expect(config.rules.unread).toEqual(['/nowhere/x.jsonc']);
  });

  it('takes more from the command line before every file', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.localFile, { mcpServers: { x: { command: 'local' } } });
    const { config } = workspace.load({
      extra: { mcpServers: { x: { command: 'flag' } }, permissions: { allow: ['x/*'] } },
    });
    expect(config.servers).toMatchObject([{ written: { command: 'flag' }, source: { file: 'the command line', scope: 'flag' } }]);
    expect(config.rules.allow).toMatchObject([{ rule: 'x/*', source: { scope: 'flag' } }]);
  });

  it('takes its defaults from MCP_TIMEOUT and MCP_TOOL_TIMEOUT, below what files say', () => {
    const workspace = createWorkspace();
    const env = { MCP_TIMEOUT: '1234', MCP_TOOL_TIMEOUT: '5678' };
    workspace.write(workspace.paths.userFile, { mcpServers: { x: { command: 'a' }, y: { command: 'a', timeoutMs: 1 } } });
    expect(workspace.load({ env }).config).toMatchObject({
      settings: { connectTimeoutMs: 1234, callTimeoutMs: 5678, healthIntervalMs: 30_000, maxResultBytes: 102_400 },
      servers: [{ connectTimeoutMs: 1234, timeoutMs: 5678 }, { timeoutMs: 1 }],
    });
    workspace.write(workspace.paths.userFile, { connectTimeoutMs: 7 });
    expect(workspace.load({ env }).config.settings.connectTimeoutMs).toBe(7);
  });

  it.each(['', '0', '-5', '1e3', 'soon', '99999999999'])('does not use MCP_TIMEOUT=%j', (value) => {
    const { config, diagnostics } = createWorkspace().load({ env: { MCP_TIMEOUT: value } });
    expect(config.settings.connectTimeoutMs).toBe(30_000);
    expect(diagnostics).toHaveLength(value === '' ? 0 : 1);
  });

  it('gives an empty configuration where there is none', () => {
    const { config, diagnostics } = createWorkspace().load();
    expect(diagnostics).toEqual([]);
    expect(config).toMatchObject({ servers: [], rules: { allow: [], ask: [], deny: [], unread: [] } });
  });
});
