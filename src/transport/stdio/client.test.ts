import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { createPeer, type JsonObject, type Message, type PeerOptions } from '../../jsonrpc/index.ts';
import { conventions } from '../../jsonrpc/fixtures/conventions.ts';
import { stdioTransport, type StdioOptions } from './client.ts';
import { open, program } from './fixtures/open.ts';
import { listen } from './fixtures/heard.ts';

async function openPeer(mode: string, options?: Partial<StdioOptions>, peerOptions?: Partial<PeerOptions>) {
  return createPeer(await open(mode, options), { conventions, ...peerOptions });
}

const ask = (id: number, params: JsonObject = {}): Message => ({ jsonrpc: '2.0', id, method: 'echo', params });

test('a server answers what it is asked, in any script and whatever the locale', async () => {
  const peer = await openPeer('echo', { env: { LANG: 'C', LC_ALL: 'C' } });
  const params = { text: '日本 😀 \u2028' };
  expect(await peer.request('anything', params)).toEqual({ method: 'anything', params });
});

test('text, log objects, numbers and null between the messages are reported and harm nothing', async () => {
  const kinds: string[] = [];
  const peer = await openPeer('noise', {}, { onProblem: (problem) => kinds.push(problem.kind) });
  await peer.request('a');
  expect(await peer.request('b')).toEqual({ method: 'b', params: {} });
  expect(kinds).toEqual(Array<string>(11).fill('noise'));
});

test.for(['bom', 'crlf', 'split'])('framing as odd as "%s" is understood', async (mode) => {
  const peer = await openPeer(mode);
  const expected = { bom: { method: 'a', params: {} }, crlf: { line: 'CRLF' }, split: { text: 'a😀b' } }[mode];
  expect(await peer.request('a')).toEqual(expected);
});

test('an answer of several megabytes arrives', async () => {
  const peer = await openPeer('large');
  const { text } = await peer.request('a', { size: 5_000_000 });
  expect(text).toHaveLength(5_000_000);
});

test('an answer of 17 MB fails its own request at once and no other', async () => {
  const peer = await openPeer('large');
  const [over, next] = await Promise.allSettled([peer.request('a', { size: 17_000_000 }), peer.request('b', { size: 3 })]);
  expect(over.status === 'rejected' && isParleyError(over.reason, 'limit')).toBe(true);
  expect(next).toEqual({ status: 'fulfilled', value: { text: 'xxx' } });
  // The cap is a setting.
  const wider = await openPeer('large', { maxLineBytes: 18_000_000 });
  expect((await wider.request('a', { size: 17_000_000 }))['text']).toHaveLength(17_000_000);
});

test('a third message within a minute that is too large ends the line', async () => {
  const peer = await openPeer('large', { maxLineBytes: 1_000 });
  const results = await Promise.allSettled([1, 2, 3].map(() => peer.request('a', { size: 2_000 })));
  expect(results.map((result) => result.status === 'rejected' && isParleyError(result.reason, 'limit'))).toEqual([
    true,
    true,
    true,
  ]);
  expect(await peer.ended).toMatchObject({
    by: 'lost',
    error: { code: 'limit', details: { limit: 'maxOversized', allowed: 2, observed: 3 } },
  });
});

test('an endless message is dropped in constant memory and the line given up in the end', async () => {
  const channel = await open('endless', { maxLineBytes: 65_536, messageMs: 500 });
  const before = process.memoryUsage.rss();
  const heard = listen(channel);
  expect(await heard.ended).toMatchObject({
    by: 'lost',
    error: { code: 'limit', details: { limit: 'messageMs', allowed: 500 } },
  });
  expect(heard.problems.map(({ kind }) => kind)).toEqual(['oversized']);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1_048_576);
});

test('a message that begins and does not go on ends the line', async () => {
  const peer = await openPeer('bom', { stallMs: 50 });
  // The mark alone is a line that has begun.
  expect(await peer.ended).toMatchObject({ by: 'lost', error: { code: 'limit', details: { limit: 'stallMs' } } });
});

test('a program that prints instead of speaking MCP is given up with a hint', async () => {
  const heard = listen(await open('noise-flood'));
  const { by, error } = await heard.ended;
  expect([by, error.code]).toEqual(['lost', 'not-mcp']);
  expect(error.message).toContain('the server prints to stdout');
  expect(heard.problems).toHaveLength(100);
});

test('a program that prints something at every request is borne, however often it is asked', async () => {
  const peer = await openPeer('noise');
  for (let time = 0; time < 60; time++) expect(await peer.request('a')).toEqual({ method: 'a', params: {} });
});

test('a reply without its version fails its request as a violation', async () => {
  const peer = await openPeer('no-version');
  await expect(peer.request('a')).rejects.toMatchObject({ code: 'protocol-violation' });
});

