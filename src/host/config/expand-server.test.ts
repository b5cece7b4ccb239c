import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { createWorkspace } from './fixtures/workspace.ts';
import { describeServer, expandServer, hideInUrl, type ServerDefinition, type StdioLaunch, type Surroundings } from './index.ts';

const env = { BIN: '/opt/bin', TOKEN: 'hunter2', HOST: 'h.example' };

/** The definition of `entry` in the user's file, where everything is allowed. */
function define(entry: unknown): ServerDefinition {
  const workspace = createWorkspace();
  workspace.write(workspace.paths.userFile, { mcpServers: { x: entry } });
  return workspace.load({ env }).config.servers[0] as ServerDefinition;
}

const surroundings: Surroundings = { env, home: '/home/u', workspaceFolder: '/work/p' };

/** The error that expanding ends with. */
async function failure(server: ServerDefinition, where: Surroundings): Promise<Error> {
  return expandServer(server, where).then(
    () => expect.fail('it was expanded'),
    (error: unknown) => {
      expect(isParleyError(error, 'config-invalid') && error.details.server).toBe('x');
      return error as Error;
    },
  );
}

describe('expandServer', () => {
  it('fills in the command, arguments, values of variables and the directory', async () => {
    const server = define({
      command: '${BIN}/srv',
      args: ['--root', '${workspaceFolder}', '--home=${userHome}', '$5'],
      env: { T: '${env:TOKEN}' },
      cwd: 'sub/${HOST}',
      priority: 4,
    });
    expect(await expandServer(server, surroundings)).toMatchObject({
      kind: 'stdio',
      name: 'x',
      priority: 4,
      command: '/opt/bin/srv',
      args: ['--root', '/work/p', '--home=/home/u', '$5'],
      env: { T: 'hunter2' },
      cwd: '/work/p/sub/h.example',
    });
  });

  it('fills in the URL and the values of headers', async () => {
    const server = define({ url: 'https://${HOST}/${PLACE:-mcp}', type: 'sse', headers: { Authorization: 'Bearer ${TOKEN}' } });
    expect(await expandServer(server, surroundings)).toMatchObject({
      kind: 'http',
      transport: 'sse',
      url: 'https://h.example/mcp',
      headers: { Authorization: 'Bearer hunter2' },
    });
  });

  it('starts a project’s program at the root, in no folder of the project’s where it is confined, and the user’s where Parley is', async () => {
    const started = async (scope: 'project' | 'user', more: object = {}) => {
      const server = define({ command: 'a', ...more });
      const { cwd, privateCwd } = (await expandServer(
        { ...server, source: { ...server.source, scope } },
        surroundings,
      )) as StdioLaunch;
      return { cwd, privateCwd };
    };
    expect(await started('project')).toEqual({ cwd: '/work/p' });
    expect(await started('project', { cwd: 'sub' })).toEqual({ cwd: '/work/p/sub' });
    for (const apart of [{ sandbox: 'preferred' }, { privateCwd: true }])
      expect(await started('project', apart)).toEqual({ privateCwd: true });
    expect(await started('user')).toEqual({});
  });

  it('leaves the definition as it was', async () => {
    const server = define({ command: 'a', args: ['${TOKEN}'] });
    const before = structuredClone(server);
    await expandServer(server, surroundings);
    expect(server).toEqual(before);
  });

  it('asks for each input once, and takes them from a map too', async () => {
    const server = define({ command: 'a', args: ['${input:k}', '${input:k}'], env: { A: '${input:l}' } });
    const asked: string[] = [];
    const inputs = (id: string) => Promise.resolve(`<${String(asked.push(id))} ${id}>`);
    expect(await expandServer(server, { ...surroundings, inputs })).toMatchObject({
      args: ['<1 k>', '<1 k>'],
      env: { A: '<2 l>' },
    });
    const map = new Map([
      ['k', '1'],
      ['l', ''],
    ]);
    expect(await expandServer(server, { ...surroundings, inputs: map })).toMatchObject({ args: ['1', '1'], env: { A: '' } });
  });

  it('stops asking when the signal says so', async () => {
    const server = define({ command: 'a', args: ['${input:k}', '${input:l}'] });
    const stop = new AbortController();
    const asked: string[] = [];
    const inputs = (id: string) => {
      asked.push(id);
      stop.abort(new Error('enough'));
      return 'x';
    };
    await expect(expandServer(server, { ...surroundings, inputs, signal: stop.signal })).rejects.toThrow('enough');
    expect(asked).toEqual(['k']);
  });

  it('names the server, the key and the input or variable that is missing', async () => {
    const server = define({ command: 'a', env: { A: '${input:k}', B: '${TOKEN}' } });
    expect((await failure(server, surroundings)).message).toMatch(
      /Server "x" \(mcpServers\.x\.env\.A in .*\): nobody gave a value for the input "k"/,
    );
    const { message } = await failure(server, { ...surroundings, env: {}, inputs: new Map([['k', 'hunter2']]) });
    expect(message).toMatch(/mcpServers\.x\.env\.B .*the variable "TOKEN" is not set/);
    expect(message).not.toContain('hunter2');
  });

  it.each([
    [{ url: '${HOST}' }, /must be a whole URL/],
    [{ url: 'https://${TOKEN}@h' }, /user name or password/],
    [{ url: 'https://h', headers: { A: '${BREAK}' } }, /holds a line break/],
    [{ command: '${EMPTY}' }, /"command" is empty/],
    [{ command: 'a', args: ['${NUL}'] }, /NUL/],
  ])('checks again what came out of %j, without showing it', async (entry, message) => {
    const all = { ...env, BREAK: 'hunter2\r\nX: y', EMPTY: '', NUL: 'hunter2\0' };
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { mcpServers: { x: entry } });
    const server = workspace.load({ env: all }).config.servers[0] as ServerDefinition;
    const error = await failure(server, { ...surroundings, env: all });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('hunter2');
  });
});

