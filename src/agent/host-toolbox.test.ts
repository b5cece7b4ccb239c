import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { RpcError } from '../errors.ts';
import { loadConfig, openHost, type Approver, type Host } from '../host/index.ts';
import { createServer, serveHttp, ToolError } from '../server/index.ts';
import { hostToolbox } from './host-toolbox.ts';
import type { ToolReply } from './toolbox.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const PIXEL = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' } as const;

/** A host over one server, `desk`, whose `read` tools run without a question. */
async function openDesk(options: { readonly settings?: object; readonly approver?: Approver } = {}) {
  const server = createServer({ name: 'desk', version: '1.0.0' });
  const input = { type: 'object', properties: { text: { type: 'string', description: 'The te\u200bxt.' } } } as const;
  server.tool({ name: 'read', description: 'Reads\u202e it.\u{e0041}', input }, ({ text }) => String(text));
  server.tool({ name: 'fail' }, () => {
    throw new ToolError('There is no order 7.');
  });
  server.tool({ name: 'refuse' }, () => {
    throw new RpcError(-32602, 'bad\u200b arguments');
  });
  server.tool({ name: 'draw' }, () => [PIXEL, { type: 'text', text: 'A lamp.' }]);
  server.tool({ name: 'talk', description: 'x'.repeat(20_000) }, (_args, context) => {
    context.progress(1, 2, 'half');
    return 'talked';
  });
  server.tool({ name: 'risky' }, () => 'done');
  const { url, close } = await serveHttp(server);
  closers.push(close);
  const { config, diagnostics } = loadConfig({
    cwd: tmpdir(),
    env: {},
    home: '/nowhere',
    extra: {
      mcpServers: { desk: { type: 'http', url } },
      servers: { desk: { reviewedTools: ['read', 'fail', 'refuse', 'draw', 'talk'] } },
      ...options.settings,
    },
  });
  expect(diagnostics.filter(({ level }) => level === 'error')).toEqual([]);
  const host = openHost({
    config,
    surroundings: { env: {}, home: '/nowhere', workspaceFolder: tmpdir() },
    ...(options.approver && { approver: options.approver }),
  });
  closers.push(() => host.close());
  await host.settled({ withinMs: 15_000 });
  return { host, server };
}

const toolsOf = (host: Host) => hostToolbox(host, { takes: [] });

describe('the tools', () => {
  test('are those of the servers, under names for models, without what nobody sees in them', async () => {
    const { host } = await openDesk();
    const tools = toolsOf(host).tools();
    expect(tools.map(({ name }) => name)).toEqual(
      ['read', 'fail', 'refuse', 'draw', 'talk', 'risky'].map((name) => `desk__${name}`),
    );
    expect(tools[0]).toMatchObject({
      description: 'Reads it.',
      inputSchema: { type: 'object', properties: { text: { type: 'string', description: 'The text.' } } },
    });
  });

  test('have descriptions of at most 16 KiB', async () => {
    const { host } = await openDesk();
    const description = toolsOf(host)
      .tools()
      .find(({ name }) => name === 'desk__talk')?.description;
    expect(description).toHaveLength(16_384);
    expect(description?.endsWith('x…')).toBe(true);
  });

  test('follow what the server offers', async () => {
    const { host, server } = await openDesk();
    const toolbox = toolsOf(host);
    const changed = new Promise<void>((resolve) => {
      host.registry.changes.subscribe(({ kind }) => kind === 'tool' && resolve());
    });
    server.tool({ name: 'late' }, () => 'late');
    await changed;
    expect(toolbox.tools().map(({ name }) => name)).toContain('desk__late');
  });
});

describe('a call', () => {
  test('gives the model the text of the result, and people its beginning', async () => {
    const { host } = await openDesk();
    const reply = await toolsOf(host).call('desk__read', { text: 'Ada\u001b[31m' });
    expect(reply).toEqual<ToolReply>({
      status: 'ok',
      summary: 'Done.',
      parts: [{ type: 'text', text: 'Ada[31m' }],
      because: 'The tool is on your list of reviewed tools.',
      preview: '│ Ada\\u{1b}[31m\n(1 finding: content[0] holds control characters)',
    });
  });

  test('that fails gives the model the words of the tool, marked as an error', async () => {
    const { host } = await openDesk();
    expect(await toolsOf(host).call('desk__fail', {})).toMatchObject({
      status: 'tool-error',
      parts: [
        { type: 'text', text: 'The tool reported an error.' },
        { type: 'text', text: 'There is no order 7.' },
      ],
    });
  });

  test('that the server answers with an error says its code and message', async () => {
    const { host } = await openDesk();
    expect(await toolsOf(host).call('desk__refuse', {})).toMatchObject({
      status: 'protocol-error',
      parts: [{ type: 'text', text: 'MCP error -32602: bad arguments' }],
    });
  });

  test('that is declined tells the model only that', async () => {
    const { host } = await openDesk({
      approver: { ask: async () => ({ type: 'deny', by: 'person', message: 'Not on my watch.' }) },
    });
    expect(await toolsOf(host).call('desk__risky', {})).toEqual<ToolReply>({
      status: 'denied',
      summary: 'Declined by the user.',
      parts: [{ type: 'text', text: 'Declined by the user.' }],
      because: 'Not on my watch.',
    });
  });

  test('with arguments that do not fit says so and reaches no server', async () => {
    const { host } = await openDesk();
    const reply = await toolsOf(host).call('desk__read', { text: 7 });
    expect(reply.status).toBe('invalid');
    expect(reply.summary).toContain('Nothing was sent.');
  });

  test('whose text is too long keeps the whole in a file', async () => {
    const { host } = await openDesk({ settings: { maxResultBytes: 1_024 } });
    const text = 'x'.repeat(5_000);
    const { parts } = await toolsOf(host).call('desk__read', { text });
    const [part] = parts;
    const [, path = ''] = (part?.type === 'text' && /more in (.+)\]$/.exec(part.text)) || [];
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('passes media on to a model that takes them, and else names them', async () => {
    const { host } = await openDesk();
    expect((await hostToolbox(host, { takes: ['image'] }).call('desk__draw', {})).parts[0]).toEqual(PIXEL);
    expect((await toolsOf(host).call('desk__draw', {})).parts[0]).toMatchObject({
      text: expect.stringContaining('[image omitted'),
    });
  });

  test('passes progress on', async () => {
    const { host } = await openDesk();
    const heard: unknown[] = [];
    await toolsOf(host).call('desk__talk', {}, { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });

  test('after the host has closed is a reply all the same', async () => {
    const { host } = await openDesk();
    await host.close();
    expect(['fault', 'lost']).toContain((await toolsOf(host).call('desk__read', { text: 'x' })).status);
  });

  test('made at the same time as another is told its own reason', async () => {
    const { host } = await openDesk({ approver: { ask: async () => ({ type: 'allow', scope: 'once' }) } });
    const toolbox = toolsOf(host);
    const replies = await Promise.all([toolbox.call('desk__risky', {}), toolbox.call('desk__read', { text: 'x' })]);
    expect(replies.map(({ because }) => because)).toEqual(['It was approved.', 'The tool is on your list of reviewed tools.']);
  });
});
