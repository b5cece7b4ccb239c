import {
  chmodSync,
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import { writeWhole } from './write.ts';

const mode = (file: string) => statSync(file).mode & 0o777;

describe('writeWhole', () => {
  it('puts a whole new file in the place of the old one, by a rename in the same directory', () => {
    const { directory, write, read } = createWorkspace();
    const file = write(join(directory, 'd', 'x.jsonc'), 'old');
    const reader = openSync(file, 'r');
    const seen: unknown[] = [];
    writeWhole(file, 'new', {
      access: 'shared',
      rename(from, to) {
        seen.push(dirname(from) === dirname(file), to === file, read(from), read(to));
        renameSync(from, to);
      },
    });
    expect(seen).toEqual([true, true, 'new', 'old']);
    expect(read(file)).toBe('new');
    expect(readFileSync(reader, 'utf8')).toBe('old');
    expect(fstatSync(reader).nlink).toBe(0);
    closeSync(reader);
    expect(readdirSync(dirname(file))).toEqual([basename(file)]);
  });

  it('leaves the old file, and nothing else, when it cannot be finished', () => {
    const { directory, write, read } = createWorkspace();
    const file = write(join(directory, 'd', 'x.jsonc'), 'old');
    const rename = () => {
      throw new Error('power cut');
    };
    expect(() => {
      writeWhole(file, 'new', { access: 'shared', rename });
    }).toThrow('power cut');
    expect(read(file)).toBe('old');
    expect(readdirSync(dirname(file))).toEqual([basename(file)]);
  });

  it('keeps the mode of a shared file, and lets only the owner read a private one', () => {
    const { directory, write } = createWorkspace();
    const shared = write(join(directory, 'shared'), 'old');
    chmodSync(shared, 0o640);
    writeWhole(shared, 'new', { access: 'shared' });
    expect(mode(shared)).toBe(0o640);
    const open = write(join(directory, 'open'), 'old');
    chmodSync(open, 0o644);
    const fresh = join(directory, 'made', 'here', 'fresh');
    for (const file of [open, fresh]) {
      writeWhole(file, 'new', { access: 'private' });
      expect(mode(file)).toBe(0o600);
    }
    expect(mode(dirname(fresh))).toBe(0o700);
  });

  it('replaces what a link points to and keeps the link', () => {
    const { directory, write, read } = createWorkspace();
    const target = write(join(directory, 'dotfiles', 'x'), 'old');
    const link = join(directory, 'link');
    symlinkSync(target, link);
    writeWhole(link, 'new', { access: 'private' });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(read(target)).toBe('new');
  });
});
