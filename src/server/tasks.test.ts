import { afterEach, describe, expect, test } from 'vitest';
import { RpcError } from '../errors.ts';
import type { JsonObject, Receiver } from '../jsonrpc/index.ts';
import { createFakeClock } from '../testing/index.ts';
import { deferred, modernParams, openLine, type RawClient, type Reply } from './fixtures/raw-client.ts';
import { ask, createServer, inputRequired, ToolError, type Context, type Server, type ServerOptions } from './index.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const FOLLOWS = { extensions: { [TASKS]: {} }, elicitation: {} };

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function server(options: Partial<ServerOptions> = {}): Server {
  const made = createServer({ name: 'jobs', version: '1.0.0', ...options });
  open.push(made);
  return made;
}

/** A client that can follow tasks. */
function follower(made: Server) {
  const line = openLine(made);
  const request = (method: string, params: JsonObject) => line.modern(method, params, { capabilities: FOLLOWS });
  const call = (name: string, params: JsonObject = {}) => request('tools/call', { name, ...params });
  const about = (method: string, taskId: string, params: JsonObject = {}) => request(method, { taskId, ...params });
  return {
    line,
    request,
    call,
    start: async (name: string) => (await call(name)).result?.['taskId'] as string,
    get: async (taskId: string) => (await about('tasks/get', taskId)).result as JsonObject,
    update: (taskId: string, inputResponses: JsonObject) => about('tasks/update', taskId, { inputResponses }),
    cancel: (taskId: string) => about('tasks/cancel', taskId),
    about,
  };
}

const form = (name: string) =>
  ({
    message: `${name}?`,
    requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
  }) as const;
const accept = (content: JsonObject) => ({ action: 'accept', content });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const codeOf = ({ error }: Reply) => error?.code;

/** Asks until the task is no longer as it was. */
async function settled(client: ReturnType<typeof follower>, taskId: string, from = 'working'): Promise<JsonObject> {
  for (;;) {
    const state = await client.get(taskId);
    if (state['status'] !== from) return state;
    await turn();
  }
}

describe('a tool that requires a task', () => {
  test('is answered with a handle at once, and goes on until it has a result', async () => {
    const made = server({ now: () => 0, tasks: { ttlMs: 60_000, pollIntervalMs: 50 } });
    const { promise, resolve } = deferred<string>();
    made.tool({ name: 'job', task: 'required' }, () => promise);
    const client = follower(made);
    const { result } = await client.call('job');
    expect(result).toEqual({
      resultType: 'task',
      taskId: expect.stringMatching(/^[\w-]{22}$/) as string,
      status: 'working',
      createdAt: '1970-01-01T00:00:00.000Z',
      lastUpdatedAt: '1970-01-01T00:00:00.000Z',
      ttlMs: 60_000,
      pollIntervalMs: 50,
      _meta: expect.anything() as object,
    });
    const id = result?.['taskId'] as string;
    expect(await client.get(id)).toMatchObject({ resultType: 'complete', taskId: id, status: 'working' });
    resolve('done');
    expect(await settled(client, id)).toMatchObject({
      resultType: 'complete',
      status: 'completed',
      result: { content: [{ type: 'text', text: 'done' }] },
    });
    // What has ended stays as it ended.
    expect((await client.cancel(id)).result).toMatchObject({ resultType: 'complete' });
    expect(await client.get(id)).toMatchObject({ status: 'completed' });
  });

  test('is one also when it is quick', async () => {
    const made = server();
    made.tool({ name: 'quick', task: 'required' }, () => 'done');
    const client = follower(made);
    expect(await client.get(await client.start('quick'))).toMatchObject({ status: 'completed' });
  });

  test('is refused to a client that cannot follow it, in either era, and its handler does not run', async () => {
    const made = server();
    let ran = false;
    made.tool({ name: 'job', task: 'required' }, () => ((ran = true), 'done'));
    const needed = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };
    expect((await openLine(made).modern('tools/call', { name: 'job' })).error).toMatchObject(needed);
    const legacy = openLine(made);
    expect((await legacy.greet('2025-11-25', FOLLOWS))['capabilities']).not.toHaveProperty('extensions');
    expect((await legacy.ask('tools/call', { name: 'job' })).error).toMatchObject(needed);
    expect(ran).toBe(false);
  });

  test('ends completed when the tool failed, and failed when the call did, without the text of a fault', async () => {
    const logged: unknown[] = [];
    const made = server({ log: (_level, _message, facts) => logged.push(facts?.['error']) });
    const fault = new Error('secret');
    const thrown = { tool: new ToolError('no luck'), rpc: new RpcError(-32000, 'no more disk', { free: 0 }), fault };
    for (const [name, error] of Object.entries(thrown)) {
      made.tool({ name, task: 'required' }, () => {
        throw error;
      });
    }
    const client = follower(made);
    expect(await client.get(await client.start('tool'))).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text: 'no luck' }] },
    });
    const failed = await client.get(await client.start('rpc'));
    expect(failed).toMatchObject({ status: 'failed', error: { code: -32000, message: 'no more disk', data: { free: 0 } } });
    expect(failed).not.toHaveProperty('result');
    expect(await client.get(await client.start('fault'))).toMatchObject({
      status: 'failed',
      error: { code: -32603, message: 'Internal error' },
    });
    expect(logged).toEqual([fault]);
  });
});

