// What a server says, as the command shows it: nothing that a terminal acts on, and nothing in the first column.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createCliHome } from '../support/cli.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 60_000 });

const FAKE = join(import.meta.dirname, 'fixtures/fake-stdio.mjs');
const user = createCliHome();
let config = '';

beforeAll(() => {
  const bad = (mode: string) => ({ command: process.execPath, args: [FAKE, '--mode', mode], env: { ...user.mark } });
  config = user.write('config.json', {
    mcpServers: { bad: bad('controls'), loud: bad('stderr-flood'), dies: bad('dies-at-start') },
  });
});

afterAll(() => {
  expect(user.processes()).toEqual([]);
  user.remove();
});

const parley = (...args: string[]) => user.run(['--config', config, '--allow', 'bad/*', '--allow', 'loud/*', ...args]);
// Line ends and tabs are all that may be there of the controls; of the formats, none.
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}](?<![\n\t])/u;

it.each<[string, 'as text' | 'as JSON', string[]]>([
  ['a result', 'as text', ['call', 'bad/work']],
  ['a result', 'as JSON', ['call', 'bad/work']],
  ['an error', 'as text', ['call', 'bad/work', 'fail:=true']],
  ['an error', 'as JSON', ['call', 'bad/work', 'fail:=true']],
  ['the last words of a server that died', 'as text', ['call', 'bad/work', 'die:=true']],
  ['names and descriptions', 'as text', ['tools', 'list']],
  ['a definition', 'as JSON', ['tools', 'show', 'bad/work']],
  ['standard error', 'as text', ['mcp', 'logs', 'bad']],
  ['what a server calls itself', 'as text', ['mcp', 'doctor', 'bad']],
  ['a server that floods its standard error', 'as text', ['call', 'loud/ping']],
  ['a server that does not start', 'as text', ['mcp', 'doctor', 'dies']],
])('%s, %s, holds nothing that a terminal acts on', async (_what, form, words) => {
  const { stdout, stderr, code } = await parley(...(form === 'as JSON' ? ['--json'] : []), ...words);
  expect(code).not.toBeNull();
  expect(stdout + stderr).not.toBe('');
  for (const text of [stdout, stderr]) {
    expect(ACTIVE.exec(text)?.[0].codePointAt(0)?.toString(16), text.slice(0, 2_000)).toBeUndefined();
  }
  // Escapes change how it is written, not what it says.
  if (form === 'as JSON') expect(`${stdout}${stderr}`).toContain('\\u202e');
});

it('a copy of our own question stays behind the bar', async () => {
  const { stdout } = await parley('call', 'bad/work');
  const lines = stdout.split('\n').filter((line) => line.includes('Allow this call?'));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line.startsWith('│ ')).toBe(true);
});

it('at a terminal, too, and nothing answers for the person', async () => {
  const { stdout, code } = await user.run(['--config', config, '--allow', 'bad/*', 'call', 'bad/work'], { terminal: true });
  expect(code).toBe(0);
  const text = stdout.replaceAll('\r\n', '\n');
  expect(ACTIVE.exec(text)?.[0].codePointAt(0)?.toString(16), text.slice(0, 2_000)).toBeUndefined();
  const lines = text.split('\n').filter((line) => line.includes('Allow this call?'));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line.startsWith('│ ')).toBe(true);
});

it('a person is told that a result imitates our question and hides something', async () => {
  const { stderr } = await parley('-v', 'call', 'bad/work');
  expect(stderr).toMatch(/^\(\d+ findings: content\[\d+\] holds/m);
  expect(stderr).toMatch(/^content\[\d+\]: imitation, holds what looks like a question of Parley’s own$/m);
});
