import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../errors.ts';
import { compile } from '../transport/stdio/fixtures/compile.ts';
import { createFileStore } from './file-store.ts';
import { startWorld } from './fixtures/world.ts';
import { createMemoryStore, type AuthStore, type StoreName } from './store.ts';

const compiled = compile(join(import.meta.dirname, 'index.ts'));
const compiledRoot = dirname(dirname(fileURLToPath(compiled.url)));
symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(compiledRoot, 'node_modules'));
afterAll(() => compiled.remove());

let home = '';
let directory = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'parley-store-'));
  directory = join(home, 'credentials');
});
afterEach(() => rmSync(home, { recursive: true }));

const NAME: StoreName = { kind: 'tokens', server: 'https://s', issuer: 'https://i', clientId: 'c', resource: 'https://s' };
const OTHER: StoreName = { ...NAME, issuer: 'https://j' };
const signal = new AbortController().signal;
const files = () => readdirSync(directory).map((file) => join(directory, file));
const only = () => {
  const [file, ...more] = files();
  expect(more).toEqual([]);
  return file!;
};

describe.each<[string, () => AuthStore]>([
  ['in memory', createMemoryStore],
  ['in files', () => createFileStore({ directory })],
  ['in encrypted files', () => createFileStore({ directory, key: Buffer.alloc(32, 7) })],
])('a store %s', (_, create) => {
  it('keeps values by their whole names', async () => {
    const store = create();
    expect(await store.get(NAME)).toBeUndefined();
    await store.set(NAME, { a: 1 });
    await store.set(OTHER, { a: 2 });
    await store.set(NAME, { a: 3, b: 'ü' });
    expect([await store.get(NAME), await store.get(OTHER)]).toEqual([{ a: 3, b: 'ü' }, { a: 2 }]);
    await store.delete(NAME);
    await store.delete(NAME);
    expect([await store.get(NAME), await store.get(OTHER)]).toEqual([undefined, { a: 2 }]);
  });

  it('lets one at a time act for a name, and the next one after a failure', async () => {
    const store = create();
    const order: string[] = [];
    const act = (mark: string) => async () => {
      order.push(`${mark}>`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`<${mark}`);
      if (mark === 'b') throw new Error(mark);
      return mark;
    };
    const acts = ['a', 'b', 'c'].map((mark) => store.exclusively(NAME, act(mark), { signal }));
    expect(await Promise.allSettled(acts)).toMatchObject([{ value: 'a' }, { status: 'rejected' }, { value: 'c' }]);
    expect(order).toEqual(['a>', '<a', 'b>', '<b', 'c>', '<c']);
  });

  it('stops waiting when the caller does', async () => {
    const store = create();
    const control = new AbortController();
    let letEnd!: () => void;
    let enter!: () => void;
    const end = new Promise<void>((resolve) => (letEnd = resolve));
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const act = () => {
      enter();
      return end;
    };
    const held = store.exclusively(NAME, act, { signal });
    const waiting = store.exclusively(NAME, async () => 'never', { signal: control.signal });
    control.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await entered;
    letEnd();
    await held;
    expect(await store.exclusively(NAME, async () => 'next', { signal })).toBe('next');
  });
});

