// Our client against servers that nobody here wrote: the official one of both eras, and server-everything in its three ways.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect, type ConnectOptions, type InputHandlers, type News, type Session } from '../../src/client/index.ts';
import type { Transport } from '../../src/jsonrpc/index.ts';
import type { Revision } from '../../src/protocol/index.ts';
import { eitherTransport, httpTransport, sseTransport, stdioTransport } from '../../src/transport/index.ts';
import { script, startEverything, startOfficial, type Listening } from './fixtures/peers.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const MARK = { PARLEY_TEST_FILE: process.env['PARLEY_TEST_FILE'] ?? '' };
const stdio = (...args: string[]) => stdioTransport({ command: process.execPath, args, env: MARK });

const listening: Listening[] = [];
let urls: { readonly streamable: string; readonly sse: string; readonly official: string; readonly modernOnly: string };

beforeAll(async () => {
  const started = await Promise.all([
    startEverything('streamableHttp'),
    startEverything('sse'),
    startOfficial(),
    startOfficial(['--legacy', 'reject']),
  ]);
  listening.push(...started);
  const [streamable, sse, official, modernOnly] = started.map(({ url }) => url) as [string, string, string, string];
  urls = { streamable, sse, official, modernOnly };
});

afterAll(async () => {
  await Promise.all(listening.map((server) => server.stop()));
});

const inputs: InputHandlers = {
  elicitForm: async () => ({ action: 'accept', content: { name: 'Ada' } }),
  sample: async () => ({ role: 'assistant', model: 'm-1', content: { type: 'text', text: 'Roses are red' } }),
  listRoots: async () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
};

interface Conversation {
  readonly session: Session;
  readonly news: News[];
}

async function converse(transport: Transport, options: ConnectOptions = {}): Promise<Conversation> {
  // However long a server takes to start here, it is asked for the newest revision first.
  const session = await connect(transport, { inputs, probeTimeoutMs: 60_000, connectTimeoutMs: 90_000, ...options });
  const news: News[] = [];
  session.news.subscribe((each) => news.push(each));
  return { session, news };
}

const textOf = (result: { content: readonly object[] }) =>
  result.content.map((block) => ('text' in block ? String(block.text) : '')).join('\n');

/** The names and arguments by which a server does the same things as the others. */
interface Facts {
  readonly revision: Revision;
  readonly ok: readonly [tool: string, args: Record<string, unknown>, text: string];
  readonly structured: readonly [tool: string, args: Record<string, unknown>];
  readonly failing: readonly [tool: string, args: Record<string, unknown>, text: RegExp];
  readonly slow: (steps: number) => readonly [tool: string, args: Record<string, unknown>];
  readonly resource: readonly [uri: string, text: RegExp];
  readonly template: string;
  readonly prompt: readonly [name: string, args: Record<string, string>, text: RegExp];
  readonly completion: readonly [argument: string, typed: string, values: readonly string[]];
  readonly inputs: readonly (readonly [tool: string, args: Record<string, unknown>, text: RegExp])[];
}

const official = {
  ok: ['echo', { text: 'hé', times: 2 }, 'hé hé'],
  structured: ['add', { a: 1, b: 2 }],
  failing: ['fail', {}, /The printer is on fire/],
  slow: (steps) => ['slow', { steps, stepMs: 1 }],
  resource: ['memo://greeting', /^Good day$/],
  template: 'memo://words/{language}',
  prompt: ['translate', { text: 'good day', into: 'german' }, /^Translate "good day" into german\.$/],
  completion: ['into', 'e', ['english', 'esperanto']],
  inputs: [
    ['ask', {}, /^Hello Ada$/],
    ['sample', {}, /^m-1: Roses are red$/],
    ['roots', {}, /^file:\/\/\/work$/],
  ],
} as const satisfies Omit<Facts, 'revision'>;