describe('a tool that may become a task', () => {
  test('is answered at once when it is quick, and becomes one when it is not', async () => {
    const clock = createFakeClock();
    const made = server({ clock, tasks: { promptMs: 100 } });
    const { promise, resolve } = deferred<string>();
    made.tool({ name: 'quick', task: 'optional' }, () => 'now');
    made.tool({ name: 'slow', task: 'optional' }, () => promise);
    const client = follower(made);
    const quick = await client.call('quick');
    expect(quick.result).toMatchObject({ resultType: 'complete', content: [{ text: 'now' }] });
    expect(quick.result).not.toHaveProperty('taskId');
    const slow = client.call('slow');
    await expect.poll(() => clock.waiting).toBe(2);
    clock.advance(99);
    expect(client.line.received).toHaveLength(1);
    clock.advance(1);
    const id = (await slow).result?.['taskId'] as string;
    resolve('late');
    expect(await settled(client, id)).toMatchObject({ result: { content: [{ text: 'late' }] } });
  });

  test('is answered when it is done to a client that cannot follow it', async () => {
    const clock = createFakeClock();
    const made = server({ clock });
    const { promise, resolve } = deferred<string>();
    made.tool({ name: 'slow', task: 'optional' }, () => promise);
    const answer = openLine(made).modern('tools/call', { name: 'slow', task: { ttl: 1 } });
    await turn();
    clock.advance(10_000);
    resolve('late');
    expect((await answer).result).toMatchObject({ resultType: 'complete', content: [{ text: 'late' }] });
  });

  test('that was given up before it became a task never does', async () => {
    const clock = createFakeClock();
    const made = server({ clock, tasks: { promptMs: 100 } });
    const started = deferred<Context>();
    const { promise, resolve } = deferred<string>();
    made.tool({ name: 'stubborn', task: 'optional' }, (_args, context) => {
      started.resolve(context);
      return promise;
    });
    const client = follower(made);
    const params = modernParams({ name: 'stubborn' }, { capabilities: FOLLOWS });
    client.line.send({ id: 'x', method: 'tools/call', params });
    const { signal } = await started.promise;
    client.line.send({ method: 'notifications/cancelled', params: { requestId: 'x' } });
    await expect.poll(() => signal.aborted).toBe(true);
    clock.advance(1_000);
    await turn();
    resolve('nobody hears this');
    await turn();
    expect(client.line.received).toEqual([]);
  });
});

