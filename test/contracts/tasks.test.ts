// Tasks, our client against our server over every transport that carries the revision that has them.
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { connect, type CallOptions, type ConnectOptions, type Session, type TaskHandle } from '../../src/client/index.ts';
import type { Transport } from '../../src/jsonrpc/index.ts';
import type { serveHttp as ServeHttp, Server } from '../../src/server/index.ts';
import { httpTransport, memoryTransport, stdioTransport } from '../../src/transport/index.ts';

const { taskServer } = (await import(join(import.meta.dirname, 'task-server.mjs'))) as { taskServer: () => Server };
const { serveHttp } = (await import(join(import.meta.dirname, '../../dist/server/index.js'))) as { serveHttp: typeof ServeHttp };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const PLACES: Record<string, () => Promise<Transport>> = {
  memory: async () => {
    const server = taskServer();
    open.push({ close: () => server.close() });
    return memoryTransport((channel) => server.accept(channel));
  },
  stdio: async () => stdioTransport({ command: process.execPath, args: [join(import.meta.dirname, 'task-server.mjs')] }),
  http: async () => {
    const serving = await serveHttp(taskServer());
    open.push(serving);
    return httpTransport({ url: serving.url });
  },
};

async function begin(transport: Transport, options: ConnectOptions = {}): Promise<Session> {
  const session = await connect(transport, {
    inputs: {
      elicitForm: async () => ({ action: 'accept', content: { name: 'Ann' } }),
      listRoots: async () => ({ roots: [{ uri: 'file:///work' }] }),
    },
    ...options,
  });
  open.push(session);
  return session;
}

async function handleOf(session: Session, name: string, options: CallOptions = {}): Promise<TaskHandle> {
  const started = await session.startTool(name, {}, options);
  if (started.type !== 'task') throw new Error(`${name} did not become a task.`);
  return started.task;
}

const textOf = ({ content }: { content: readonly { type: string }[] }) => (content[0] as { text?: string }).text;

describe.each(Object.entries(PLACES))('over %s', (_, place) => {
  it('calls that become tasks end as other calls do', async () => {
    const session = await begin(await place());
    expect(session.server.capabilities.extensions).toEqual({ 'io.modelcontextprotocol/tasks': {} });
    const messages: unknown[] = [];
    const [quick, job, fails, breaks, asks] = await Promise.allSettled([
      session.callTool('quick'),
      session.callTool('job', {}, { onProgress: ({ message }) => messages.push(message) }),
      session.callTool('fails'),
      session.callTool('breaks'),
      session.callTool('asks'),
    ]);
    expect(quick).toMatchObject({ value: { content: [{ text: 'at once' }] } });
    expect(job).toMatchObject({ value: { content: [{ text: 'done' }] } });
    expect(messages).toContain('begun');
    expect(fails).toMatchObject({ value: { isError: true, content: [{ text: 'It did not work.' }] } });
    expect(breaks).toMatchObject({ reason: { name: 'RpcError', code: -32603 } });
    expect(asks).toMatchObject({
      value: { content: [{ text: '{"action":"accept","name":"Ann","roots":["file:///work"]}' }] },
    });
  });

  it('one whose caller gives up is stopped, and one that is cancelled by its handle says so', async () => {
    const session = await begin(await place());
    const stop = new AbortController();
    const givenUp = await handleOf(session, 'endless', { signal: stop.signal });
    const handle = await handleOf(session, 'endless');
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: 'aborted' });
    expect(textOf(await session.callTool('stopped'))).toBe('["endless"]');
    stop.abort();
    await expect(givenUp.result()).rejects.toMatchObject({ code: 'aborted' });
    await expect.poll(async () => textOf(await session.callTool('stopped'))).toBe('["endless","endless"]');
  });

  it('news of a task comes on a stream of changes', async () => {
    const session = await begin(await place());
    const handle = await handleOf(session, 'endless');
    const watch = session.watch({ taskIds: [handle.id, 'another'] });
    await expect(watch.acknowledged).resolves.toEqual({ taskIds: [handle.id] });
    const news = new Promise((resolve) => session.news.subscribe(resolve));
    await handle.cancel();
    await expect(news).resolves.toEqual({ type: 'task-changed', taskId: handle.id });
    await expect(handle.result()).rejects.toMatchObject({ code: 'aborted' });
    await watch.close();
  });

  it('a tool that requires one is refused to a client that cannot follow it', async () => {
    const session = await begin(await place(), { extensions: {} });
    await expect(session.callTool('job')).rejects.toMatchObject({ code: -32021 });
    expect(textOf(await session.callTool('asks'))).toContain('Ann');
  });
});

it('a task outlives the session that began it', async () => {
  const transport = await (PLACES['http'] as () => Promise<Transport>)();
  const first = await begin(transport);
  const { id } = await handleOf(first, 'asks');
  await first.close();
  const second = await begin(transport);
  const task = await second.resumeTask(id);
  await expect(task.result()).resolves.toMatchObject({ content: [{ text: expect.stringContaining('Ann') as string }] });
  await expect(second.resumeTask('another')).rejects.toMatchObject({ code: 'outcome-unknown' });
});