test('an answer that is not UTF-8 fails its request as a violation', async () => {
  const peer = await openPeer('bad-utf8');
  await expect(peer.request('a')).rejects.toMatchObject({ code: 'protocol-violation' });
});

test('messages sent in one turn arrive in order and are all handed over', async () => {
  const channel = await open('echo');
  const heard = listen(channel);
  await Promise.all(Array.from({ length: 500 }, (_, id) => channel.send(ask(id))));
  await heard.until(() => heard.messages.length === 500);
  expect(heard.messages.map((message) => (message as { id: number }).id)).toEqual(Array.from({ length: 500 }, (_, id) => id));
});

test('a server that never reads stops the sender at its cap, and ends the line in time', async () => {
  const channel = await open('never-reads', { maxBacklogBytes: 300_000, drainMs: 200 });
  const heard = listen(channel);
  const sends = Array.from({ length: 5 }, (_, id) => channel.send(ask(id, { text: 'x'.repeat(99_000) })));
  const settled = Promise.allSettled(sends);
  await expect(sends[4]).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxBacklogBytes', unsent: true } });
  expect(await heard.ended).toMatchObject({ by: 'lost', error: { code: 'limit', details: { limit: 'drainMs', allowed: 200 } } });
  const limits = (await settled).map((result) =>
    result.status === 'rejected' ? (result.reason as { details: JsonObject }).details['limit'] : result.status,
  );
  // Of the first two the system took as much as it has room for.
  expect(limits.slice(2)).toEqual(['drainMs', 'maxBacklogBytes', 'maxBacklogBytes']);
});

test('writes that wait end when the child is killed', async () => {
  const channel = await open('never-reads');
  const heard = listen(channel);
  const sending = channel.send(ask(1, { text: 'x'.repeat(1_000_000) }));
  const refused = expect(sending).rejects.toMatchObject({ code: 'server-stopped', details: { signal: 'SIGKILL' } });
  process.kill(channel.pid, 'SIGKILL');
  await refused;
  expect((await heard.ended).error).toMatchObject({ code: 'server-stopped', details: { exitCode: null, signal: 'SIGKILL' } });
  await expect(channel.send(ask(2))).rejects.toBe((await heard.ended).error);
});

test('writes that wait end when the line is closed', async () => {
  const channel = await open('never-reads', { shutdown: { eofMs: 50, termMs: 1_000 } });
  const sending = channel.send(ask(1, { text: 'x'.repeat(1_000_000) }));
  const refused = expect(sending).rejects.toMatchObject({ code: 'closed' });
  await channel.close();
  await refused;
});

test('a message sent just before the line is closed still arrives', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  const logFile = join(folder, 'server.log');
  const script = "process.stdin.on('data', (text) => process.stderr.write(text))";
  const channel = await open('', { args: ['-e', script], logFile });
  const sent = channel.send(ask(1));
  await channel.close();
  await sent;
  expect(readFileSync(logFile, 'utf8')).toBe(`${JSON.stringify(ask(1))}\n`);
  rmSync(folder, { recursive: true });
});

test('standard error is drained before any answer, and its end is at hand', async () => {
  const channel = await open('stderr-flood');
  const peer = createPeer(channel, { conventions });
  await peer.request('a');
  await peer.close();
  expect(Buffer.byteLength(channel.stderr())).toBeLessThanOrEqual(262_144);
  expect(channel.stderr().trimEnd().split('\n').at(-1)).toMatch(/^ +1023 x+$/);
});

test('standard error goes to a file of its own, for this user alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  const logFile = join(folder, 'logs', 'server.log');
  const channel = await open('log-lines', { args: [program, 'log-lines', '100'], logFile });
  await createPeer(channel, { conventions }).request('a');
  await channel.close();
  expect(readFileSync(logFile, 'utf8')).toBe(Array.from({ length: 100 }, (_, count) => `line ${count}\n`).join(''));
  expect(channel.stderr()).toBe(readFileSync(logFile, 'utf8'));
  expect(statSync(logFile).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
  rmSync(folder, { recursive: true });
});

test('a log file that cannot be written is reported once and costs nothing else', async () => {
  const reports: unknown[] = [];
  const channel = await open('stderr-flood', { logFile: '/dev/null/x/server.log', log: (...report) => reports.push(report) });
  await createPeer(channel, { conventions }).request('a');
  expect(reports).toMatchObject([['warn', expect.any(String), { logFile: '/dev/null/x/server.log' }]]);
});

