// The built command against servers that nobody here wrote, over every transport they have.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createCliHome } from '../support/cli.ts';
import { script, startEverything, startOfficial, type Listening } from './fixtures/peers.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const user = createCliHome();
const files = join(user.project, 'files');
const calls = join(user.project, 'calls');
const graph = join(user.project, 'memory.jsonl');
mkdirSync(files);
writeFileSync(join(files, 'hello.txt'), 'Hello, file!\n');
writeFileSync(calls, '');

const listening: Listening[] = [];
let config: string;

const node = (...args: string[]) => ({ command: process.execPath, args, env: { ...user.mark, CALLS: calls } });

beforeAll(async () => {
  listening.push(
    ...(await Promise.all([
      startEverything('streamableHttp'),
      startEverything('sse'),
      startOfficial(['--legacy', 'reject'], { CALLS: calls }),
    ])),
  );
  const [streamable, sse, official] = listening as [Listening, Listening, Listening];
  config = user.write('config.json', {
    mcpServers: {
      'everything-stdio': node(script.everything, 'stdio'),
      'everything-http': { type: 'http', url: streamable.url },
      'everything-sse': { type: 'sse', url: sse.url },
      filesystem: node(script.filesystem, files),
      memory: { ...node(script.memory), env: { ...user.mark, MEMORY_FILE_PATH: graph } },
      // One that spoke the handshake too might be greeted so, where it takes seconds to start.
      'official-stdio': node(script.official, 'stdio', '--legacy', 'reject'),
      // Without a type both kinds of HTTP are tried.
      'official-http': { url: official.url },
    },
  });
});

afterAll(async () => {
  await Promise.all(listening.map((server) => server.stop()));
  expect(user.processes()).toEqual([]);
  user.remove();
});

const parley = (...args: string[]) => user.run(['--config', config, '--json', ...args]);
const allowed = (server: string, ...args: string[]) => parley('--allow', `${server}/*`, 'call', ...args);

/** The one line of JSON on stderr that says what went wrong. */
const errorOf = (stderr: string) => (JSON.parse(stderr) as { error: { code: string; message: string } }).error;

interface Facts {
  readonly revision: string;
  readonly era: 'legacy' | 'modern';
  readonly tools: readonly string[];
  /** A call that works, and the text it answers. */
  readonly ok: { readonly words: readonly string[]; readonly text: string | RegExp };
  /** A call whose tool says that it failed. */
  readonly failing: { readonly words: readonly string[]; readonly text: RegExp };
  /** A call that shows outside the server whether it was made. */
  readonly trace?: { readonly words: readonly string[]; readonly read: () => string };
  readonly misspelt: readonly [typed: string, meant: string];
  readonly wrong: readonly string[];
  readonly resource?: { readonly uri: string; readonly text: RegExp };
  readonly template?: {
    readonly uri: string;
    readonly variable: string;
    readonly typed: string;
    readonly values: readonly string[];
  };
  readonly prompt?: {
    readonly name: string;
    readonly words: readonly string[];
    readonly text: RegExp;
    readonly argument: string;
    readonly typed: string;
    readonly values: readonly string[];
  };
  /** Calls that tell of their progress: one that ends soon, and one that does not. */
  readonly slow?: { readonly soon: readonly string[]; readonly never: readonly string[] };
}

const everything: Facts = {
  revision: '2025-11-25',
  era: 'legacy',
  tools: ['echo', 'get-sum', 'get-structured-content', 'trigger-long-running-operation'],
  ok: { words: ['get-sum', 'a=2', 'b=3.5'], text: 'The sum of 2 and 3.5 is 5.5.' },
  failing: { words: ['get-resource-reference', 'resourceId=-1'], text: /Invalid resourceId: -1/ },
  misspelt: ['ehco', 'echo'],
  wrong: ['get-sum', 'a=two', 'b=3'],
  resource: { uri: 'demo://resource/dynamic/text/7', text: /^Resource 7: / },
  template: { uri: 'demo://resource/dynamic/text/{resourceId}', variable: 'resourceId', typed: '12', values: ['12'] },
  prompt: {
    name: 'completable-prompt',
    words: ['department=Sales', 'name=Eve'],
    text: /promote Eve to the head of the Sales team/,
    argument: 'department',
    typed: 'S',
    values: ['Sales', 'Support'],
  },
  slow: {
    soon: ['trigger-long-running-operation', 'duration=0.1', 'steps=4'],
    never: ['trigger-long-running-operation', 'duration=600', 'steps=60000'],
  },
};

