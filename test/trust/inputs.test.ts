// What a person answers a server stands in the record before the server gets it: who answered whom, during which call, and which fields.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InputHandlers } from '../../src/client/index.ts';
import type { ElicitResult } from '../../src/protocol/index.ts';
import { createMemoryStore, type AuditRecord, type Store } from '../../src/store/index.ts';
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

const CODE = 'hunter2-code';
const form = (answer: ElicitResult) => (): InputHandlers => ({ elicitForm: async () => answer });

async function inputs(): Promise<readonly AuditRecord[]> {
  return (await store.audit.read()).filter(({ kind }) => kind === 'input');
}

const answered = () => scene.reached().find(({ kind }) => kind === 'answered');

describe('an answer to a form', () => {
  it('is a record with the call it was asked in, and the digests of what was filled in, defaults too', async () => {
    const host = await scene.host('2025-06-18', {
      store,
      principal: 'ann',
      inputs: form({ action: 'accept', content: { code: CODE } }),
      permissions: { allow: ['s/*'] },
      flags: ['--asks', 'form'],
    });
    expect((await host.call('s/act', { text: 'x' })).type).toBe('ok');
    expect(answered()).toMatchObject({ action: 'accept', content: { code: CODE, size: 3 } });
    const [call] = await store.journal.list();
    const [record, ...others] = await inputs();
    expect(others).toEqual([]);
    const redacted = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
    expect(record?.body).toEqual({
      principal: 'ann',
      run: host.run,
      server: 's',
      identity: call?.server,
      asked: 'form',
      state: 'accept',
      by: 'ann',
      calls: [call?.id],
      fields: [
        { name: 'size', redacted, bytes: 1 },
        { name: 'code', redacted, bytes: CODE.length },
      ],
    });
    expect(JSON.stringify(await store.audit.read())).not.toContain(CODE);
  });

  it('is one in the newest revision too, also when it is no', async () => {
    const options = { store, permissions: { allow: ['s/*'] } };
    const host = await scene.host('2026-07-28', { ...options, inputs: form({ action: 'accept', content: { yes: true } }) });
    await host.call('s/asks', {});
    const other = await scene.host('2026-07-28', { ...options, inputs: form({ action: 'decline' }) });
    await other.call('s/asks', {});
    const calls = [...(await store.journal.list())].reverse();
    expect((await inputs()).map(({ body }) => [body['state'], body['calls'], body['fields']])).toEqual([
      ['accept', [calls[0]?.id], [expect.objectContaining({ name: 'yes' })]],
      ['decline', [calls[1]?.id], undefined],
    ]);
  });

  it('that cannot be written down is not given', async () => {
    const append: Store['audit']['append'] = async (entry) => {
      if (entry.kind === 'input') throw new Error('the disk is full');
      return store.audit.append(entry);
    };
    const host = await scene.host('2025-06-18', {
      store: { ...store, audit: { ...store.audit, append } },
      inputs: form({ action: 'accept', content: { code: CODE } }),
      permissions: { allow: ['s/*'] },
      flags: ['--asks', 'form'],
    });
    await host.call('s/act', { text: 'x' });
    expect(answered()).toMatchObject({ refused: true });
    expect(JSON.stringify(scene.reached())).not.toContain(CODE);
  });

  it('that does not fit is neither sent nor written down', async () => {
    const host = await scene.host('2025-06-18', {
      store,
      inputs: form({ action: 'accept', content: { code: 5 } }),
      permissions: { allow: ['s/*'] },
      flags: ['--asks', 'form'],
    });
    await host.call('s/act', { text: 'x' });
    expect(answered()).toMatchObject({ refused: true });
    expect(await inputs()).toEqual([]);
  });
});

it('an answer to an address is a record without the values in it', async () => {
  const host = await scene.host('2025-11-25', {
    store,
    inputs: () => ({ elicitUrl: async () => ({ action: 'accept' }) }),
    permissions: { allow: ['s/*'] },
    flags: ['--asks', 'url'],
  });
  await host.call('s/act', { text: 'x' });
  expect(answered()).toMatchObject({ action: 'accept' });
  expect((await inputs()).map(({ body }) => body)).toMatchObject([{ asked: 'url', state: 'accept', server: 's' }]);
  expect(JSON.stringify(await inputs())).toContain('https://x.example/a');
  expect(JSON.stringify(await inputs())).not.toContain('hunter2');
});
