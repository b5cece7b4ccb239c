import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogFile } from './log-file.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-'));
  path = join(folder, 'server.log');
});

afterEach(() => rmSync(folder, { recursive: true }));

const noFault = (error: unknown) => {
  throw error;
};

test('a file that is there is added to, and becomes private', () => {
  writeFileSync(path, 'before\n');
  chmodSync(path, 0o644);
  const file = new LogFile(path, noFault);
  file.write(Buffer.from('after\n'));
  file.close();
  expect(readFileSync(path, 'utf8')).toBe('before\nafter\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a full file is moved away once, and two files are all there ever is', () => {
  const file = new LogFile(path, noFault, 100);
  for (let line = 0; line < 30; line++) file.write(Buffer.from(`${String(line).padStart(9)}\n`));
  file.close();
  expect(readdirSync(folder).sort()).toEqual(['server.log', 'server.log.1']);
  expect(readFileSync(path, 'utf8')).toMatch(/^ +20\n[^]* +29\n$/);
  expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/^ +10\n[^]* +19\n$/);
});

test('a symbolic link is not followed', () => {
  const target = join(folder, 'precious');
  writeFileSync(target, 'precious');
  symlinkSync(target, path);
  const faults: unknown[] = [];
  const file = new LogFile(path, (error) => faults.push(error));
  file.write(Buffer.from('x'));
  file.close();
  expect(faults).toMatchObject([{ code: 'ELOOP' }]);
  expect(readFileSync(target, 'utf8')).toBe('precious');
});

test('a fault on the way ends the writing and is told once', () => {
  const faults: unknown[] = [];
  const file = new LogFile(path, (error) => faults.push(error), 10);
  file.write(Buffer.from('12345678'));
  rmSync(path);
  for (let count = 0; count < 3; count++) file.write(Buffer.from('12345678'));
  expect(faults).toMatchObject([{ code: 'ENOENT' }]);
});
