// What a server may ask of a client (2026-07-28, client/elicitation, sampling and roots), and what it may not.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { connect, type InputHandlers } from '../../src/client/index.ts';
import { complete, modernServer } from '../../src/client/fixtures/script.ts';
import { RpcError } from '../../src/errors.ts';
import { loadConfig, openHost } from '../../src/host/index.ts';
import type { JsonObject } from '../../src/jsonrpc/index.ts';
import { closing, complete as completed, modernHttp, result } from './fixtures/servers.ts';

const open = closing();
const directory = mkdtempSync(join(tmpdir(), 'parley-inputs-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Calls a tool that wants `request` answered; resolves with the answer that was sent. */
async function asked(request: JsonObject, inputs: InputHandlers): Promise<unknown> {
  const server = modernServer({
    'tools/call': ({ params }) =>
      params?.['inputResponses'] === undefined
        ? result({ resultType: 'input_required', inputRequests: { q: request } })
        : complete({ content: [] }),
  });
  const session = open(await connect(server, { inputs }));
  await session.callTool('x');
  return (server.requests.at(-1)?.params?.['inputResponses'] as JsonObject)['q'];
}

const formOf = (properties: JsonObject, required: string[] = []) => ({
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema: { type: 'object', properties, required } },
});
const urlOf = (url: unknown) => ({ method: 'elicitation/create', params: { mode: 'url', message: 'm', url } });

describe('capabilities', () => {
  test.each<[InputHandlers, JsonObject]>([
    [{}, {}],
    [{ elicitForm: async () => ({ action: 'cancel' }) }, { elicitation: { form: {} } }],
    [{ elicitUrl: async () => ({ action: 'cancel' }) }, { elicitation: { url: {} } }],
    [{ sample: () => Promise.reject(new Error('never')) }, { sampling: {} }],
    [{ listRoots: async () => ({ roots: [] }) }, { roots: { listChanged: true } }],
  ])('follow from the handlers, and an elicitation capability has a mode (“Capabilities”): %j', async (inputs, capabilities) => {
    const server = modernServer({});
    const session = open(await connect(server, { inputs }));
    await session.ping();
    for (const { params } of server.requests) {
      const declared = (params?.['_meta'] as JsonObject)['io.modelcontextprotocol/clientCapabilities'] as JsonObject;
      const { extensions: _others, ...core } = declared;
      expect(core).toEqual(capabilities);
    }
  });
});

describe('a form (client/elicitation)', () => {
  test('needs no mode to be one (“Elicitation Requests”)', async () => {
    const elicitForm: InputHandlers['elicitForm'] = async ({ message }) => ({ action: 'accept', content: { a: message } });
    for (const mode of [{}, { mode: 'form' }]) {
      const { method, params } = formOf({ a: { type: 'string' } });
      expect(await asked({ method, params: { ...params, ...mode } }, { elicitForm })).toEqual({
        action: 'accept',
        content: { a: 'm' },
      });
    }
  });

  test.each<[string, JsonObject, unknown]>([
    ['a text that is too short', { type: 'string', minLength: 2 }, 'x'],
    ['a text that is too long', { type: 'string', maxLength: 2 }, 'xyz'],
    ['no e-mail address', { type: 'string', format: 'email' }, 'nobody'],
    ['no URI', { type: 'string', format: 'uri' }, 'not a uri'],
    ['no date', { type: 'string', format: 'date' }, '2026-02-30'],
    ['no date and time', { type: 'string', format: 'date-time' }, '2026-02-03'],
    ['a number that is too small', { type: 'number', minimum: 1 }, 0.5],
    ['a number that is too large', { type: 'integer', maximum: 3 }, 4],
    ['no integer', { type: 'integer' }, 1.5],
    ['a text for a number', { type: 'number' }, '1'],
    ['a text for a boolean', { type: 'boolean' }, 'true'],
    ['none of the choices', { type: 'string', enum: ['a', 'b'] }, 'c'],
    ['the title of a choice', { type: 'string', oneOf: [{ const: 'a', title: 'Apple' }] }, 'Apple'],
    ['none of several choices', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['a', 'c']],
    ['too many choices', { type: 'array', maxItems: 1, items: { type: 'string', enum: ['a', 'b'] } }, ['a', 'b']],
    ['too few choices', { type: 'array', minItems: 1, items: { anyOf: [{ const: 'a', title: 'A' }] } }, []],
  ])('is not answered with %s (“Form Mode Security”)', async (_name, field, value) => {
    const elicitForm = async () => ({ action: 'accept' as const, content: { a: value } as never });
    await expect(asked(formOf({ a: field }), { elicitForm })).rejects.toMatchObject({ code: 'invalid-arguments' });
  });

  test('is not answered without what is required, and takes defaults for what was left out alone', async () => {
    const fields = {
      name: { type: 'string', default: 'Ada' },
      age: { type: 'integer', default: 30 },
      subscribed: { type: 'boolean', default: true },
      side: { type: 'string', enum: ['l', 'r'], default: 'l' },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a'] },
      free: { type: 'string' },
    };
    const given = { name: '', age: 0, subscribed: false, tags: [] as string[] };
    const elicitForm: InputHandlers['elicitForm'] = async () => ({ action: 'accept', content: given });
    expect(await asked(formOf(fields), { elicitForm })).toEqual({ action: 'accept', content: { ...given, side: 'l' } });
    expect(await asked(formOf(fields), { elicitForm: async () => ({ action: 'accept', content: {} }) })).toEqual({
      action: 'accept',
      content: { name: 'Ada', age: 30, subscribed: true, side: 'l', tags: ['a'] },
    });
    await expect(asked(formOf(fields, ['free']), { elicitForm })).rejects.toMatchObject({ code: 'invalid-arguments' });
  });
});

describe('a URL (client/elicitation, “Safe URL Handling”)', () => {
  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'vscode://open',
    'http://example.com/',
    'https://user:password@example.com/',
    `https://example.com/${'x'.repeat(2_048)}`,
    'example.com',
    '',
    7,
    undefined,
  ])('that nobody should open reaches nobody: %s', async (url) => {
    let shown = 0;
    await expect(asked(urlOf(url), { elicitUrl: async () => (shown++, { action: 'accept' }) })).rejects.toMatchObject({
      code: 'input-unanswered',
    });
    expect(shown).toBe(0);
  });

  test('is shown whole, and is neither fetched before the answer nor after it, whatever the answer', async () => {
    const visits: string[] = [];
    const canary = createServer((request, response) => {
      visits.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    await once(canary, 'listening');
    open({ close: () => new Promise((resolve) => canary.close(resolve)) });
    const there = `http://127.0.0.1:${String((canary.address() as AddressInfo).port)}`;
    const url = `${there}/sign-in?state=${'s'.repeat(500)}#part`;
    for (const action of ['accept', 'decline', 'cancel'] as const) {
      const shown: unknown[] = [];
      expect(await asked(urlOf(url), { elicitUrl: async (params) => (shown.push(params.url), { action }) })).toEqual({ action });
      expect(shown).toEqual([url]);
    }
    // Whatever was asked for before comes before this.
    await fetch(`${there}/fence`);
    expect(visits).toEqual(['/fence']);
  });
});

describe('sampling (client/sampling)', () => {
  const sampleOf = (params: JsonObject) => ({ method: 'sampling/createMessage', params });
  const user = (...content: JsonObject[]) => ({ role: 'user', content });
  const text = { type: 'text', text: 'hi' };
  const use = { type: 'tool_use', id: 'u', name: 't', input: {} };
  const used = { type: 'tool_result', toolUseId: 'u', content: [] };

  test.each<[string, JsonObject]>([
    ['tools', { messages: [], maxTokens: 1, tools: [] }],
    ['a choice of tools', { messages: [], maxTokens: 1, toolChoice: { mode: 'auto' } }],
    ['the use of a tool', { messages: [{ role: 'assistant', content: use }], maxTokens: 1 }],
    ['the use of a tool among others', { messages: [{ role: 'assistant', content: [text, use] }, user(used)], maxTokens: 1 }],
    ['a result among other content', { messages: [user(text, used)], maxTokens: 1 }],
    ['no messages', { maxTokens: 1 }],
    ['no limit', { messages: [] }],
  ])(
    'with %s is refused, since tools are not declared (“Tools in Sampling”, “Message Content Constraints”)',
    async (_name, params) => {
      let reached = 0;
      const sample = async () => (reached++, { role: 'assistant' as const, content: text as never, model: 'm' });
      await expect(asked(sampleOf(params), { sample })).rejects.toMatchObject({ code: 'input-unanswered' });
      expect(reached).toBe(0);
    },
  );

  test('reaches its handler with the limit and all it says (“Request Parameters”)', async () => {
    const params = {
      messages: [user(text)],
      maxTokens: 17,
      systemPrompt: 's',
      temperature: 0.5,
      stopSequences: ['x'],
      metadata: { a: 1 },
    };
    const seen: unknown[] = [];
    const answer = {
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'ok' },
      model: 'm',
      stopReason: 'maxTokens',
    };
    expect(await asked(sampleOf(params), { sample: async (given) => (seen.push(given), answer) })).toEqual(answer);
    expect(seen).toEqual([params]);
  });

  test('that a person rejects is an error to the caller and no empty message (“Error Handling”)', async () => {
    const sample = () => Promise.reject(new RpcError(-1, 'User rejected sampling request'));
    await expect(asked(sampleOf({ messages: [], maxTokens: 1 }), { sample })).rejects.toMatchObject({
      code: 'input-unanswered',
      message: expect.stringContaining('User rejected') as string,
    });
  });
});

