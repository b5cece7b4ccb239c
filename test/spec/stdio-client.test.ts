// The client on standard streams (2026-07-28, basic/transports/stdio), with real processes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { connect, type News } from '../../src/client/index.ts';
import { loadConfig, openHost } from '../../src/host/index.ts';
import { stdioTransport, type StdioChannel } from '../../src/transport/index.ts';
import { closing } from './fixtures/servers.ts';

const open = closing();
const program = join(import.meta.dirname, 'fixtures/stdio-server.mjs');
const directory = mkdtempSync(join(tmpdir(), 'parley-stdio-'));
afterAll(() => rmSync(directory, { recursive: true }));

const textOf = ({ content }: { content: readonly object[] }) => (content[0] as { text: string }).text;

test.each(['modern', 'unknown-method'])(
  'nothing but whole messages is written to a server, one a line, and no answer to a modern one: %s (“Messages”, “Sending Messages”)',
  async (mode) => {
    const transport = stdioTransport({ command: process.execPath, args: [program, mode] });
    const session = open(await connect(transport, { inputs: { listRoots: async () => ({ roots: [{ uri: 'file:///a' }] }) } }));
    const news: News[] = [];
    session.news.subscribe((item) => news.push(item));
    const odd = 'line\nfeed\r\n \u2028 \u2029 \u0000 "quoted" 世界 😀';
    expect(JSON.parse(textOf(await session.callTool('echo', { odd })))).toEqual({ odd });
    await session.callTool('asks');
    const stop = new AbortController();
    const slow = session.callTool('slow', {}, { signal: stop.signal });
    await session.callTool('in between');
    stop.abort();
    await expect(slow).rejects.toMatchObject({ code: 'aborted' });

    const heard = textOf(await session.callTool('heard'));
    const messages = heard
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { jsonrpc: string; id?: unknown; method?: string; params?: Record<string, unknown> });
    expect(heard).not.toContain('\r');
    for (const message of messages) expect(message.jsonrpc).toBe('2.0');
    // “Cancellation”: by a notification that names the request.
    const slowId = messages.find(({ params }) => params?.['name'] === 'slow')?.id;
    expect(messages.filter(({ method }) => method === 'notifications/cancelled')).toMatchObject([
      { params: { requestId: slowId } },
    ]);
    const answers = messages.filter(({ method }) => method === undefined);
    // The handshake era has requests of the server, and there each is answered.
    expect(answers).toEqual(mode === 'modern' ? [] : [{ jsonrpc: '2.0', id: 'q', result: { roots: [{ uri: 'file:///a' }] } }]);
    expect(news.filter(({ type }) => type === 'problem')).toHaveLength(mode === 'modern' ? 1 : 0);
  },
);

test('after a server was killed, its next process is asked for changes again (“Unexpected Termination”, patterns/subscriptions “Graceful Closure”)', async () => {
  const { config } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers: { s: { command: process.execPath, args: [program, 'modern'] } } },
  });
  const host = open(openHost({ config, surroundings: { env: process.env, home: directory, workspaceFolder: directory } }));
  const heard = async () => {
    const session = await host.session('s');
    return { session, pid: (session.channel as StdioChannel).pid, text: textOf(await session.callTool('heard')) };
  };
  const first = await heard();
  const waiting = first.session.callTool('slow');
  process.kill(first.pid, 'SIGKILL');
  await expect(waiting).rejects.toMatchObject({ code: 'server-stopped' });
  await expect.poll(async () => (await heard()).text, { timeout: 15_000 }).toContain('subscriptions/listen');
  const second = await heard();
  expect(second.pid).not.toBe(first.pid);
  // The lost call is not made again by itself.
  expect(second.text).not.toContain('"slow"');
});
