import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentHeaders, decodeHeaderValue, encodeHeaderValue, paramHeaders, standardHeaders } from './header.ts';

describe('header values', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['us west 1', 'us west 1'],
    ['', ''],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['\tindented', '=?base64?CWluZGVudGVk?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ])('encode %j as %j', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });

  it('are undefined when what stands between the markers is no Base64 of UTF-8', () => {
    expect(decodeHeaderValue('=?base64?SGVsbG8?=')).toBeUndefined();
    expect(decodeHeaderValue('=?base64?SGVs!!!bG8=?=')).toBeUndefined();
    expect(decodeHeaderValue('=?base64?/w==?=')).toBeUndefined();
  });

  it('are literal without prefix or suffix', () => {
    expect(decodeHeaderValue('=?base64?SGVsbG8=')).toBe('=?base64?SGVsbG8=');
    expect(decodeHeaderValue('SGVsbG8=?=')).toBe('SGVsbG8=?=');
  });

  it('survive the way through a header for any text, and are always safe to send', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/);
        expect(decodeHeaderValue(header)).toBe(value);
      }),
    );
  });
});

describe('standard headers', () => {
  it('mirror the method and the name or URI', () => {
    expect(standardHeaders('2026-07-28', 'tools/call', { name: 'héllo' })).toEqual({
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': '=?base64?aMOpbGxv?=',
    });
    expect(standardHeaders('2026-07-28', 'resources/read', { uri: 'file:///a%20b' })['Mcp-Name']).toBe('file:///a%20b');
    expect(standardHeaders('2026-07-28', 'tools/list', {})).not.toHaveProperty('Mcp-Name');
  });
});

describe('argument headers', () => {
  const schema = (properties: Record<string, unknown>, rest: Record<string, unknown> = {}) => ({
    type: 'object',
    properties,
    ...rest,
  });

  it('are read along chains of properties', () => {
    const wanted = paramHeaders(
      schema({
        region: { type: 'string', 'x-mcp-header': 'Region' },
        where: schema({ zone: { type: 'integer', 'x-mcp-header': 'Zone' } }),
      }),
    );
    expect(wanted).toEqual([
      { header: 'Mcp-Param-Region', path: ['region'], type: 'string' },
      { header: 'Mcp-Param-Zone', path: ['where', 'zone'], type: 'integer' },
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['an empty name', schema({ a: { type: 'string', 'x-mcp-header': '' } })],
    ['a name that is no string', schema({ a: { type: 'string', 'x-mcp-header': 7 } })],
    ['a space', schema({ a: { type: 'string', 'x-mcp-header': 'a b' } })],
    ['a colon', schema({ a: { type: 'string', 'x-mcp-header': 'a:b' } })],
    ['a line break', schema({ a: { type: 'string', 'x-mcp-header': 'a\r\nb' } })],
    ['non-ASCII', schema({ a: { type: 'string', 'x-mcp-header': 'é' } })],
    ['type number', schema({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['type object', schema({ a: { type: 'object', 'x-mcp-header': 'A' } })],
    ['no type', schema({ a: { 'x-mcp-header': 'A' } })],
    ['a repetition by case', schema({ a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } })],
    ['items', schema({ a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } })],
    ['oneOf', schema({}, { oneOf: [{ properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }] })],
    ['$defs', schema({}, { $defs: { d: { type: 'string', 'x-mcp-header': 'A' } } })],
    ['if', schema({}, { if: { properties: { a: { type: 'string', 'x-mcp-header': 'A' } } } })],
    ['additionalProperties', schema({}, { additionalProperties: { type: 'string', 'x-mcp-header': 'A' } })],
    ['patternProperties', schema({}, { patternProperties: { '^a': { type: 'string', 'x-mcp-header': 'A' } } })],
  ])('make the tool invalid with %s', (_what, inputSchema) => {
    expect(paramHeaders(inputSchema)).toHaveProperty('invalid');
  });

  it('are not confused by a property that has the annotation’s name', () => {
    expect(paramHeaders(schema({ 'x-mcp-header': { type: 'string' } }))).toEqual([]);
  });

  it('carry what is there, and nothing for what is absent, null or of another type', () => {
    const wanted = [
      { header: 'A', path: ['a'], type: 'string' },
      { header: 'B', path: ['b'], type: 'boolean' },
      { header: 'C', path: ['c', 'd'], type: 'integer' },
    ] as const;
    expect(argumentHeaders(wanted, { a: ' x', b: false, c: { d: 42 } })).toEqual({ A: '=?base64?IHg=?=', B: 'false', C: '42' });
    expect(argumentHeaders(wanted, { a: null, c: { d: 1.5 } })).toEqual({});
    expect(argumentHeaders(wanted, { c: { d: 2 ** 53 } })).toEqual({});
    expect(argumentHeaders(wanted, undefined)).toEqual({});
  });
});
