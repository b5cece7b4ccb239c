import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { form } from './fixtures/full-server.ts';
import { deferred, openLine, type RawClient, type Reply } from './fixtures/raw-client.ts';
import { ask, createServer, inputRequired, type Context, type Server, type ServerOptions } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const accepted = (name: string) => ({ action: 'accept', content: { name } });
const message = (text: string) => ({ role: 'assistant', content: { type: 'text', text }, model: 'm' });

function make(run: (context: Context) => unknown, options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'test', version: '1', ...options });
  open.push(server);
  server.tool({ name: 'ask', input: { type: 'object' } }, (_args, context) => run(context) as Promise<string>);
  return server;
}

/** Calls the tool in rounds, with what `answer` gives for what is asked. */
async function inRounds(client: RawClient, answer: (key: string, request: JsonObject) => JsonObject, params: JsonObject = {}) {
  const results: JsonObject[] = [];
  let extra: JsonObject = {};
  for (let round = 0; round < 10; round++) {
    const reply = await client.modern('tools/call', { name: 'ask', ...params, ...extra }, { capabilities: ALL });
    if (reply.result === undefined) throw new Error(JSON.stringify(reply.error));
    results.push(reply.result);
    if (reply.result['resultType'] !== 'input_required') return { result: reply.result, results };
    const requests = Object.entries((reply.result['inputRequests'] ?? {}) as Record<string, JsonObject>);
    extra = {
      requestState: reply.result['requestState'],
      inputResponses: Object.fromEntries(requests.map(([key, request]) => [key, answer(key, request)])),
    };
  }
  throw new Error('It never ended.');
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text;

describe('questions of a handler', () => {
  const twoQuestions = async ({ elicit, sample }: Context) => {
    const who = await elicit(form);
    const poem = await sample({ messages: [{ role: 'user', content: { type: 'text', text: 'a poem' } }], maxTokens: 9 });
    return `${String(who.content?.['name'])}: ${(poem.content as { text: string }).text}`;
  };

  test('are asked one round each, and the handler runs again with the answers so far', async () => {
    let runs = 0;
    const server = make((context) => {
      runs++;
      return twoQuestions(context);
    });
    const { result, results } = await inRounds(openLine(server), (_key, { method }) =>
      method === 'elicitation/create' ? accepted('Ada') : message('Roses'),
    );
    expect(textOf(result)).toBe('Ada: Roses');
    expect(runs).toBe(3);
    expect(results.slice(0, 2).map((one) => one['inputRequests'])).toMatchObject([
      { 'input-1': { method: 'elicitation/create', params: { mode: 'form', message: form.message } } },
      { 'input-2': { method: 'sampling/createMessage' } },
    ]);
    expect(results[0]).not.toHaveProperty('ttlMs');
    expect(results[0]?.['requestState']).not.toBe(results[1]?.['requestState']);
  });

  test('are asked by requests where the client is of the handshake era, and the handler runs once', async () => {
    let runs = 0;
    const server = make((context) => {
      runs++;
      return twoQuestions(context);
    });
    const client = openLine(server);
    await client.greet('2025-11-25', ALL);
    client.answers.set('elicitation/create', accepted('Ada'));
    client.answers.set('sampling/createMessage', message('Roses'));
    expect(textOf((await client.ask('tools/call', { name: 'ask' })).result)).toBe('Ada: Roses');
    expect(runs).toBe(1);
  });

  test('may be several at once, under keys of their own', async () => {
    const server = make(async ({ inputs }) => {
      const { who, where } = await inputs({ who: ask.elicit(form), where: ask.listRoots() });
      return `${String(who.content?.['name'])} in ${String(where.roots[0]?.uri)}`;
    });
    const answer = (key: string) => (key === 'who' ? accepted('Ada') : { roots: [{ uri: 'file:///a' }] });
    const { result, results } = await inRounds(openLine(server), answer);
    expect(textOf(result)).toBe('Ada in file:///a');
    expect(Object.keys(results[0]?.['inputRequests'] as object)).toEqual(['who', 'where']);
    const client = openLine(server);
    await client.greet('2025-11-25', ALL);
    client.answers.set('elicitation/create', accepted('Ada'));
    client.answers.set('roots/list', { roots: [{ uri: 'file:///a' }] });
    expect(textOf((await client.ask('tools/call', { name: 'ask' })).result)).toBe('Ada in file:///a');
  });

  test('that a handler starts and does not wait for stay unanswered without harm', async () => {
    const server = make(async ({ elicit, listRoots }) => {
      void listRoots();
      void elicit(form);
      return 'early';
    });
    const reply = await openLine(server).modern('tools/call', { name: 'ask' }, { capabilities: ALL });
    expect(reply.result).toMatchObject({ resultType: 'input_required' });
  });

  test('are asked even if the handler catches what is thrown where it waits', async () => {
    const server = make(async ({ elicit }) => {
      try {
        return (await elicit(form)).action;
      } catch {
        return 'swallowed';
      }
    });
    const { result, results } = await inRounds(openLine(server), () => ({ action: 'decline' }));
    expect(results).toHaveLength(2);
    expect(textOf(result)).toBe('decline');
  });

  test('work for resources and prompts as well', async () => {
    const server = createServer({ name: 'test', version: '1' });
    open.push(server);
    server.resource({ uri: 'a:b', name: 'r' }, async ({ elicit }) => String((await elicit(form)).content?.['name']));
    server.prompt({ name: 'p' }, async (_args, { elicit }) => String((await elicit(form)).content?.['name']));
    const client = openLine(server);
    const twice = async (method: string, params: JsonObject) => {
      const first = await client.modern(method, params, { capabilities: ALL });
      expect(first.result).toMatchObject({ resultType: 'input_required' });
      const retry = { ...params, requestState: first.result?.['requestState'], inputResponses: { 'input-1': accepted('Ada') } };
      return (await client.modern(method, retry, { capabilities: ALL })).result;
    };
    expect(await twice('resources/read', { uri: 'a:b' })).toMatchObject({ contents: [{ text: 'Ada' }] });
    expect(await twice('prompts/get', { name: 'p' })).toMatchObject({ messages: [{ content: { text: 'Ada' } }] });
  });
});

describe('an answer', () => {
  const asks = () => make(async ({ elicit }) => String((await elicit(form, { key: 'who' })).content?.['name']));
  const first = async (client: RawClient) =>
    (await client.modern('tools/call', { name: 'ask' }, { capabilities: ALL })).result?.['requestState'];

  test.each([
    ['of another name', { other: accepted('x') }],
    ['that is no object', { who: 12_345 }],
    ['without an action', { who: {} }],
    ['that lacks what is required', { who: { action: 'accept', content: {} } }],
    ['with a field of another type', { who: { action: 'accept', content: { name: 7 } } }],
  ])('%s does not count: the question is asked again', async (_what, inputResponses) => {
    const client = openLine(asks());
    const requestState = await first(client);
    const { result } = await client.modern('tools/call', { name: 'ask', requestState, inputResponses }, { capabilities: ALL });
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { who: {} } });
  });

  test('among others that nobody asked for is used alone', async () => {
    const client = openLine(asks());
    const inputResponses = { who: accepted('Ada'), extra: accepted('Eve') };
    const params = { name: 'ask', requestState: await first(client), inputResponses };
    expect(textOf((await client.modern('tools/call', params, { capabilities: ALL })).result)).toBe('Ada');
  });

  test('given before cannot be changed by a later round', async () => {
    const server = make(async ({ elicit }) => {
      const one = await elicit(form, { key: 'one' });
      await elicit(form, { key: 'two' });
      return String(one.content?.['name']);
    });
    const client = openLine(server);
    const send = (params: JsonObject) =>
      client.modern('tools/call', { name: 'ask', ...params }, { capabilities: ALL }).then(({ result }) => result as JsonObject);
    const second = await send({ requestState: (await send({}))['requestState'], inputResponses: { one: accepted('Ada') } });
    const last = await send({
      requestState: second['requestState'],
      inputResponses: { one: accepted('Eve'), two: accepted('x') },
    });
    expect(textOf(last)).toBe('Ada');
  });

  test('that does not fit, or an error, is a tool error where the client was asked by a request', async () => {
    const client = openLine(asks());
    await client.greet('2025-11-25', ALL);
    client.answers.set('elicitation/create', { action: 'accept', content: {} });
    expect((await client.ask('tools/call', { name: 'ask' })).result).toMatchObject({ isError: true });
    client.answers.clear();
    const reply = client.ask('tools/call', { name: 'ask' });
    await client.next('elicitation/create');
    const { id } = await client.next('elicitation/create');
    client.send({ id, error: { code: -1, message: 'rejected by <b>user</b>' } });
    const { result } = await reply;
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).not.toContain('<b>');
  });
});

