import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, digest } from '../../base/index.ts';
import { isParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Tool } from '../../protocol/index.ts';
import { createIntent } from './intent.ts';

const tool: Tool = {
  name: 'write',
  description: 'Writes.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
};

function nested(levels: number): JsonObject {
  return levels === 1 ? {} : { in: nested(levels - 1) };
}

describe('an intent', () => {
  it('is what was passed in, with the digest of the definition', () => {
    expect(createIntent({ server: 'files', tool, args: { path: '/x', list: [1, { a: null }] } })).toMatchObject({
      server: 'files',
      tool: 'write',
      definition: tool,
      definitionDigest: digest(tool),
      args: { path: '/x', list: [1, { a: null }] },
    });
  });

  it('does not change when what was passed in changes', () => {
    const args = { list: [{ path: '/x' }] };
    const definition = { ...tool, annotations: { readOnlyHint: false } };
    const intent = createIntent({ server: 'files', tool: definition, args });
    (args.list[0] as { path: string }).path = '/etc/passwd';
    definition.annotations.readOnlyHint = true;
    expect(intent.args).toEqual({ list: [{ path: '/x' }] });
    expect(intent.definition.annotations?.readOnlyHint).toBe(false);
  });

  it('is frozen to the bottom', () => {
    const intent = createIntent({ server: 'files', tool, args: { list: [{ path: '/x' }] } });
    const parts = [
      intent,
      intent.args,
      intent.args['list'] as object,
      (intent.args['list'] as object[])[0] as object,
      intent.definition.inputSchema['properties'] as object,
    ];
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
  });

  it('has another digest for another server, tool, definition or argument, and the same for the same in another order', () => {
    const digestOf = (server: string, definition: Tool, args: JsonObject) =>
      createIntent({ server, tool: definition, args }).digest;
    const same = digestOf('files', tool, { a: 1, b: 2 });
    expect(digestOf('files', { ...tool }, { b: 2, a: 1 })).toBe(same);
    const others = [
      digestOf('files2', tool, { a: 1, b: 2 }),
      digestOf('files', { ...tool, name: 'write2' }, { a: 1, b: 2 }),
      digestOf('files', { ...tool, description: 'Writes!' }, { a: 1, b: 2 }),
      digestOf('files', tool, { a: 1, b: '2' }),
      digestOf('files', tool, { a: 1 }),
    ];
    expect(new Set([same, ...others]).size).toBe(6);
  });

  it('has the digest of all that is meant, whenever it is asked for', () => {
    const taint = [{ server: 'web', from: 'fetch', untrusted: true, private: 'no', digest: 'd' }] as const;
    const args: Record<string, unknown> = { b: [-0, Infinity, undefined], a: 'é\n"', gone: undefined };
    const who = { principal: 'ann', serverDigest: 'server', policyVersion: 'policy', taint };
    const intent = createIntent({ server: 'files', tool, args, ...who, run: 'run', route: 'call' });
    args['a'] = 'other';
    const meant = { server: 'files', tool: 'write', definition: digest(tool), args: { a: 'é\n"', b: [0, null, null] }, ...who };
    expect(intent.digest).toBe(digest(meant));
    expect(intent.args).toEqual({ a: 'é\n"', b: [0, null, null] });
  });

  it('keeps members of any name as data', () => {
    const args = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as JsonObject;
    const intent = createIntent({ server: 'files', tool, args });
    expect(JSON.stringify(intent.args)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(Object.getPrototypeOf(intent.args)).toBe(Object.prototype);
    expect('admin' in intent.args).toBe(false);
  });

  it('takes arguments of 64 levels and refuses more', () => {
    expect(createIntent({ server: 'files', tool, args: nested(64) }).args).toEqual(nested(64));
    expect(refusal(nested(65))).toBe(true);
    expect(refusal(nested(5_000))).toBe(true);
  });

  it('refuses what is not JSON', () => {
    expect(refusal({ big: 1n })).toBe(true);
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(refusal(loop)).toBe(true);
  });

  it('holds the same JSON as was passed in', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 })), (args) => {
        const intent = createIntent({ server: 'files', tool, args });
        expect(canonical(intent.args)).toBe(canonical(args));
        expect(canonical(JSON.parse(JSON.stringify(intent.args)))).toBe(canonical(args));
      }),
    );
  });
});

function refusal(args: JsonObject): boolean {
  try {
    createIntent({ server: 'files', tool, args });
  } catch (error) {
    return isParleyError(error, 'invalid-arguments');
  }
  return false;
}