describe('requests about tasks', () => {
  test('exist where a tool has tasks, which the greeting says', async () => {
    const without = server();
    without.tool({ name: 'plain' }, () => 'x');
    const plain = follower(without);
    expect((await plain.request('server/discover', {})).result?.['capabilities']).not.toHaveProperty('extensions');
    expect(codeOf(await plain.about('tasks/get', 'x'))).toBe(-32601);

    const made = server({ capabilities: { tools: {}, extensions: { 'com.example/other': {} } } });
    made.tool({ name: 'job', task: 'optional' }, () => 'x');
    const client = follower(made);
    const { result } = await client.request('server/discover', {});
    expect(result?.['capabilities']).toEqual({ tools: {}, extensions: { 'com.example/other': {}, [TASKS]: {} } });
    expect((await client.request('tools/list', {})).result?.['tools']).toMatchObject([{ name: 'job' }]);
    expect(JSON.stringify(client.line.received)).not.toContain('"task"');
    for (const gone of ['tasks/result', 'tasks/list']) expect(codeOf(await client.about(gone, 'x'))).toBe(-32601);
  });

  test('need a client that can follow tasks, and a task that is there', async () => {
    const made = server();
    made.tool({ name: 'job', task: 'required' }, () => 'x');
    const client = follower(made);
    const id = await client.start('job');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const undeclared = await client.line.modern(method, { taskId: id, inputResponses: {} });
      expect(undeclared.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
      expect(codeOf(await client.about(method, 'another', { inputResponses: {} }))).toBe(-32602);
      expect(codeOf(await client.request(method, { inputResponses: {} }))).toBe(-32602);
    }
    expect(codeOf(await client.about('tasks/update', id))).toBe(-32602);
  });

  test('find only the tasks of the one who asks', async () => {
    const made = server({ principal: (headers) => headers['x-user'] as string });
    made.tool({ name: 'job', task: 'required' }, () => 'x');
    const asks = (user: string, method: string, params: JsonObject, name: string) =>
      new Promise<Reply>((resolve) => {
        made.accept(
          {
            kind: 'http',
            start: (receiver: Receiver) =>
              queueMicrotask(() =>
                receiver.message(
                  { jsonrpc: '2.0', id: 1, method, params: modernParams(params, { capabilities: FOLLOWS }) },
                  { headers: { 'x-user': user, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name } },
                ),
              ),
            send: (message) => Promise.resolve(resolve(message as Reply)),
            close: () => Promise.resolve(),
          },
          { era: 'single' },
        );
      });
    const { result } = await asks('ann', 'tools/call', { name: 'job' }, 'job');
    const taskId = result?.['taskId'] as string;
    expect((await asks('ann', 'tasks/get', { taskId }, taskId)).result).toMatchObject({ status: 'completed' });
    expect(codeOf(await asks('ben', 'tasks/get', { taskId }, taskId))).toBe(-32602);
    expect(codeOf(await asks('ben', 'tasks/cancel', { taskId }, taskId))).toBe(-32602);
    expect(codeOf(await asks('ann', 'tasks/get', { taskId }, 'another'))).toBe(-32020);
  });
});

describe('cancelling a task', () => {
  test('ends it at once, tells its handler, and bears being done again', async () => {
    const made = server();
    const started = deferred<Context>();
    const { promise, resolve } = deferred<string>();
    made.tool({ name: 'job', task: 'required' }, (_args, context) => {
      started.resolve(context);
      return promise;
    });
    const client = follower(made);
    const id = await client.start('job');
    const { signal } = await started.promise;
    expect((await client.cancel(id)).result).toEqual({ resultType: 'complete', _meta: expect.anything() as object });
    expect(signal.aborted).toBe(true);
    resolve('too late');
    await turn();
    expect((await client.cancel(id)).error).toBeUndefined();
    const state = await client.get(id);
    expect(state).toMatchObject({ status: 'cancelled' });
    expect(state).not.toHaveProperty('result');
  });

  test('is done to all when the server closes', async () => {
    const made = server();
    const started = deferred<Context>();
    made.tool({ name: 'job', task: 'required' }, (_args, context) => {
      started.resolve(context);
      return new Promise<never>(() => {});
    });
    const client = follower(made);
    await client.start('job');
    await made.close();
    expect((await started.promise).signal.aborted).toBe(true);
  });
});

