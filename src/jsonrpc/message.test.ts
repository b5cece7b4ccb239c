import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject, isRequestId, rpcCode, sort } from './message.ts';

const head = { jsonrpc: '2.0' };

describe('a value is sorted as', () => {
  test.each([
    ['request', { ...head, id: 1, method: 'm' }],
    ['request', { ...head, id: 'a', method: 'm', params: {} }],
    ['request', { ...head, id: 0, method: 'm' }],
    ['request', { ...head, id: '', method: 'm' }],
    ['notification', { ...head, method: 'm', params: { a: 1 } }],
    ['notification', { ...head, method: '' }],
    ['success', { ...head, id: 1, result: {} }],
    ['success', { ...head, id: 1, result: [] }],
    ['success', { ...head, id: 1, result: {}, error: null }],
    ['success', { ...head, id: 1, result: {}, extra: true }],
    ['failure', { ...head, id: 1, error: { code: -32601, message: 'no' } }],
    ['failure', { ...head, id: 1, result: null, error: { code: 1, message: '' } }],
    ['failure', { ...head, id: null, error: { code: -32700, message: 'no' } }],
    ['failure', { ...head, error: { code: -32700, message: 'no', data: [] } }],
  ])('%s: %j', (kind, value) => {
    expect(sort(value)).toEqual({ kind, message: value });
  });

  test.each([
    ['not a JSON object', 42],
    ['not a JSON object', null],
    ['not a JSON object', 'Starting server'],
    ['not a JSON object', [{ ...head, id: 1, result: {} }]],
    ['"jsonrpc" is not "2.0"', { level: 'info' }],
    ['"id" is not a string or an integer', { ...head, id: true, error: { code: 1, message: '' } }],
    ['a result without a usable id', { ...head, result: {} }],
    ['a result without a usable id', { ...head, id: 1.5, result: {} }],
    ['a result without a usable id', { ...head, id: 2 ** 53, result: {} }],
  ])('invalid, since it is %s, an answer to nobody: %j', (why, value) => {
    expect(sort(value)).toEqual({ kind: 'invalid', why, id: undefined, asks: false });
  });

  test.each([
    ['"jsonrpc" is not "2.0"', { id: 7, result: {} }],
    ['"jsonrpc" is not "2.0"', { jsonrpc: '1.0', id: 7, result: {} }],
    ['neither method, result nor error', { ...head, id: 7 }],
    ['neither method, result nor error', { ...head, id: 7, error: null }],
    ['"result" is not an object', { ...head, id: 7, result: null }],
    ['"result" is not an object', { ...head, id: 7, result: 'ok' }],
    ['both "result" and "error"', { ...head, id: 7, result: {}, error: { code: 1, message: '' } }],
    ['"error" has no integer code and string message', { ...head, id: 7, error: 'no' }],
    ['"error" has no integer code and string message', { ...head, id: 7, error: { code: '-32601', message: '' } }],
    ['"error" has no integer code and string message', { ...head, id: 7, error: { code: 1 } }],
  ])('invalid, since it is %s, with the id of who waits for it: %j', (why, value) => {
    expect(sort(value)).toEqual({ kind: 'invalid', why, id: 7, asks: false });
  });

  test.each([
    ['"jsonrpc" is not "2.0"', { id: 7, method: 'm' }, 7],
    ['"method" is not a string', { ...head, id: 7, method: 1 }, 7],
    ['"params" is not an object', { ...head, id: 7, method: 'm', params: [1] }, 7],
    ['"params" is not an object', { ...head, method: 'm', params: null }, undefined],
    ['"id" is not a string or an integer', { ...head, id: null, method: 'm' }, undefined],
    ['"id" is not a string or an integer', { ...head, id: {}, method: 'm' }, undefined],
  ])('invalid, since it is %s, a question: %j', (why, value, id) => {
    expect(sort(value)).toEqual({ kind: 'invalid', why, id, asks: true });
  });
});

test('no value at all makes sort throw, and what it calls a message is that value', () => {
  const member = fc.option(
    fc.oneof(fc.jsonValue(), fc.constant('2.0'), fc.record({ code: fc.integer(), message: fc.string() })),
    {
      nil: undefined,
    },
  );
  const almost = fc.record({ jsonrpc: member, id: member, method: member, params: member, result: member, error: member });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), almost), (value) => {
      const incoming = sort(value);
      if (incoming.kind === 'invalid') expect(incoming.id === undefined || isRequestId(incoming.id)).toBe(true);
      else expect(incoming.message).toBe(value);
    }),
  );
});

test('an id is a string or a safe integer, an object is neither null nor an array', () => {
  expect([0, -1, '', 'a', 2 ** 53 - 1].every(isRequestId)).toBe(true);
  expect([null, undefined, 1.5, NaN, 2 ** 53, true, {}, 1n].some(isRequestId)).toBe(false);
  expect([{}, Object.create(null)].every(isObject)).toBe(true);
  expect([null, [], 'a', undefined].some(isObject)).toBe(false);
});

test('the error codes are those of JSON-RPC 2.0', () => {
  expect(rpcCode).toEqual({
    parseError: -32700,
    invalidRequest: -32600,
    methodNotFound: -32601,
    invalidParams: -32602,
    internalError: -32603,
  });
});
