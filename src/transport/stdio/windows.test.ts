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
  expect(windowsLaunch('unknown', [], options).command).toBe('unknown');
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
  expect(windowsLaunch('tool', [], options)).toMatchObject({ command: 'tool', verbatim: false });
  expect(windowsLaunch('.\\tool', [], options).args.at(-1)).toBe('""D:\\project\\tool.BAT""');
});