describe('input that a task needs', () => {
  test('waits in it until it is answered, one part after the other', async () => {
    const made = server();
    let runs = 0;
    made.tool({ name: 'asks', task: 'optional' }, async (_args, context) => {
      runs++;
      const { first, second } = await context.inputs({ first: ask.elicit(form('a')), second: ask.elicit(form('b')) });
      return `${String(first.content?.['a'])} ${String(second.content?.['b'])}`;
    });
    const client = follower(made);
    const id = await client.start('asks');
    const wanting = await client.get(id);
    expect(wanting).toMatchObject({ status: 'input_required', inputRequests: { second: { method: 'elicitation/create' } } });
    expect((await client.update(id, { first: accept({ a: 'x' }), other: accept({}) })).result).toMatchObject({
      resultType: 'complete',
    });
    const partly = await client.get(id);
    expect([partly['status'], Object.keys(partly['inputRequests'] as JsonObject)]).toEqual(['input_required', ['second']]);
    // Answered already: not taken again.
    await client.update(id, { first: accept({ a: 'z' }), second: accept({ b: 'y' }) });
    expect(await settled(client, id)).toMatchObject({ status: 'completed', result: { content: [{ text: 'x y' }] } });
    expect(runs).toBe(1);
  });

  test('is still needed after an answer that does not fit', async () => {
    const made = server();
    made.tool({ name: 'asks', task: 'required' }, async (_args, context) => JSON.stringify(await context.elicit(form('a'))));
    const client = follower(made);
    const id = await client.start('asks');
    expect(codeOf(await client.update(id, { 'input-1': accept({ a: 7 }) }))).toBe(-32602);
    expect(await client.get(id)).toMatchObject({ status: 'input_required' });
    await client.update(id, { 'input-1': { action: 'decline' } });
    expect(await settled(client, id)).toMatchObject({ result: { content: [{ text: '{"action":"decline"}' }] } });
  });

  test('never goes by the same name twice', async () => {
    const made = server();
    made.tool({ name: 'asks', task: 'required' }, async (_args, context) => {
      await context.elicit(form('a'), { key: 'name' });
      await context.elicit(form('a'), { key: 'name' });
      return 'done';
    });
    const client = follower(made);
    const id = await client.start('asks');
    await client.update(id, { name: accept({ a: 'x' }) });
    const again = await client.get(id);
    expect(Object.keys(again['inputRequests'] as JsonObject)).toEqual(['name-2']);
    await client.update(id, { 'name-2': accept({ a: 'x' }) });
    expect(await settled(client, id)).toMatchObject({ status: 'completed' });
  });

  test('comes in a round before the task when the handler says so at once, and waits in it when it says so later', async () => {
    const made = server();
    const again = deferred<undefined>();
    made.tool({ name: 'asks', task: 'required' }, async (_args, context) => {
      const { before, during } = context.inputResponses;
      if (during !== undefined) return `${context.requestState ?? ''} ${JSON.stringify(during)}`;
      if (before === undefined) return inputRequired({ inputRequests: { before: ask.elicit(form('a')) }, requestState: 'one' });
      await again.promise;
      return inputRequired({ inputRequests: { during: ask.elicit(form('b')) }, requestState: 'two' });
    });
    const client = follower(made);
    const round = (await client.call('asks')).result as JsonObject;
    expect(round).toMatchObject({ resultType: 'input_required', inputRequests: { before: {} }, requestState: 'one' });
    expect(round).not.toHaveProperty('taskId');
    const { result } = await client.call('asks', { inputResponses: { before: accept({ a: 'x' }) }, requestState: 'one' });
    expect(result).toMatchObject({ resultType: 'task' });
    expect(result).not.toHaveProperty('requestState');
    const id = result?.['taskId'] as string;
    again.resolve(undefined);
    expect(await settled(client, id)).toMatchObject({ status: 'input_required', inputRequests: { during: {} } });
    await client.update(id, { during: accept({ b: 'y' }) });
    expect(await settled(client, id, 'input_required')).toMatchObject({
      result: { content: [{ text: 'two {"action":"accept","content":{"b":"y"}}' }] },
    });
  });

  test('that the client cannot give fails the call', async () => {
    const made = server();
    made.tool({ name: 'asks', task: 'optional' }, async (_args, context) => {
      await context.sample({ messages: [], maxTokens: 1 });
      return 'never';
    });
    expect(codeOf(await follower(made).call('asks'))).toBe(-32021);
  });
});

