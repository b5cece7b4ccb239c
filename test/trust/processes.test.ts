// Approvals, the journal and the audit across processes, as a user meets them: by the built command, killed where it hurts.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCliHome, type CliHome, type Ran } from '../support/cli.ts';
import { SERVER } from './fixtures/scene.ts';

let cli: CliHome;
let log: string;
beforeEach(() => {
  cli = createCliHome();
  log = join(cli.project, 'reached');
  configure();
});
afterEach(async () => {
  await expect.poll(() => cli.processes()).toEqual([]);
  cli.remove();
});

/** One server `s`, by its flags, in a file that is given with --config. */
function configure(flags: readonly string[] = [], more: object = {}): void {
  const args = [SERVER, '--log', log, ...flags];
  cli.write('parley.json', { mcpServers: { s: { command: process.execPath, args, env: cli.mark } }, ...more });
}

const start = (...args: readonly string[]) => cli.start(['--config', 'parley.json', ...args]);
const run = (...args: readonly string[]) => start(...args).ended;
const park = (...args: readonly string[]) => run('--non-interactive', 'park', ...args);
const reached = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);
const database = () => join(cli.home, '.local/state/parley/store/parley.db');

interface Ticket {
  readonly id: string;
  readonly state: string;
}

async function tickets(...args: readonly string[]): Promise<readonly Ticket[]> {
  return ((await run('--json', 'approvals', 'list', ...args)).json as { approvals: readonly Ticket[] }).approvals;
}

async function onlyTicket(): Promise<string> {
  const found = await tickets();
  expect(found).toHaveLength(1);
  return (found[0] as Ticket).id;
}

const kindsOf = ({ json }: Ran) => (json as { records: readonly { kind: string }[] }).records.map(({ kind }) => kind);

describe('a parked call', () => {
  it('is approved from another process after the first was killed, and made exactly once', async () => {
    const first = start('--non-interactive', 'park', '--park-wait', '600', 'call', 's/act', 'text=x');
    await expect.poll(tickets, { interval: 200 }).toHaveLength(1);
    first.kill('SIGKILL');
    await first.ended;
    const id = await onlyTicket();
    expect((await run('approvals', 'show', id)).stdout).toContain('"text": "x"');
    expect(await run('approvals', 'approve', id)).toMatchObject({ code: 0 });
    expect(reached()).toBe(0);
    const again = await Promise.all([park('call', 's/act', 'text=x'), park('call', 's/act', 'text=x')]);
    expect(again.map(({ code }) => code).sort()).toEqual([0, 6]);
    expect(reached()).toBe(1);
    expect(await tickets('--all')).toContainEqual(expect.objectContaining({ id, state: 'done' }));
  });

  it('leaves a ticket and exits with 6; denied, it stays unmade', async () => {
    const parked = await park('call', 's/act', 'text=x');
    expect(parked).toMatchObject({ code: 6, stdout: '' });
    const id = await onlyTicket();
    expect(parked.stderr).toContain(`Waiting for approval ${id}: \`parley approvals approve ${id}\`, then call again.`);
    const again = await park('--json', 'call', 's/act', 'text=x');
    expect(JSON.parse(again.stderr)).toMatchObject({ error: { code: 'denied', ticket: id } });
    expect(await run('approvals', 'deny', id, '--message', 'Not today.')).toMatchObject({ code: 0 });
    expect(await run('approvals', 'approve', id)).toMatchObject({ code: 2 });
    expect(reached()).toBe(0);
    expect(kindsOf(await run('--json', 'audit', 'tail'))).toEqual(['approval', 'refusal', 'refusal', 'approval']);
  });

  it('shows a secret among its arguments where one is looked at, and in no list', async () => {
    await park('call', 's/act', 'token=hunter2');
    const [list, json, audit] = [
      await run('approvals', 'list'),
      await run('--json', 'approvals', 'list'),
      await run('audit', 'export'),
    ];
    for (const { stdout } of [list, json, audit]) expect(stdout).not.toContain('hunter2');
    expect((await run('approvals', 'show', await onlyTicket())).stdout).toContain('hunter2');
    await run('approvals', 'approve', await onlyTicket(), '--for', 'always');
    const grants = [await run('grants', 'list'), await run('--json', 'grants', 'list')];
    for (const { stdout } of grants) {
      expect(stdout).toContain('/token');
      expect(stdout).not.toContain('hunter2');
    }
  });

  it('that is waited for is made as soon as it is approved, with the arguments that were put in place', async () => {
    const waits = start('--non-interactive', 'park', '--park-wait', '600', 'call', 's/act', 'text=a');
    await expect.poll(tickets, { interval: 200 }).toHaveLength(1);
    await run('approvals', 'approve', await onlyTicket(), '--args', '{"text":"b"}');
    expect(await waits.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('{"text":"b"}') as string });
    expect(reached()).toBe(1);
  });

  it('that is approved for good needs nobody the next time, until that is revoked', async () => {
    await park('call', 's/act', 'text=x');
    await run('approvals', 'approve', await onlyTicket(), '--for', '30d');
    expect((await run('call', 's/act', 'text=x')).code).toBe(0);
    expect((await run('call', 's/act', 'text=y')).code).toBe(6);
    const { grants } = (await run('--json', 'grants', 'list')).json as { grants: readonly { id: string }[] };
    expect(await run('grants', 'revoke', (grants[0] as { id: string }).id)).toMatchObject({ code: 0 });
    expect((await run('call', 's/act', 'text=x')).code).toBe(6);
    expect(reached()).toBe(1);
  });
});

