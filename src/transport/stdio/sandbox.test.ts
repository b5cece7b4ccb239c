import { expect, test } from 'vitest';
import { bubblewrapFlags, confine, type PlanOptions, type SandboxOptions } from './sandbox.ts';

/** What is there; a link is followed to what it names. */
const disk = new Map([
  ['/usr/bin/node', '/usr/bin/node'],
  ['/home/u/bin/tool', '/home/u/tools/tool-2'],
  ['/srv/data', '/srv/data'],
  ['/srv/data/out', '/srv/data/out'],
  ['/srv/data/.git/hooks', '/srv/data/.git/hooks'],
  ['/srv/data/.mcp.json', '/srv/data/.mcp.json'],
  ['/home/u/.config/parley', '/home/u/.config/parley'],
]);

function plan(sandbox: Partial<SandboxOptions> = {}, more: Partial<PlanOptions> = {}): string[] {
  const realPath = (path: string) => disk.get(path);
  return bubblewrapFlags({
    ...{ program: '/usr/bin/node', cwd: undefined, home: '/home/u', realPath },
    sandbox: { mode: 'required', ...sandbox },
    ...more,
  });
}
/** Each flag with its values. */
function said(flags: readonly string[]): string[] {
  return flags
    .join(' ')
    .split(/ (?=--)/)
    .filter((flag) => !flag.startsWith('--ro-bind-try'));
}

test('without anything asked for there is a read-only system, an empty home, and nothing else', () => {
  expect(said(plan())).toEqual([
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop ALL', '--proc /proc', '--dev /dev', '--tmpfs /tmp'],
    ...['--ro-bind /usr /usr', '--tmpfs /home/u', '--chdir /home/u'],
  ]);
});

test('the network is shared only when it is asked for', () => {
  expect(plan()).not.toContain('--share-net');
  expect(plan({ network: true })).toContain('--share-net');
});

test('what lies deeper is bound later, and to change comes after to read', () => {
  const binds = said(plan({ read: ['/srv/data/out', '/srv/data'], write: ['/srv/data/out'] })).filter((flag) =>
    flag.includes('/srv'),
  );
  expect(binds).toEqual([
    '--ro-bind /srv/data /srv/data',
    '--ro-bind /srv/data/out /srv/data/out',
    '--bind /srv/data/out /srv/data/out',
  ]);
});

test('a program in the home is seen, with the file that it is a link to, and nothing beside it', () => {
  expect(said(plan({}, { program: '/home/u/bin/tool' })).slice(-4)).toEqual([
    '--tmpfs /home/u',
    '--ro-bind /home/u/bin/tool /home/u/bin/tool',
    '--ro-bind /home/u/tools/tool-2 /home/u/tools/tool-2',
    '--chdir /home/u',
  ]);
});

test('hooks and settings stay as they are where all around may be changed', () => {
  expect(said(plan({ write: ['/srv/data'] })).slice(-5, -1)).toEqual([
    '--bind /srv/data /srv/data',
    // Or .git could be moved away, and another put in its place.
    '--bind /srv/data/.git /srv/data/.git',
    '--ro-bind /srv/data/.git/hooks /srv/data/.git/hooks',
    '--ro-bind /srv/data/.mcp.json /srv/data/.mcp.json',
  ]);
});

test('what is hidden is so to the last', () => {
  const flags = said(plan({ read: ['/home/u/.config/parley'], hide: ['/home/u/.config/parley', '/home/u/.cache/parley'] }));
  expect(flags.slice(-2)).toEqual(['--tmpfs /home/u/.config/parley', '--chdir /home/u']);
});

test.each([
  ['a relative path', { read: ['data'] }, {}, 'not a full path'],
  ['what is not there', { read: ['/srv/nothing'] }, {}, 'does not exist'],
  ['the whole home to be changed', { write: ['/home/u'] }, {}, 'whole home'],
  ['what the home lies in to be changed', { write: ['/'] }, {}, 'whole home'],
  ['a working folder out of sight', {}, { cwd: '/srv/data' }, 'not among what it may read'],
])('%s is refused', (_, sandbox, more, message) => {
  expect(() => plan(sandbox, more)).toThrow(message);
});

test('a working folder in sight is where it starts', () => {
  expect(plan({ read: ['/srv/data'] }, { cwd: '/srv/data/out' }).slice(-2)).toEqual(['--chdir', '/srv/data/out']);
});

test('a process that asks for none gets none, and that is said', async () => {
  const process = { command: 'server', args: ['a'], env: { A: 'b' } };
  expect(await confine(process, undefined)).toEqual({
    ...process,
    status: { sandboxed: false, reason: 'its settings do not ask for it' },
  });
});
