import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { RpcError } from '../errors.ts';
import { openLine } from './fixtures/raw-client.ts';
import { createServer, ToolError, type Server, type ServerOptions } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function server(options: Partial<ServerOptions> = {}): Server {
  const made = createServer({ name: 'orders', version: '1.0.0', ...options });
  open.push(made);
  return made;
}

const call = async (made: Server, name: string, args?: object) =>
  openLine(made).modern('tools/call', { name, ...(args !== undefined && { arguments: args }) });

describe('what a handler returns', () => {
  test('text becomes one block of text', async () => {
    const made = server();
    made.tool({ name: 'greet' }, () => 'hello');
    const { result } = await call(made, 'greet');
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'hello' }] });
    expect(result?.['isError']).toBeUndefined();
  });

  test('blocks are the content, and a whole result is itself', async () => {
    const made = server();
    made.tool({ name: 'blocks' }, () => [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }]);
    made.tool({ name: 'whole' }, () => ({ content: [{ type: 'text', text: 'no' }], isError: true, _meta: { 'a.b/c': 1 } }));
    expect((await call(made, 'blocks')).result).toMatchObject({ content: [{ type: 'image' }] });
    expect((await call(made, 'whole')).result).toMatchObject({ isError: true, _meta: { 'a.b/c': 1 } });
  });

  test('with an output schema it is the structured content, and its JSON stands in the text', async () => {
    const made = server();
    made.tool({ name: 'sum', output: z.object({ total: z.number() }) }, () => ({ total: 3 }));
    made.tool({ name: 'names', output: { type: 'array', items: { type: 'string' } } }, () => ['a', 'b']);
    expect((await call(made, 'sum')).result).toMatchObject({
      content: [{ type: 'text', text: '{"total":3}' }],
      structuredContent: { total: 3 },
    });
    expect((await call(made, 'names')).result).toMatchObject({ structuredContent: ['a', 'b'] });
  });

  test('with an output schema a whole result may hold both, and an error needs no structured content', async () => {
    const made = server();
    made.tool({ name: 'both', output: z.object({ n: z.number() }) }, () => ({
      content: [{ type: 'text', text: 'three' }],
      structuredContent: { n: 3 },
    }));
    made.tool({ name: 'failed', output: z.object({ n: z.number() }) }, () => ({ content: [], isError: true }));
    expect((await call(made, 'both')).result).toMatchObject({ content: [{ text: 'three' }], structuredContent: { n: 3 } });
    expect((await call(made, 'failed')).result).toMatchObject({ content: [], isError: true });
  });

  test('that its output schema does not allow is an internal error, with the reason in the log alone', async () => {
    const logged: unknown[] = [];
    const made = server({ log: (_level, _message, facts) => logged.push(facts?.['error']) });
    made.tool({ name: 'sum', output: z.object({ total: z.number() }) }, () => ({ total: 'secret' }) as never);
    expect((await call(made, 'sum')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect(String(logged[0])).toContain('total');
  });

  test('keeps the literal types of an output schema', async () => {
    const made = server();
    made.tool({ name: 'side', output: z.object({ side: z.enum(['left', 'right']) }) }, async () => ({ side: 'left' }));
    // @ts-expect-error: a side is no number.
    made.tool({ name: 'wrong', output: z.object({ side: z.enum(['left', 'right']) }) }, async () => ({ side: 7 }));
    expect((await call(made, 'side')).result).toMatchObject({ structuredContent: { side: 'left' } });
    expect((await call(made, 'wrong')).error?.code).toBe(-32603);
  });

  test('that is no result at all is an internal error', async () => {
    const made = server();
    // @ts-expect-error: without an output schema there is no structured content.
    made.tool({ name: 'nothing' }, () => ({ total: 1 }));
    expect((await call(made, 'nothing')).error).toEqual({ code: -32603, message: 'Internal error' });
  });
});

describe('what a handler throws', () => {
  test('is answered without its text, unless it is meant for the client', async () => {
    const logged: unknown[] = [];
    const made = server({ log: (_level, message, facts) => logged.push([message, facts?.['error']]) });
    const fault = new Error('password=hunter2');
    made.tool({ name: 'fault' }, () => Promise.reject(fault));
    made.tool({ name: 'meant' }, () => {
      throw new ToolError('The city is not known.');
    });
    made.tool({ name: 'protocol' }, () => {
      throw new RpcError(-32_000, 'quota', { left: 0 });
    });
    const line = openLine(made);
    expect((await line.modern('tools/call', { name: 'fault' })).error).toEqual({ code: -32603, message: 'Internal error' });
    expect((await line.modern('tools/call', { name: 'meant' })).result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'The city is not known.' }],
    });
    expect((await line.modern('tools/call', { name: 'protocol' })).error).toEqual({
      code: -32_000,
      message: 'quota',
      data: { left: 0 },
    });
    expect(JSON.stringify(line.received)).not.toMatch(/hunter2|at .*\.ts/);
    expect(logged).toEqual([['tools/call failed.', fault]]);
  });
});

