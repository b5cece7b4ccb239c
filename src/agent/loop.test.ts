import { describe, expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import { createFakeClock } from '../testing/index.ts';
import { callOf, modelOf, said, toolboxOf, type Tool } from './fixtures/parts.ts';
import type { AgentEvent } from './log.ts';
import { runAgent } from './loop.ts';
import type { Model, ModelMessage } from './model.ts';
import { scriptedModel } from './providers/index.ts';

const messages: readonly ModelMessage[] = [{ role: 'user', text: 'Go on.' }];
const echo = toolboxOf({ echo: ({ text }) => said(String(text)) });

/** Texts of the results in a conversation. */
function results(conversation: readonly ModelMessage[]): string[] {
  return conversation.flatMap((message) =>
    message.role === 'tool' ? [message.parts.map((part) => (part.type === 'text' ? part.text : part.type)).join('|')] : [],
  );
}

/** A promise with the function that fulfils it. */
function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => (open = resolve));
  return { opened, open };
}

describe('a run', () => {
  test('ends with the first reply that calls nothing, and keeps the whole conversation', async () => {
    const model = scriptedModel([
      { say: 'I look.', call: [{ tool: 'echo', arguments: { text: 'found' } }] },
      { say: 'It is found.' },
    ]);
    const result = await runAgent({ model, toolbox: echo, messages });
    expect(result).toMatchObject({ text: 'It is found.', stopped: 'done', turns: 2 });
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(result.calls).toMatchObject([
      { n: 1, turn: 1, name: 'echo', arguments: { text: 'found' }, status: 'ok', summary: 'found' },
    ]);
  });

  test('puts the system text before each request and not into the conversation', async () => {
    const model = modelOf([callOf('echo')], 'Done.');
    const result = await runAgent({ model, toolbox: echo, system: 'Be brief.', messages });
    expect(model.requests.map((request) => request.messages[0])).toEqual([
      { role: 'system', text: 'Be brief.' },
      { role: 'system', text: 'Be brief.' },
    ]);
    expect(result.messages.some(({ role }) => role === 'system')).toBe(false);
  });

  test('adds up what the model says it used', async () => {
    const usage = { inputTokens: 10, outputTokens: 2 };
    const model = modelOf({ toolCalls: [callOf('echo')], usage }, { text: 'Done.', usage });
    expect((await runAgent({ model, toolbox: echo, messages })).usage).toEqual({ inputTokens: 20, outputTokens: 4 });
  });

  test('tells what happens in the order in which it happens', async () => {
    const events: AgentEvent[] = [];
    const toolbox = toolboxOf({
      work(_args, { onProgress }) {
        onProgress?.({ progress: 1, total: 2 });
        return said('worked');
      },
    });
    const model = modelOf({ text: 'I work.', toolCalls: [callOf('work')] }, 'Done.');
    await runAgent({ model, toolbox, messages, observe: (event) => events.push(event) });
    expect(events.map(({ type }) => type)).toEqual(
      ['turn', 'text', 'reply', 'message', 'call', 'progress', 'result', 'message'].concat(['turn', 'text', 'reply', 'message']),
    );
  });

  test('reads the tools again before each turn', async () => {
    const tools: Record<string, Tool> = {
      grow() {
        tools['late'] = () => said('late works');
        return said('grown');
      },
    };
    const model = modelOf([callOf('grow'), callOf('late')], [callOf('late')], 'Done.');
    const result = await runAgent({ model, toolbox: toolboxOf(tools), messages });
    expect(model.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      ['grow'],
      ['grow', 'late'],
      ['grow', 'late'],
    ]);
    expect(results(result.messages)).toEqual(['grown', 'There is no tool "late". Nothing was called.', 'late works']);
  });
});

