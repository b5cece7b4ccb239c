import { expect, test } from 'vitest';
import { glimpse, lastId } from './peek.ts';

test('the id and nature of a message are read from its beginning', () => {
  expect(glimpse('{"jsonrpc":"2.0","id":7,"result":{"text":"xxx')).toEqual({ id: 7, nature: 'reply' });
  expect(glimpse('{"jsonrpc":"2.0","id":"a\\"b","error":{"co')).toEqual({ id: 'a"b', nature: 'reply' });
  expect(glimpse(' { "method" : "tools/call" , "id" : 0 , "params" : {')).toEqual({ id: 0, nature: 'asks' });
});

test('an id inside the result is not the id of the message', () => {
  expect(glimpse('{"jsonrpc":"2.0","result":{"id":7,"list":[{"id":8}],"te')).toEqual({ id: undefined, nature: 'reply' });
  expect(glimpse('{"result":{"id":7},"id":9,"jsonrpc":"2.0"')).toEqual({ id: 9, nature: 'reply' });
});

test('text that only looks like members is not taken for them', () => {
  expect(glimpse('{"note":"\\"id\\":7,\\"result\\":1","x":1')).toEqual({ id: undefined, nature: 'unknown' });
  expect(glimpse('[{"id":7,"result":{}},')).toEqual({ id: undefined, nature: 'unknown' });
  expect(glimpse('"id":7,"result":{}')).toEqual({ id: undefined, nature: 'unknown' });
  expect(glimpse('{"id":7}{"id":8,"result":{}')).toEqual({ id: 7, nature: 'unknown' });
});

test('an id that is cut off, or that no request can have, is not used', () => {
  expect(glimpse('{"result":{},"id":12').id).toBeUndefined();
  expect(glimpse('{"result":{},"id":"12').id).toBeUndefined();
  expect(glimpse('{"id":null,"result":{}').id).toBeUndefined();
  expect(glimpse('{"id":1.5,"result":{}').id).toBeUndefined();
  expect(glimpse('{"id":9007199254740993,"result":{}').id).toBeUndefined();
});

test('a method beside a result makes it a question', () => {
  expect(glimpse('{"id":1,"result":{},"method":"x",').nature).toBe('asks');
});

test('an id at the very end is read from the tail', () => {
  expect(lastId('xxx"}]},"jsonrpc":"2.0","id":7}')).toBe(7);
  expect(lastId('xxx"},"id" : "a\\"b" , "jsonrpc":"2.0"} \r')).toBe('a"b');
  expect(lastId('xxx"},"id":7,"result":{}}')).toBeUndefined();
  expect(lastId('xxx","id":7}}')).toBeUndefined();
  expect(lastId('xxx\\"id\\":7}"}')).toBeUndefined();
});