test('a server gets no variable of ours but the harmless ones, and those it was given', async () => {
  const secret = { PARLEY_TEST_SECRET: 'x', NODE_OPTIONS: '--no-warnings', SSH_AUTH_SOCK: '/x', GIT_DIR: '/x', LC_TIME: 'C' };
  Object.assign(process.env, secret);
  try {
    const peer = await openPeer('environment', { env: { API_KEY: 'declared' } });
    const environment = await peer.request('a');
    const harmless = ['HOME', 'LOGNAME', 'USER', 'PATH', 'SHELL', 'LANG', 'TZ', 'TMPDIR', 'TERM', 'API_KEY', 'PARLEY_CHILD'];
    expect(Object.keys(environment).filter((name) => !harmless.includes(name) && !name.startsWith('LC_'))).toEqual([]);
    const path = process.env['PATH']?.split(':').filter((folder) => !folder.endsWith('/node_modules/.bin'));
    expect(environment).toMatchObject({ API_KEY: 'declared', TERM: 'dumb', LC_TIME: 'C', PATH: path?.join(':') });
  } finally {
    for (const name of Object.keys(secret)) Reflect.deleteProperty(process.env, name);
  }
});

test('a server runs in its own folder and inherits nothing open but its three streams', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'parley-')));
  const channel = await open('where', { cwd });
  expect(await createPeer(channel, { conventions }).request('a')).toEqual({ cwd, files: [], pid: channel.pid });
  await channel.close();
  rmSync(cwd, { recursive: true });
});

test('arguments reach the program as they are: no shell reads them', async () => {
  const args = ['$HOME', '*', 'a b', '"', "'", '`id`', '$(id)', '; exit', '&&', '\\', '', '\n'];
  const script = 'console.log(JSON.stringify({ jsonrpc: "2.0", method: "args", params: { args: process.argv.slice(1) } }))';
  const heard = listen(await open('', { args: ['-e', script, '--', ...args] }));
  await heard.ended;
  expect(heard.messages).toEqual([{ jsonrpc: '2.0', method: 'args', params: { args } }]);
});

test('a command that does not exist, or may not be run, is unreachable at once and named', async () => {
  const start = (options: StdioOptions) => stdioTransport(options).open();
  await expect(start({ command: 'no-such-command-anywhere' })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('"no-such-command-anywhere" cannot be started: it was not found') as string,
  });
  await expect(start({ command: program })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('may not be executed') as string,
  });
  await expect(start({ command: process.execPath, cwd: '/no/such/folder' })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('"/no/such/folder" does not exist') as string,
  });
  await expect(start({ command: 'a\0b' })).rejects.toMatchObject({ code: 'unreachable' });
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  const script = join(folder, 'script');
  writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
  const broken = start({ command: script, privateCwd: true });
  await expect(broken).rejects.toThrow('the program that its first line or header names was not found');
  rmSync(folder, { recursive: true });
});

test('a server may start in an empty folder of its own, which goes with it', async () => {
  const channel = await open('where', { privateCwd: true });
  const { cwd } = await createPeer(channel, { conventions }).request('a');
  expect(statSync(cwd as string).mode & 0o777).toBe(0o700);
  await channel.close();
  expect(statSync(cwd as string, { throwIfNoEntry: false })).toBeUndefined();
});

test('an error at the start repeats neither arguments nor variables, as they may be secret', async () => {
  const secrets = { args: ['--key', 'hunter2', 'x\0'], env: { KEY: 'hunter2' } };
  for (const command of ['no-such-command-anywhere', process.execPath]) {
    const error: unknown = await stdioTransport({ command, ...secrets })
      .open()
      .catch((reason: unknown) => reason);
    expect(isParleyError(error, 'unreachable')).toBe(true);
    expect(inspect(error, { depth: null })).not.toContain('hunter2');
  }
});

test('an opening that was cancelled before starts nothing', async () => {
  const transport = stdioTransport({ command: process.execPath, args: [program, 'echo'] });
  await expect(transport.open({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
});

test('an opening that is cancelled on the way leaves no process', async () => {
  const controller = new AbortController();
  const opening = stdioTransport({ command: process.execPath, args: [program, 'echo'] }).open({ signal: controller.signal });
  controller.abort();
  await expect(opening).rejects.toMatchObject({ code: 'aborted' });
});

test('a transport is known by its command line, without the secrets in it', () => {
  const args = [
    '-y',
    'some-server',
    '--api-key',
    'k1',
    '--token=k2',
    'PASSWORD=k3',
    '--url',
    'https://u:k4@host/',
    '--flag',
    'a b',
  ];
  const { target, kind } = stdioTransport({ command: 'npx', args });
  expect([kind, target]).toEqual([
    'stdio',
    'npx -y some-server --api-key *** --token=*** PASSWORD=*** --url https://***@host/ --flag "a b"',
  ]);
  expect(stdioTransport({ command: 'x', args: ['y'.repeat(500)] }).target).toHaveLength(200);
});
