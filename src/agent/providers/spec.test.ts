import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { parseModelSpec, scriptedModel } from './index.ts';

const cwd = mkdtempSync(join(tmpdir(), 'parley-spec-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const labelOf = (spec: string, env: Record<string, string> = {}) => parseModelSpec(spec, { env, cwd }).label;

/** The code and the message of what a spec is refused with. */
function refusal(spec: string, env: Record<string, string> = {}): [string, string] {
  try {
    parseModelSpec(spec, { env, cwd });
  } catch (error) {
    if (isParleyError(error)) return [error.code, error.message];
  }
  throw new Error('It was not refused.');
}

describe('a model is named by', () => {
  test.each([
    ['ollama:qwen3:8b', 'qwen3:8b (ollama, http://127.0.0.1:11434/v1)'],
    ['vllm:org/model', 'org/model (vllm, http://127.0.0.1:8000/v1)'],
    ['llamacpp:any', 'any (llamacpp, http://127.0.0.1:8080/v1)'],
    ['https://example.test/v1#some/model#2', 'some/model#2 (example.test, https://example.test/v1)'],
  ])('%s', (spec, label) => {
    expect(labelOf(spec)).toBe(label);
  });

  test('a service, whose key is in the environment', () => {
    expect(labelOf('openai:gpt-5', { OPENAI_API_KEY: 'k' })).toBe('gpt-5 (openai, https://api.openai.com/v1)');
    expect(labelOf('openrouter:a/b', { OPENROUTER_API_KEY: 'k' })).toBe('a/b (openrouter, https://openrouter.ai/api/v1)');
  });

  test('a service at an address of your own, which gets no other key than your own', () => {
    expect(labelOf('openai:m', { PARLEY_BASE_URL: 'http://127.0.0.1:9/v1' })).toBe('m (openai, http://127.0.0.1:9/v1)');
  });
});

describe('a name is refused', () => {
  test('when the key is missing, which it names', () => {
    expect(refusal('openai:gpt-5')).toEqual([
      'auth-required',
      'The model openai:gpt-5 needs a key. Set OPENAI_API_KEY in the environment.',
    ]);
    expect(refusal('openrouter:a/b', { OPENAI_API_KEY: 'k' })[1]).toContain('OPENROUTER_API_KEY');
  });

  test.each([
    ['opnai:gpt-5', /Did you mean "openai"\?/],
    ['gpt-5', /"gpt-5" names no model\. Write one of openai:MODEL/],
    ['openai:', /names no model/],
    ['constructor:x', /names no model/],
    ['http://127.0.0.1/v1', /names no model/],
  ])('%s', (spec, message) => {
    expect(refusal(spec)).toEqual(['usage', expect.stringMatching(message)]);
  });
});

describe('a script', () => {
  const write = (name: string, text: string) => {
    writeFileSync(join(cwd, name), text);
    return `scripted:${name}`;
  };
  const tools = ['orders__get_order', 'orders__list', 'shop__list'].map((name) => ({ name, description: '', inputSchema: {} }));

  test('says that no language model is used', () => {
    expect(labelOf(write('ok.json', '[{ "say": "Hi." }]'))).toBe('scripted model (no LLM is used)');
  });

  test('plays one step a turn and says when it is over', async () => {
    const model = parseModelSpec(write('two.json', '\uFEFF[{ "say": "One." }, { "call": [{ "tool": "orders/get_order" }] }]'), {
      env: {},
      cwd,
    });
    const heard: string[] = [];
    const next = () => model.generate({ messages: [], tools }, { onText: (delta) => heard.push(delta) });
    expect(await next()).toEqual({ text: 'One.', toolCalls: [], finish: 'stop' });
    expect(await next()).toMatchObject({
      text: '',
      toolCalls: [{ name: 'orders__get_order', arguments: {} }],
      finish: 'tool-calls',
    });
    expect(await next()).toMatchObject({ text: 'The script is over.', finish: 'stop' });
    expect(heard).toEqual(['One.', 'The script is over.']);
  });

  test.each([
    ['orders/get_order', 'orders__get_order'],
    ['orders.get_order', 'orders__get_order'],
    ['orders:get_order', 'orders__get_order'],
    ['orders__get_order', 'orders__get_order'],
    ['get_order', 'orders__get_order'],
    ['shop/list', 'shop__list'],
    // Two servers have it, so it is nobody's.
    ['list', 'list'],
    ['orders/none', 'orders/none'],
  ])('may write %s for %s', async (written, name) => {
    const model = scriptedModel([{ call: [{ tool: written }] }]);
    expect((await model.generate({ messages: [], tools })).toolCalls).toMatchObject([{ name }]);
  });

  test.each([
    ['no JSON', '[{]', /is not valid JSON: /],
    ['no list', '{}', /must hold a list of steps/],
    ['an empty list', '[]', /must hold a list of steps/],
    ['no object', '["x"]', /step 1 is no object\.$/],
    ['an empty step', '[{ "say": "a" }, {}]', /step 2 says nothing and calls nothing\.$/],
    ['an unknown member', '[{ "says": "a" }]', /step 1 has the member "says", and may have "say" and "call" alone\.$/],
    ['a say of no text', '[{ "say": 1 }]', /step 1 has a "say" that is no text\.$/],
    ['a call of no list', '[{ "call": {} }]', /step 1 has a "call" that is no list\.$/],
    [
      'a call without a tool',
      '[{ "call": [{ "tool": "a" }, { "arguments": {} }] }]',
      /has a call, number 2, that names no "tool"\.$/,
    ],
    [
      'arguments of no object',
      '[{ "call": [{ "tool": "a", "arguments": [] }] }]',
      /number 1, that has "arguments" that are no object\.$/,
    ],
  ])('with %s is refused with its place', (_what, text, message) => {
    const [code, said] = refusal(write('bad.json', text));
    expect(code).toBe('usage');
    expect(said).toContain(`The script "${join(cwd, 'bad.json')}" `);
    expect(said).toMatch(message);
  });

  test('that is not there is refused with its file', () => {
    expect(refusal('scripted:none.json')[1]).toMatch(/The script ".*none\.json" cannot be read: ENOENT/);
  });
});