describe('roots (client/roots)', () => {
  const roots = (uri: string) =>
    asked({ method: 'roots/list' }, { listRoots: async () => ({ roots: [{ uri: 'file:///ok' }, { uri }] }) });

  test.each([
    'https://example.com/',
    '/etc',
    'FILE:/x',
    'file://',
    'file:relative',
    'file:///work/../etc',
    'file:///work/%2e%2E/etc',
    'file:///work/./x',
  ])('that is no absolute file URI without detours is never sent (“Root”, “Security Considerations”): %s', async (uri) => {
    await expect(roots(uri)).rejects.toMatchObject({ code: 'invalid-arguments' });
  });

  test.each(['file:///', 'file:///C:/work', 'file:///home/a%20b/..c/d..', 'file://server/share'])('may be %s', async (uri) => {
    expect(await roots(uri)).toEqual({ roots: [{ uri: 'file:///ok' }, { uri }] });
  });
});

test('a host knows which server asks, and only the handlers for that server are asked (client/elicitation, “Security Considerations”)', async () => {
  const asking = async () =>
    open(
      await modernHttp({
        'tools/call': ({ params }) =>
          params?.['inputResponses'] === undefined
            ? result({ resultType: 'input_required', inputRequests: { q: formOf({ a: { type: 'string' } }) } })
            : completed({ content: [] }),
      }),
    );
  const [one, two] = await Promise.all([asking(), asking()]);
  const { config } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers: { one: { type: 'http', url: one.url }, two: { type: 'http', url: two.url } } },
  });
  const asked: string[] = [];
  const host = open(
    openHost({
      config,
      surroundings: { env: {}, home: directory, workspaceFolder: directory },
      inputs: (server) => ({ elicitForm: async () => (asked.push(server), { action: 'decline' }) }),
    }),
  );
  for (const server of ['one', 'two', 'one']) await (await host.session(server)).callTool('x');
  expect(asked).toEqual(['one', 'two', 'one']);
});