describe('describeServer', () => {
  it('shows what was written, and names without values', async () => {
    const written = { command: 'npx', args: ['-y', '${TOKEN}'], env: { A: 'hunter2', B: '${TOKEN}' }, cwd: 'sub' };
    const server = define(written);
    const shown = {
      name: 'x',
      enabled: true,
      kind: 'stdio',
      command: 'npx',
      args: ['-y', '${TOKEN}'],
      env: ['A', 'B'],
      cwd: 'sub',
    };
    expect(describeServer(server)).toMatchObject(shown);
    const ready = await expandServer(server, surroundings);
    expect(describeServer(ready)).toEqual(describeServer(server));
    expect(JSON.stringify(describeServer(ready))).not.toContain('hunter2');
  });

  it('shows a URL without its secrets', () => {
    const server = define({ url: 'https://h/mcp?key=hunter2', headers: { A: 'hunter2' } });
    expect(describeServer(server)).toMatchObject({
      kind: 'http',
      url: 'https://h/mcp?key=***',
      headers: ['A'],
      transport: 'either',
    });
  });
});

describe('hideInUrl', () => {
  it.each([
    ['https://h/mcp', 'https://h/mcp'],
    ['https://h/mcp?key=hunter2&b=&hunter2#hunter2', 'https://h/mcp?key=***&b=&***#***'],
    [
      'https://h/mcp?k=${KEY}&l=${input:api-key}&m=${KEY:-hunter2}&n=a${KEY}',
      'https://h/mcp?k=${KEY}&l=${input:api-key}&m=***&n=***',
    ],
    ['https://hunter2@h/a@b?x', 'https://***@h/a@b?***'],
    ['https://u:hunter2@a@h/mcp', 'https://***@h/mcp'],
    ['https:\\\\u:hunter2@h', 'https:\\\\***@h'],
    ['u:hunter2@h', 'u:***@h'],
    ['${BASE}/mcp?k=hunter2', '${BASE}/mcp?k=***'],
  ])('turns %s into %s', (url, hidden) => {
    expect(hideInUrl(url)).toBe(hidden);
  });
});
