// Our client against our server: one conversation, over every transport, in every revision. What differs between eras must not
// show to either side's application.
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type * as Serving from '../../src/server/index.ts';
import { connect, type News, type Session } from '../../src/client/index.ts';
import type { Transport } from '../../src/jsonrpc/index.ts';
import { REVISIONS, type Revision } from '../../src/protocol/index.ts';
import { httpTransport, memoryTransport, sseTransport, stdioTransport, tap } from '../../src/transport/index.ts';
import { createSchemaCheck } from './schema.ts';

interface Place {
  readonly transport: Transport;
  close(): Promise<void>;
}

const { contractServer } = (await import(join(import.meta.dirname, 'server.mjs'))) as { contractServer: () => Serving.Server };
const { serveHttp } = (await import(join(import.meta.dirname, '../../dist/server/index.js'))) as Pick<
  typeof Serving,
  'serveHttp'
>;

const PLACES: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const server = contractServer();
    return { transport: memoryTransport((channel) => server.accept(channel)), close: () => server.close() };
  },
  stdio: async () => ({
    transport: stdioTransport({ command: process.execPath, args: [join(import.meta.dirname, 'server.mjs')] }),
    close: async () => {},
  }),
  http: async () => {
    const { url, close } = await serveHttp(contractServer());
    return { transport: httpTransport({ url }), close };
  },
  sse: async () => {
    const { url, close } = await serveHttp(contractServer(), { sse: true });
    return { transport: sseTransport({ url: new URL('/sse', url).href }), close };
  },
};

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** Resolves with the first news that fits. */
const heard = <N extends News>(session: Session, fits: (news: News) => news is N) =>
  new Promise<N>((resolve) => {
    const stop = session.news.subscribe((news) => {
      if (!fits(news)) return;
      stop();
      resolve(news);
    });
  });

const textOf = ({ content }: { content: readonly { type: string }[] }) => (content[0] as { text?: string }).text;

// The deprecated transport never carried a modern revision.
const PAIRS = Object.keys(PLACES).flatMap((place) =>
  REVISIONS.filter((revision) => place !== 'sse' || revision !== '2026-07-28').map((revision) => [place, revision] as const),
);

describe.each(PAIRS)('over %s in %s', (placeName, revision: Revision) => {
  async function begin() {
    const place = await (PLACES[placeName] as () => Promise<Place>)();
    open.push(place);
    const check = createSchemaCheck(revision);
    const session = await connect(tap(place.transport, check.observe), {
      revisions: [revision],
      inputs: {
        elicitForm: async () => ({ action: 'accept', content: { name: 'Ann' } }),
        sample: async () => ({ role: 'assistant', content: { type: 'text', text: 'Roses' }, model: 'm' }),
        listRoots: async () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
      },
    });
    open.push(session);
    return { session, check };
  }

  it('a whole conversation goes as it should, and every message is valid by the specification', async () => {
    const { session, check } = await begin();
    expect(session.revision).toBe(revision);
    expect(session.server.info).toMatchObject({ name: 'contract', version: '1.2.3' });
    expect(session.server.instructions).toBe('Be brief.');

    const { items, rejected } = await session.listTools();
    expect([items.filter(({ name }) => name.startsWith('bulk_')).length, rejected]).toEqual([1_000, []]);

    expect(textOf(await session.callTool('echo', { text: 'grüße 世界' }))).toBe('grüße 世界');
    expect(await session.callTool('fails')).toMatchObject({ isError: true, content: [{ text: 'It did not work.' }] });
    await expect(session.callTool('breaks')).rejects.toMatchObject({
      code: -32603,
      message: expect.not.stringContaining('secret') as string,
    });
    await expect(session.callTool('missing')).rejects.toMatchObject({ code: -32602 });
    expect(await session.callTool('echo', { text: 7 })).toMatchObject({ isError: true });
    if (revision >= '2025-06-18') expect(await session.callTool('structured')).toMatchObject({ structuredContent: { sum: 3 } });

    const steps: unknown[] = [];
    const done = session
      .callTool('progress', {}, { onProgress: ({ progress }) => steps.push(progress) })
      .then(() => steps.push('done'));
    await done;
    expect(steps).toEqual([1, 2, 3, 'done']);

    const stop = new AbortController();
    const waiting = session.callTool('waits', {}, { signal: stop.signal });
    await session.callTool('echo', { text: 'in between' });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect.poll(async () => textOf(await session.callTool('cancelled'))).toBe('["waits"]');

    if (revision >= '2025-06-18') {
      const answers = JSON.parse(textOf(await session.callTool('asks')) ?? '') as unknown;
      expect(answers).toEqual({ action: 'accept', name: 'Ann', poem: 'Roses', roots: ['file:///work'] });
    }

    expect((await session.listResources()).items.map(({ uri }) => uri)).toEqual(['note://today', 'note://picture']);
    expect((await session.listResourceTemplates()).items).toMatchObject([{ uriTemplate: 'note://{day}/lines/{line}' }]);
    expect((await session.readResource('note://today')).contents).toMatchObject([{ text: 'Buy milk.' }]);
    expect((await session.readResource('note://picture')).contents).toMatchObject([{ blob: 'AQID' }]);
    expect((await session.readResource('note://monday/lines/a%2Fb')).contents).toMatchObject([{ text: 'monday, line a/b' }]);
    await expect(session.readResource('note://nowhere')).rejects.toMatchObject({
      code: revision === '2026-07-28' ? -32602 : -32002,
    });

    expect((await session.listPrompts()).items).toMatchObject([{ name: 'review' }]);
    expect((await session.getPrompt('review', { text: 'x' })).messages).toMatchObject([
      { content: { text: 'Please review: x' } },
    ]);
    const ref = { type: 'ref/prompt', name: 'review' } as const;
    expect((await session.complete({ ref, argument: { name: 'text', value: 'a' } })).completion.values).toEqual(['a!']);
    const template = { type: 'ref/resource', uri: 'note://{day}/lines/{line}' } as const;
    expect((await session.complete({ ref: template, argument: { name: 'day', value: 't' } })).completion.values).toEqual([
      'tuesday',
    ]);
    await session.ping();

    expect(check.problems).toEqual([]);
    // What the check knows by name; a check that recognised nothing would find nothing wrong.
    for (const name of [
      'CallToolRequest',
      'CallToolResult',
      'ListToolsResult',
      'ReadResourceResult',
      'ProgressNotification',
      'CompleteResult',
    ]) {
      expect(check.seen).toContain(name);
    }
  });

  it('changes and log messages are heard when they were asked for', async () => {
    const { session, check } = await begin();
    const watch = session.watch({ toolsListChanged: true, resourceSubscriptions: ['note://today'] });
    await expect(watch.acknowledged).resolves.toMatchObject({
      toolsListChanged: true,
      resourceSubscriptions: ['note://today'],
    });

    const changed = heard(session, (news): news is News & { type: 'tools-changed' } => news.type === 'tools-changed');
    await session.callTool('grows');
    await changed;
    expect((await session.listTools()).items.some(({ name }) => name === 'grown_0')).toBe(true);

    const updated = heard(session, (news): news is News & { type: 'resource-updated' } => news.type === 'resource-updated');
    await session.callTool('touches');
    expect(await updated).toEqual({ type: 'resource-updated', uri: 'note://today' });

    await session.setLogLevel('info');
    const logged = heard(session, (news): news is News & { type: 'log' } => news.type === 'log');
    await session.callTool('logs');
    expect((await logged).message).toEqual({ level: 'warning', logger: 'contract', data: { careful: true } });
    await watch.close();
    expect(check.problems).toEqual([]);
  });
});