describe('calls of one turn', () => {
  test('run side by side, and their results stand in the order of the calls', async () => {
    const [a, b] = [gate(), gate()];
    const toolbox = toolboxOf({
      // Each waits for the other to begin: one after the other, neither would end.
      a: async () => (a.open(), await b.opened, said('a')),
      b: async () => (b.open(), await a.opened, said('b')),
      quick: () => said('quick'),
    });
    const model = modelOf([callOf('a'), callOf('b'), callOf('quick')], 'Done.');
    const result = await runAgent({ model, toolbox, messages });
    expect(results(result.messages)).toEqual(['a', 'b', 'quick']);
    expect(result.calls.map(({ n, name }) => [n, name])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'quick'],
    ]);
  });

  test('are no more than sixteen at a time', async () => {
    let running = 0;
    let most = 0;
    const toolbox = toolboxOf({
      async work() {
        most = Math.max(most, ++running);
        for (let step = 0; step < 5; step++) await Promise.resolve();
        running--;
        return said('worked');
      },
    });
    const model = modelOf(
      Array.from({ length: 40 }, () => callOf('work')),
      'Done.',
    );
    await runAgent({ model, toolbox, messages });
    expect(most).toBe(16);
  });

  test('beyond the fiftieth are not made, and the model is told', async () => {
    let made = 0;
    const toolbox = toolboxOf({ work: () => (made++, said('worked')) });
    const model = modelOf(
      Array.from({ length: 52 }, () => callOf('work')),
      'Done.',
    );
    const result = await runAgent({ model, toolbox, messages });
    expect(made).toBe(50);
    expect(results(result.messages).slice(50)).toEqual(Array(2).fill('Not called: no more than 50 calls are made in one turn.'));
  });

  test('get ids of their own when the model repeats or omits them', async () => {
    const model = modelOf(
      [callOf('echo', {}, 'x'), callOf('echo', {}, 'x'), callOf('echo', {}, '')],
      [callOf('echo', {}, 'x')],
      'Done.',
    );
    const result = await runAgent({ model, toolbox: echo, messages });
    const ids = result.messages.flatMap((message) => (message.role === 'tool' ? [message.id] : []));
    const asked = result.messages.flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
    );
    expect(ids).toEqual(['x', 'x_2', 'call', 'x_3']);
    expect(asked).toEqual(ids);
  });

  test('get ids that the conversation before did not have', async () => {
    const before: readonly ModelMessage[] = [
      { role: 'assistant', text: '', toolCalls: [callOf('echo', {}, 'x')] },
      { role: 'tool', id: 'x', name: 'echo', status: 'ok', parts: [] },
      ...messages,
    ];
    const result = await runAgent({ model: modelOf([callOf('echo', {}, 'x')], 'Done.'), toolbox: echo, messages: before });
    expect(result.calls.map(({ id }) => id)).toEqual(['x_2']);
  });
});

describe('what cannot be called is told to the model, and reaches no server', () => {
  const made: string[] = [];
  const toolbox = toolboxOf({ orders__get_order: () => (made.push('x'), said('never')) });

  test.each([
    [
      'unknown',
      'orders__get_ordr',
      {},
      'There is no tool "orders__get_ordr". Did you mean "orders__get_order"? Nothing was called.',
    ],
    ['unknown', 'weather', {}, 'There is no tool "weather". Nothing was called.'],
    [
      'invalid',
      'orders__get_order',
      '{"id": ',
      'The arguments of orders__get_order are not a JSON object. Nothing was called; call it again with one.',
    ],
    [
      'invalid',
      'orders__get_order',
      [1],
      'The arguments of orders__get_order are not a JSON object. Nothing was called; call it again with one.',
    ],
  ])('%s: %s with %j', async (status, name, args, expected) => {
    const result = await runAgent({ model: modelOf([callOf(name, args)], 'Done.'), toolbox, messages });
    expect(results(result.messages)).toEqual([expected]);
    expect(result.calls).toMatchObject([{ status }]);
    expect(made).toEqual([]);
  });
});

describe('each way a call can end', () => {
  test.each([
    ['ok', 'Order 1001.'],
    ['tool-error', 'The tool reported an error.'],
    ['denied', 'Declined by the user.'],
    ['protocol-error', 'MCP error -32602: bad arguments'],
    ['timeout', 'Timed out after 60 s.'],
    ['lost', 'Server "orders" has stopped; it is not known whether the call was carried out.'],
    ['fault', 'Server "orders" cannot be reached.'],
  ] as const)('%s reaches the model in its own words', async (status, text) => {
    const toolbox = toolboxOf({ work: () => ({ ...said(text, status), because: 'for people' }) });
    const model = modelOf([callOf('work')], 'Done.');
    const result = await runAgent({ model, toolbox, messages });
    expect(results(model.requests[1]?.messages ?? [])).toEqual([text]);
    expect(result.calls).toMatchObject([{ status, summary: text, because: 'for people' }]);
    expect(JSON.stringify(model.requests)).not.toContain('for people');
  });

  test('a toolbox that rejects against its word is a result too, without its words', async () => {
    const toolbox = toolboxOf({
      known: () => Promise.reject(new ParleyError('closed', 'The host is closed.')),
      unknown: () => Promise.reject(new Error('secret detail')),
    });
    const result = await runAgent({ model: modelOf([callOf('known'), callOf('unknown')], 'Done.'), toolbox, messages });
    expect(results(result.messages)).toEqual(['The host is closed.', 'The call failed here, before or after the server had it.']);
  });
});

