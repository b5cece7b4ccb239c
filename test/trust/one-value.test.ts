// What is decided, approved, written down and sent is one value, also where it is no tool, and nothing changes in between.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockServer, type Approver } from '../../src/host/index.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { createScene, type Scene } from './fixtures/scene.ts';

let scene: Scene;
let store: Store;
beforeEach(() => {
  scene = createScene();
  store = createMemoryStore();
});
afterEach(async () => {
  await scene.close();
  await store.close();
});

const lastOf = async (kind: string) => (await store.audit.read()).filter((record) => record.kind === kind).at(-1)?.body;
/** Somebody who puts other arguments in place of those that are asked about. */
const editor = (args: Record<string, unknown>): Approver => ({ ask: async () => ({ type: 'allow', scope: 'once', args }) });
const complete = { ref: { type: 'ref/prompt', name: 'say' }, argument: { name: 'what', value: 'my secret' } } as const;

describe('what is sent to complete an argument', () => {
  it('is what a rule about that argument looks at, and what is written down', async () => {
    const host = await scene.host('2026-07-28', { store, permissions: { deny: ['s/prompt:say(what: *secret*)'] } });
    expect(await host.complete('s', complete)).toMatchObject({ type: 'denied', by: 'policy' });
    expect(scene.reached()).toEqual([]);
    expect(await lastOf('refusal')).toMatchObject({ tool: 'prompt:say', args: { what: 'my secret' } });
    const other = { ...complete, argument: { name: 'what', value: 'w' } };
    expect((await host.complete('s', other)).type).toBe('ok');
    expect(await lastOf('read')).toMatchObject({ args: { what: 'w' } });
  });

  it('is not the same as what fetches the prompt with it, and cannot be changed by whoever approves', async () => {
    const permissions = { ask: ['s/*'] };
    const host = await scene.host('2026-07-28', { store, permissions, approver: editor({ what: 'other' }) });
    expect(await host.complete('s', complete)).toMatchObject({ type: 'invalid' });
    await host.getPrompt('s/say', { what: 'my secret' });
    const digests = (await store.approvals.list()).map(({ intentDigest }) => intentDigest);
    expect(new Set(digests).size).toBe(2);
    expect(scene.reached().map(({ kind }) => kind)).toEqual(['prompt']);
  });

  it("hides no template of Parley's own files behind a variable that is called uri", async () => {
    const own = join(scene.directory, 'own');
    const host = await scene.host('2026-07-28', { store, ownFolders: [own], permissions: { allow: ['s/resource:*'] } });
    const ref = { type: 'ref/resource', uri: `file://${own}/{uri}` } as const;
    for (const name of ['uri', 'file'])
      expect(await host.complete('s', { ref, argument: { name, value: 'x' } })).toMatchObject({ type: 'denied', by: 'policy' });
    expect(scene.reached()).toEqual([]);
  });

  it('goes to no server that there is none of, and nothing is thrown', async () => {
    const host = await scene.host('2026-07-28', { store });
    expect(await host.complete('nobody', complete)).toMatchObject({ type: 'unknown' });
  });
});

describe('a resource whose approver wrote another URI', () => {
  it('is the other one, decided on and written down as such', async () => {
    const permissions = { ask: ['s/resource:note://x'], deny: ['s/resource:note://never'] };
    const other = await scene.host('2026-07-28', { store, permissions, approver: editor({ uri: 'note://other' }) });
    // The server has no such resource: that it says so shows what it was asked for.
    expect(await other.readResource('note://x')).toMatchObject({ type: 'protocol-error' });
    expect(await lastOf('read')).toMatchObject({ tool: 'resource:note://other', args: { uri: 'note://other' } });
    const never = await scene.host('2026-07-28', { store, permissions, approver: editor({ uri: 'note://never' }) });
    expect(await never.readResource('note://x')).toMatchObject({ type: 'denied', by: 'policy' });
    const none = await scene.host('2026-07-28', { store, permissions, approver: editor({ uri: 'note://x', more: 1 }) });
    expect(await none.readResource('note://x')).toMatchObject({ type: 'invalid' });
    expect(scene.reached()).toEqual([]);
  });
});

it('a prompt whose approver wrote arguments is fetched with them, and with none that it does not take', async () => {
  const permissions = { ask: ['s/prompt:*'] };
  for (const [args, type] of [
    [{ what: 7 }, 'invalid'],
    [{ which: 'x' }, 'invalid'],
    [{ what: 'edited' }, 'ok'],
  ] as const) {
    const host = await scene.host('2025-11-25', { store, permissions, approver: editor(args) });
    expect(await host.getPrompt('s/say'), JSON.stringify(args)).toMatchObject({ type });
  }
  expect(scene.reached()).toMatchObject([{ kind: 'prompt', args: { what: 'edited' } }]);
});

