import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../errors.ts';
import type { Keychain } from './keychain.ts';
import { createSealedStore } from './sealed-store.ts';
import type { StoreName } from './store.ts';

const NAME: StoreName = { kind: 'client', issuer: 'https://i' };
const VALUE = { secret: 'a-secret-that-nobody-may-read' };
const signal = new AbortController().signal;

let home = '';
let directory = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'parley-sealed-'));
  directory = join(home, 'sign-ins');
});
afterEach(() => rmSync(home, { recursive: true }));

const written = () => readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'));

/** A keychain that remembers what it was asked. */
function fakeKeychain() {
  const entries = new Map<string, string>();
  const state = { asked: 0, locked: false, there: true };
  const enter = () => {
    state.asked++;
    if (state.locked) throw new ParleyError('auth-required', 'locked');
  };
  const chain: Keychain = {
    get: async (name) => (enter(), entries.get(name)),
    set: async (name, secret) => (enter(), void entries.set(name, secret)),
    delete: async (name) => void entries.delete(name),
  };
  return { entries, state, keychain: async () => (state.there ? chain : undefined) };
}
const none = async () => undefined;

describe('a sealed store', () => {
  it('touches neither disk nor keychain before there is anything to keep', async () => {
    const { state, keychain } = fakeKeychain();
    const store = createSealedStore({ directory, keychain });
    expect([await store.get(NAME), await store.keyPlace()]).toEqual([undefined, undefined]);
    await store.delete(NAME);
    expect([readdirSync(home), state.asked]).toEqual([[], 0]);
  });

  it('has its key in the keychain where there is one, and on the disk then only what is encrypted', async () => {
    const { entries, keychain } = fakeKeychain();
    await createSealedStore({ directory, keychain }).set(NAME, VALUE);
    const store = createSealedStore({ directory, keychain });
    expect([await store.get(NAME), await store.keyPlace()]).toEqual([VALUE, 'keychain']);
    const [key] = [...entries.values()];
    expect(key).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    for (const text of written()) for (const secret of [VALUE.secret, key!]) expect(text).not.toContain(secret);
  });

  it('has it in a file of the owner alone where there is none, and stays there when one comes along', async () => {
    await createSealedStore({ directory, keychain: none }).set(NAME, VALUE);
    const { state, keychain } = fakeKeychain();
    const store = createSealedStore({ directory, keychain });
    expect([await store.get(NAME), await store.keyPlace(), state.asked]).toEqual([VALUE, 'file', 0]);
    for (const file of readdirSync(directory)) expect(statSync(join(directory, file)).mode & 0o077).toBe(0);
    expect(statSync(directory).mode & 0o077).toBe(0);
    for (const text of written()) expect(text).not.toContain(VALUE.secret);
  });

  it('refuses when its keychain is locked or gone, and makes no key elsewhere by itself', async () => {
    const { state, keychain } = fakeKeychain();
    await createSealedStore({ directory, keychain }).set(NAME, VALUE);
    const before = written();
    for (const change of [{ locked: true }, { locked: false, there: false }]) {
      Object.assign(state, change);
      const store = createSealedStore({ directory, keychain });
      for (const act of [
        () => store.get(NAME),
        () => store.set(NAME, {}),
        () => store.exclusively(NAME, async () => {}, { signal }),
        () => createSealedStore({ directory, keychain }).get(NAME),
        () => store.prepare(undefined, { signal }),
      ]) {
        await expect(act()).rejects.toMatchObject({ code: 'auth-required' });
      }
      expect(written()).toEqual(before);
      expect(await store.get({ ...NAME, issuer: 'https://never' })).toBeUndefined();
    }
    Object.assign(state, { there: true });
    expect(await createSealedStore({ directory, keychain }).get(NAME)).toEqual(VALUE);
  });

  it('does not fall back to a file when the keychain of its first sign-in is locked', async () => {
    const { state, keychain } = fakeKeychain();
    state.locked = true;
    await expect(createSealedStore({ directory, keychain }).set(NAME, VALUE)).rejects.toMatchObject({ code: 'auth-required' });
    expect(readdirSync(directory)).toEqual([]);
    await expect(createSealedStore({ directory, keychain: none }).prepare('keychain', { signal })).rejects.toMatchObject({
      code: 'auth-required',
    });
  });

  it('moves its key when it is told to, and then forgets what was kept with the old one', async () => {
    const { entries, state, keychain } = fakeKeychain();
    const store = createSealedStore({ directory, keychain });
    await store.set(NAME, VALUE);
    state.locked = true;
    expect(await store.prepare('file', { signal })).toBe('file');
    expect([await store.get(NAME), await store.keyPlace(), entries.size]).toEqual([undefined, 'file', 0]);
    state.locked = false;
    await store.set(NAME, VALUE);
    expect(await store.prepare('file', { signal })).toBe('file');
    expect(await store.get(NAME)).toEqual(VALUE);
    expect(await store.prepare('keychain', { signal })).toBe('keychain');
    expect([await store.get(NAME), entries.size]).toEqual([undefined, 1]);
  });

  it('begins anew when the keychain has lost the key, or the file with it is damaged', async () => {
    const { entries, keychain } = fakeKeychain();
    const store = createSealedStore({ directory, keychain });
    await store.set(NAME, VALUE);
    entries.clear();
    const other = createSealedStore({ directory, keychain });
    expect(await other.get(NAME)).toBeUndefined();
    await other.set(NAME, { a: 1 });
    // The one that has been open all the time uses the new key too.
    expect(await store.get(NAME)).toEqual({ a: 1 });
    writeFileSync(join(directory, 'key.json'), '{"place":"file","key":"c2hvcnQ="}');
    expect(await store.get(NAME)).toBeUndefined();
    await store.set(NAME, { a: 2 });
    expect(await other.get(NAME)).toEqual({ a: 2 });
  });

  it('makes one key for many who keep something at the same time', async () => {
    const names = Array.from({ length: 5 }, (_, at): StoreName => ({ kind: 'client', issuer: `https://i${at}` }));
    await Promise.all(names.map((name) => createSealedStore({ directory, keychain: none }).set(name, VALUE)));
    const store = createSealedStore({ directory, keychain: none });
    expect(await Promise.all(names.map((name) => store.get(name)))).toEqual(names.map(() => VALUE));
  });
});
