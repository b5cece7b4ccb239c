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

test('the search path that is inherited keeps its absolute entries only', () => {
  expect(childEnvironment({ from: { PATH: '/bin:.::bin:/usr/bin' }, platform: 'linux' })['PATH']).toBe('/bin:/usr/bin');
  expect(childEnvironment({ from: { Path: 'C:\\x;.;y' }, platform: 'win32' })['Path']).toBe('C:\\x');
  const declared = { PATH: '.:/bin' };
  expect(childEnvironment({ from: {}, declared, platform: 'linux' })['PATH']).toBe('.:/bin');
});

test('on Windows names are compared without regard to case, and one of each is left', () => {
  const from = { Path: 'C:\\x', SystemRoot: 'C:\\Windows', 'ProgramFiles(x86)': 'C:\\p', HOME: '/h', SECRET: 's' };
  expect(childEnvironment({ from, declared: { PATH: 'C:\\y' }, platform: 'win32' })).toEqual({
    PATH: 'C:\\y',
    SystemRoot: 'C:\\Windows',
    'ProgramFiles(x86)': 'C:\\p',
  });
});
