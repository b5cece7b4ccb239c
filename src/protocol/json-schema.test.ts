import { describe, expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import { compileSchema } from './json-schema.ts';

const errorsOf = (schema: JsonObject, value: unknown): readonly string[] => {
  const outcome = compileSchema(schema)(value);
  return outcome.valid ? [] : outcome.errors;
};

/** The fault that compiling gives. */
const faultOf = (schema: JsonObject): ParleyError => {
  try {
    compileSchema(schema);
  } catch (error) {
    if (error instanceof ParleyError) return error;
    throw error;
  }
  throw new Error('The schema was compiled.');
};

describe('errors', () => {
  const transfer = {
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 1 },
      unit: { enum: ['EUR', 'USD'] },
      to: { type: ['string', 'null'], minLength: 2 },
      more: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'], additionalProperties: false },
    },
    required: ['amount'],
    additionalProperties: false,
  };

  test.each<[unknown, string[]]>([
    [{ amount: 1 }, []],
    [{ amount: '1' }, ['/amount must be number']],
    [{ amount: 0 }, ['/amount must be >= 1']],
    [{ amount: 1, amout: 1 }, ['unknown argument "amout"; did you mean "amount"?']],
    [{ amount: 1, other: 1 }, ['unknown argument "other"']],
    [{}, ['missing argument "amount"']],
    [{ amount: 1, unit: 'GBP' }, ['/unit must be one of "EUR", "USD"']],
    [{ amount: 1, to: 1 }, ['/to must be string or null']],
    [{ amount: 1, more: {} }, ['/more must have a member "note"']],
    [{ amount: 1, more: { note: '', not: '' } }, ['/more has an unknown member "not"; did you mean "note"?']],
    [
      { amount: 'x', to: 'x', more: 1 },
      ['/amount must be number', '/to must NOT have fewer than 2 characters', '/more must be object'],
    ],
    [[], ['the value must be object']],
  ])('of %j', (value, errors) => {
    expect(errorsOf(transfer, value)).toEqual(errors);
  });

  test('call a member what the caller calls it', () => {
    expect(compileSchema({ required: ['x'] }, { noun: 'field' })({})).toEqual({ valid: false, errors: ['missing field "x"'] });
  });

  test('are the first twenty', () => {
    const items = Array.from({ length: 100 }, () => 'x');
    expect(errorsOf({ items: { type: 'number' } }, items)).toHaveLength(20);
  });

  test('are short, whatever the names in them', () => {
    const [error = ''] = errorsOf({ additionalProperties: false }, { ['x'.repeat(1_000_000)]: 1 });
    expect(error.length).toBeLessThan(320);
  });
});

