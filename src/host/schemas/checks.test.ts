import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../base/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { createSchemaChecks, type SchemaChecks } from './index.ts';

const parts = (count: number): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${String(n)}`, { type: 'string' }])),
});
/** Takes as many steps as there are lengths to be counted. */
const lengths: JsonObject = { anyOf: Array.from({ length: 500 }, () => ({ minLength: 9_000_000 })) };
/** However busy the machine is. */
const limits = { schemaCompileMs: 60_000, schemaCheckMs: 60_000 };
const threads = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Worker').length;

let checks: SchemaChecks;
/** Resolves or rejects, whether it is made at once or elsewhere. */
const check = async (...asked: Parameters<SchemaChecks['check']>) => checks.check(...asked);
beforeEach(() => {
  checks = createSchemaChecks({ clock: systemClock });
});
afterEach(() => checks.close());

describe('a check', () => {
  it('of a light schema is made at once, without a thread', async () => {
    expect(await check(parts(10), { p1: 'x' }, {})).toEqual({ valid: true });
    expect(await check(parts(10), { p1: 1 }, {})).toEqual({ valid: false, errors: ['/p1 must be string'] });
    expect(threads()).toBe(0);
  });

  it('of a heavy one is made elsewhere, with the same words', async () => {
    const schema = parts(300);
    expect(await check(schema, { p1: 'x' }, { limits })).toEqual({ valid: true });
    expect(await check(schema, { p1: 1 }, { noun: 'member', limits })).toEqual({
      valid: false,
      errors: ['/p1 must be string'],
    });
    await expect(check({ ...parts(300), type: 5 }, {}, {})).rejects.toMatchObject({ code: 'unsupported' });
    expect(await Promise.all([1, 'x'].map((p1) => check(schema, { p1 }, { limits })))).toMatchObject([
      { valid: false },
      { valid: true },
    ]);
  });

  it('of a light schema that takes long with a value ends in its steps, elsewhere', async () => {
    const node = { properties: { x: { $ref: '#/$defs/a' } }, required: ['y'] };
    const schema = { $ref: '#/$defs/a', $defs: { a: { anyOf: [node, node] } } };
    const value = Array.from({ length: 60 }).reduce<object>((x) => ({ x, y: 1 }), {});
    expect(await check(schema, value, { limits })).toMatchObject({ valid: false, spent: true });
  });

  it('of a schema that is refused says so, whatever its weight', async () => {
    await expect(check({ $ref: '#/none' }, 1, {})).rejects.toMatchObject({ code: 'unsupported' });
    await expect(check(parts(6_000), 1, {})).rejects.toMatchObject({ code: 'limit' });
  });
});

describe('time', () => {
  it('for making a schema ready ends, and for that schema nobody waits again', async () => {
    const schema = parts(1_500);
    for (const time of ['first', 'second']) {
      await expect(check(schema, {}, { limits: { schemaCompileMs: 1 } }), time).rejects.toMatchObject({
        code: 'limit',
        details: { limit: 'schemaCompileMs', allowed: 1 },
      });
    }
    expect(await check(parts(300), {}, { limits })).toEqual({ valid: true });
  });

  it('for a check ends, and the next check has a thread again', async () => {
    await expect(check(lengths, 'x'.repeat(1_000_000), { limits: { schemaCheckMs: 1 } })).rejects.toMatchObject({
      code: 'limit',
      details: { limit: 'schemaCheckMs', allowed: 1 },
    });
    expect(await check(parts(300), {}, { limits })).toEqual({ valid: true });
  });
});

it('Closing ends what is being checked, leaves no thread, and can be done twice', async () => {
  const checking = check(parts(1_500), {}, {});
  checking.catch(() => {});
  await checks.close();
  await checks.close();
  await expect(checking).rejects.toMatchObject({ name: 'ParleyError' });
  await expect(check(parts(300), {}, {})).rejects.toMatchObject({ code: 'closed' });
  expect(threads()).toBe(0);
});
