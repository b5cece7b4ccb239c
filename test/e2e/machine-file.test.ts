// The administrator's file as every user of the command meets it: the real place, in a mount namespace.
import { chmodSync, chownSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCliHome, type CliHome } from '../support/cli.ts';
import { createMachine, FILE, type Machine } from '../support/machine.ts';
import { SERVER } from '../trust/fixtures/scene.ts';

const trial = createMachine();
trial?.remove();
if (trial === undefined)
  process.stderr.write("The administrator's file is not tried with the command: unshare makes no mount namespace here.\n");

describe.skipIf(trial === undefined)("the administrator's file", () => {
  let cli: CliHome;
  let machine: Machine;
  let log: string;
  beforeEach(() => {
    cli = createCliHome();
    machine = createMachine() as Machine;
    log = join(cli.project, 'reached');
    // Whoever is not the administrator allows everything.
    cli.write('given.json', { mcpServers: { s: server() }, permissions: { allow: ['*/*'] } });
  });
  afterEach(async () => {
    await expect.poll(() => cli.processes()).toEqual([]);
    cli.remove();
    machine.remove();
  });

  const server = () => ({ command: process.execPath, args: [SERVER, '--log', log], env: cli.mark });
  const start = (...args: readonly string[]) => cli.start(args, { behind: machine.behind });
  const run = (...args: readonly string[]) => start(...args).ended;
  const given = (...args: readonly string[]) => run('--config', 'given.json', '--allow', '*/*', ...args);
  const reached = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);

  it('denies what --config and --allow allow, and is named', async () => {
    machine.write({ permissions: { deny: ['s/act(text: x*)'] } });
    const denied = await given('call', 's/act', 'text=xy');
    expect(denied).toMatchObject({ code: 6, stdout: '' });
    expect(denied.stderr).toContain(`The rule deny s/act(text: x*) says so (permissions.deny.0 in ${FILE}).`);
    expect((await given('call', 's/act', 'text=y')).code).toBe(0);
    // What a project allows by itself counts for nothing.
    cli.write('.mcp.json', { mcpServers: { s: server() } });
    cli.write('.parley/parley.jsonc', { permissions: { allow: ['*/*'] } });
    await cli.trust('s');
    expect(await run('--allow', '*/*', 'call', 's/act', 'text=xy')).toMatchObject({ code: 6, stdout: '' });
    expect(reached()).toBe(1);

    const explained = await given('--json', 'policy', 'explain', 's/act', 'text=xy');
    const rule = { effect: 'deny', rule: 's/act(text: x*)', file: FILE, key: 'permissions.deny.0', scope: 'machine' };
    expect(explained.json).toMatchObject({ verdict: 'deny', rule });
    expect((await given('policy', 'check')).stdout).toContain("3 rules, 1 of them the machine's, in order.\n");
  });

  it('is moved by no variable of the environment', async () => {
    machine.write({ permissions: { deny: ['s/*'] } });
    const names = ['XDG_CONFIG_DIRS', 'XDG_CONFIG_HOME', 'ProgramData', 'ProgramFiles', 'PARLEY_CONFIG', 'PARLEY_MACHINE_FILE'];
    const env = Object.fromEntries(names.map((name) => [name, cli.project]));
    const ran = await cli.run(['--config', 'given.json', 'call', 's/act', 'text=x'], { env, behind: machine.behind });
    expect(ran).toMatchObject({ code: 6, stderr: expect.stringContaining(FILE) as string });
  });

  it("gives servers, which are shown as the machine's and are for nobody else to change", async () => {
    machine.write({ mcpServers: { s: server() }, permissions: { allow: ['s/*'] } });
    expect(await run('call', 's/act', 'text=x')).toMatchObject({ code: 0, stderr: '' });
    expect((await run('mcp', 'list')).stdout).toMatch(/^✓ {2}s {2}.* machine {2}connected/);
    expect((await run('mcp', 'list', '--no-connect')).stdout).toMatch(/^s .* machine\n$/);
    expect((await run('mcp', 'get', 's')).stdout).toContain(`mcpServers.s in ${FILE} (machine)`);
    expect((await run('mcp', 'disable', 's')).code).toBe(0);
    expect((await run('mcp', 'list')).stdout).toMatch(/^s {2}disabled/);
    machine.write({ mcpServers: { s: { ...server(), enabled: true } } });
    expect(await run('mcp', 'disable', 's')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'parley: Server "s" stays enabled: another file than that of local scope prevails.\n',
    });
    for (const args of [
      ['add', 't', '-s', 'machine', 'https://h.example/mcp'],
      ['remove', 's'],
      ['disable', 's', '-s', 'machine'],
    ]) {
      expect(await run('mcp', ...args)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `parley: ${FILE} is the administrator's: it is edited as such, by hand. Use local, project or user.\n`,
      });
    }
  });

  it.each([
    ['may be written by a group', () => chmodSync(machine.file, 0o664)],
    ['is not whole', () => machine.write('{ "permissions": {')],
  ])('that %s denies everything', async (_, spoil) => {
    await deniesEverything(spoil);
  });

  it.skipIf(process.getuid?.() !== 0)('that is of somebody else denies everything', async () => {
    await deniesEverything(() => chownSync(machine.file, 65_534, 65_534));
  });

  async function deniesEverything(spoil: () => void): Promise<void> {
    machine.write({ permissions: { allow: ['s/*'] } });
    expect((await given('call', 's/act', 'text=x')).code).toBe(0);
    spoil();
    const denied = await given('call', 's/act', 'text=x');
    expect(denied).toMatchObject({ code: 6, stdout: '' });
    expect(denied.stderr).toContain(`${FILE}:`);
    expect(denied.stderr).toContain(`The rules of ${FILE} cannot be read.`);
    expect((await given('policy', 'check')).code).toBe(2);
    expect(reached()).toBe(1);
  }

  it('counts as soon as it is written, for a call that waits too', async () => {
    const waits = start(
      '--config',
      'given.json',
      '--ask',
      's/*',
      '--non-interactive',
      'park',
      '--park-wait',
      '600',
      'call',
      's/act',
      'text=x',
    );
    const tickets = async () =>
      ((await given('--json', 'approvals', 'list')).json as { approvals: readonly { id: string }[] }).approvals;
    await expect.poll(tickets, { interval: 200 }).toHaveLength(1);
    machine.write({ permissions: { deny: ['s/act'] } });
    const [ticket] = await tickets();
    expect(await given('approvals', 'approve', (ticket as { id: string }).id)).toMatchObject({ code: 0 });
    expect(await waits.ended).toMatchObject({ code: 6 });
    expect(reached()).toBe(0);
  });

  it('is named by no call', async () => {
    const ran = await given('call', 's/act', `text=${FILE}`);
    expect(ran).toMatchObject({ code: 6, stdout: '' });
    expect(ran.stderr).toContain("It names what is Parley's own");
    expect(reached()).toBe(0);
  });
});
