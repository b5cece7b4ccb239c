// Requests that need input first (2026-07-28, basic/patterns/mrtr, “Client Requirements”).
import { describe, expect, test } from 'vitest';
import { connect, type InputHandlers } from '../../src/client/index.ts';
import { complete, modernServer, settle } from '../../src/client/fixtures/script.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { closing, complete as completed, modernHttp, result } from './fixtures/servers.ts';

const open = closing();

const form = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object', properties: { n: { type: 'string' } } } },
};
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } };
const roots = { method: 'roots/list' };
const wants = (inputRequests?: JsonObject, requestState?: string) =>
  result({
    resultType: 'input_required',
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  });
const done = complete({ content: [], contents: [], messages: [] });

const handlers: InputHandlers = {
  elicitForm: async () => ({ action: 'accept', content: { n: 'Ann' } }),
  sample: async () => ({ role: 'assistant', content: { type: 'text', text: 'Roses' }, model: 'm' }),
  listRoots: async () => ({ roots: [{ uri: 'file:///work' }] }),
};

const ASKING: Record<string, (session: Awaited<ReturnType<typeof connect>>) => Promise<unknown>> = {
  'tools/call': (session) => session.callTool('x', { a: 1 }),
  'resources/read': (session) => session.readResource('a:b'),
  'prompts/get': (session) => session.getPrompt('p', { a: '1' }),
};

test.each(Object.keys(ASKING))(
  '%s may ask for all three kinds at once, under any keys; one retry brings all answers',
  async (method) => {
    // Parsed, as from the wire: the key is the object's own.
    const requests = JSON.parse(JSON.stringify({ form, '': sampling, roots }).replace('"roots"', '"__proto__"')) as JsonObject;
    const server = modernServer({
      [method]: ({ params }) => (params?.['inputResponses'] === undefined ? wants(requests) : done),
    });
    const session = open(await connect(server, { inputs: handlers }));
    await ASKING[method]?.(session);
    const [first, second, ...more] = server.requests.filter((request) => request.method === method);
    expect(more).toEqual([]);
    expect(second?.id).not.toBe(first?.id);
    const { inputResponses, ...rest } = second?.params as { inputResponses: JsonObject };
    expect(rest).toEqual(first?.params);
    expect(Object.entries(inputResponses)).toEqual([
      ['form', { action: 'accept', content: { n: 'Ann' } }],
      ['', { role: 'assistant', content: { type: 'text', text: 'Roses' }, model: 'm' }],
      ['__proto__', { roots: [{ uri: 'file:///work' }] }],
    ]);
  },
);

test('answers go on the wire under the very keys, and a state byte for byte, up to 64 KiB', async () => {
  const state = '"quoted" \\ \u0000 \ud83d\ude00 ünï \u2028 == '.repeat(1_500).slice(0, 65_536);
  const server = open(
    await modernHttp({
      'tools/call': ({ params }) =>
        params?.['requestState'] === undefined
          ? wants(JSON.parse('{"__proto__":{"method":"roots/list"}}') as JsonObject, state)
          : completed({ content: [] }),
    }),
  );
  const session = open(await connect(httpTransport({ url: server.url }), { inputs: handlers }));
  await session.callTool('x');
  const params = server.messages.at(-1)?.params ?? {};
  expect(params['requestState']).toBe(state);
  expect(server.seen.at(-1)?.body).toContain('"inputResponses":{"__proto__":{"roots":[{"uri":"file:///work"}]}}');
});

test('a state above 64 KiB, or more than eight questions at once, is refused and nobody is asked', async () => {
  let asked = 0;
  const counting: InputHandlers = { listRoots: async () => (asked++, { roots: [] }) };
  const nine = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [String(index), roots]));
  for (const wish of [wants({ roots }, 'x'.repeat(65_537)), wants(nine), wants({ ['k'.repeat(129)]: roots })]) {
    const session = open(await connect(modernServer({ 'tools/call': () => wish }), { inputs: counting }));
    await expect(session.callTool('x')).rejects.toMatchObject({ code: 'limit' });
  }
  expect(asked).toBe(0);
});

test('a decline and a cancel are answers too, and are sent as such', async () => {
  for (const action of ['decline', 'cancel'] as const) {
    const server = modernServer({
      'tools/call': ({ params }) => (params?.['inputResponses'] === undefined ? wants({ form }) : done),
    });
    const session = open(
      await connect(server, { inputs: { elicitForm: async () => ({ action, content: { n: 'kept here' } }) } }),
    );
    await session.callTool('x');
    expect(server.requests.at(-1)?.params?.['inputResponses']).toEqual({ form: { action } });
  }
});

describe('what cannot be answered', () => {
  test.each([
    ['an unknown kind', { method: 'elicitation/later', params: {} }],
    ['a kind that was not declared', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }],
    [
      'a mode that was not declared',
      { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a.test/' } },
    ],
    ['an unknown mode', { method: 'elicitation/create', params: { ...form.params, mode: 'later' } }],
  ])('%s is an error to the caller; no answer is made up', async (_name, request) => {
    const server = modernServer({ 'tools/call': () => wants({ q: request }) });
    const session = open(await connect(server, { inputs: { elicitForm: async () => ({ action: 'accept', content: {} }) } }));
    await expect(session.callTool('x')).rejects.toMatchObject({ code: 'input-unanswered' });
    expect(server.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });
});

test('an answer that never comes is waited for no longer than half an hour, whatever its handler does', async () => {
  const clock = createFakeClock();
  const server = modernServer({ 'tools/call': () => wants({ form }, 'state') });
  const session = open(await connect(server, { clock, inputs: { elicitForm: () => new Promise(() => {}) } }));
  const call = session.callTool('x');
  const outcome = expect(call).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxRoundsMs' } });
  await settle();
  clock.advance(1_800_000);
  await outcome;
  expect(clock.waiting).toBe(0);
});

test('a caller who gives up is let go though the handler goes on', async () => {
  const server = modernServer({ 'tools/call': () => wants({ form }, 'state') });
  const stop = new AbortController();
  const session = open(await connect(server, { inputs: { elicitForm: () => (stop.abort(), new Promise(() => {})) } }));
  await expect(session.callTool('x', {}, { signal: stop.signal })).rejects.toMatchObject({ code: 'aborted' });
});

test('a caller who gives up in the middle of a round ends it: the handler hears it and nothing is retried', async () => {
  const server = modernServer({ 'tools/call': () => wants({ form }, 'state') });
  const stop = new AbortController();
  let heard = false;
  const session = open(
    await connect(server, {
      inputs: {
        elicitForm: (_params, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              heard = true;
              reject(new Error('stopped'));
            });
            stop.abort();
          }),
      },
    }),
  );
  await expect(session.callTool('x', {}, { signal: stop.signal })).rejects.toMatchObject({ code: 'aborted' });
  await settle();
  expect(heard).toBe(true);
  expect(server.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
});
