import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EMPTY } from './fixtures/world.ts';
import { LOCAL_PLACES, placesOf, type Places } from './places.ts';
import { compileUnder } from './under.ts';

let top: string;
let places: Places;

beforeAll(() => {
  // Its own real path, for a system's folder for temporary files may be a link.
  top = realpathSync.native(mkdtempSync(join(tmpdir(), 'parley-under-')));
  for (const folder of ['data/inner', 'datax', 'secret', 'work/src', 'home']) mkdirSync(join(top, folder), { recursive: true });
  writeFileSync(join(top, 'secret/key'), 'k');
  writeFileSync(join(top, 'data/file'), 'f');
  symlinkSync(join(top, 'secret'), join(top, 'data/out'));
  symlinkSync(join(top, 'secret/not-yet'), join(top, 'data/dangling'));
  symlinkSync(join(top, 'data'), join(top, 'alias'));
  symlinkSync('loop', join(top, 'data/loop'));
  places = {
    ...LOCAL_PLACES,
    home: join(top, 'home'),
    workingDirectory: (server) => (server === 'local' ? join(top, 'work') : undefined),
  };
});

afterAll(() => rmSync(top, { recursive: true, force: true }));

const allows = (folder: string, path: string, server = 'local') =>
  compileUnder(join(top, folder), places, 'strict')(path, server);
const holds = (folder: string, path: string, server = 'local') =>
  compileUnder(join(top, folder), places, 'generous')(path, server);
const at = (path: string) => path.replace('TOP', top);

describe('a rule that allows a folder', () => {
  it.each([
    'TOP/data',
    'TOP/data/',
    'TOP/data/file',
    'TOP/data/./inner',
    'TOP/data/inner/../file',
    'TOP/data/new/deep/file',
    'TOP/data/new/../file',
    'TOP/alias/file',
    'TOP/data/..x',
    'TOP/data/12:30',
    'file://TOP/data/file',
  ])('covers %s', (path) => {
    expect(allows('data', at(path))).toBe(true);
    // Also when it is named by a link to it.
    expect(allows('alias', at(path))).toBe(true);
  });

  it.each([
    'TOP/datax',
    'TOP/datax/file',
    'TOP/data/../secret/key',
    'TOP/data/..',
    'TOP/data/inner/../../secret',
    // Links: to a folder, by it to a file, up from where it leads, to what is not there yet, to itself.
    'TOP/data/out',
    'TOP/data/out/key',
    'TOP/data/out/new',
    'TOP/data/out/../secret/key',
    'TOP/data/dangling/x',
    'TOP/data/new/../out/key',
    'TOP/data/dangling',
    'TOP/data/loop/x',
    // Other spellings, which some programs read otherwise.
    'TOP/DATA/file',
    'TOP/Data/file',
    'TOP/data./file',
    'TOP/data /file',
    'TOP/data/file.',
    'TOP/data/file ',
    'TOP/da\u0301ta/x',
    'TOP/data/cafe\u0301',
    'TOP/data/a\u200bb',
    'TOP/data/a\0/../../secret',
    'TOP/data/%2e%2e/secret',
    'TOP/data\\..\\secret',
    'TOP/data:x/file',
    '/TOP/data/file',
    '~/data/file',
    '~root/x',
    '$HOME/x',
    'data/file',
    './data/file',
    '/proc/self/rootTOP/data/file',
    '/proc/self/cwd',
    '/dev/fd/3',
    'file://elsewhereTOP/data/file',
    'file://TOP/data/%2e%2e/secret/key',
    'file://TOP/data/%2Fx',
    'file:TOP/data/file',
    ' TOP/data/file',
    '',
  ])('does not cover %j', (path) => {
    expect(allows('data', at(path))).toBe(false);
  });

  it('covers nothing while it cannot be told where a path leads', () => {
    const blind: Places = {
      ...places,
      realpath: () => {
        throw new Error('EACCES');
      },
    };
    expect(compileUnder(join(top, 'data'), blind, 'strict')(join(top, 'data/file'), '')).toBe(false);
  });
});

