// The host over real processes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  forWire,
  loadConfig,
  openHost,
  type Approver,
  type Host,
  type HostEvent,
  type ToolOutcome,
} from '../../src/host/index.ts';
import type { StdioChannel } from '../../src/transport/index.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/stdio-server.mjs');
const directory = mkdtempSync(join(tmpdir(), 'parley-host-'));
const open: Host[] = [];

afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Settings {
  readonly servers?: Record<string, unknown>;
  readonly permissions?: Record<string, unknown>;
  readonly approver?: Approver;
}

/** A host over fixture servers, each given as the flags of its process. */
function hostOf(launches: Record<string, readonly string[]>, { servers = {}, permissions = {}, approver }: Settings = {}): Host {
  const mcpServers = Object.fromEntries(
    Object.entries(launches).map(([name, flags]) => [name, { command: process.execPath, args: [FIXTURE, ...flags] }]),
  );
  const { config, diagnostics } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers, servers, permissions },
  });
  expect(diagnostics).toEqual([]);
  const host = openHost({
    config,
    surroundings: { env: process.env, home: directory, workspaceFolder: directory },
    ...(approver && { approver }),
  });
  open.push(host);
  return host;
}

/** Resolves with the first event that fits. */
function until<E extends HostEvent>(host: Host, fits: (event: HostEvent) => event is E): Promise<E> {
  return new Promise((resolve) => {
    const stop = host.events.subscribe((event) => {
      if (!fits(event)) return;
      stop();
      resolve(event);
    });
  });
}

const answer = (outcome: ToolOutcome): unknown => {
  if (outcome.type !== 'ok') throw new Error(`The call ended with ${JSON.stringify(outcome)}`);
  const [block] = forWire(outcome.result.value).content;
  return block?.type === 'text' ? JSON.parse(block.text) : block;
};

const pidOf = async (host: Host, server: string) => ((await host.session(server)).channel as StdioChannel).pid;

