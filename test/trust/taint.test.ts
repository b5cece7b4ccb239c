// What a run has read decides what it may send: over real servers, on every way that something is read.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApprovalRequest, Approver, Host } from '../../src/host/index.ts';
import { createScene, type Scene } from './fixtures/scene.ts';

let scene: Scene;
beforeEach(() => {
  scene = createScene();
});
afterEach(() => scene.close());

const calls = () => scene.reached().filter(({ kind }) => kind === 'tool');

type Options = NonNullable<Parameters<Scene['host']>[1]>;

/** A host over `s` and `other`; rules allow every tool of both. */
function open(options: Options & { readonly other?: object } = {}): Promise<Host> {
  const { settings = {}, other = {}, ...rest } = options;
  const more = {
    mcpServers: { s: scene.launch('2026-07-28'), other: scene.launch('2025-06-18') },
    servers: { s: settings, other },
  };
  return scene.host('2026-07-28', { permissions: { allow: ['*/*'] }, more, ...rest });
}

const mail = (host: Host) => host.call('other/act', { text: 'data' });

describe('after something was read from one server, a call to another', () => {
  it.each<[string, (host: Host) => Promise<{ readonly type: string }>]>([
    ['a result', (host) => host.call('s/act', { text: 'x' })],
    ['a task', (host) => host.call('s/job', {})],
    ['a resource', (host) => host.readResource('s:note://x')],
    ['a prompt', (host) => host.getPrompt('s/say')],
    [
      'values to complete',
      (host) => host.complete('s', { ref: { type: 'ref/prompt', name: 'say' }, argument: { name: 'what', value: 'x' } }),
    ],
  ])('is denied where there is nobody to ask (%s)', async (_, read) => {
    const host = await open();
    expect((await mail(host)).type).toBe('ok');
    await host.close();
    const tainted = await open();
    expect((await read(tainted)).type).toBe('ok');
    const before = calls().length;
    expect(await mail(tainted)).toMatchObject({ type: 'denied', by: 'no-terminal' });
    expect(calls()).toHaveLength(before);
  });

  it('is asked about in spite of what was allowed for the run, each time, with what was read', async () => {
    const asked: ApprovalRequest[] = [];
    const approver: Approver = {
      async ask(request) {
        asked.push(request);
        return { type: 'allow', scope: 'run' };
      },
    };
    const host = await open({ approver, permissions: {} });
    expect((await mail(host)).type).toBe('ok');
    expect((await mail(host)).type).toBe('ok');
    expect(asked).toHaveLength(1);
    expect((await host.call('s/act', { text: 'x' })).type).toBe('ok');
    for (const count of [3, 4]) {
      expect((await mail(host)).type).toBe('ok');
      expect(asked).toHaveLength(count);
      expect(asked.at(-1)).toMatchObject({ widest: 'once', intent: { server: 'other' } });
      expect(asked.at(-1)?.because).toContain('s/act');
    }
  });

  it('is free of what is public, of what goes back, and where a rule says so', async () => {
    const publicly = await open({ settings: { private: false } });
    await publicly.call('s/act', { text: 'x' });
    expect((await mail(publicly)).type).toBe('ok');

    const itself = await open();
    await itself.call('s/act', { text: 'x' });
    expect((await itself.call('s/act', { text: 'x' })).type).toBe('ok');

    const allowed = await open({ permissions: { allow: ['s/*', 'other/act(text: data) even when tainted'] } });
    await allowed.call('s/act', { text: 'x' });
    expect((await mail(allowed)).type).toBe('ok');
    expect((await allowed.call('other/act', { text: 'else' })).type).toBe('denied');
  });

  it('is denied after an error, which can hold orders as a result can', async () => {
    const host = await open();
    expect((await host.call('s/asks', {})).type).not.toBe('denied');
    expect(await mail(host)).toMatchObject({ type: 'denied', by: 'no-terminal' });
  });

  it('is free in another run', async () => {
    const first = await open();
    await first.call('s/act', { text: 'x' });
    expect((await mail(first)).type).toBe('denied');
    expect((await mail(await open())).type).toBe('ok');
  });
});

it('a link that is turned while somebody thinks leads to no call', async () => {
  const [link, harmless, secret] = ['link', 'harmless', 'secret'].map((name) => join(scene.directory, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [harmless, secret]) mkdirSync(folder);
  symlinkSync(harmless, link);
  const turn: Approver = {
    async ask() {
      rmSync(link);
      symlinkSync(secret, link);
      return { type: 'allow', scope: 'once' };
    },
  };
  const host = await open({ approver: turn, permissions: { deny: [`s/act(text: under ${secret})`] } });
  expect(await host.call('s/act', { text: `${link}/file` })).toMatchObject({ type: 'denied', by: 'policy' });
  expect(calls()).toEqual([]);
});
