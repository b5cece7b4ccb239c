import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { lifeOf, ownMark } from './process.ts';

const linux = process.platform === 'linux';

test.runIf(linux)('this process is alive', () => {
  expect(lifeOf(ownMark())).toBe('alive');
});

test('a process that has ended is gone', async () => {
  const child = spawn(process.execPath, ['--eval', '']);
  const mark = { ...ownMark(), pid: child.pid!, started: '' };
  await once(child, 'close');
  expect(lifeOf(mark)).toBe('gone');
});

test.runIf(linux)('a process that has ended is gone, though another one has its number', () => {
  expect(lifeOf({ ...ownMark(), started: '1' })).toBe('gone');
});

test('nobody knows of a process elsewhere, or of one that may have taken the number of another', () => {
  expect(lifeOf({ ...ownMark(), place: 'elsewhere' })).toBe('unknown');
  expect(lifeOf({ ...ownMark(), started: '' })).toBe('unknown');
});