describe('a host', () => {
  it('uses 18 servers while one of 20 hangs at its start and one has exited, and tells why', async () => {
    const launches: Record<string, readonly string[]> = { hangs: ['--silent'], exits: ['--exit', 'missing API key'] };
    for (let index = 1; index <= 18; index++) launches[`s${String(index)}`] = ['--tools', `tool${String(index)}`];
    const host = hostOf(launches, { permissions: { allow: ['*/*'] } });
    await new Promise<void>((resolve) => {
      const look = () => {
        const state = (name: string) => host.servers.find((server) => server.name === name)?.state.type;
        const ready = host.servers.filter(({ state, settled }) => state.type === 'ready' && settled).length;
        if (ready === 18 && state('exits') !== 'connecting') resolve();
      };
      host.events.subscribe(() => setImmediate(look));
    });
    expect(host.registry.snapshot.tools).toHaveLength(18);
    expect(answer(await host.call('s7/tool7', { text: 'x' }))).toMatchObject({ args: { text: 'x' } });
    const states = Object.fromEntries(host.servers.map(({ name, state }) => [name, state]));
    expect(states['hangs']).toMatchObject({ type: 'connecting' });
    expect(states['exits']).toMatchObject({
      error: {
        code: 'server-stopped',
        details: { exitCode: 3, stderrTail: expect.stringContaining('missing API key') as string },
      },
    });
  });

  it('tells at once that a server was killed in mid-call, never calls twice, and uses it again afterwards', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'parley-log-')), 'calls');
    writeFileSync(log, '');
    const host = hostOf({ s: ['--tools', 'slow,echo', '--log', log] }, { permissions: { allow: ['*/*'] } });
    await host.settled();
    const pid = await pidOf(host, 's');
    const call = host.call('s/slow', {});
    await expect.poll(() => readFileSync(log, 'utf8')).toBe('slow\n');
    process.kill(pid, 'SIGKILL');
    expect(await call).toMatchObject({ type: 'lost', server: 's', sent: 'perhaps' });
    const next = answer(await host.call('s/echo', { text: 'again' })) as { pid: number };
    expect(next.pid).not.toBe(pid);
    expect(readFileSync(log, 'utf8')).toBe('slow\necho\n');
  });

  it('sends nothing that was not allowed: no approver, a denying one, unknown names, wrong arguments', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'parley-log-')), 'calls');
    writeFileSync(log, '');
    const flags = { s: ['--tools', 'write,read', '--log', log] };
    const host = hostOf(flags);
    await host.settled();
    expect(await host.call('s/write', {})).toMatchObject({ type: 'denied', by: 'no-terminal' });
    expect(await host.call('s/wirte', {})).toMatchObject({ type: 'unknown', suggestions: ['s/write'] });
    for (const args of [[], 'text', 7, { text: 7 }]) expect(await host.call('s/write', args)).toMatchObject({ type: 'invalid' });
    const denying = hostOf(flags, { approver: { ask: async () => ({ type: 'deny', by: 'person' }) } });
    await denying.settled();
    expect(await denying.call('s/write', {})).toMatchObject({ type: 'denied', by: 'person' });
    expect(readFileSync(log, 'utf8')).toBe('');
  });

  it('lets annotations count on a trusted server only, and reviewed tools on any', async () => {
    const tools = ['--tools', 'read,write'];
    const host = hostOf(
      { trusted: tools, other: tools },
      { servers: { trusted: { trusted: true }, other: { reviewedTools: ['write'] } } },
    );
    await host.settled();
    const types = async (...names: string[]) => Promise.all(names.map(async (name) => (await host.call(name, {})).type));
    expect(await types('trusted/read', 'trusted/write', 'other/read', 'other/write')).toEqual(['ok', 'denied', 'denied', 'ok']);
  });

  it('asks once for a tool that is allowed for this run', async () => {
    const asked: string[] = [];
    const host = hostOf(
      { s: ['--tools', 'write,other'] },
      { approver: { ask: async ({ intent }) => (asked.push(intent.tool), { type: 'allow', scope: 'run' }) } },
    );
    await host.settled();
    for (const tool of ['write', 'write', 'other', 'write']) answer(await host.call(`s/${tool}`, {}));
    expect(asked).toEqual(['write', 'other']);
  });

  it('resolves bare names by priority and says when it cannot', async () => {
    const host = hostOf(
      { a: ['--tools', 'find'], b: ['--tools', 'find'], c: ['--tools', 'find'] },
      { permissions: { allow: ['*/*'] } },
    );
    await host.settled();
    expect(await host.call('find', {})).toMatchObject({ type: 'unknown', suggestions: ['a/find', 'b/find', 'c/find'] });
    const ranked = hostOf(
      { a: ['--tools', 'find'], b: ['--tools', 'find'] },
      { servers: { b: { priority: 5 } }, permissions: { allow: ['*/*'] } },
    );
    await ranked.settled();
    const events: HostEvent[] = [];
    ranked.events.subscribe((event) => events.push(event));
    answer(await ranked.call('find', {}));
    expect(events).toMatchObject([{ type: 'call', record: { server: 'b', tool: 'find', outcome: { type: 'ok' } } }]);
    expect(ranked.registry.snapshot.conflicts).toMatchObject([{ key: 'find', winner: { server: 'b' } }]);
    for (const name of ['b__find', 'b:find', 'b.find', 'b/find']) answer(await ranked.call(name, {}));
  });

  it('lists again when a server says that its tools changed', async () => {
    const host = hostOf({ s: ['--tools', 'echo', '--grow'] }, { permissions: { allow: ['*/*'] } });
    await host.settled();
    const changed = until(host, (event): event is HostEvent & { type: 'registry' } => event.type === 'registry');
    answer(await host.call('s/echo', {}));
    expect((await changed).change).toMatchObject({ server: 's', kind: 'tool', added: [{ name: 'echo1' }], removed: [] });
    expect(host.registry.snapshot.tools.map(({ name }) => name)).toEqual(['echo', 'echo1']);
  });

  it('keeps the tools of a server that is gone, marked as out of date', async () => {
    const host = hostOf({ s: [] });
    await host.settled();
    const waiting = until(host, (event): event is HostEvent & { type: 'connection' } => event.type === 'connection');
    process.kill(await pidOf(host, 's'), 'SIGKILL');
    await waiting;
    const [offer] = host.registry.snapshot.servers;
    expect(offer?.listings.tool).toMatchObject({ stale: expect.stringContaining('"s"') as string, entries: [{ name: 'echo' }] });
  });

  it('leaves no process behind when it is closed, whatever its servers are doing', async () => {
    const host = hostOf({ ready: [], hangs: ['--silent'], exits: ['--exit', 'x'] });
    const pid = await pidOf(host, 'ready');
    await host.close();
    expect(() => process.kill(pid, 0)).toThrow();
    // The guard that runs after this file looks for the others.
  });

  it('does not start a server that a project defines until that was agreed to', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'parley-log-')), 'calls');
    const project = mkdtempSync(join(tmpdir(), 'parley-project-'));
    writeFileSync(
      join(project, '.mcp.json'),
      JSON.stringify({
        mcpServers: { s: { command: process.execPath, args: ['-e', `fs.writeFileSync(${JSON.stringify(log)}, 'ran')`] } },
      }),
    );
    const { config } = loadConfig({ cwd: project, home: directory, env: {} });
    const host = openHost({ config, surroundings: { env: {}, home: directory, workspaceFolder: project } });
    open.push(host);
    await host.settled();
    expect(host.servers).toMatchObject([{ state: { type: 'failed', error: { code: 'denied' } } }]);
    expect(() => readFileSync(log)).toThrow();
  });
});
