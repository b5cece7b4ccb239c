import { describe, expect, test } from 'vitest';
import { checkField, checkForm, formDefaults } from './form.ts';
import type { FormField, FormSchema } from './schema/index.ts';

const form = (properties: Record<string, FormField>, required: string[] = []): FormSchema => ({
  type: 'object',
  properties,
  required,
});

describe('a field', () => {
  const level: FormField = { type: 'string', enum: ['low', 'high'], enumNames: ['Low', 'High'] };
  const titled: FormField = { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] };
  const many: FormField = { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 };
  const manyTitled: FormField = { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } };

  test.each<[string, FormField, unknown, string | undefined]>([
    ['text', { type: 'string' }, '', undefined],
    ['text that is none', { type: 'string' }, 1, 'must be text'],
    ['text that is null', { type: 'string' }, null, 'must be text'],
    ['short text', { type: 'string', minLength: 2 }, 'a', 'must have at least 2 characters'],
    ['long text', { type: 'string', maxLength: 2 }, 'abc', 'must have at most 2 characters'],
    ['text counted in characters', { type: 'string', maxLength: 2 }, '👋👋', undefined],
    ['a format', { type: 'string', format: 'email' }, 'me', 'must be an e-mail address'],
    ['a format that fits', { type: 'string', format: 'date' }, '2026-07-28', undefined],
    ['a format that nobody knows', { type: 'string', format: 'colour' as 'email' }, 'red', undefined],
    ['a format named like a method', { type: 'string', format: 'toString' as 'email' }, 'red', undefined],
    ['a choice', level, 'low', undefined],
    ['a choice by its label', level, 'Low', 'must be one of "low", "high"'],
    ['a titled choice', titled, 'r', undefined],
    ['a titled choice by its title', titled, 'Red', 'must be one of "r"'],
    ['a number', { type: 'number' }, 1.5, undefined],
    ['a number as text', { type: 'number' }, '1', 'must be a number'],
    ['a number that is none', { type: 'number' }, NaN, 'must be a number'],
    ['a small number', { type: 'number', minimum: 2 }, 1, 'must be at least 2'],
    ['a large number', { type: 'integer', maximum: 2 }, 3, 'must be at most 2'],
    ['a broken integer', { type: 'integer' }, 1.5, 'must be a whole number'],
    ['a boolean', { type: 'boolean' }, false, undefined],
    ['a boolean as text', { type: 'boolean' }, 'true', 'must be true or false'],
    ['choices', many, ['a', 'b'], undefined],
    ['too few choices', many, [], 'must have at least 1 choice'],
    ['too many choices', many, ['a', 'b', 'c'], 'must have at most 2 choices'],
    ['another choice', many, ['d'], 'may only hold choices of the form: each must be one of "a", "b", "c"'],
    ['choices that are none', many, 'a', 'must be a list'],
    ['titled choices', manyTitled, ['a'], undefined],
    ['a nested object', { type: 'object' } as unknown as FormField, {}, 'is of a kind that no form may have'],
    ['no field at all', null as unknown as FormField, 1, 'is of a kind that no form may have'],
  ])('%s', (_name, field, value, why) => {
    expect(checkField(field, value)).toBe(why);
  });
});

describe('a form', () => {
  test('takes defaults only for what was left out', () => {
    const schema = form({
      a: { type: 'string', default: 'x' },
      b: { type: 'boolean', default: true },
      c: { type: 'number', default: 0 },
      d: { type: 'string' },
    });
    expect(checkForm(schema, { a: '', b: false, d: undefined })).toEqual({ ok: true, content: { a: '', b: false, c: 0 } });
  });

  test('takes no default that does not fit its own field', () => {
    expect(formDefaults(form({ a: { type: 'number', minimum: 1, default: 0 }, b: { type: 'boolean', default: false } }))).toEqual(
      {
        b: false,
      },
    );
  });

  test('wants what is required, unless a default fills it', () => {
    const schema = form({ a: { type: 'string' }, b: { type: 'string', default: 'x' } }, ['a', 'b']);
    expect(checkForm(schema, {})).toEqual({ ok: false, errors: ['"a" is required'] });
  });

  test('refuses fields that it does not have, also those every object has', () => {
    expect(checkForm(form({ a: { type: 'string' } }), { toString: 'x', b: 1 })).toEqual({
      ok: false,
      errors: ['"toString" is not a field of the form', '"b" is not a field of the form'],
    });
  });

  test('names everything that is wrong', () => {
    const schema = form({ a: { type: 'string' }, b: { type: 'number' } }, ['c']);
    expect(checkForm(schema, { a: 1, b: 'x' })).toEqual({
      ok: false,
      errors: ['"a" must be text', '"b" must be a number', '"c" is required'],
    });
  });

  test('keeps a field called __proto__ a plain field', () => {
    const schema = form(JSON.parse('{"__proto__":{"type":"string"}}') as Record<string, FormField>);
    const checked = checkForm(schema, JSON.parse('{"__proto__":"x"}') as Record<string, unknown>);
    expect(checked.ok && Object.entries(checked.content)).toEqual([['__proto__', 'x']]);
  });
});
