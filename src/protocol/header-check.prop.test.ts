import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, Request } from '../jsonrpc/index.ts';
import { checkParamHeaders, checkStandardHeaders } from './header-check.ts';
import { argumentHeaders, paramHeaders, standardHeaders, type ParamHeader } from './header.ts';

const lower = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const request = (name: string): Request => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });

const wanted = paramHeaders({
  properties: {
    text: { type: 'string', 'x-mcp-header': 'Text' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    on: { type: 'boolean', 'x-mcp-header': 'On' },
  },
}) as readonly ParamHeader[];

const args = fc.record(
  {
    text: fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant(null)),
    count: fc.oneof(fc.maxSafeInteger(), fc.constant(null)),
    on: fc.boolean(),
  },
  { requiredKeys: [] },
);

test('what a client makes of a name is accepted, and for no other name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (name, other) => {
      const headers = lower(standardHeaders('2026-07-28', 'tools/call', { name }));
      expect(() => checkStandardHeaders(headers, request(name))).not.toThrow();
      if (other !== name) {
        expect(() => checkStandardHeaders(headers, request(other))).toThrow(expect.objectContaining({ code: -32020 }));
      }
    }),
  );
});

test('what a client makes of arguments is accepted, and for no others that differ in what travels', () => {
  fc.assert(
    fc.property(args, args, (given, other) => {
      const headers = lower(argumentHeaders(wanted, given));
      expect(() => checkParamHeaders(headers, wanted, given as JsonObject)).not.toThrow();
      const same = wanted.every(({ path: [key = ''] }) => {
        const [a, b] = [(given as JsonObject)[key] ?? null, (other as JsonObject)[key] ?? null];
        return a === b;
      });
      const check = () => checkParamHeaders(headers, wanted, other);
      if (same) expect(check).not.toThrow();
      else expect(check).toThrow(expect.objectContaining({ code: -32020 }));
    }),
  );
});
