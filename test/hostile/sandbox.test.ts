// What a server in a sandbox tries to reach all the same. Where no sandbox can be made, it must refuse to start, and says so.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isParleyError } from '../../src/errors.ts';
import { loadConfig, openHost } from '../../src/host/index.ts';
import { stdioTransport, type SandboxOptions } from '../../src/transport/index.ts';
import { createCliHome } from '../support/cli.ts';
import { eventually } from './fixtures/scene.ts';

const trial = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true']);
const works = trial.status === 0;
if (!works) process.stderr.write(`Sandboxes are not tried: bwrap ${trial.error?.message ?? trial.stderr.toString().trim()}\n`);

let directory = '';
/** In the home, where nobody but the user has any business. */
let own = '';
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'parley-sandbox-')));
  own = mkdtempSync(join(homedir(), '.parley-sandbox-test-'));
  writeFileSync(join(own, 'canary'), 'private');
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
  rmSync(own, { recursive: true, force: true });
});

/** What a shell in a sandbox writes to its standard error while it runs `script`. */
async function tries(script: string, sandbox: Partial<SandboxOptions> = {}): Promise<string> {
  const env = { OWN: own, PLACE: directory };
  const channel = await stdioTransport({
    ...{ command: 'sh', args: ['-c', `exec >&2; ${script}; echo over`], env },
    sandbox: { mode: 'required', ...sandbox },
  }).open();
  expect(channel.sandbox).toEqual({ sandboxed: true });
  channel.start({ message() {}, problem() {}, end() {} });
  await eventually(() => channel.stderr().endsWith('over\n'));
  await channel.close();
  return channel.stderr();
}

describe.runIf(works)('a server in a sandbox', () => {
  it('reads nothing of the home, nor the sockets of this machine', async () => {
    expect(await tries('cat "$OWN/canary"; ls -A ~; ls /var/run /run/docker.sock; ls -A /tmp')).not.toMatch(/private|^\.|sock$/m);
  });

  it('writes nothing but in its own temporary places', async () => {
    const said = await tries(
      'for place in /usr /etc "$PLACE" "$OWN"; do touch "$place/mine" && echo "wrote $place"; done; touch ~/x /tmp/x',
    );
    expect(said).not.toMatch(/wrote \/(usr|etc)/);
    expect(
      [directory, own, homedir(), '/tmp'].filter((place) => existsSync(join(place, 'mine')) || existsSync(join(place, 'x'))),
    ).toEqual([]);
  });

  it('reads and changes what it was given, and that as it was given', async () => {
    for (const name of ['read', 'write']) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'file'), `to ${name}`);
    }
    const said = await tries('cat "$PLACE"/*/file; echo no >"$PLACE/read/file"; echo yes >"$PLACE/write/file"', {
      read: [join(directory, 'read')],
      write: [join(directory, 'write')],
    });
    expect(said).toContain('to readto write');
    expect(readFileSync(join(directory, 'read/file'), 'utf8')).toBe('to read');
    expect(readFileSync(join(directory, 'write/file'), 'utf8')).toBe('yes\n');
  });

  it('finds behind a link only what it may see anyway', async () => {
    symlinkSync(join(own, 'canary'), join(directory, 'link'));
    expect(await tries('cat "$PLACE/link"', { write: [directory] })).not.toContain('private');
  });

  it('cannot change what runs on its own elsewhere, nor put another in its place', async () => {
    mkdirSync(join(directory, '.git/hooks'), { recursive: true });
    writeFileSync(join(directory, '.git/config'), 'as it was');
    const said = await tries(
      'cd "$PLACE"; echo "#!/bin/sh" >.git/hooks/pre-commit; echo no >.git/config; mv .git moved; rm -rf .git/hooks; touch .git/index',
      { write: [directory] },
    );
    expect(said).toContain('busy');
    expect(existsSync(join(directory, '.git/hooks/pre-commit'))).toBe(false);
    expect(readFileSync(join(directory, '.git/config'), 'utf8')).toBe('as it was');
    expect(existsSync(join(directory, '.git/index'))).toBe(true);
  });

  it('reaches no service of this machine, unless the network is shared', async () => {
    let visits = 0;
    const canary = createServer((socket) => {
      visits++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
    const { port } = canary.address() as AddressInfo;
    const visit = `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1").on("error", (e) => console.error(e.code)).on("connect", () => console.error("there"))'`;
    const read = [process.execPath];
    try {
      expect(await tries(visit, { read })).not.toContain('there');
      expect(visits).toBe(0);
      expect(await tries(visit, { read, network: true })).toContain('there');
    } finally {
      await new Promise((resolve) => canary.close(resolve));
    }
  });

  it('sees and signals no process but its own', async () => {
    const said = await tries(`kill -0 ${process.pid} && echo alive; ls /proc/${process.pid} && echo seen; echo $$`);
    expect(said).not.toMatch(/alive|seen/);
  });

  it('speaks MCP, is shown as sandboxed, and sees nothing of Parley', async () => {
    const cli = createCliHome();
    try {
      const fake = join(import.meta.dirname, 'fixtures/fake-stdio.mjs');
      cli.write('servers.json', {
        mcpServers: { closed: { command: process.execPath, args: [fake], env: cli.mark } },
        servers: { closed: { sandbox: { read: [fake, process.execPath] } } },
      });
      const got = await cli.run(['--config', 'servers.json', 'mcp', 'get', 'closed']);
      expect(got.stdout).toMatch(/^sandbox +sandboxed$/m);
      const listed = await cli.run(['--config', 'servers.json', '--json', 'mcp', 'list']);
      expect(listed.json).toMatchObject({ servers: [{ name: 'closed', state: 'ready', sandboxed: true }] });
    } finally {
      cli.remove();
    }
  });
});

