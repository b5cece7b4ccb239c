import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../jsonrpc/index.ts';
import { readArguments } from './arguments.ts';

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    share: { type: 'number' },
    loud: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    where: { type: 'object' },
    either: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    free: {},
  },
};

const read = (words: string[], more: { json?: string; stdin?: string; schema?: JsonObject; cwd?: string } = {}) =>
  readArguments({
    words,
    json: more.json,
    cwd: more.cwd ?? '/',
    schema: more.schema ?? schema,
    readStdin: async () => more.stdin ?? '',
  });

describe('arguments', () => {
  it('are read as the types the schema wants', async () => {
    const words = ['text=5', 'count=5', 'share=2.5', 'loud=true', 'tags=a,b', 'sizes=1,2', 'where={"x":1}', 'either=7', 'free=7'];
    expect(await read(words)).toEqual({
      text: '5',
      count: 5,
      share: 2.5,
      loud: true,
      tags: ['a', 'b'],
      sizes: [1, 2],
      where: { x: 1 },
      either: 7,
      free: '7',
    });
    expect(await read(['either=null', 'tags=', 'sizes=[3]', 'text=a=b:=c'])).toEqual({
      either: null,
      tags: [],
      sizes: [3],
      text: 'a=b:=c',
    });
  });

  it('are taken as JSON after :=, from a file after @, and from whole objects, later ones winning', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'parley-args-'));
    writeFileSync(join(directory, 'note.txt'), 'from a file\n');
    expect(await read(['text=@note.txt'], { cwd: directory })).toEqual({ text: 'from a file\n' });
    expect(await read(['free:=[1,{"a":null}]'])).toEqual({ free: [1, { a: null }] });
    expect(await read(['{"text":"b","count":2}', 'count=3'], { json: '{"text":"a","loud":false}' })).toEqual({
      text: 'b',
      count: 3,
      loud: false,
    });
    expect(await read(['-'], { stdin: '{"text":"in"}' })).toEqual({ text: 'in' });
  });

  it.each([
    [['tetx=a'], /no argument "tetx".*Did you mean "text"/],
    [['{"tetx":1}'], /Did you mean "text"/],
    [['count=five'], /"count" must be integer/],
    [['loud=yes'], /"loud" must be boolean/],
    [['sizes=1,x'], /"sizes" must be integer/],
    [['text'], /key=value/],
    [['=x'], /key=value/],
    [['free:={'], /not valid JSON/],
    [['{"a"'], /not valid JSON/],
    [['where=@/no/such/file'], /cannot be read/],
  ])('that make no sense are refused: %j', async (words, message) => {
    await expect(read(words)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) as string });
  });

  it('that are no object are refused', async () => {
    await expect(read([], { json: '[1]' })).rejects.toMatchObject({ code: 'usage' });
    await expect(read(['-'], { stdin: '7' })).rejects.toMatchObject({ code: 'usage' });
  });

  it('of other names pass where the schema leaves that open', async () => {
    for (const open of [{}, { properties: {}, additionalProperties: true }, { properties: { a: {} }, anyOf: [] }]) {
      expect(await read(['other=x'], { schema: open })).toEqual({ other: 'x' });
    }
    await expect(read(['other=x'], { schema: { properties: {} } })).rejects.toMatchObject({
      message: expect.stringContaining('takes no arguments') as string,
    });
  });

  it('never reach a prototype', async () => {
    const args = await read(['__proto__:={"polluted":true}'], { schema: {} });
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(JSON.stringify(args)).toBe('{"__proto__":{"polluted":true}}');
  });
});
