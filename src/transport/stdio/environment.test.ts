import { expect, test } from 'vitest';
import { childEnvironment } from './environment.ts';

test('only harmless variables are inherited, and declared ones win', () => {
  const from = {
    HOME: '/h',
    PATH: '/bin',
    LC_ALL: 'C',
    TERM: 'xterm',
    AWS_SECRET: 's',
    NODE_OPTIONS: '-r x',
    SHELL: '() { :; }',
  };
  expect(childEnvironment({ from, declared: { HOME: '/other', KEY: 'k' }, platform: 'linux' })).toEqual({
    TERM: 'dumb',
    HOME: '/other',
    PATH: '/bin',
    LC_ALL: 'C',
    KEY: 'k',
  });
});

test('on Windows names are compared without regard to case, and one of each is left', () => {
  const from = { Path: 'C:\\x', SystemRoot: 'C:\\Windows', 'ProgramFiles(x86)': 'C:\\p', HOME: '/h', SECRET: 's' };
  expect(childEnvironment({ from, declared: { PATH: 'C:\\y' }, platform: 'win32' })).toEqual({
    PATH: 'C:\\y',
    SystemRoot: 'C:\\Windows',
    'ProgramFiles(x86)': 'C:\\p',
  });
});
