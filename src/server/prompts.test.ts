import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../jsonrpc/index.ts';
import { openLine } from './fixtures/raw-client.ts';
import { createServer, type Completions, type Server } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function make(): Server {
  const server = createServer({ name: 'test', version: '1' });
  open.push(server);
  return server;
}

const get = (server: Server, params: JsonObject) => openLine(server).modern('prompts/get', params);

describe('a prompt', () => {
  test('is text of the user, messages, or a whole result', async () => {
    const server = make();
    const messages = [{ role: 'assistant' as const, content: { type: 'text' as const, text: 'b' } }];
    server.prompt({ name: 'text', description: 'D' }, () => 'a');
    server.prompt({ name: 'messages' }, async () => messages);
    server.prompt({ name: 'whole' }, () => ({ description: 'own', messages }));
    server.prompt({ name: 'odd' }, (() => 7) as never);
    expect((await get(server, { name: 'text' })).result).toMatchObject({
      description: 'D',
      messages: [{ role: 'user', content: { type: 'text', text: 'a' } }],
    });
    expect((await get(server, { name: 'messages' })).result).toMatchObject({ messages });
    expect((await get(server, { name: 'whole' })).result).toMatchObject({ description: 'own', messages });
    expect((await get(server, { name: 'odd' })).error).toEqual({ code: -32603, message: 'Internal error' });
  });

  test('lists its arguments, from a list or from a schema', async () => {
    const server = make();
    server.prompt({ name: 'list', arguments: [{ name: 'a', required: true }] }, ({ a }) => String(a));
    server.prompt(
      { name: 'schema', arguments: z.object({ day: z.string().describe('Which'), times: z.coerce.number().optional() }) },
      ({ day, times }) => `${day.toUpperCase()} ${String((times ?? 1) + 1)}`,
    );
    expect((await openLine(server).modern('prompts/list')).result?.['prompts']).toMatchObject([
      { name: 'list', arguments: [{ name: 'a', required: true }] },
      { name: 'schema', arguments: [{ name: 'day', description: 'Which', required: true }, { name: 'times' }] },
    ]);
    expect((await get(server, { name: 'schema', arguments: { day: 'mon', times: '4' } })).result).toMatchObject({
      messages: [{ content: { text: 'MON 5' } }],
    });
    expect((await get(server, { name: 'list', arguments: { a: 'x' } })).result).toMatchObject({
      messages: [{ content: { text: 'x' } }],
    });
  });

  test('with arguments that do not fit is refused', async () => {
    const server = make();
    server.prompt({ name: 'list', arguments: [{ name: 'a', required: true }] }, () => '');
    server.prompt({ name: 'schema', arguments: z.object({ n: z.string().max(2) }) }, () => '');
    for (const [params, text] of [
      [{ name: 'list' }, 'a: is required'],
      [{ name: 'list', arguments: { a: 7 } }, 'object of strings'],
      [{ name: 'schema', arguments: { n: 'long' } }, 'n: '],
      [{ name: 'lost' }, 'Did you mean "list"?'],
      [{}, '"name"'],
    ] as const) {
      const { error } = await get(server, params);
      expect(error?.code).toBe(-32602);
      expect(error?.message).toContain(text);
    }
  });

  test('that could not work is refused at once', () => {
    const server = make();
    for (const act of [
      () => server.prompt({ name: 'a', complete: { b: () => [] } }, () => ''),
      () => server.prompt({ name: 'a', arguments: z.record(z.string(), z.string()) }, () => ''),
    ]) {
      expect(act).toThrow(expect.objectContaining({ code: 'usage' }));
    }
  });
});

describe('a completion', () => {
  function completing(give: (value: string, known: Readonly<Record<string, string>>) => Completions): Server {
    const server = make();
    server.prompt(
      {
        name: 'p',
        arguments: [{ name: 'a' }, { name: 'b' }],
        complete: { a: (value, { arguments: known }) => give(value, known) },
      },
      () => '',
    );
    server.template({ uriTemplate: 'x:{id}', name: 'x', complete: { id: (value) => [`${value}!`] } }, () => '');
    server.resource({ uri: 'y:1', name: 'y' }, () => '');
    return server;
  }
  const complete = (server: Server, params: JsonObject) => openLine(server).modern('completion/complete', params);
  const ofPrompt = { type: 'ref/prompt', name: 'p' };

  test('has what the completer gives, which sees the value and what was filled in before', async () => {
    const server = completing((value, known) => [value, known['b'] ?? 'none']);
    const argument = { name: 'a', value: 'v' };
    expect((await complete(server, { ref: ofPrompt, argument })).result).toMatchObject({
      completion: { values: ['v', 'none'], total: 2, hasMore: false },
    });
    expect((await complete(server, { ref: ofPrompt, argument, context: { arguments: { b: 'w' } } })).result).toMatchObject({
      completion: { values: ['v', 'w'] },
    });
    const ref = { type: 'ref/resource', uri: 'x:{id}' };
    expect((await complete(server, { ref, argument: { name: 'id', value: '7' } })).result).toMatchObject({
      completion: { values: ['7!'] },
    });
  });

  test('is empty for an argument nobody completes', async () => {
    const { result } = await complete(
      completing(() => ['x']),
      { ref: ofPrompt, argument: { name: 'b', value: '' } },
    );
    expect(result).toMatchObject({ completion: { values: [], total: 0, hasMore: false } });
  });

  test('holds 100 values at most and says how many there are', async () => {
    const many = Array.from({ length: 101 }, (_, index) => String(index));
    const ask = async (given: Completions) =>
      (
        await complete(
          completing(() => given),
          { ref: ofPrompt, argument: { name: 'a', value: '' } },
        )
      ).result?.['completion'];
    expect(await ask(many)).toEqual({ values: many.slice(0, 100), total: 101, hasMore: true });
    expect(await ask({ values: ['a'], hasMore: true })).toEqual({ values: ['a'], hasMore: true });
    expect(await ask({ values: ['a'], total: 7 })).toEqual({ values: ['a'], total: 7, hasMore: true });
  });

  test('of nothing there is, or badly asked, is refused', async () => {
    const server = completing(() => []);
    const argument = { name: 'a', value: '' };
    for (const params of [
      { argument },
      { ref: ofPrompt },
      { ref: ofPrompt, argument: { name: 'a' } },
      { ref: ofPrompt, argument: { name: 'toString', value: '' } },
      { ref: { type: 'ref/prompt', name: 'q' }, argument },
      { ref: { type: 'ref/resource', uri: 'z:1' }, argument },
      { ref: { type: 'ref/resource', uri: 'y:1' }, argument },
      { ref: { type: 'ref/tool', name: 'p' }, argument },
    ]) {
      expect((await complete(server, params)).error?.code).toBe(-32602);
    }
  });
});
