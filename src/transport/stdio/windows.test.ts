import { expect, test } from 'vitest';
import { windowsLaunch } from './windows.ts';

const files = ['C:\\node\\npx.cmd', 'C:\\node\\node.exe', 'C:\\other\\npx.exe', 'D:\\project\\tool.bat', 'D:\\project\\npx.exe'];
const env = { Path: 'C:\\node;C:\\other', PATHEXT: '.COM;.EXE;.BAT;.CMD', ComSpec: 'C:\\Windows\\System32\\cmd.exe' };
const options = {
  env,
  cwd: 'D:\\project',
  isFile: (path: string) => files.includes(path.replace(/\.[A-Z]+$/, (end) => end.toLowerCase())),
};

test('a program is found along the path and started as it is', () => {
  const args = ['a b', '"', '%PATH%'];
  expect(windowsLaunch('node', args, options)).toEqual({ command: 'C:\\node\\node.EXE', args, verbatim: false });
  expect(windowsLaunch('node.exe', [], options).command).toBe('C:\\node\\node.exe');
});

test('what is not found is not left to the system, which looks where it should not', () => {
  expect(() => windowsLaunch('unknown', [], options)).toThrow('was not found');
  const path = { ...options, env: { ...env, Path: '.;project;D:\\project\\node_modules\\.bin' }, isFile: () => true };
  expect(() => windowsLaunch('npx', [], path)).toThrow('was not found');
});

test("npm's own batch files are passed by, where what they start lies beside them", () => {
  const script = 'C:\\node\\node_modules\\npm\\bin\\npx-cli.js';
  const isFile = (path: string) => path === script || options.isFile(path);
  const args = ['-y', 'pkg', '100%', '"'];
  expect(windowsLaunch('npx', args, { ...options, isFile })).toEqual({
    command: 'C:\\node\\node.exe',
    args: [script, ...args],
    verbatim: false,
  });
});

test('a batch file goes to the interpreter, every word in quotes', () => {
  expect(windowsLaunch('npx', ['-y', 'pkg@1', 'a b', 'x&y|z^', 'C:\\dir\\', ''], options)).toEqual({
    command: 'C:\\Windows\\System32\\cmd.exe',
    args: ['/d', '/s', '/v:off', '/c', '""C:\\node\\npx.CMD" "-y" "pkg@1" "a b" "x&y|z^" "C:\\dir\\\\" """'],
    verbatim: true,
  });
});

test.for(['"', '%PATH%', '!x!', 'a\nb', 'a\rb', 'a\0b'])(
  'an argument that a batch file would misread (%j) is refused',
  (argument) => {
    expect(() => windowsLaunch('npx', [argument], options)).toThrow(expect.objectContaining({ code: 'unreachable' }) as Error);
  },
);

test('the folder of a project is looked into only when a path leads there', () => {
  expect(() => windowsLaunch('tool', [], options)).toThrow('was not found');
  expect(windowsLaunch('.\\tool', [], options).args.at(-1)).toBe('""D:\\project\\tool.BAT""');
});