it('a definition that changes while the arguments are checked is not called', async () => {
  const host = await scene.host('2026-07-28', { store, permissions: { allow: ['s/*'] } });
  const [tool] = host.registry.snapshot.tools;
  const call = host.call('s/act', { text: 'x' });
  const items = [{ ...tool!.definition, description: 'Acts, and tells somebody.' }];
  host.registry.set({ name: 's', priority: 0 }, 'tool', { items, at: 1 });
  expect(await call).toMatchObject({ type: 'denied', by: 'policy' });
  expect(scene.reached()).toEqual([]);
});

describe('a grant', () => {
  const folder = () => join(scene.directory, 'data');
  const path = () => join(folder(), 'inner', 'file');
  const grantor: Approver = {
    ask: async () => ({ type: 'allow', scope: 'always', pattern: { args: { '/text': { under: folder() } } } }),
  };
  beforeEach(() => {
    mkdirSync(join(folder(), 'inner'), { recursive: true });
    writeFileSync(path(), '');
  });

  /** A call that a grant covers and whose server has to be started first; `meanwhile` is what happens until then. */
  async function callWhile(meanwhile: () => unknown) {
    const host = await scene.host('2026-07-28', { store, approver: grantor });
    expect((await host.call('s/act', { text: path() })).type).toBe('ok');
    const session = await host.session('s');
    await session.close();
    await session.ended;
    const { grants } = store;
    let looked = 0;
    const watched: Store = {
      ...store,
      grants: { ...grants, active: async (filter) => (looked++, grants.active(filter)) },
    };
    const second = await scene.host('2026-07-28', {
      store: watched,
      approver: { ask: async () => ({ type: 'deny', by: 'person' }) },
    });
    const other = await second.session('s');
    await other.close();
    await other.ended;
    const before = scene.reached().length;
    const call = second.call('s/act', { text: path() });
    await expect.poll(() => looked).toBeGreaterThan(0);
    await meanwhile();
    const outcome = await call;
    expect(scene.reached()).toHaveLength(before);
    return outcome;
  }

  it('covers no path that leads elsewhere by the time it is sent', async () => {
    const outcome = await callWhile(() => {
      rmSync(join(folder(), 'inner'), { recursive: true });
      symlinkSync('/etc', join(folder(), 'inner'));
    });
    expect(outcome).toMatchObject({ type: 'denied', by: 'policy' });
  });

  it('that was taken back before it is sent allows nothing', async () => {
    const outcome = await callWhile(() => store.grants.revoke({ tool: 'act' }, { why: 'a test' }));
    expect(outcome).toMatchObject({ type: 'denied', by: 'policy' });
  });
});

it('a server that is reached otherwise than it was reviewed gives nothing at all', async () => {
  const first = await scene.host('2026-07-28', { permissions: { allow: ['s/*'] } });
  // As if a project defined it, which somebody trusts.
  const servers = first.config.servers.map((each) => ({ ...each, source: { ...each.source, scope: 'project' as const } }));
  const [definition] = servers;
  const { tools } = first.registry.snapshot;
  const offer = { tools: tools.map(({ definition }) => ({ ...definition })), prompts: [] };
  const locked = lockServer(definition!, offer);
  const lock = new Map([['s', { ...locked, launch: { ...locked.launch, command: 'another' } }]]);
  const config = { ...first.config, servers };
  const host = await scene.host('2026-07-28', { store, lock, config, mayLaunch: () => true });
  const denied = { type: 'denied', by: 'changed' };
  expect(await host.call('s/act', {})).toMatchObject(denied);
  expect(await host.readResource('note://x')).toMatchObject(denied);
  expect(await host.complete('s', complete)).toMatchObject(denied);
  expect(
    await host.complete('s', { ref: { type: 'ref/resource', uri: 'note://x' }, argument: { name: 'a', value: 'b' } }),
  ).toMatchObject(denied);
  expect(scene.reached()).toEqual([]);
});

it('a URI with a password stands in no record as it is', async () => {
  const host = await scene.host('2026-07-28', {
    store,
    permissions: { ask: ['s/*'] },
    approver: { ask: async () => ({ type: 'allow', scope: 'once' }) },
  });
  const template = { name: 'any', uriTemplate: 'https://bob:hunter22@db.example/{x}?sig={y}' };
  host.registry.set({ name: 's', priority: 0 }, 'template', { items: [template], at: 1 });
  await host.readResource('https://bob:hunter22@db.example/x?sig=abcdef123');
  const kinds = (await store.audit.read()).map(({ kind }) => kind);
  expect(kinds).toEqual(['approval', 'approval', 'read']);
  expect(JSON.stringify(await store.audit.read())).not.toMatch(/hunter22|abcdef123/);
});