describe('a state', () => {
  const key = 'a key of at least sixteen bytes';
  let time = 0;
  const asks = (options: Partial<ServerOptions> = {}) => {
    const server = make(async ({ elicit }) => String((await elicit(form, { key: 'who' })).content?.['name']), {
      stateKey: key,
      now: () => time,
      ...options,
    });
    server.tool({ name: 'other', input: { type: 'object' } }, async (_args, { elicit }) =>
      String((await elicit(form, { key: 'who' })).content?.['name']),
    );
    return server;
  };
  const retry = (server: Server, params: JsonObject): Promise<Reply> =>
    openLine(server).modern(
      'tools/call',
      { name: 'ask', arguments: { a: 1, b: 2 }, inputResponses: { who: accepted('Ada') }, ...params },
      { capabilities: ALL },
    );
  const stateOf = async (server: Server): Promise<string> =>
    String((await retry(server, { inputResponses: {} })).result?.['requestState']);

  test('is good in another process that has the key, whatever the order of the arguments', async () => {
    const reply = await retry(asks(), { requestState: await stateOf(asks()), arguments: { b: 2, a: 1 } });
    expect(textOf(reply.result)).toBe('Ada');
  });

  test.each<[string, (state: string) => JsonObject]>([
    ['with something added', (state) => ({ requestState: `${state}-TAMPERED` })],
    ['with a character changed', (state) => ({ requestState: state.slice(0, -1) + (state.endsWith('A') ? 'B' : 'A') })],
    ['cut short', (state) => ({ requestState: state.slice(0, 20) })],
    ['with another beginning', (state) => ({ requestState: `x${state}` })],
    ['that is empty', () => ({ requestState: '' })],
    ['that is no text', () => ({ requestState: 7 })],
    ['of other arguments', (state) => ({ requestState: state, arguments: { a: 2 } })],
    ['of another tool', (state) => ({ requestState: state, name: 'other' })],
  ])('%s is refused', async (_what, change) => {
    const server = asks();
    expect((await retry(server, change(await stateOf(server)))).error?.code).toBe(-32602);
  });

  test('sealed with another key, or too long ago, is refused', async () => {
    const state = await stateOf(asks());
    expect((await retry(asks({ stateKey: 'another key of sixteen bytes' }), { requestState: state })).error?.code).toBe(-32602);
    time += 600_001;
    expect((await retry(asks(), { requestState: state })).error?.code).toBe(-32602);
    time = 0;
  });

  test('shows nothing of the answers it carries', async () => {
    const server = make(
      async ({ elicit }) => {
        await elicit(form, { key: 'who' });
        await elicit(form, { key: 'more' });
        return '';
      },
      { stateKey: key },
    );
    const { result } = await retry(server, { inputResponses: { who: accepted('Ada') } });
    const state = String(result?.['requestState']);
    expect(state + Buffer.from(state.slice(3), 'base64url').toString('latin1')).not.toContain('Ada');
  });

  test('needs a key of some length', () => {
    expect(() => createServer({ name: 'a', version: '1', stateKey: 'short' })).toThrow(
      expect.objectContaining({ code: 'usage' }),
    );
  });
});