describe('rules that change while a call waits', () => {
  it.each([
    ['deny it', () => configure([], { permissions: { deny: ['s/act(text: x)'] } })],
    ['are another than it was approved under', () => configure([], { permissions: { deny: ['s/other'] } })],
    ['cannot be read', () => cli.write('parley.json', '{ "permissions": { "deny": [')],
    ['are gone with their file', () => rmSync(join(cli.project, 'parley.json'))],
    ['come with less trust in the server', () => configure([], { servers: { s: { private: true } } })],
  ])('let it through no more when they %s', async (_, change) => {
    const waits = start('--non-interactive', 'park', '--park-wait', '600', 'call', 's/act', 'text=x');
    await expect.poll(tickets, { interval: 200 }).toHaveLength(1);
    const id = await onlyTicket();
    change();
    cli.write('empty.json', {});
    expect(await cli.run(['--config', 'empty.json', 'approvals', 'approve', id])).toMatchObject({ code: 0 });
    expect(await waits.ended).toMatchObject({ code: 6 });
    expect(reached()).toBe(0);
  });
});

describe('a process that is killed with a call under way', () => {
  it('between sending and the answer leaves an unknown outcome, told of at the next start and once', async () => {
    configure(['--slow', join(cli.project, 'never')]);
    const first = start('--allow', 's/*', 'call', 's/act', 'text=x');
    await expect.poll(reached).toBe(1);
    first.kill('SIGKILL');
    await first.ended;
    configure();
    const next = await run('--allow', 's/*', 'call', 's/act', 'text=next');
    expect(next.code).toBe(0);
    expect(next.stderr).toMatch(/ended before its answer came \(s\/act, .*the outcome is unknown/);
    expect(reached()).toBe(2);
    expect((await run('--allow', 's/*', 'call', 's/act', 'text=x')).stderr).not.toContain('unknown');
  });

  it('with a ticket never makes that call again', async () => {
    configure(['--slow', join(cli.project, 'never')]);
    await park('call', 's/act', 'text=x');
    const id = await onlyTicket();
    await run('approvals', 'approve', id);
    const first = start('--non-interactive', 'park', 'call', 's/act', 'text=x');
    await expect.poll(reached).toBe(1);
    first.kill('SIGKILL');
    await first.ended;
    const again = await park('call', 's/act', 'text=x');
    expect(again.code).toBe(6);
    expect(again.stderr).toContain('the outcome is unknown');
    expect(await tickets('--all')).toMatchObject([{ state: 'pending' }, { id, state: 'outcome-unknown' }]);
    expect(reached()).toBe(1);
  });

  it('between writing down and sending leaves an unknown outcome, and the server heard nothing', async () => {
    // A process that stops for ever right after its call is written down: as good as killed there.
    const first = cli.start(['--config', 'parley.json', '--allow', 's/*', 'call', 's/act', 'text=x'], {
      env: { NODE_OPTIONS: `--import ${join(import.meta.dirname, 'fixtures/stop-before-send.mjs')}` },
    });
    await first.said('stopped before sending');
    first.kill('SIGKILL');
    await first.ended;
    expect(reached()).toBe(0);
    const next = await run('--allow', 's/*', 'call', 's/act', 'text=next');
    expect(next.stderr).toContain('the outcome is unknown');
    expect(reached()).toBe(1);
  });
});

describe('the audit', () => {
  const verify = () => run('--json', 'audit', 'verify');

  /** Some records of all kinds, and the database to tamper with. */
  async function written(): Promise<Database.Database> {
    await run('--allow', 's/*', 'call', 's/act', 'text=one');
    await run('call', 's/act', 'text=two');
    await run('--allow', 's/*', 'call', 's/act', 'text=three');
    expect(await verify()).toMatchObject({ code: 0, json: { ok: true, records: 5 } });
    return new Database(database());
  }

  it.each<[string, (db: Database.Database) => void, number]>([
    ['flipped byte', (db) => db.exec(`update audit set body = replace(body, 'two', 'twO') where seq = 3`), 3],
    ['dropped record', (db) => db.exec('delete from audit where seq = 2'), 2],
    [
      'exchanged order',
      (db) =>
        db.exec(
          'update audit set seq = -2 where seq = 2; update audit set seq = 2 where seq = 3; update audit set seq = 3 where seq = -2',
        ),
      2,
    ],
    ['cut', (db) => db.exec('delete from audit where seq > 3'), 4],
  ])('with a %s is found out, and the place is named', async (_, tamper, place) => {
    const db = await written();
    tamper(db);
    db.close();
    expect(await verify()).toMatchObject({ code: 2, json: { ok: false, record: place } });
    expect((await run('audit', 'verify')).stdout).toContain(`Record ${String(place)} is bad`);
  });

  it('that was put back to an older state is found out by an end that was kept elsewhere', async () => {
    await run('--allow', 's/*', 'call', 's/act', 'text=one');
    const copy = `${database()}.old`;
    const db = new Database(database());
    db.exec(`vacuum into '${copy}'`);
    db.close();
    await run('--allow', 's/*', 'call', 's/act', 'text=two');
    const anchor = cli.write('anchor.json', (await run('--json', 'audit', 'head')).stdout);
    for (const name of ['-wal', '-shm']) rmSync(`${database()}${name}`, { force: true });
    writeFileSync(database(), readFileSync(copy));
    expect(await verify()).toMatchObject({ code: 0, json: { records: 2 } });
    expect(await run('--json', 'audit', 'verify', '--anchor', anchor)).toMatchObject({
      code: 2,
      json: { record: 3, fault: 'cut' },
    });
  });

  it('is exported as lines of JSON and as CSV', async () => {
    (await written()).close();
    const { lines } = await run('audit', 'export');
    expect(lines).toHaveLength(5);
    const csv = (await run('audit', 'export', '--format', 'csv')).stdout.split('\n');
    expect(csv[0]).toBe('seq,at,kind,body,previous,hash');
    expect(csv).toHaveLength(7);
  });
});