describe('a rule that holds a folder back', () => {
  it.each([
    'TOP/secret',
    'TOP/secret/key',
    'TOP/secret/new/x',
    'TOP/data/out/key',
    'TOP/data/dangling',
    'TOP/data/../secret/key',
    'TOP/data/inner/../../secret/key',
    'TOP/SECRET/KEY',
    'TOP/secret./key',
    'TOP/secret /key',
    'TOP/secret::$INDEX_ALLOCATION/key',
    'TOP/\uff53ecret/key',
    'TOP/sec\u200bret/key',
    'TOP/data/%2e%2e/secret/key',
    'TOP\\secret\\key',
    'TOP/data\\..\\secret',
    '/TOP/secret',
    '  TOP/secret/key ',
    '/proc/self/rootTOP/secret/key',
    'file://TOP/secret/key',
    'file://TOP/data/%2e%2e/secret/key',
    // Relative to where the server works.
    '../secret/key',
    'src/../../secret',
    // What cannot be resolved may be anywhere.
    '~somebody/x',
    '$HOME/x',
    '%USERPROFILE%\\x',
    'TOP/data/loop/x',
    'file:x',
    'file://host/x',
    'TOP/data/x\0y',
  ])('covers %j', (path) => {
    expect(holds('secret', at(path))).toBe(true);
  });

  it.each([
    'TOP/data/file',
    'TOP/secrets',
    'TOP/secrets/key',
    'TOP/data/new/secret',
    'src/secret',
    'README.md',
    '~/notes',
    'plain words',
  ])('does not cover %j', (path) => {
    expect(holds('secret', at(path))).toBe(false);
  });

  it.each(['~5 apples', '$100 for a lamp', '100% sure', 'x'.repeat(5_000), `${'word '.repeat(200)}/etc`])(
    'does not take a text for a path that leads anywhere: %.20s',
    (text) => {
      expect(holds('secret', text)).toBe(false);
    },
  );

  it('looks at a text with many slashes as fast as at any', () => {
    let asked = 0;
    const counting: Places = {
      ...places,
      realpath(path) {
        asked++;
        return places.realpath(path);
      },
    };
    const text = Array.from({ length: 20_000 }, (_, at) => `// line ${at}`).join('\n');
    expect(compileUnder(join(top, 'secret'), counting, 'generous')(text, 'local')).toBe(false);
    expect(asked).toBeLessThan(200);
  });

  it('covers what a program may shorten, decode or cut, however long it is', () => {
    const secret = at('TOP/secret/file');
    for (const path of [
      `${'/%2e'.repeat(12_000)}${secret}`,
      `file://${'/%2e'.repeat(12_000)}${secret}`,
      `file://${secret}#${'x'.repeat(40_000)}`,
      `${'\\.'.repeat(20_000)}${secret.replaceAll('/', '\\')}`,
      `${secret}\0${'x'.repeat(40_000)}`,
      // No parser takes the end for what it may stand for, and lenient ones the rest.
      `${secret.replace('secret', '%73ecret')}%zz`,
    ])
      expect(holds('secret', path)).toBe(true);
    expect(holds('secret', `/${'x'.repeat(40_000)}`)).toBe(false);
  });

  it('covers a relative path of a server whose folder nobody knows', () => {
    expect(holds('secret', 'README.md', 'remote')).toBe(true);
    expect(holds('secret', at('TOP/data/file'), 'remote')).toBe(false);
  });

  it('covers what ~ stands for', () => {
    const test = compileUnder('~/.ssh', places, 'generous');
    expect(test('~/.ssh/id', 'local')).toBe(true);
    expect(test(join(top, 'home/.ssh/id'), 'local')).toBe(true);
    expect(test('~/notes', 'local')).toBe(false);
  });

  it('covers everything while it cannot be told where a path leads', () => {
    const blind: Places = {
      ...places,
      realpath: () => {
        throw new Error('EACCES');
      },
    };
    expect(compileUnder('/secret', blind, 'generous')('/x', '')).toBe(true);
  });
});

it('asks the machine nothing before there is a path', () => {
  const deaf: Places = {
    ...EMPTY,
    realpath: () => {
      throw new Error('asked');
    },
  };
  expect(() => compileUnder('/srv', deaf, 'generous')).not.toThrow();
});

it('a server works where it is started, as far as that is written', () => {
  const stdio = { kind: 'stdio', command: 'x', args: [], env: {} } as const;
  const source = { file: 'f', key: 'k', scope: 'user' } as const;
  const { workingDirectory } = placesOf(
    [
      { name: 'here', source, written: stdio },
      { name: 'there', source, written: { ...stdio, cwd: 'sub' } },
      { name: 'projects', source: { ...source, scope: 'project' }, written: stdio },
      { name: 'who-knows', source, written: { ...stdio, cwd: '${HOME}/x' } },
      { name: 'alone', source, written: { ...stdio, privateCwd: true } },
      { name: 'away', source, written: { kind: 'http', url: 'https://x.example', headers: {}, transport: 'http' } },
    ],
    { home: '/home/me', workspaceFolder: '/work' },
  );
  expect(['here', 'there', 'projects', 'who-knows', 'alone', 'away'].map(workingDirectory)).toEqual([
    process.cwd(),
    '/work/sub',
    '/work',
    undefined,
    undefined,
    undefined,
  ]);
});
