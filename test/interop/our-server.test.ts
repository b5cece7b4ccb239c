// The official clients, of both lines and both eras, against a server of ours over every transport.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { serveHttp, type HttpServing } from '../../src/server/index.ts';
import { createDemo, type Demo } from './fixtures/demo-server.mjs';
import { connectNew, connectOld, type CallOptions, type Official, type Way } from './fixtures/official-clients.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const stdio: Way = {
  kind: 'stdio',
  command: process.execPath,
  args: [join(import.meta.dirname, 'fixtures/demo-server.mjs')],
  env: { PATH: process.env['PATH'] ?? '', PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'] ?? '' },
};

let demo: Demo;
let serving: HttpServing;

beforeAll(async () => {
  demo = createDemo();
  serving = await serveHttp(demo.server, { sse: true });
});

afterAll(async () => {
  await serving.close();
});

const http = (): Way => ({ kind: 'http', url: serving.url });
const sse = (): Way => ({ kind: 'sse', url: new URL('/sse', serving.url).href });

const CLIENTS: readonly [name: string, revision: string, connect: () => Promise<Official>][] = [
  ['client 2.x, modern, stdio', '2026-07-28', () => connectNew(stdio, 'modern')],
  ['client 2.x, modern, http', '2026-07-28', () => connectNew(http(), 'modern')],
  ['client 2.x, legacy, stdio', '2025-11-25', () => connectNew(stdio, 'legacy')],
  ['client 2.x, legacy, http', '2025-11-25', () => connectNew(http(), 'legacy')],
  ['sdk 1.x, stdio', '2025-11-25', () => connectOld(stdio)],
  ['sdk 1.x, http', '2025-11-25', () => connectOld(http())],
  ['sdk 1.x, sse', '2025-11-25', () => connectOld(sse())],
];