describe('input required by hand', () => {
  const byHand = () =>
    make(({ inputResponses, requestState, seal, unseal }) => {
      if (requestState === undefined) {
        return inputRequired({ inputRequests: { who: ask.elicit(form) }, requestState: seal({ step: 1 }) });
      }
      return JSON.stringify([unseal(requestState), inputResponses]);
    });
  const expected = JSON.stringify([{ step: 1 }, { who: accepted('Ada') }]);

  test('brings the state and the answers back, in both eras', async () => {
    const server = byHand();
    const { result } = await inRounds(openLine(server), () => accepted('Ada'));
    expect(textOf(result)).toBe(expected);
    const client = openLine(server);
    await client.greet('2025-11-25', ALL);
    client.answers.set('elicitation/create', accepted('Ada'));
    expect(textOf((await client.ask('tools/call', { name: 'ask' })).result)).toBe(expected);
  });

  test('with a state that was tampered with is refused by unseal', async () => {
    const client = openLine(byHand());
    const { result } = await client.modern('tools/call', { name: 'ask' }, { capabilities: ALL });
    const requestState = `${String(result?.['requestState'])}x`;
    expect((await client.modern('tools/call', { name: 'ask', requestState }, { capabilities: ALL })).error?.code).toBe(-32602);
  });

  test('asks for nothing the client does not answer, and wants at least one thing', async () => {
    const reply = await openLine(byHand()).modern('tools/call', { name: 'ask' });
    expect(reply.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } });
    expect(() => inputRequired({})).toThrow(expect.objectContaining({ code: 'usage' }));
    const endless = make(() => inputRequired({ requestState: 'again' }));
    const client = openLine(endless);
    await client.greet();
    expect((await client.ask('tools/call', { name: 'ask' })).error?.code).toBe(-32603);
  });
});

