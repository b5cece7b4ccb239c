// What is denied is denied on every way that leads to a server, in every revision. The matrix is made from the route table and from the
// router's own functions: a new one has no entry here, and that fails.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sayOutcome, type Host, type Outcome, type Route } from '../../src/host/index.ts';
import { ROUTES } from '../../src/host/policy/index.ts';
import type { Router } from '../../src/host/router/router.ts';
import { createCliHome } from '../support/cli.ts';
import { createScene, REVISIONS, type Revision, type Scene } from './fixtures/scene.ts';

let scene: Scene;
beforeEach(() => {
  scene = createScene();
});
afterEach(() => scene.close());

/** Everything that can be asked of a server through a host, by the router's functions, and the kind that the server notes. */
const OPERATIONS: { readonly [K in keyof Router]: { readonly kind: string; readonly ask: Ask } } = {
  call: { kind: 'tool', ask: (host, options) => host.call('s/act', { text: 'x' }, options) },
  readResource: { kind: 'resource', ask: (host, options) => host.readResource('note://x', options) },
  getPrompt: { kind: 'prompt', ask: (host, options) => host.getPrompt('s/say', { what: 'x' }, options) },
  complete: {
    kind: 'completion',
    ask: (host, options) =>
      host.complete('s', { ref: { type: 'ref/prompt', name: 'say' }, argument: { name: 'what', value: 'x' } }, options),
  },
};

type Ask = (host: Host, options: { readonly route?: Route }) => Promise<Outcome<unknown>>;

const DENY = { deny: ['s/*'] };
const ALLOW = { allow: ['s/*'] };

/** Ways that lead through a command; the others are the library's, under another name. */
const COMMANDS: { readonly [R in Route]?: readonly string[] } = {
  call: ['call', 's/act', 'text=x'],
  run: ['run', '--model', 'scripted:script.json', 'go'],
  chat: ['chat', '--model', 'scripted:script.json'],
};
const BY_NAME: readonly Route[] = ['library', 'approvals', 'console', 'gateway', 'app'];

it('every route of the table is in the matrix', () => {
  expect([...Object.keys(COMMANDS), ...BY_NAME].sort()).toEqual([...ROUTES].sort());
});

it('every function of a host that leads to a server is in the matrix', async () => {
  const host = await scene.host('2026-07-28');
  // These look at a server, or at what is known, and ask it for nothing.
  const others = ['settled', 'session', 'restart', 'recheck', 'store', 'close', 'drift'];
  const functions = Object.entries(host).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
  expect(functions.filter((name) => !others.includes(name)).sort()).toEqual(Object.keys(OPERATIONS).sort());
});

describe.each(REVISIONS)('in revision %s', (revision) => {
  it('what is denied by a rule reaches the server in no way', async () => {
    const host = await scene.host(revision, {
      permissions: DENY,
      approver: { ask: async () => ({ type: 'allow', scope: 'run' }) },
    });
    expect(host.servers[0]?.state).toMatchObject({ session: { revision } });
    for (const [name, { ask }] of Object.entries(OPERATIONS)) {
      for (const route of ROUTES) {
        expect(await ask(host, { route }), `${name} by ${route}`).toMatchObject({ type: 'denied', by: 'policy' });
      }
    }
    expect(scene.reached()).toEqual([]);
    const refusals = (await (await host.store()).audit.read()).filter(({ kind }) => kind === 'refusal');
    expect(refusals).toHaveLength(Object.keys(OPERATIONS).length * ROUTES.length);
  });

  it('the same reaches it when a rule allows it', async () => {
    const host = await scene.host(revision, { permissions: ALLOW });
    for (const [name, { ask, kind }] of Object.entries(OPERATIONS)) {
      const outcome = await ask(host, {});
      expect(outcome.type, `${name}: ${sayOutcome(outcome)}`).toBe('ok');
      expect(scene.reached().at(-1)?.kind).toBe(kind);
    }
  });

  it('a broken policy denies all of it', async () => {
    const host = await scene.host(revision, { permissions: { ...ALLOW, deny: ['s/act(path: under relative)'] } });
    for (const [name, { ask }] of Object.entries(OPERATIONS)) {
      expect(await ask(host, {}), name).toMatchObject({ type: 'denied', by: 'policy' });
    }
    expect(scene.reached()).toEqual([]);
  });

  it.each(Object.keys(COMMANDS) as Route[])('the command for %s makes no call that is denied', async (route) => {
    for (const [permissions, times] of [
      [DENY, 0],
      [ALLOW, 1],
    ] as const) {
      expect(await commandCalls(route, revision, permissions), JSON.stringify(permissions)).toBe(times);
    }
  });
});

/** How many calls reach the server when the command is run as a user runs it. */
async function commandCalls(route: Route, revision: Revision, permissions: object): Promise<number> {
  const cli = createCliHome();
  const before = scene.reached().length;
  try {
    const launch = scene.launch(revision);
    cli.write('parley.json', { mcpServers: { s: { ...launch, env: cli.mark } }, permissions });
    cli.write('script.json', [{ call: [{ tool: 's/act', arguments: { text: 'x' } }] }, { say: 'Done.' }]);
    const ran = await cli.run(['--config', 'parley.json', ...(COMMANDS[route] as string[])], { stdin: 'go\n' });
    expect([0, 6], ran.stderr).toContain(ran.code);
    return scene.reached().length - before;
  } finally {
    cli.remove();
  }
}

describe('in 2026-07-28', () => {
  const inputs = () => ({ elicitForm: async () => ({ action: 'accept' as const, content: { yes: true } }) });

  it.each([
    ['a call that becomes a task', 'job', ['task']],
    ['a call that is asked back and sent again', 'asks', ['round', 'round', 'answered']],
  ])('%s passes the same gate, and is written down once', async (_, tool, kinds) => {
    const denied = await scene.host('2026-07-28', { permissions: DENY, inputs });
    expect(await denied.call(`s/${tool}`, {})).toMatchObject({ type: 'denied', by: 'policy' });
    expect(scene.reached()).toEqual([]);
    const host = await scene.host('2026-07-28', { permissions: ALLOW, inputs });
    const outcome = await host.call(`s/${tool}`, {});
    expect(outcome.type, sayOutcome(outcome)).toBe('ok');
    expect(scene.reached().map(({ kind }) => kind)).toEqual(kinds);
    expect(await (await host.store()).journal.list()).toMatchObject([{ tool, state: 'done', outcome: 'ok' }]);
  });
});