describe('arguments', () => {
  test('reach the handler as a Standard Schema made them', async () => {
    const made = server();
    const input = z.object({ when: z.string().transform((text) => text.length), times: z.number().default(2) });
    made.tool({ name: 'count', input }, ({ when, times }) => String(when * times));
    expect((await call(made, 'count', { when: 'abc' })).result).toMatchObject({ content: [{ text: '6' }] });
  });

  test('that do not fit are a tool error which names the paths, in both kinds of schema', async () => {
    const made = server();
    let ran = false;
    const run = () => {
      ran = true;
      return '';
    };
    made.tool({ name: 'zod', input: z.object({ order: z.object({ id: z.number() }) }) }, run);
    made.tool({ name: 'json', input: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } }, run);
    made.tool({ name: 'none' }, run);
    const text = async (name: string, args: object) => {
      const { result } = await call(made, name, args);
      expect(result).toMatchObject({ isError: true });
      return (result?.['content'] as { text: string }[])[0]?.text;
    };
    expect(await text('zod', { order: { id: 'x' } })).toContain('order.id');
    expect(await text('json', { id: 'x' })).toContain('id');
    expect(await text('none', { id: 1 })).toContain('takes no arguments');
    expect(ran).toBe(false);
  });

  test('that are absent or null count as none; others that are no object are refused', async () => {
    const made = server();
    made.tool({ name: 'none' }, () => 'ok');
    const line = openLine(made);
    expect((await line.modern('tools/call', { name: 'none', arguments: null })).result).toMatchObject({ resultType: 'complete' });
    expect((await line.modern('tools/call', { name: 'none', arguments: [] })).error?.code).toBe(-32602);
    expect((await line.modern('tools/call', { name: 7 })).error?.code).toBe(-32602);
  });

  test('of a tool nobody has are refused, with the names that come close', async () => {
    const made = server();
    made.tool({ name: 'get_weather' }, () => '');
    const { error } = await call(made, 'get_wether');
    expect(error).toEqual({ code: -32602, message: 'Unknown tool: get_wether. Did you mean "get_weather"?' });
  });
});

describe('a definition', () => {
  test('is listed with the JSON Schemas of its schemas', async () => {
    const made = server();
    made.tool(
      {
        name: 'sum',
        title: 'Sum',
        description: 'Adds',
        input: z.object({ a: z.number() }),
        output: z.object({ total: z.number() }),
        annotations: { readOnlyHint: true },
        icons: [{ src: 'https://example.com/a.png' }],
      },
      () => ({ total: 1 }),
    );
    made.tool({ name: 'plain' }, () => '');
    const { result } = await openLine(made).modern('tools/list');
    expect(result?.['tools']).toMatchObject([
      {
        name: 'sum',
        title: 'Sum',
        inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        outputSchema: { type: 'object', properties: { total: { type: 'number' } } },
        annotations: { readOnlyHint: true },
        icons: [{ src: 'https://example.com/a.png' }],
      },
      { name: 'plain', inputSchema: { type: 'object', additionalProperties: false } },
    ]);
  });

  test('whose schema is a union is listed as of type object', async () => {
    const made = server();
    made.tool({ name: 'either', input: z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]) }, (args) =>
      'a' in args ? 'a' : 'b',
    );
    const { result } = await openLine(made).modern('tools/list');
    expect(result?.['tools']).toMatchObject([{ inputSchema: { type: 'object', anyOf: [{}, {}] } }]);
    expect((await call(made, 'either', { b: 1 })).result).toMatchObject({ content: [{ text: 'b' }] });
  });

  test('that could not work is refused at once', () => {
    const made = server();
    made.tool({ name: 'taken' }, () => '');
    const bad = [
      () => made.tool({ name: 'taken' }, () => ''),
      () => made.tool({ name: '' }, () => ''),
      () => made.tool({ name: 'text', input: { type: 'string' } }, () => ''),
      // @ts-expect-error: arguments are an object.
      () => made.tool({ name: 'number', input: z.number() }, () => ''),
      () =>
        made.tool(
          { name: 'header', input: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } } },
          () => '',
        ),
      () =>
        made.tool(
          { name: 'mute', input: { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } } },
          () => '',
        ),
    ];
    for (const act of bad) expect(act).toThrow(expect.objectContaining({ code: 'usage' }));
  });

  test('can be changed and removed, and only by its own registration', async () => {
    const made = server();
    const first = made.tool({ name: 'a', description: 'old' }, () => 'old');
    expect(first.update({ description: 'new' }, () => 'new')).toBe(true);
    expect((await openLine(made).modern('tools/list')).result?.['tools']).toMatchObject([{ description: 'new' }]);
    expect((await call(made, 'a')).result).toMatchObject({ content: [{ text: 'new' }] });
    expect(first.remove()).toBe(true);
    made.tool({ name: 'a' }, () => 'other');
    expect(first.remove()).toBe(false);
    expect(first.update({})).toBe(false);
    expect((await call(made, 'a')).result).toMatchObject({ content: [{ text: 'other' }] });
    expect(made.removeTool('a')).toBe(true);
    expect(made.removeTool('a')).toBe(false);
    expect((await call(made, 'a')).error?.code).toBe(-32602);
  });
});
