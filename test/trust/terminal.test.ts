// What a person at a terminal has typed before a question is there is no answer to it: it may have been meant for anything.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createCliHome, type CliHome } from '../support/cli.ts';
import { SERVER } from './fixtures/scene.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 60_000 });

let user: CliHome;
beforeEach(() => {
  user = createCliHome();
});
afterEach(() => user.remove());

it.each([
  ['a whole answer', 'o\n', 'o\r\n'],
  ['an answer without its end', 'o', 'o'],
])('%s that was typed before the question allows nothing', async (_, typed, echo) => {
  const [go, log] = [join(user.project, 'go'), join(user.project, 'log')];
  // The server is up when the test says so, and with it the question.
  const args = ['-c', 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@"', go, process.execPath, SERVER, '--log', log];
  user.write('parley.json', { mcpServers: { s: { command: 'sh', args, env: user.mark } } });
  const call = user.start(['--config', 'parley.json', 'call', 's/act', 'text=x'], { terminal: true, typing: true });
  call.type(typed);
  await call.said(echo);
  writeFileSync(go, '');
  await call.said('Enter denies');
  call.type('\n');
  expect(await call.ended).toMatchObject({ code: 6 });
  expect(existsSync(log)).toBe(false);
});