const official: Facts = {
  revision: '2026-07-28',
  era: 'modern',
  tools: ['echo', 'add', 'fail', 'slow', 'ask'],
  ok: { words: ['echo', 'text=a b', 'times=2'], text: 'a b a b' },
  failing: { words: ['fail'], text: /^The printer is on fire\.$/ },
  trace: { words: ['echo', 'text=x'], read: () => readFileSync(calls, 'utf8') },
  misspelt: ['ehco', 'echo'],
  wrong: ['echo', 'text=x', 'times=often'],
  resource: { uri: 'memo://greeting', text: /^Good day$/ },
  template: { uri: 'memo://words/{language}', variable: 'language', typed: 'e', values: ['english', 'esperanto'] },
  prompt: {
    name: 'translate',
    words: ['text=good day', 'into=german'],
    text: /^Translate "good day" into german\.$/,
    argument: 'into',
    typed: 'es',
    values: ['esperanto'],
  },
  slow: { soon: ['slow', 'steps=4', 'stepMs=5'], never: ['slow', 'steps=100000', 'stepMs=5'] },
};

const exists = (file: string) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const SERVERS: Readonly<Record<string, Facts>> = {
  'everything-stdio': everything,
  'everything-http': everything,
  'everything-sse': everything,
  filesystem: {
    revision: '2025-11-25',
    era: 'legacy',
    tools: ['read_text_file', 'write_file', 'list_directory'],
    ok: { words: ['read_text_file', `path=${join(files, 'hello.txt')}`], text: 'Hello, file!\n' },
    failing: { words: ['read_text_file', 'path=/etc/passwd'], text: /Access denied/ },
    trace: {
      words: ['write_file', `path=${join(files, 'new.txt')}`, 'content=x'],
      read: () => exists(join(files, 'new.txt')),
    },
    misspelt: ['raed_text_file', 'read_text_file'],
    wrong: ['read_text_file', `path=${join(files, 'hello.txt')}`, 'head=first'],
  },
  memory: {
    revision: '2025-11-25',
    era: 'legacy',
    tools: ['create_entities', 'read_graph'],
    ok: { words: ['read_graph'], text: /"entities": \[/ },
    failing: {
      words: ['add_observations', 'observations:=[{"entityName":"nobody","contents":["x"]}]'],
      text: /nobody not found/,
    },
    trace: {
      words: ['create_entities', 'entities:=[{"name":"Ada","entityType":"person","observations":["counts"]}]'],
      read: () => exists(graph),
    },
    misspelt: ['creat_entities', 'create_entities'],
    wrong: ['create_entities', 'entities:=["Ada"]'],
    resource: { uri: 'memory://knowledge-graph', text: /"entities"/ },
  },
  'official-stdio': official,
  'official-http': official,
};

it('lists all of them at once, each with the newest revision it speaks', async () => {
  const { code, json, stderr } = await parley('mcp', 'list');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const { servers } = json as { servers: { name: string; state: string; revision: string; era: string }[] };
  expect(Object.fromEntries(servers.map(({ name, ...rest }) => [name, rest]))).toMatchObject(
    Object.fromEntries(Object.entries(SERVERS).map(([name, { revision, era }]) => [name, { state: 'ready', revision, era }])),
  );
});

describe.each(Object.entries(SERVERS))('%s', (server, facts) => {
  const text = (value: unknown) => (value as { content: { text: string }[] }).content.map((block) => block.text).join('');
  const at = ([tool, ...words]: readonly string[]) => [`${server}/${tool as string}`, ...words];

  it('is shown with its revision, and its tools are listed', async () => {
    const [shown, listed] = await Promise.all([parley('mcp', 'get', server), parley('tools', 'list', server)]);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.json).toMatchObject({ name: server, state: 'ready', revision: facts.revision, era: facts.era });
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const { tools } = listed.json as { tools: { name: string; server: string; inputSchema: object }[] };
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...facts.tools]));
    for (const tool of tools) expect(tool).toMatchObject({ server, inputSchema: { type: 'object' } });
  });

  it('answers a call, and says when its tool failed', async () => {
    const [ok, failed] = await Promise.all([allowed(server, ...at(facts.ok.words)), allowed(server, ...at(facts.failing.words))]);
    expect(ok).toMatchObject({ code: 0, stderr: '' });
    expect(text(ok.json)).toMatch(facts.ok.text);
    expect(failed.code).toBe(5);
    expect(failed.json).toMatchObject({ isError: true });
    expect(text(failed.json)).toMatch(facts.failing.text);
    expect(errorOf(failed.stderr).code).toBe('tool-failed');
  });

  it('is sent no call that was not allowed, has no such tool or does not fit', async () => {
    const { words, read } = facts.trace ?? { words: facts.ok.words, read: () => '' };
    const before = read();
    const [typed, meant] = facts.misspelt;
    const [denied, unknown, wrong] = await Promise.all([
      parley('call', ...at(words)),
      allowed(server, `${server}/${typed}`),
      allowed(server, ...at(facts.wrong)),
    ]);
    expect(denied).toMatchObject({ code: 6, stdout: '' });
    expect(errorOf(denied.stderr)).toMatchObject({ code: 'denied', message: expect.stringContaining('--allow') as string });
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(errorOf(unknown.stderr)).toEqual({
      code: 'not-found',
      message: `There is no tool "${server}/${typed}". Did you mean "${server}/${meant}"?`,
    });
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(errorOf(wrong.stderr).message).toMatch(/Nothing was sent/);
    expect(read()).toBe(before);
    if (facts.trace === undefined) return;
    // It would have shown.
    expect(await allowed(server, ...at(words))).toMatchObject({ code: 0 });
    expect(read()).not.toBe(before);
  });

  it('lists and reads its resources, and completes its templates', async () => {
    const listed = await parley('resources', 'list', server);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const { resource, template } = facts;
    const all = listed.json as { resources: { uri: string }[]; resourceTemplates: { uriTemplate: string }[] };
    if (resource === undefined) return expect(all).toEqual({ resources: [], resourceTemplates: [] });
    expect(all.resources.length).toBeGreaterThan(0);
    const read = await parley('resources', 'read', `${server}:${resource.uri}`);
    expect(read).toMatchObject({ code: 0, stderr: '' });
    expect(read.json).toMatchObject({ contents: [{ uri: resource.uri, text: expect.stringMatching(resource.text) as string }] });
    if (template === undefined) return;
    expect(all.resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(template.uri);
    const completed = await parley('resources', 'complete', `${server}:${template.uri}`, template.variable, template.typed);
    expect(completed).toMatchObject({ code: 0, stderr: '' });
    expect(completed.json).toMatchObject({ completion: { values: template.values } });
  });

  it('lists and gets its prompts, and completes their arguments', async () => {
    const listed = await parley('prompts', 'list', server);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const { prompts } = listed.json as { prompts: { name: string }[] };
    const { prompt } = facts;
    if (prompt === undefined) return expect(prompts).toEqual([]);
    expect(prompts.map(({ name }) => name)).toContain(prompt.name);
    const got = await parley('prompts', 'get', `${server}/${prompt.name}`, ...prompt.words);
    expect(got).toMatchObject({ code: 0, stderr: '' });
    expect(got.json).toMatchObject({ messages: [{ content: { text: expect.stringMatching(prompt.text) as string } }] });
    const completed = await parley('prompts', 'complete', `${server}/${prompt.name}`, prompt.argument, prompt.typed);
    expect(completed).toMatchObject({ code: 0, stderr: '' });
    expect(completed.json).toMatchObject({ completion: { values: prompt.values } });
  });

  const { slow } = facts;
  if (slow === undefined) return;

  it('tells how far a call is before its result, in order', async () => {
    const { code, lines } = await user.run([
      ...['--config', config, '-o', 'ndjson', '--allow', `${server}/*`, 'call', ...at(slow.soon)],
    ]);
    expect(code).toBe(0);
    expect(lines).toMatchObject([
      ...[1, 2, 3, 4].map((progress) => ({ type: 'progress', progress, total: 4 })),
      { type: 'result', result: { content: [{ type: 'text' }] } },
    ]);
  });

  it('is left at once when the user interrupts a call, and no process stays', async () => {
    const running = user.start(['--config', config, '-o', 'ndjson', '--allow', `${server}/*`, 'call', ...at(slow.never)]);
    await running.said('"progress":2');
    // The command, and its server where it started one.
    expect(user.processes()).toHaveLength(server.endsWith('-stdio') ? 2 : 1);
    const before = exists(calls);
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect({ code, stderr: stderr.trim() }).toEqual({
      code: 130,
      stderr: JSON.stringify({ error: { code: 'aborted', message: 'Cancelled.' } }),
    });
    expect(user.processes()).toEqual([]);
    // The server that goes on without us heard of it.
    if (server === 'official-http') await expect.poll(() => exists(calls).slice(before.length)).toBe('aborted\n');
  });
});

describe.each(['official-stdio', 'official-http'])('%s', (server) => {
  it('says that a tool wants input nobody gives', async () => {
    const { code, stdout, stderr } = await allowed(server, `${server}/ask`);
    // The server refuses to ask a client that declared no forms.
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(errorOf(stderr)).toMatchObject({ code: 'rpc.-32021' });
  });
});