describe('what a client did not declare', () => {
  test.each<[string, (context: Context) => unknown, JsonObject, JsonObject]>([
    ['forms', ({ elicit }) => elicit(form), { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    [
      'URLs',
      ({ elicitUrl }) => elicitUrl({ message: 'm', url: 'https://example.com' }),
      { elicitation: {} },
      { elicitation: { url: {} } },
    ],
    ['sampling', ({ sample }) => sample({ messages: [], maxTokens: 1 }), {}, { sampling: {} }],
    [
      'sampling with tools',
      ({ sample }) => sample({ messages: [], maxTokens: 1, toolChoice: { mode: 'none' } }),
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ['roots', ({ listRoots }) => listRoots(), { sampling: {} }, { roots: {} }],
  ])('is not asked: %s', async (_what, run, capabilities, requiredCapabilities) => {
    const server = make(run);
    const client = openLine(server);
    const modern = await client.modern('tools/call', { name: 'ask' }, { capabilities });
    expect(modern.error).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    await client.greet('2025-11-25', capabilities);
    const legacy = await client.ask('tools/call', { name: 'ask' });
    expect(legacy.error).toMatchObject({ code: -32600, data: { requiredCapabilities } });
    expect(client.news).toEqual([]);
  });

  test('can be done without by the handler', async () => {
    const server = make(async ({ sample }) => {
      try {
        return (await sample({ messages: [], maxTokens: 1 })).model;
      } catch {
        return 'without';
      }
    });
    expect(textOf((await openLine(server).modern('tools/call', { name: 'ask' })).result)).toBe('without');
  });
});

test('a request that is cancelled while the client is asked takes the question back', async () => {
  const failed = deferred<unknown>();
  const server = make(async ({ elicit }) => {
    try {
      await elicit(form);
    } catch (error) {
      failed.resolve(error);
    }
    return '';
  });
  const client = openLine(server);
  await client.greet('2025-11-25', ALL);
  void client.ask('tools/call', { name: 'ask' }, 'call');
  const { id } = await client.next('elicitation/create');
  client.send({ method: 'notifications/cancelled', params: { requestId: 'call' } });
  expect((await client.next('notifications/cancelled')).params['requestId']).toBe(id);
  expect(await failed.promise).toMatchObject({ code: 'aborted' });
});