describe('a check', () => {
  test('changes nothing in the value', () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'number' }, d: { default: 1 } },
      additionalProperties: false,
    };
    const value = Object.freeze({ n: '1', extra: true });
    expect(errorsOf(schema, value)).toHaveLength(2);
    expect(value).toEqual({ n: '1', extra: true });
  });

  test('looks at own members only', () => {
    expect(errorsOf({ required: ['toString'] }, {})).toEqual(['missing argument "toString"']);
    expect(errorsOf({ properties: { constructor: { type: 'number' } } }, {})).toEqual([]);
    expect(errorsOf({ additionalProperties: false }, JSON.parse('{"__proto__":1}'))).toEqual(['unknown argument "__proto__"']);
  });

  test('knows four formats and ignores all others, also those named like a method', () => {
    expect(errorsOf({ format: 'email' }, 'x')).toEqual(['the value must match format "email"']);
    for (const format of ['uuid', 'int64', 'toString', '__proto__', 'constructor']) expect(errorsOf({ format }, 'x')).toEqual([]);
    expect(errorsOf({ format: 1 }, 'x')).toEqual([]);
  });

  test('is never a promise, though the schema asks for one', () => {
    expect(errorsOf({ $async: true, type: 'object' }, 1)).toEqual(['the value must be object']);
    expect(errorsOf({ properties: { a: { $async: true, type: 'object' } } }, { a: 1 })).toEqual(['/a must be object']);
  });

  test.each<[string, JsonObject, unknown, unknown]>([
    [
      'uniqueItems',
      { uniqueItems: true },
      [1, '1', { a: 1, b: 2 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    ['pattern', { pattern: '^[a-z]+\\d$' }, 'abc1', 'abc'],
    ['unanchored pattern', { pattern: 'b' }, 'abc', 'ac'],
    ['pattern with \\u', { pattern: '^\\u00e9\\/$' }, 'é/', 'e/'],
    ['patternProperties', { patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': '', y: 1 }, { 'x-a': 1 }],
    ['nullable', { type: 'string', nullable: true }, null, 1],
    ['nullable alone', { nullable: true }, null, undefined],
    ['unevaluatedProperties', { allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
    ['prefixItems', { prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 1]],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
    ['$defs', { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 'x', 1],
    ['$defs with odd names', { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'string' } } }, 'x', 1],
    ['$anchor', { $ref: '#a', $defs: { a: { $anchor: 'a', type: 'string' } } }, 'x', 1],
    ['$id inside', { $id: 'https://a.example/x', $ref: 'y', $defs: { a: { $id: 'y', type: 'string' } } }, 'x', 1],
    ['$ref elsewhere', { $ref: '#/components/a', components: { a: { type: 'string', minLength: 1 } } }, 'x', ''],
    ['$ref to a boolean', { properties: { a: { $ref: '#/$defs/no' } }, $defs: { no: false } }, {}, { a: 1 }],
    ['a tree', { type: 'object', properties: { next: { $ref: '#' } } }, { next: { next: {} } }, { next: { next: 1 } }],
    [
      'a dynamic tree',
      { $dynamicAnchor: 'n', type: 'object', properties: { next: { $dynamicRef: '#n' } } },
      { next: {} },
      { next: 1 },
    ],
    ['1,500 enum values', { enum: Array.from({ length: 1_500 }, (_, index) => `value-${index}`) }, 'value-1499', 'value-1500'],
  ])('takes %s', (_name, schema, good, bad) => {
    const validate = compileSchema(schema);
    expect(validate(good)).toEqual({ valid: true });
    if (bad !== undefined) expect(validate(bad).valid).toBe(false);
  });
});

describe('dialects', () => {
  test.each<[string | undefined, JsonObject, unknown, unknown]>([
    [undefined, { prefixItems: [{ type: 'string' }] }, ['a'], [1]],
    [undefined, { items: [{ type: 'string' }], additionalItems: false }, ['a'], ['a', 1]],
    ['https://json-schema.org/draft/2020-12/schema', { prefixItems: [{ type: 'string' }] }, ['a'], [1]],
    ['https://json-schema.org/draft/2019-09/schema', { $recursiveAnchor: true, items: { $recursiveRef: '#' } }, [[]], undefined],
    ['http://json-schema.org/draft-07/schema#', { items: [{ type: 'string' }], definitions: {} }, ['a'], [1]],
    ['http://json-schema.org/draft-07/schema', { if: { type: 'string' }, then: { minLength: 1 } }, 'a', ''],
    ['http://json-schema.org/draft-06/schema#', { exclusiveMinimum: 1 }, 2, 1],
  ])('%s', ($schema, rest, good, bad) => {
    const validate = compileSchema($schema === undefined ? rest : { $schema, ...rest });
    expect(validate(good)).toEqual({ valid: true });
    if (bad !== undefined) expect(validate(bad).valid).toBe(false);
  });

  test.each(['http://json-schema.org/draft-04/schema#', 'https://example.com/my-schema', '', 'toString', 5])(
    'refuses %s',
    ($schema) => {
      const fault = faultOf({ $schema, type: 'object' });
      expect(fault.code).toBe('unsupported');
      if (typeof $schema === 'string') expect(fault.message).toContain(JSON.stringify($schema));
    },
  );

  test('shows no raw control character of a dialect it does not know', () => {
    expect(faultOf({ $schema: 'x\u001b[2J\u202e' }).message).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('references', () => {
  test.each([
    { $ref: 'https://evil.example/schema.json' },
    { $ref: 'file:///etc/passwd' },
    { properties: { a: { items: { $ref: 'other.json#/x' } } } },
    { $id: 'https://evil.example/', properties: { a: { $ref: 'other' } } },
    { $ref: 'http://json-schema.org/draft-07/schema#' },
    { $ref: 'https://json-schema.org/draft/2020-12/schema' },
    { properties: { a: { $dynamicRef: 'https://evil.example/#x' } } },
  ])('out of the schema are refused: %j', (schema) => {
    const fault = faultOf(schema);
    expect(fault.code).toBe('unsupported');
    expect(fault.message).toMatch(/\$ref "[^"]+" leads out of the schema and is never fetched/);
  });

  test.each([
    { $ref: '#/$defs/Missing' },
    { properties: { a: { $ref: '#/$defs/Missing' } }, $defs: {} },
    { properties: { a: { $ref: '#missing' } } },
    { properties: { a: { $dynamicRef: '#missing' } } },
    { properties: { a: { $ref: '#/constructor' } } },
    { properties: { a: { $ref: '#/type' } }, type: 'object' },
    { $defs: { a: { $id: 'x', allOf: [{ $ref: '#/nothing' }] } }, $ref: 'x' },
  ])('to nothing are refused by name: %j', (schema) => {
    const fault = faultOf(schema);
    expect(fault.code).toBe('unsupported');
    expect(fault.message).toMatch(/"#[^"]+" points to nothing in the schema|leads out/);
  });

  test('between two schemas do not exist, though both have the same $id', () => {
    const a = compileSchema({ $id: 'https://x.example/s', type: 'string' });
    const b = compileSchema({ $id: 'https://x.example/s', type: 'number' });
    expect([a('x').valid, a(1).valid, b('x').valid, b(1).valid]).toEqual([true, false, false, true]);
    expect(faultOf({ properties: { a: { $ref: 'https://x.example/s' } } }).code).toBe('unsupported');
  });
});

describe('patterns', () => {
  test('that would backtrack are matched in one pass', () => {
    expect(errorsOf({ pattern: '^(a+)+$' }, `${'a'.repeat(100_000)}b`)).toHaveLength(1);
  });

  test.each(['(?=a)b', '^(?!x)', '(a)\\1', '(?<n>a)\\k<n>', '(', 'a{1001}', 'a'.repeat(1_025)])('%s is refused', (pattern) => {
    const fault = faultOf({ properties: { a: { pattern } } });
    expect(fault.code).toBe('unsupported');
    expect(fault.message).toContain('pattern that cannot be matched in linear time');
    expect(faultOf({ patternProperties: { [pattern]: true } }).code).toBe('unsupported');
  });

  test('that cannot be matched are left out where the caller says so, and nothing else is', () => {
    const schema = {
      properties: { mail: { type: 'string', format: 'email', pattern: '^(?!\\.)' } },
      patternProperties: { '^(?=x)': { type: 'number' }, '^y': { type: 'number' } },
      additionalProperties: false,
    };
    const validate = compileSchema(schema, { patterns: 'skip' });
    expect(validate({ mail: 'a@b.example', x: 'any' })).toEqual({ valid: true });
    expect(validate({ mail: 'a', y: '' })).toMatchObject({ errors: ['/mail must match format "email"', '/y must be number'] });
    expect(faultOf(schema).code).toBe('unsupported');
  });

  test('that are too large together are refused', () => {
    const properties = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, { pattern: `a{900}${index}` }]));
    expect(faultOf({ properties })).toMatchObject({ code: 'limit', details: { limit: 'maxPatternProgram' } });
  });
});

describe('a hostile schema', () => {
  const deep = (levels: number) => {
    let schema: JsonObject = {};
    for (let level = 0; level < levels; level++) schema = { anyOf: [schema] };
    return schema;
  };

  test.each<[string, JsonObject, string]>([
    ['10 MB of enum', { enum: Array.from({ length: 1_000_000 }, (_, index) => String(index)) }, 'maxSchemaSize'],
    ['one string of 70 kB', { description: 'x'.repeat(70_000) }, 'maxSchemaSize'],
    ['100,000 levels', deep(100_000), 'maxSchemaDepth'],
    ['6,000 subschemas', { anyOf: Array.from({ length: 6_000 }, () => ({})) }, 'maxSubschemas'],
  ])('with %s is refused', (_name, schema, limit) => {
    expect(faultOf(schema)).toMatchObject({ code: 'limit', details: { limit } });
  });

  test.each<[string, JsonObject]>([
    ['by itself', { allOf: [{ $ref: '#' }] }],
    ['by $ref alone', { $ref: '#' }],
    ['by two', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['in a part', { properties: { x: { $anchor: 'x', not: { if: { $ref: '#x' } } } } }],
    ['by $dynamicRef', { $dynamicAnchor: 'a', anyOf: [{ $dynamicRef: '#a' }] }],
    ['by dependentSchemas', { dependentSchemas: { a: { $ref: '#' } } }],
  ])('that holds itself %s is refused', (_name, schema) => {
    expect(faultOf(schema)).toMatchObject({ code: 'unsupported', message: expect.stringContaining('circle') });
  });

  const gaveUp = ['the value takes too long to be checked against the schema'];

  test('whose references double at every step is given up', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        index === 39 ? { type: 'number' } : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    expect(errorsOf({ $ref: '#/$defs/d0', $defs }, 1)).toEqual(gaveUp);
  });

  test('whose alternatives double at every level of the value is given up', () => {
    const one = { properties: { x: { $ref: '#/$defs/a' } }, required: ['y'] };
    let value: unknown = {};
    for (let level = 0; level < 60; level++) value = { x: value, y: 1 };
    const schema = { $ref: '#/$defs/a', $defs: { a: { anyOf: [one, one] } } };
    expect(errorsOf(schema, value)).toEqual(gaveUp);
  });

  test.each<[string, JsonObject, unknown]>([
    [
      'many length checks of a long text',
      { anyOf: Array.from({ length: 500 }, () => ({ minLength: 9_000_000 })) },
      'x'.repeat(1_000_000),
    ],
    [
      'many patterns on a long text',
      { anyOf: Array.from({ length: 500 }, (_, index) => ({ pattern: `y${index}` })) },
      'x'.repeat(100_000),
    ],
    [
      'many type checks of many items',
      { items: { anyOf: [...Array.from({ length: 500 }, () => ({ type: 'null' })), {}] } },
      Array(10_000).fill(1),
    ],
    [
      'unique items of unique items',
      { items: { uniqueItems: true } },
      Array(50).fill(Array.from({ length: 100_000 }, (_, item) => item)),
    ],
  ])('with %s is given up', (_name, schema, value) => {
    expect(errorsOf(schema, value)).toEqual(gaveUp);
  });

  test('cannot pay its own steps back', () => {
    const list = { items: { 'parley:step': -1e9, items: { 'parley:step': -1e9 } } };
    const value = Array(1_000).fill(Array(2_000).fill(1));
    expect(errorsOf(list, value)).toEqual(gaveUp);
    expect(errorsOf({ ...list, $ref: '#/unknown/part', unknown: { part: { 'parley:step': -1e9 } } }, value)).toEqual(gaveUp);
  });

  test('that makes no sense is refused with its reason', () => {
    for (const schema of [{ type: 'strin' }, { required: 'x' }, { minimum: true }, { properties: 1 }, { $ref: 5 }, { enum: 5 }]) {
      expect(faultOf(schema).code).toBe('unsupported');
    }
    expect(faultOf({ minimum: 0, exclusiveMinimum: true }).message).toContain('exclusiveMinimum');
  });

  test('does not cost the next one anything', () => {
    expect(() => compileSchema({ $id: 'https://x.example/broken', properties: { a: { $ref: '#/nothing' } } })).toThrow();
    expect(errorsOf({ $id: 'https://x.example/broken', type: 'string' }, 'x')).toEqual([]);
  });
});

test('a large value that fits is not given up', () => {
  const row = { id: 1, name: 'some name', tags: ['a', 'b'], at: '2026-07-28T00:00:00Z', ok: true };
  const schema = {
    type: 'object',
    properties: {
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            id: { type: 'integer' },
            name: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
            at: { type: 'string', format: 'date-time' },
            ok: { type: 'boolean' },
          },
          required: ['id', 'name'],
          additionalProperties: false,
        },
      },
    },
  };
  expect(errorsOf(schema, { rows: Array(20_000).fill(row) })).toEqual([]);
});

test('the same schema object is compiled once, and refused each time it is asked for', () => {
  const schema = { type: 'string' };
  expect(compileSchema(schema)('x')).toEqual({ valid: true });
  schema.type = 'number';
  expect(compileSchema(schema)('x')).toEqual({ valid: true });
  const broken = { $ref: '#/x' };
  expect(faultOf(broken).code).toBe('unsupported');
  expect(faultOf(broken).code).toBe('unsupported');
});