describe('a limit', () => {
  test('of turns ends the run with a sentence', async () => {
    const result = await runAgent({ model: modelOf([callOf('echo', { text: 'x' })]), toolbox: echo, messages, maxTurns: 3 });
    expect(result).toMatchObject({ text: 'Stopped after 3 turns.', stopped: 'turns', turns: 3 });
    expect(result.calls).toHaveLength(3);
  });

  test('of turns is fifty when nobody says another', async () => {
    const result = await runAgent({ model: modelOf([callOf('echo')]), toolbox: echo, messages });
    expect(result).toMatchObject({ text: 'Stopped after 50 turns.', turns: 50 });
  });

  test('of tokens keeps the next request from being made', async () => {
    const model = modelOf({ toolCalls: [callOf('echo')], usage: { inputTokens: 60, outputTokens: 1 } });
    const result = await runAgent({ model, toolbox: echo, messages, budget: { tokens: 100 } });
    expect(result).toMatchObject({ text: 'Stopped: the budget of 100 tokens is used up.', stopped: 'budget', turns: 2 });
  });

  test('of time gives up what is under way', async () => {
    const clock = createFakeClock();
    const started = gate();
    const toolbox = toolboxOf({ wait: () => (started.open(), new Promise<never>(() => {})) });
    const running = runAgent({ model: modelOf([callOf('wait')]), toolbox, messages, clock, budget: { wallMs: 5_000 } });
    await started.opened;
    clock.advance(5_000);
    expect(await running).toMatchObject({
      text: 'Stopped: the time allowed, 5 s, is over.',
      stopped: 'budget',
      calls: [{ status: 'cancelled' }],
    });
    expect(clock.waiting).toBe(0);
  });

  test('of empty answers is two in a row', async () => {
    const model = modelOf('', [callOf('echo')], '', ' \n');
    const result = await runAgent({ model, toolbox: echo, messages });
    expect(result).toMatchObject({ text: 'The model gave an empty answer 2 times.', stopped: 'done', turns: 4 });
    expect(result.messages.filter(({ role }) => role === 'assistant')).toHaveLength(1);
  });
});

describe('an abort', () => {
  test('in the middle of a call ends the run at once, whatever the tool does, and every call has its result', async () => {
    const stop = new AbortController();
    const quickEnded = gate();
    const events: string[] = [];
    let report: (() => void) | undefined;
    const toolbox = toolboxOf({
      quick: () => said('quick'),
      stuck(_args, { onProgress }) {
        report = () => onProgress?.({ progress: 1 });
        return new Promise<never>(() => {});
      },
    });
    const running = runAgent({
      model: modelOf([callOf('quick'), callOf('stuck')]),
      toolbox,
      messages,
      signal: stop.signal,
      observe({ type }) {
        events.push(type);
        if (type === 'result') quickEnded.open();
      },
    });
    await quickEnded.opened;
    stop.abort();
    const result = await running;
    expect(result).toMatchObject({ text: '', stopped: 'aborted', turns: 1 });
    expect(results(result.messages)).toEqual(['quick', 'Cancelled.']);
    report?.();
    expect(events).not.toContain('progress');
  });

  test('passes the signal on to the tool', async () => {
    const stop = new AbortController();
    let seen: AbortSignal | undefined;
    const toolbox = toolboxOf({
      wait(_args, { signal }) {
        seen = signal;
        stop.abort();
        return said('too late');
      },
    });
    await runAgent({ model: modelOf([callOf('wait')]), toolbox, messages, signal: stop.signal });
    expect(seen?.aborted).toBe(true);
  });

  test('while the model speaks keeps what it had said', async () => {
    const stop = new AbortController();
    const model: Model = {
      label: 'never ends',
      takes: [],
      generate(_request, { onText } = {}) {
        onText?.('I was about to');
        queueMicrotask(() => stop.abort());
        return new Promise<never>(() => {});
      },
    };
    const result = await runAgent({ model, toolbox: echo, messages, signal: stop.signal });
    expect(result).toMatchObject({ text: 'I was about to', stopped: 'aborted', turns: 1 });
    expect(result.messages.at(-1)).toEqual({ role: 'assistant', text: 'I was about to', toolCalls: [] });
  });

  test('before the start makes no request', async () => {
    const model = modelOf('Done.');
    const result = await runAgent({ model, toolbox: echo, messages, signal: AbortSignal.abort() });
    expect(result).toMatchObject({ stopped: 'aborted', turns: 0 });
    expect(model.requests).toEqual([]);
  });
});

test('a fault of the model is thrown, and what was done before it was told', async () => {
  const fault = new ParleyError('unreachable', 'There is no such host.');
  const told: AgentEvent[] = [];
  let turn = 0;
  const model: Model = {
    label: 'breaks',
    takes: [],
    generate: async () => {
      if (++turn === 2) throw fault;
      return { text: '', toolCalls: [callOf('echo', { text: 'done before' })], finish: 'tool-calls' };
    },
  };
  const clock = createFakeClock();
  const running = runAgent({ model, toolbox: echo, messages, clock, observe: (event) => told.push(event) });
  await expect(running).rejects.toBe(fault);
  expect(results(told.flatMap((event) => (event.type === 'message' ? [event.message] : [])))).toEqual(['done before']);
  expect(clock.waiting).toBe(0);
});