describe('where no sandbox can be made', () => {
  const settings = (sandbox: string) => ({
    mcpServers: { one: { command: process.execPath, args: [join(import.meta.dirname, 'fixtures/fake-stdio.mjs')] } },
    servers: { one: { sandbox } },
  });
  /** The command with no bubblewrap on its path. */
  async function command(args: readonly string[], sandbox: string) {
    const cli = createCliHome();
    try {
      cli.write('servers.json', settings(sandbox));
      return await cli.run(['--config', 'servers.json', ...args], { env: { PATH: directory } });
    } finally {
      cli.remove();
    }
  }

  it('a server that requires one is not started, which is said at once', async () => {
    const ran = await command(['mcp', 'get', 'one'], 'required');
    expect(ran.code).toBe(6);
    expect(ran.stdout).toContain('it must run in a sandbox, and bubblewrap (bwrap) is not installed');
  });

  it('a server that prefers one is started, and said to run without', async () => {
    const { stdout } = await command(['mcp', 'doctor'], 'preferred');
    expect(stdout).toContain('not sandboxed (bubblewrap (bwrap) is not installed)');
  });
});

describe('parley mcp add --sandbox', () => {
  it('has the server run in one, and knows the modes there are', async () => {
    const cli = createCliHome();
    try {
      const add = (mode: string) => cli.run(['mcp', 'add', 'one', '--replace', '--sandbox', mode, '--', 'server']);
      expect((await add('required')).code).toBe(0);
      const { json } = await cli.run(['--json', 'mcp', 'list', '--no-connect']);
      expect(json).toMatchObject({ servers: [{ name: 'one', sandbox: { mode: 'required', network: false } }] });
      expect(await add('tight')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('required, preferred, off') as string,
      });
    } finally {
      cli.remove();
    }
  });
});

describe('a path in the settings of a sandbox', () => {
  it('that leads out of the project by way of a link is refused', async () => {
    symlinkSync(own, join(directory, 'data'));
    const { config } = loadConfig({
      ...{ cwd: directory, home: directory, env: {} },
      extra: {
        mcpServers: { one: { command: 'sh' } },
        servers: { one: { sandbox: { write: ['${workspaceFolder}/data'] } } },
      },
    });
    const host = openHost({ config, surroundings: { env: {}, home: directory, workspaceFolder: directory } });
    const error = await host.session('one').catch((thrown: unknown) => thrown);
    await host.close();
    expect(isParleyError(error, 'config-invalid') && error.message).toContain('a link to a place outside of the project');
  });
});
