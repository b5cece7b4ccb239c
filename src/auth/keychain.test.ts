import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import { compile } from '../transport/stdio/fixtures/compile.ts';

const compiled = compile(join(import.meta.dirname, 'index.ts'));
const compiledRoot = dirname(dirname(fileURLToPath(compiled.url)));
symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(compiledRoot, 'node_modules'));
const home = mkdtempSync(join(tmpdir(), 'parley-keychain-'));
afterAll(() => {
  compiled.remove();
  rmSync(home, { recursive: true });
});

/** Keeps a value, or reads it; prints what it has, where its key is, or why not. */
const SCRIPT = join(home, 'script.mjs');
writeFileSync(
  SCRIPT,
  `import { createSealedStore } from ${JSON.stringify(compiled.url)};
const [act, directory] = process.argv.slice(2);
const store = createSealedStore({ directory });
const name = { kind: 'client', issuer: 'https://i' };
try {
  if (act === 'keep') await store.set(name, { secret: 'a-secret-that-nobody-may-read' });
  console.log(JSON.stringify({ value: await store.get(name), place: await store.keyPlace() }));
} catch (error) {
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
`,
);

/** What the script prints, run by `sh` after `before`; \`bus\` is the command that gives it a session, if any. */
async function run(before: string, act: 'keep' | 'read', directory: string, bus: readonly string[] = []): Promise<unknown> {
  const line = `${before}exec "$0" "$@"`;
  const [command, ...words] = [...bus, 'sh', '-c', line, process.execPath, SCRIPT, act, directory];
  const env: NodeJS.ProcessEnv = { ...process.env, HOME: home };
  for (const name of ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'XDG_DATA_HOME', 'DISPLAY']) delete env[name];
  const child = spawn(command, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  return JSON.parse(await text(child.stdout)) as unknown;
}

const value = { secret: 'a-secret-that-nobody-may-read' };

it.skipIf(process.platform !== 'linux')('the store takes a file for its key where no keychain can be reached', async () => {
  const directory = join(home, 'without');
  expect(await run('', 'keep', directory)).toEqual({ value, place: 'file' });
  expect(await run('', 'read', directory)).toEqual({ value, place: 'file' });
});

const missing = ['dbus-run-session', 'gnome-keyring-daemon'].filter(
  (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
);
if (missing.length > 0) process.stdout.write(`The keychain itself is not tested: ${missing.join(' and ')} cannot be found.\n`);

it.skipIf(missing.length > 0)(
  'the store has its key in the Secret Service, and says so when that is locked or gone',
  async () => {
    const directory = join(home, 'with');
    const bus = ['dbus-run-session', '--'];
    const unlocked = 'printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1; ';
    expect(await run(unlocked, 'keep', directory, bus)).toEqual({ value, place: 'keychain' });
    expect(await run(unlocked, 'read', directory, bus)).toEqual({ value, place: 'keychain' });
    for (const file of readdirSync(directory)) expect(readFileSync(join(directory, file), 'utf8')).not.toContain(value.secret);
    const refused = (words: string) => ({ code: 'auth-required', message: expect.stringContaining(words) as string });
    const locked = 'gnome-keyring-daemon --start --components=secrets >/dev/null 2>&1; ';
    expect(await run(locked, 'read', directory, bus)).toEqual(refused('locked'));
    expect(await run('', 'read', directory)).toEqual(refused('cannot be reached'));
  },
  60_000,
);
