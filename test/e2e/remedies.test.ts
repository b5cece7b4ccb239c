// What a person is told to do next: each remedy is one that works, and none is named that would not.
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createCliHome } from '../support/cli.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000 });

const user = createCliHome();
const FIXTURE = join(import.meta.dirname, 'fixtures/odd-server.mjs');
const odd = (way: string, more: object = {}) => ({ command: process.execPath, args: [FIXTURE, way], env: user.mark, ...more });

afterAll(() => {
  expect(user.processes()).toEqual([]);
  user.remove();
});

/** A command over these servers alone. */
function withServers(mcpServers: object, more: object = {}) {
  const config = user.write('remedies.jsonc', { mcpServers, ...more });
  return (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    user.run(['--config', config, ...args], { env });
}

describe('a call that nobody could be asked about', () => {
  it('may be allowed by a rule where no rule asks', async () => {
    const parley = withServers({ s: odd('plain') });
    const denied = await parley(['call', 's/echo', 'text=x']);
    expect(denied).toMatchObject({ code: 6, stdout: '' });
    expect(denied.stderr).toContain('--non-interactive park, or allow it with --allow SERVER/TOOL.');
    expect(await parley(['--allow', 's/echo', 'call', 's/echo', 'text=x'])).toMatchObject({ code: 0 });
  });

  it('is not promised to a rule that allows, where one asks', async () => {
    const parley = withServers({ s: odd('plain') }, { permissions: { ask: ['s/*'] } });
    for (const more of [[], ['--allow', 's/echo']]) {
      const denied = await parley([...more, 'call', 's/echo', 'text=x']);
      expect(denied).toMatchObject({ code: 6, stdout: '' });
      expect(denied.stderr).toContain('--non-interactive park.');
      expect(denied.stderr).not.toContain('--allow SERVER/TOOL');
    }
  });

  it('is one of those that wait, which need no more than `approvals` to be seen', async () => {
    const parley = withServers({ s: odd('plain') });
    const parked = await parley(['--non-interactive', 'park', 'call', 's/echo', 'text=later']);
    const [ticket = ''] = /ap_\w+/.exec(parked.stderr) ?? [];
    expect((await parley(['approvals'])).stdout).toMatch(new RegExp(`^${ticket} +pending .*later`));
    expect(await parley(['grants'])).toMatchObject({ code: 0, stdout: 'Nothing is allowed beyond one call.\n' });
  });
});

describe('a server that is not there', () => {
  it('because it is disabled is said to be', async () => {
    const parley = withServers({ s: odd('plain', { disabled: true }) });
    const asked = [
      ['call', 's/echo'],
      ['tools', 'list', 's'],
      ['tools', 'show', 's/echo'],
      ['prompts', 'get', 's/x'],
      ['resources', 's'],
    ];
    for (const args of asked) {
      expect(await parley(args), args.join(' ')).toMatchObject({
        code: 2,
        stderr: 'parley: Server "s" is disabled. Use it again with `parley mcp enable s`.\n',
      });
    }
  });

  it('because its entry is wrong is said to be left out', async () => {
    const parley = withServers({ s: odd('plain', { env: { KEY: '${PARLEY_NEVER_SET}' } }) });
    const got = await parley(['mcp', 'get', 's']);
    expect(got.code).toBe(2);
    expect(got.stderr).toMatch(
      /the variable "PARLEY_NEVER_SET" is not set[^]*Server "s" is left out until \S+ is corrected\.\n$/,
    );
    for (const group of ['tools', 'mcp']) {
      const listed = await parley([group, 'list']);
      expect(listed).toMatchObject({ code: 1, stdout: '' });
      expect(listed.stderr).toMatch(/No server can be used until the configuration is corrected\.\n$/);
    }
    // Beside one that is well, it is missed where it is named.
    const both = withServers({ s: odd('plain', { env: { KEY: '${PARLEY_NEVER_SET}' } }), well: odd('plain') });
    for (const args of [
      ['call', 's/echo'],
      ['tools', 'show', 's/echo'],
    ]) {
      const ran = await both(args);
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toMatch(/Server "s" is left out until \S+ is corrected\.\n$/);
    }
  });

  it('because it never answers is waited for until its time-out, and is told what it was started without', async () => {
    const parley = withServers({ s: odd('hang') });
    const env = { MCP_TIMEOUT: '500', HTTPS_PROXY: 'http://user:s3cret@proxy.example:8080' };
    const doctor = await parley(['mcp', 'doctor'], env);
    expect(doctor.code).toBe(2);
    expect(doctor.stdout).toMatch(/✗ s: .* gave no answer to server\/discover or initialize within 0.5 s\./);
    expect(doctor.stdout).toMatch(
      /it does not get .*\bHTTPS_PROXY\b.* of this environment; if it needs one, add it with -e NAME='\$\{NAME\}'/,
    );
    expect(doctor.stdout).not.toMatch(/s3cret|could not be read/);
    const listed = await parley(['tools', 'list', 's'], env);
    expect(listed).toMatchObject({ code: 4, stdout: '' });
    expect(listed.stderr).toContain('gave no answer');
    const given = withServers({ s: odd('hang', { env: { ...user.mark, HTTPS_PROXY: '${HTTPS_PROXY}' } }) });
    expect((await given(['mcp', 'doctor'], env)).stdout).not.toMatch(/it does not get .*HTTPS_PROXY/);
  });

  it('because of a key that has no effect is helped by the doctor', async () => {
    const parley = withServers({}, { servers: { s: { reviewdTools: [] } } });
    const doctor = await parley(['mcp', 'doctor']);
    expect(doctor.stdout).toMatch(/the key "reviewdTools" is not known and has no effect\. Did you mean "reviewedTools"\?/);
  });
});

it('a word that cannot be right is refused before anything is started', async () => {
  const parley = withServers({ s: odd('plain') });
  const cases = [
    [['mcp', 'add', 'x', 'ftp://example.com'], /"ftp:\/\/example.com" is no URL of an MCP server/],
    [['policy', 'explain', 's/echo', '--route', 'cal'], /There is no route "cal"\. Did you mean "call"\?/],
    [
      ['--allow', 'everything', 'call', 's/echo'],
      /The allow rule "everything" \(--allow\) has no "\/" between server and tool\./,
    ],
    [['tools', 'serch', 'sum'], /Expected 1 argument but got 2\.\n$/],
  ] as const;
  for (const [args, message] of cases) {
    const ran = await parley(args);
    expect(ran, args.join(' ')).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(message);
  }
});

it('an entry that cannot be used can be removed and disabled', async () => {
  const run = (...args: string[]) => user.run(args);
  for (const name of ['a', 'b']) {
    expect(await run('mcp', 'add', name, '-e', 'KEY=${PARLEY_NEVER_SET}', '--', process.execPath)).toMatchObject({ code: 0 });
  }
  expect((await run('mcp', 'disable', 'a')).stdout).toBe('Server "a" is disabled.\n');
  expect((await run('mcp', 'remove', 'b')).stdout).toMatch(/^Removed server "b" from /);
  expect(await run('mcp', 'list', '--no-connect')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^a +disabled/) as string,
    stderr: '',
  });
  expect(await run('mcp', 'disable', 'b')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no server "b"') as string,
  });
});
