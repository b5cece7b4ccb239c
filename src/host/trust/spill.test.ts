import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSpill } from './spill.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'spill-test-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('a text is kept whole, for this user alone, and removed on closing', async () => {
  const spill = createSpill({ directory });
  expect(await readdir(directory)).toEqual([]);
  const path = (await spill.keep('a', 'héllo')) ?? '';
  expect(await readFile(path, 'utf8')).toBe('héllo');
  expect(await modeOf(path)).toBe('600');
  expect(await modeOf(dirname(path))).toBe('700');
  expect(await spill.keep('a', 'héllo')).not.toBe(path);
  await spill.close();
  await spill.close();
  expect(await readdir(directory)).toEqual([]);
});

test('what one server may keep, and all together, is counted, also for texts at the same time', async () => {
  await using spill = createSpill({ directory, perServer: 10, inAll: 25 });
  const kept = await Promise.all([spill.keep('a', 'x'.repeat(6)), spill.keep('a', 'x'.repeat(6)), spill.keep('a', 'xxxx')]);
  expect(kept.map((path) => path !== undefined)).toEqual([true, false, true]);
  expect(await spill.keep('b', 'é'.repeat(5))).toBeDefined();
  expect(await spill.keep('c', 'x'.repeat(6))).toBeUndefined();
  expect(await spill.keep('c', 'x'.repeat(5))).toBeDefined();
});

test('a text that cannot be written is not kept, costs no room, and the next one is', async () => {
  await using spill = createSpill({ directory, perServer: 10 });
  const first = (await spill.keep('a', 'x')) ?? '';
  // A folder that is gone refuses everybody, root too.
  await rm(dirname(first), { recursive: true });
  expect(await spill.keep('a', 'x'.repeat(9))).toBeUndefined();
  await using elsewhere = createSpill({ directory: join(directory, 'new', 'deep'), perServer: 10 });
  expect(await elsewhere.keep('a', 'x'.repeat(10))).toBeDefined();
});

test('a folder that could not be made is tried again', async () => {
  const other = createSpill({ directory });
  const path = (await other.keep('a', 'x')) ?? '';
  await using spill = createSpill({ directory: join(path, 'under-a-file') });
  expect(await spill.keep('a', 'x')).toBeUndefined();
  await other.close();
  expect(await spill.keep('a', 'x')).toBeDefined();
});

test('nothing is kept after closing', async () => {
  const spill = createSpill({ directory });
  const writing = spill.keep('a', 'x'.repeat(100_000));
  await spill.close();
  await writing;
  expect(await readdir(directory)).toEqual([]);
  await expect(spill.keep('a', 'x')).rejects.toMatchObject({ code: 'closed' });
});