const everything: Facts = {
  revision: '2025-11-25',
  ok: ['echo', { message: 'hé' }, 'Echo: hé'],
  structured: ['get-structured-content', { location: 'Chicago' }],
  failing: ['get-resource-reference', { resourceId: -1 }, /Invalid resourceId: -1/],
  slow: (steps) => ['trigger-long-running-operation', { duration: steps / 500, steps }],
  resource: ['demo://resource/dynamic/text/7', /^Resource 7: /],
  template: 'demo://resource/dynamic/text/{resourceId}',
  prompt: ['args-prompt', { city: 'Oslo' }, /weather in Oslo/],
  completion: ['', '', []],
  inputs: [
    ['trigger-elicitation-request', {}, /- Name: Ada/],
    ['trigger-sampling-request', { prompt: 'A poem', maxTokens: 10 }, /Roses are red/],
    ['get-roots-list', {}, /URI: file:\/\/\/work/],
  ],
};

const SERVERS: readonly [name: string, facts: Facts, open: () => Promise<Conversation>][] = [
  ['official, modern, stdio', { ...official, revision: '2026-07-28' }, () => converse(stdio(script.official, 'stdio'))],
  [
    'official, modern only, stdio',
    { ...official, revision: '2026-07-28' },
    () => converse(stdio(script.official, 'stdio', '--legacy', 'reject')),
  ],
  ['official, modern, http', { ...official, revision: '2026-07-28' }, () => converse(httpTransport({ url: urls.official }))],
  [
    'official, modern only, http',
    { ...official, revision: '2026-07-28' },
    () => converse(eitherTransport({ url: urls.modernOnly })),
  ],
  [
    'official, legacy, stdio',
    { ...official, revision: '2025-11-25' },
    () => converse(stdio(script.official, 'stdio'), { revisions: ['2025-11-25'] }),
  ],
  ['everything, stdio', everything, () => converse(stdio(script.everything, 'stdio'))],
  ['everything, http', everything, () => converse(httpTransport({ url: urls.streamable }))],
  ['everything, either', everything, () => converse(eitherTransport({ url: urls.sse }))],
  ['everything, sse', everything, () => converse(sseTransport({ url: urls.sse }))],
];

