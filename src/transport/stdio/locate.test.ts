import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { locate, searchPath } from './locate.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'parley-locate-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function program(path: string, mode = 0o755): string {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '');
  chmodSync(file, mode);
  return file;
}
const fault = (act: () => unknown): string => {
  try {
    return String(act());
  } catch (error) {
    return (error as Error).message;
  }
};

test('a name is the first file along the path that may be executed', () => {
  mkdirSync(join(root, 'a/tool'), { recursive: true });
  program('b/tool', 0o644);
  const tool = program('c/tool');
  program('d/tool');
  expect(locate('tool', { path: ['a', 'b', 'c', 'd'].map((folder) => join(root, folder)).join(':') })).toBe(tool);
});

test('no project can put a program on the path: neither by a relative entry nor among its dependencies', () => {
  program('bin/npx');
  const dependency = program('node_modules/.bin/npx');
  expect(searchPath(`bin::.:${root}/node_modules/.bin:${root}/node_modules/.bin/:/usr/bin`)).toEqual(['/usr/bin']);
  expect(fault(() => locate('npx', { path: 'bin:.', cwd: root }))).toContain('it was not found');
  const message = fault(() => locate('npx', { path: join(root, 'node_modules/.bin') }));
  expect(message).toContain('only in a folder node_modules/.bin');
  expect(locate(dependency, { path: '' })).toBe(dependency);
});

test('a path is taken from the folder that the process starts in', () => {
  const tool = program('x/tool');
  expect(locate('./x/tool', { path: '', cwd: root })).toBe(tool);
  expect(locate(tool, { path: '' })).toBe(tool);
});

test('what cannot be started is told apart', () => {
  program('tool', 0o600);
  expect(fault(() => locate(root, { path: '' }))).toContain('is a folder');
  expect(fault(() => locate('tool', { path: root }))).toContain('may not be executed');
  expect(fault(() => locate('nothing', { path: root }))).toContain('was not found');
  expect(fault(() => locate('./nothing', { path: root, cwd: root }))).toContain('was not found');
});