describe('a file', () => {
  it('is its owner’s alone, as is the directory, and nothing else is left there', async () => {
    const store = createFileStore({ directory });
    await store.set(NAME, { secret: 's3cret' });
    await store.set(NAME, { secret: 's3cret2' });
    await store.exclusively(NAME, async () => {}, { signal });
    expect([statSync(directory).mode & 0o777, statSync(only()).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(only()).not.toContain('https');
  });

  it.each<[string, () => void]>([
    ['a directory that others can read', () => mkdirSync(directory, { mode: 0o755 })],
    ['a directory that is a link', () => symlinkSync(home, directory)],
  ])('is not written in %s', async (_, prepare) => {
    prepare();
    await expect(createFileStore({ directory }).set(NAME, {})).rejects.toMatchObject({ code: 'config-invalid' });
  });

  it.each<[string, (file: string) => void]>([
    ['others can read it', (file) => chmodSync(file, 0o644)],
    [
      'it is a link',
      (file) => {
        renameSync(file, join(home, 'moved'));
        symlinkSync(join(home, 'moved'), file);
      },
    ],
    [
      'it is no file',
      (file) => {
        rmSync(file);
        mkdirSync(file, { mode: 0o700 });
      },
    ],
    ['it is too large', (file) => writeFileSync(file, ' '.repeat(300_000))],
  ])('is not read when %s', async (_, change) => {
    const store = createFileStore({ directory });
    await store.set(NAME, { a: 1 });
    change(only());
    const failure = await store.get(NAME).catch((error: unknown) => error as ParleyError);
    expect(failure).toMatchObject({ code: 'config-invalid' });
  });

  it('is worth nothing under another name, damaged, or with another key', async () => {
    const key = Buffer.alloc(32, 1);
    for (const [write, read] of [
      [createFileStore({ directory }), createFileStore({ directory })],
      [createFileStore({ directory, key }), createFileStore({ directory, key })],
    ] as const) {
      await write.set(NAME, { a: 1 });
      const first = only();
      await write.set(OTHER, { a: 2 });
      const other = files().find((file) => file !== first)!;
      renameSync(first, other);
      expect(await read.get(OTHER)).toBeUndefined();
      writeFileSync(other, readFileSync(other, 'utf8').slice(0, -9));
      expect(await read.get(OTHER)).toBeUndefined();
      await read.delete(OTHER);
    }
    await createFileStore({ directory, key }).set(NAME, { secret: 's3cret' });
    expect(readFileSync(only(), 'utf8')).not.toMatch(/s3cret|https/);
    expect(await createFileStore({ directory, key: Buffer.alloc(32, 2) }).get(NAME)).toBeUndefined();
    expect(await createFileStore({ directory }).get(NAME)).toBeUndefined();
    await createFileStore({ directory }).set(NAME, { a: 1 });
    expect(await createFileStore({ directory, key }).get(NAME)).toBeUndefined();
    expect(() => createFileStore({ directory, key: Buffer.alloc(16) })).toThrow(ParleyError);
  });
});

describe('a lock', () => {
  const lock = async (holder: unknown, now = Date.now) => {
    const store = createFileStore({ directory, lockWaitMs: 200, now });
    await store.set(NAME, {});
    const path = only().replace(/json$/, 'lock');
    writeFileSync(path, typeof holder === 'string' ? holder : JSON.stringify(holder));
    return { path, outcome: store.exclusively(NAME, async () => 'mine', { signal }) };
  };

  it('is waited for in vain when its holder lives', async () => {
    const { outcome, path } = await lock({ holder: 'x', pid: process.pid, host: hostname(), until: Date.now() + 30_000 });
    await expect(outcome).rejects.toMatchObject({ code: 'timeout', retryable: true });
    expect(readFileSync(path, 'utf8')).toContain('"x"');
  });

  it.each<[string, unknown]>([
    ['has ended', { holder: 'x', pid: 2 ** 30, host: hostname(), until: Date.now() + 30_000 }],
    ['has held it for too long', { holder: 'x', pid: process.pid, host: hostname(), until: Date.now() - 1 }],
    ['claims it for ever', { holder: 'x', pid: 1, host: 'elsewhere', until: Date.now() + 10 ** 9 }],
  ])('is taken over when its holder %s', async (_, holder) => {
    const { outcome, path } = await lock(holder);
    expect(await outcome).toBe('mine');
    expect(files()).not.toContain(path);
  });

  it('is not broken while it is being written', async () => {
    const { outcome } = await lock('');
    await expect(outcome).rejects.toMatchObject({ code: 'timeout' });
  });
});

it('presents a refresh token once, however many processes find the token at its end', async () => {
  const world = await startWorld();
  try {
    await world.call(world.authorizer({ store: createFileStore({ directory }) }));
    const args = [join(import.meta.dirname, 'fixtures', 'renew.mjs'), compiled.url, world.url, directory, '3590000'];
    const processes = Array.from({ length: 5 }, () => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
    const lines = processes.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    const next = () => Promise.all(lines.map(async (line) => (await line.next()).value as string | undefined));
    expect(new Set(await next())).toEqual(new Set(['ready']));
    const ends = processes.map((child) => once(child, 'exit'));
    for (const child of processes) child.stdin.write('go\n');
    expect(await next()).toEqual(Array.from({ length: 5 }, () => 'Bearer token-2'));
    await Promise.all(ends);
    expect(world.tokenRequests.map((parameters) => parameters.get('refresh_token'))).toEqual([null, 'refresh-1']);
    expect(files().filter((file) => !file.endsWith('.json'))).toEqual([]);
  } finally {
    await world.close();
  }
});