describe('bounds', () => {
  test('a task is aborted and forgotten when its time is over', async () => {
    const clock = createFakeClock();
    const made = server({ clock, tasks: { ttlMs: 5_000 } });
    const started = deferred<Context>();
    made.tool({ name: 'job', task: 'required' }, (_args, context) => {
      started.resolve(context);
      return new Promise<never>(() => {});
    });
    const client = follower(made);
    const id = await client.start('job');
    clock.advance(4_999);
    expect(await client.get(id)).toMatchObject({ status: 'working' });
    clock.advance(1);
    expect((await started.promise).signal.aborted).toBe(true);
    expect(codeOf(await client.about('tasks/get', id))).toBe(-32602);
  });

  test('no task is kept longer than a day', async () => {
    const made = server({ tasks: { ttlMs: 1e12 } });
    made.tool({ name: 'job', task: 'required' }, () => 'x');
    expect((await follower(made).call('job')).result).toMatchObject({ ttlMs: 86_400_000 });
  });

  test('when there are too many, what has ended makes room, and what may be answered directly is', async () => {
    const made = server({ tasks: { maxTasks: 2 } });
    made.tool({ name: 'quick', task: 'required' }, () => 'x');
    made.tool({ name: 'endless', task: 'required' }, () => new Promise<never>(() => {}));
    made.tool({ name: 'either', task: 'optional' }, () => 'directly');
    const client = follower(made);
    const first = await client.start('quick');
    await client.start('endless');
    const last = await client.start('endless');
    expect(codeOf(await client.about('tasks/get', first))).toBe(-32602);
    expect(codeOf(await client.call('endless'))).toBe(-32603);
    expect((await client.call('either')).result).toMatchObject({ content: [{ text: 'directly' }] });
    await client.cancel(last);
    expect((await client.call('endless')).result).toMatchObject({ resultType: 'task' });
  });

  test('a number that cannot be is refused', () => {
    for (const tasks of [{ ttlMs: 0 }, { pollIntervalMs: -1 }, { promptMs: NaN }, { maxTasks: 0 }]) {
      expect(() => createServer({ name: 'x', version: '1', tasks })).toThrow(expect.objectContaining({ code: 'usage' }));
    }
  });
});

describe('news of a task', () => {
  const listen = (line: RawClient, notifications: JsonObject, capabilities: JsonObject = FOLLOWS) =>
    line.modern('subscriptions/listen', { notifications }, { capabilities });

  test('comes to those who asked for it by its id, and may', async () => {
    const made = server();
    const step = deferred<undefined>();
    made.tool({ name: 'job', task: 'required' }, async (_args, context) => {
      await step.promise;
      context.progress(1, 2, 'half');
      return JSON.stringify(await context.elicit(form('a')));
    });
    const client = follower(made);
    const id = await client.start('job');
    void listen(client.line, { taskIds: [id, 'another'] });
    const { params } = await client.line.next('notifications/subscriptions/acknowledged');
    expect(params['notifications']).toEqual({ taskIds: [id] });
    step.resolve(undefined);
    expect((await client.line.next('notifications/tasks')).params).toMatchObject({
      taskId: id,
      status: 'input_required',
      statusMessage: 'half',
      inputRequests: { 'input-1': {} },
      _meta: { 'io.modelcontextprotocol/subscriptionId': expect.anything() as number },
    });
    await client.update(id, { 'input-1': accept({ a: 'x' }) });
    const news = await client.line.next('notifications/tasks');
    const last = news.params['status'] === 'completed' ? news : await client.line.next('notifications/tasks');
    expect(last.params).toMatchObject({ taskId: id, status: 'completed', result: { content: [{}] } });
    expect(client.line.news.map(({ method }) => method)).not.toContain('notifications/progress');
  });

  test('is refused to a client that cannot follow tasks, and to a wish that makes no sense', async () => {
    const made = server();
    made.tool({ name: 'job', task: 'required' }, () => 'x');
    const line = openLine(made);
    expect((await listen(line, { taskIds: [] }, {})).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
    for (const taskIds of ['x', [7], Array.from({ length: 1_025 }, () => 'x')]) {
      expect(codeOf(await listen(line, { taskIds }))).toBe(-32602);
    }
  });
});