describe.each(CLIENTS)('%s', (_name, revision, connect) => {
  let client: Official;
  beforeAll(async () => {
    client = await connect();
  });
  afterAll(async () => {
    await client.close();
  });

  const text = async (name: string) => (await client.call(name)).content[0]?.text;
  const toldOf = (method: string) => client.told.filter((each) => each.method === method);
  const seen = async () => JSON.parse((await text('history')) as string) as string[];

  it('agrees on the newest revision of its era and reads the instructions', async () => {
    expect(JSON.parse((await text('whoami')) as string)).toEqual({ era: client.era, revision, name: 'official' });
    expect(client.instructions).toBe('Be brief.');
  });

  it('lists all of 1,000 tools over many pages, and everything else', async () => {
    const tools = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('tool-'))).toHaveLength(1_000);
    expect(new Set(names).size).toBe(names.length);
    expect(tools.find(({ name }) => name === 'add')).toMatchObject({
      title: 'Add',
      inputSchema: { type: 'object', required: ['a', 'b'] },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    });
    expect(await client.listPrompts()).toMatchObject([{ name: 'translate', arguments: [{ name: 'text', required: true }, {}] }]);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(['memo://greeting', 'memo://bytes']);
    expect((await client.listTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(['memo://words/{language}']);
  });

  it('calls tools: structured content, errors of the tool, wrong arguments and faults', async () => {
    expect(await client.call('add', { a: 2, b: 3 })).toMatchObject({
      structuredContent: { sum: 5 },
      content: [{ type: 'text', text: '{"sum":5}' }],
    });
    expect(await client.call('fail')).toMatchObject({ isError: true, content: [{ text: 'The printer is on fire.' }] });
    expect(await client.call('add', { a: 'x', b: 3 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('a: ') as string }],
    });
    await expect(client.call('break')).rejects.toMatchObject({
      code: -32603,
      message: expect.not.stringContaining('secret') as string,
    });
    await expect(client.call('nope')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool') as string,
    });
  });

  it('hears of progress, all of it and in order, before the result', async () => {
    // These clients lose what arrives in one piece with the result: they put off notifications and take results at once. So
    // each step waits until the one before was heard.
    const heard: string[] = [];
    const next: Promise<unknown>[] = [];
    const onprogress: CallOptions['onprogress'] = ({ progress, total, message }) => {
      heard.push(`${progress}/${String(total)} ${String(message)}`);
      next.push(client.call('next'));
    };
    const result = await client.call('steps', { steps: 10 }, { onprogress });
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    expect(heard).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 1}/10 step ${at + 1}`));
    await Promise.all(next);
  });

  it('cancels a call, of which its handler hears', async () => {
    const count = (await seen()).filter((each) => each === 'wait aborted').length;
    const stop = new AbortController();
    const call = client.call('wait', {}, { signal: stop.signal, onprogress: () => stop.abort() });
    await expect(call).rejects.toThrow();
    await expect.poll(async () => (await seen()).filter((each) => each === 'wait aborted').length).toBe(count + 1);
  });

  it('reads resources, by their URIs and by a template', async () => {
    expect(await client.read('memo://greeting')).toMatchObject({
      contents: [{ uri: 'memo://greeting', mimeType: 'text/plain', text: 'Good day' }],
    });
    expect(await client.read('memo://bytes')).toMatchObject({ contents: [{ blob: 'AP8B' }] });
    expect(await client.read('memo://words/german')).toMatchObject({ contents: [{ text: 'A word in german' }] });
    await expect(client.read('memo://nothing')).rejects.toMatchObject({ code: client.notFound });
  });

  it('gets prompts and completes their arguments', async () => {
    expect(await client.getPrompt('translate', { text: 'good day', into: 'german' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Translate "good day" into german.' } }],
    });
    await expect(client.getPrompt('translate', {})).rejects.toMatchObject({ code: -32602 });
    const prompt = { type: 'ref/prompt', name: 'translate' } as const;
    expect(await client.complete(prompt, 'into', 'e')).toEqual(['english', 'esperanto']);
    expect(await client.complete(prompt, 'into', 'e', { text: 'saluton' })).toEqual(['english']);
    const template = { type: 'ref/resource', uri: 'memo://words/{language}' } as const;
    expect(await client.complete(template, 'language', 'g')).toEqual(['german']);
  });

  it('answers what the server asks: a form, a message of its model, its roots', async () => {
    expect(await text('ask')).toBe('Hello Ada, 36');
    expect(await text('sample')).toBe('m-1: Roses are red');
    expect(await text('roots')).toBe('file:///work');
  });

  it('hears of a resource it follows and of new tools, until it stops', async () => {
    const stop = await client.follow('memo://greeting');
    const updated = toldOf('notifications/resources/updated').length;
    expect(await text('touch')).toBe('touched');
    await expect
      .poll(() => toldOf('notifications/resources/updated').slice(updated))
      .toMatchObject([{ params: { uri: 'memo://greeting' } }]);
    const changed = toldOf('notifications/tools/list_changed').length;
    const grown = await text('grow');
    await expect.poll(() => toldOf('notifications/tools/list_changed').length).toBe(changed + 1);
    expect((await client.listTools()).map(({ name }) => name)).toContain(grown);
    await stop();
    const stopOther = await client.follow('memo://bytes');
    await text('touch');
    // A change that is still told: the first would have come before it.
    await text('grow');
    await expect.poll(() => toldOf('notifications/tools/list_changed').length).toBe(changed + 2);
    expect(toldOf('notifications/resources/updated')).toHaveLength(updated + 1);
    await stopOther();
  });

  it('is told what is logged from the level it set', async () => {
    const levels = () => toldOf('notifications/message').map(({ params }) => (params as { level: string }).level);
    await client.setLogLevel('error');
    const before = levels().length;
    await text('log');
    expect(levels().slice(before)).toEqual(['error']);
    await client.setLogLevel('debug');
    await text('log');
    expect(levels().slice(before)).toEqual(['error', 'debug', 'error']);
  });

  it('pings', async () => {
    await client.ping();
  });
});

describe('one endpoint', () => {
  const open: Official[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((client) => client.close()));
  });

  it('serves clients of both eras and all transports at the same time', async () => {
    open.push(
      ...(await Promise.all([connectNew(http(), 'modern'), connectNew(http(), 'legacy'), connectOld(http()), connectOld(sse())])),
    );
    const heard = await Promise.all(
      open.map(async (client) => {
        const stop = await client.follow('memo://greeting');
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, at) => client.call(at % 2 === 0 ? 'add' : 'ask', at % 2 === 0 ? { a: at, b: 1 } : {})),
        );
        return { stop, results };
      }),
    );
    for (const { results } of heard) {
      expect(results.map(({ structuredContent, content }) => structuredContent ?? content[0]?.text)).toEqual(
        Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? { sum: at + 1 } : 'Hello Ada, 36')),
      );
    }
    await open[0]?.call('touch');
    for (const client of open) {
      await expect.poll(() => client.told.map(({ method }) => method)).toContain('notifications/resources/updated');
    }
    for (const { stop } of heard) await stop();
  });
});
