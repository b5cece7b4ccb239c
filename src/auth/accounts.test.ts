import { describe, expect, it } from 'vitest';
import { createAccounts } from './accounts.ts';
import { startWorld } from './fixtures/world.ts';
import { createAuthorizer } from './provider.ts';
import { createMemoryStore } from './store.ts';

const signal = new AbortController().signal;

describe('the accounts of a server', () => {
  it('begin with the one without a name, follow the last sign-in, and are another server’s business never', async () => {
    const store = createMemoryStore();
    const accounts = createAccounts(store, 'https://s/mcp');
    expect([await accounts.used(), await accounts.list()]).toEqual(['default', ['default']]);
    await accounts.use('work', { signal });
    await accounts.use('home@example.org', { signal });
    await accounts.use('work', { signal });
    expect([await accounts.used(), await accounts.list()]).toEqual(['work', ['default', 'work', 'home@example.org']]);
    // Signed out of, it is still the one that is meant: nobody acts as somebody else by having signed out.
    await accounts.forget('work', { signal });
    expect([await accounts.used(), await accounts.list()]).toEqual(['work', ['default', 'home@example.org']]);
    await accounts.add('third', { signal });
    expect([await accounts.used(), await accounts.list()]).toEqual(['work', ['default', 'home@example.org', 'third']]);
    await accounts.forget('third', { signal });
    expect(await createAccounts(store, 'https://s/other').list()).toEqual(['default']);
    expect(await createAccounts(store, 'https://S/mcp#x').list()).toEqual(['default', 'home@example.org']);
  });

  it.each(['', ' ', '-a', 'a b', 'a/b', 'ä', 'a'.repeat(65)])('may not be called %j', async (name) => {
    const accounts = createAccounts(createMemoryStore(), 'https://s');
    await expect(accounts.add(name, { signal })).rejects.toMatchObject({ code: 'usage' });
    await expect(accounts.use(name, { signal })).rejects.toMatchObject({ code: 'usage' });
  });

  it('read what was kept before there were accounts', async () => {
    const store = createMemoryStore();
    const world = await startWorld();
    try {
      const [server, issuer, clientId, resource] = [world.url, world.issuer, 'c', world.url];
      await store.set({ kind: 'sign-in', server }, { issuer, clientId, resource, metadata: 'published' });
      await store.set(
        { kind: 'tokens', server, issuer, clientId, resource },
        { accessToken: 'a', type: 'bearer', requested: [] },
      );
      world.valid.add('a');
      expect(await world.call(world.authorizer({ store }))).toEqual({ token: 'a' });
      expect(world.visits).toEqual([]);
    } finally {
      await world.close();
    }
  });

  it('have tokens of their own, and those from before there were accounts are the first one’s', async () => {
    const store = createMemoryStore();
    const world = await startWorld();
    try {
      await world.call(world.authorizer({ store }));
      await world.call(world.authorizer({ store, account: 'work' }));
      expect(world.visits).toHaveLength(2);
      const tokens = await Promise.all(
        [undefined, 'default', 'work'].map((account) =>
          world.call(createAuthorizer({ serverUrl: world.url, store, client: {}, ...(account !== undefined && { account }) })),
        ),
      );
      expect(tokens).toEqual([{ token: 'token-1' }, { token: 'token-1' }, { token: 'token-2' }]);
      await world.authorizer({ store, account: 'work' }).signOut();
      expect(await world.authorizer({ store, account: 'work' }).status()).toBeUndefined();
      expect(await world.authorizer({ store }).status()).toMatchObject({ issuer: world.issuer });
    } finally {
      await world.close();
    }
  });
});
