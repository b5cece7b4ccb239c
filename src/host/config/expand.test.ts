import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { expand, type Reference, variable } from './expand.ts';

const env = { HOST: 'h.example', EMPTY: '', DOLLAR: '${HOST}' };
const resolve = (reference: Reference): string => {
  if (reference.kind === 'variable') return variable(reference, env) ?? `<unset ${reference.name}>`;
  return reference.kind === 'input' ? `<input ${reference.id}>` : `<${reference.name}>`;
};

describe('placeholders', () => {
  it.each([
    ['https://${HOST}/mcp', 'https://h.example/mcp'],
    ['${env:HOST}${HOST}', 'h.exampleh.example'],
    ['${NOPE:-fall back}', 'fall back'],
    ['${env:NOPE:-}', ''],
    ['${EMPTY}', ''],
    ['${EMPTY:-default}', 'default'],
    ['${HOST:-default}', 'h.example'],
    ['${NOPE:-a:-b}', 'a:-b'],
    ['${NOPE}', '<unset NOPE>'],
    ['${constructor}', '<unset constructor>'],
    ['${input:api-key}', '<input api-key>'],
    ['${workspaceFolder}/x:${userHome}', '<workspaceFolder>/x:<userHome>'],
  ])('%s becomes %s', (text, expected) => {
    expect(expand(text, resolve)).toBe(expected);
  });

  it.each(['pa$$word', '$HOME', '$', 'a$', '{HOST}', '$(id)', '%HOST%', '$ {HOST}'])('leave %s as it is', (text) => {
    expect(expand(text, resolve)).toBe(text);
  });

  it.each([
    ['$${HOST}', '${HOST}'],
    ['a$$${HOST}', 'a$${HOST}'],
    ['$${HOST} is ${HOST}', '${HOST} is h.example'],
  ])('are escaped by a second dollar sign: %s', (text, expected) => {
    expect(expand(text, resolve)).toBe(expected);
  });

  it('are not looked for in what was filled in', () => {
    expect(expand('${DOLLAR}', resolve)).toBe('${HOST}');
  });

  it.each(['${', '${HOST', '${}', '${A B}', '${A-b}', '${input:}', '${command:x}', '${A:-${B}}', '${A:-{}}', '${1A}'])(
    'are refused when they are none: %s',
    (text) => {
      expect(() => expand(text, resolve)).toThrow(expect.toSatisfy((error) => isParleyError(error, 'config-invalid')) as Error);
    },
  );

  it('never show a default in a message, as it may be a secret', () => {
    expect(() => expand('${A B:-hunter2}', resolve)).toThrow(/^(?!.*hunter2).*A B/s);
    expect(() => expand('${A:-{hunter2}}', resolve)).toThrow(/^(?!.*hunter2).*A/s);
  });
});