describe.each(SERVERS)('%s', (_name, facts, open) => {
  let session: Session;
  let news: News[];
  beforeAll(async () => {
    ({ session, news } = await open());
  });
  afterAll(async () => {
    await session.close();
    expect((await session.ended).by).toBe('closed');
    // Nothing came that could not be understood.
    expect(news.filter(({ type }) => type === 'problem')).toEqual([]);
  });

  it('speaks the newest revision of its era', () => {
    expect(session).toMatchObject({ revision: facts.revision, era: facts.revision < '2026' ? 'legacy' : 'modern' });
    expect(session.server.info?.name).toMatch(/official|everything/);
  });

  it('lists everything, of which nothing is refused', async () => {
    const [tools, prompts, resources, templates] = await Promise.all([
      session.listTools(),
      session.listPrompts(),
      session.listResources(),
      session.listResourceTemplates(),
    ]);
    expect(tools.items.map(({ name }) => name)).toEqual(
      expect.arrayContaining([facts.ok[0], facts.structured[0], facts.slow(1)[0]]),
    );
    expect(prompts.items.map(({ name }) => name)).toContain(facts.prompt[0]);
    expect(resources.items.length).toBeGreaterThan(0);
    expect(templates.items.map(({ uriTemplate }) => uriTemplate)).toContain(facts.template);
    for (const { rejected } of [tools, prompts, resources, templates]) expect(rejected).toEqual([]);
  });

  it('calls tools: text, structured content, failures, and names there are none of', async () => {
    const [tool, args, text] = facts.ok;
    expect(textOf(await session.callTool(tool, args))).toBe(text);
    const structured = await session.callTool(...facts.structured);
    expect(structured.structuredContent).toEqual(JSON.parse(textOf(structured)));
    const failed = await session.callTool(facts.failing[0], facts.failing[1]);
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(facts.failing[2]);
    // The lines of the official packages differ here: 1.x reports the unknown tool as a failure of it.
    const unknown = await session.callTool('nope').catch((error: unknown) => error);
    expect(unknown).toSatisfy((value: { code?: number; isError?: boolean }) => value.code === -32602 || value.isError === true);
  });

  it('hears of all progress, in order, before the result', async () => {
    const heard: string[] = [];
    const [tool, args] = facts.slow(10);
    const result = await session.callTool(tool, args, {
      onProgress: ({ progress, total }) => heard.push(`${progress}/${String(total)}`),
    });
    expect(textOf(result)).toMatch(/done|completed/);
    expect(heard).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 1}/10`));
  });

  it('gives a call up and can make the next one', async () => {
    const stop = new AbortController();
    const [tool, args] = facts.slow(300_000);
    const call = session.callTool(tool, args, { signal: stop.signal, onProgress: () => stop.abort() });
    await expect(call).rejects.toMatchObject({ code: 'aborted' });
    expect(textOf(await session.callTool(facts.ok[0], facts.ok[1]))).toBe(facts.ok[2]);
    await session.ping();
  });

  it('reads resources and gets prompts', async () => {
    const [uri, text] = facts.resource;
    expect(await session.readResource(uri)).toMatchObject({ contents: [{ uri, text: expect.stringMatching(text) as string }] });
    const [name, args, said] = facts.prompt;
    const prompt = await session.getPrompt(name, args);
    expect(prompt.messages).toMatchObject([{ role: 'user', content: { text: expect.stringMatching(said) as string } }]);
  });

  it('answers what the server asks: a form, a message of our model, our roots', async () => {
    // server-everything offers these tools only once it knows that the client can answer, which it looks at a moment later.
    const names = facts.inputs.map(([name]) => name);
    await expect
      .poll(async () => (await session.listTools({ cache: 'fresh' })).items.map(({ name }) => name))
      .toEqual(expect.arrayContaining(names));
    for (const [tool, args, text] of facts.inputs) expect(textOf(await session.callTool(tool, args))).toMatch(text);
  });
});

/** Resolves with the first piece of news of that type, from now on. */
function nextNews<T extends News['type']>(session: Session, type: T): Promise<News & { readonly type: T }> {
  return new Promise((resolve) => {
    const stop = session.news.subscribe((news) => {
      if (news.type !== type) return;
      stop();
      resolve(news as News & { readonly type: T });
    });
  });
}

describe.each(SERVERS.filter(([name]) => name.startsWith('everything')))('%s', (name, _facts, open) => {
  it('completes arguments by what was filled in before, and variables of templates', async () => {
    const { session } = await open();
    const ref = { type: 'ref/prompt', name: 'completable-prompt' } as const;
    const complete = async (name: string, value: string, department?: string) => {
      const context = department === undefined ? {} : { context: { arguments: { department } } };
      return (await session.complete({ ref, argument: { name, value }, ...context })).completion.values;
    };
    expect(await complete('department', 'S')).toEqual(['Sales', 'Support']);
    expect(await complete('name', '', 'Support')).toEqual(['John', 'Kim', 'Lee']);
    const template = { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' } as const;
    const { completion } = await session.complete({ ref: template, argument: { name: 'resourceId', value: '12' } });
    expect(completion.values).toEqual(['12']);
    await session.close();
  });

  it('hears of a resource it follows, of new tools and of what is logged', async () => {
    const { session, news } = await open();
    // It offers more tools once it knows the client, and says so: on any but its own line perhaps before anybody listens to news.
    if (name === 'everything, stdio') await expect.poll(() => news.map(({ type }) => type)).toContain('tools-changed');
    const uri = 'demo://resource/dynamic/text/1';
    const updated = nextNews(session, 'resource-updated');
    const watch = session.watch({ toolsListChanged: true, resourceSubscriptions: [uri] });
    expect(await watch.acknowledged).toEqual({ toolsListChanged: true, resourceSubscriptions: [uri] });
    await session.callTool('toggle-subscriber-updates', {});
    expect(await updated).toEqual({ type: 'resource-updated', uri });
    await watch.close();

    await session.setLogLevel('debug');
    const log = nextNews(session, 'log');
    await session.callTool('toggle-simulated-logging', {});
    expect((await log).message.data).toMatch(/level|Roots/);
    // The timers of that server go with the session.
    for (const tool of ['toggle-subscriber-updates', 'toggle-simulated-logging']) await session.callTool(tool, {});
    await session.close();
  });
});

describe.each(SERVERS.filter(([name]) => name.startsWith('official')))('%s', (_name, facts, open) => {
  it('completes arguments and variables of templates', async () => {
    const { session } = await open();
    const [name, value, values] = facts.completion;
    const prompt = { type: 'ref/prompt', name: facts.prompt[0] } as const;
    expect((await session.complete({ ref: prompt, argument: { name, value } })).completion.values).toEqual(values);
    const template = { type: 'ref/resource', uri: facts.template } as const;
    const { completion } = await session.complete({ ref: template, argument: { name: 'language', value: 'g' } });
    expect(completion.values).toEqual(['german']);
    await session.close();
  });

  it('hears of a resource it follows, of new tools and of what is logged', async () => {
    const { session } = await open();
    const uri = 'memo://greeting';
    const watch = session.watch({ toolsListChanged: true, resourceSubscriptions: [uri] });
    // A server of the handshake era built on this package has no handler for subscriptions: its author would add one.
    const subscribed = session.era === 'modern' ? [uri] : [];
    expect(await watch.acknowledged).toEqual({ toolsListChanged: true, resourceSubscriptions: subscribed });
    const changed = nextNews(session, 'tools-changed');
    const updated = nextNews(session, 'resource-updated');
    await session.callTool('change');
    await changed;
    if (session.era === 'modern') expect(await updated).toEqual({ type: 'resource-updated', uri });
    await watch.close();

    const levels: string[] = [];
    session.news.subscribe((news) => news.type === 'log' && levels.push(String(news.message.data)));
    await session.setLogLevel('info');
    await session.callTool('slow', { steps: 2, stepMs: 1 });
    expect(levels).toEqual(['step 1', 'step 2']);
    await session.setLogLevel('error');
    await session.callTool('slow', { steps: 2, stepMs: 1 });
    expect(levels).toEqual(['step 1', 'step 2']);
    await session.close();
  });
});

describe('the official server without sessions, as it serves the handshake over HTTP', () => {
  it('is used for all that needs none', async () => {
    const { session } = await converse(httpTransport({ url: urls.official }), { revisions: ['2025-11-25'] });
    expect(session).toMatchObject({ era: 'legacy', revision: '2025-11-25' });
    expect((await session.listTools()).items.map(({ name }) => name)).toContain('echo');
    expect(textOf(await session.callTool(official.ok[0], official.ok[1]))).toBe(official.ok[2]);
    const heard: number[] = [];
    await session.callTool('slow', { steps: 5, stepMs: 1 }, { onProgress: ({ progress }) => heard.push(progress) });
    expect(heard).toEqual([1, 2, 3, 4, 5]);
    expect(await session.readResource('memo://greeting')).toMatchObject({ contents: [{ text: 'Good day' }] });
    await session.ping();
    await session.close();
  });
});

describe('a server of 2026-07-28 alone', () => {
  it('is told apart by a client that speaks the handshake alone', async () => {
    const options = { revisions: ['2025-11-25'] as const };
    for (const transport of [stdio(script.official, 'stdio', '--legacy', 'reject'), httpTransport({ url: urls.modernOnly })]) {
      await expect(connect(transport, options)).rejects.toMatchObject({
        code: 'version-unsupported',
        details: { theirs: ['2026-07-28'] },
      });
    }
  });
});
