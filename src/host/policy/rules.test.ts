import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { createIntent } from '../approval/index.ts';
import type { Scope } from '../config/index.ts';
import { parseRule, readRules, ruleMatches, type Effect } from './rules.ts';

const source = { file: '/home/me/parley.jsonc', key: 'permissions.deny.0', scope: 'user' as Scope };

function intent(server: string, tool: string, args: JsonObject = {}) {
  return createIntent({ server, tool: { name: tool, inputSchema: { type: 'object' } }, args });
}

function matches(text: string, server: string, tool: string, args: JsonObject = {}, effect: Effect = 'deny') {
  return ruleMatches(parseRule(effect, text, source), intent(server, tool, args));
}

describe('a rule', () => {
  it.each([
    ['github/create_issue', 'github', 'create_issue', true],
    ['github/create_issue', 'github', 'create_issues', false],
    ['github/create_issue', 'gitlab', 'create_issue', false],
    ['github/Create_Issue', 'github', 'create_issue', false],
    [' github / create_issue ', 'github', 'create_issue', true],
    ['github/*', 'github', 'anything', true],
    ['github/*', 'github2', 'anything', false],
    ['git*/get_?', 'gitlab', 'get_x', true],
    ['*/*', 'a', 'b/c', true],
    // The first slash is the border: servers' names hold none, tools' names may.
    ['a/b/c', 'a', 'b/c', true],
    ['io.github.me/x', 'io.github.me', 'x', true],
    ['*/delete*', 'a', 'delete_repo', true],
  ])('%s on %s and %s gives %s', (text, server, tool, expected) => {
    expect(matches(text, server, tool)).toBe(expected);
  });

  it.each<[string, JsonObject, boolean]>([
    ['db/query(limit: 10)', { limit: 10 }, true],
    ['db/query(limit: 10)', { limit: '10' }, false],
    ['db/query(limit: "10")', { limit: '10' }, true],
    ['db/query(limit: 10)', { limit: 11 }, false],
    ['db/query(limit: 10)', {}, false],
    ['db/query(force: true)', { force: true, more: 1 }, true],
    ['db/query(force: true)', { force: 'true' }, false],
    ['db/query(at: null)', { at: null }, true],
    ['db/query(at: null)', {}, false],
    ['db/query(table: users)', { table: 'users' }, true],
    ['db/query(table: users)', { table: 'users2' }, false],
    ['db/query(table: user*)', { table: 'users2' }, true],
    ['db/query(table: "user*")', { table: 'users2' }, false],
    ['db/query(table: "user*")', { table: 'user*' }, true],
    ['db/query(table: *)', { table: 7 }, false],
    ['db/query(table: *)', { table: ['users'] }, false],
    ['db/query(url: https://good.example/*)', { url: 'https://good.example/a?b:c' }, true],
    ['db/query(url: https://good.example/*)', { url: 'https://good.example@evil.example/' }, false],
    ['db/query(url: https://good.example/*)', { url: 'https://good.example.evil/' }, false],
    ['db/query( path :/srv/* )', { path: '/srv/x' }, true],
    ['db/query(path: (a)*)', { path: '(a)b' }, true],
    ['db/query(__proto__: x)', {}, false],
    ['db/query(__proto__: x)', JSON.parse('{"__proto__":"x"}') as JsonObject, true],
    ['db/query(toString: *)', {}, false],
  ])('%s on %j gives %s', (text, args, expected) => {
    expect(matches(text, 'db', 'query', args)).toBe(expected);
  });

  it.each([
    '/srv/data/../../etc/passwd',
    '/srv/data/..',
    '/srv/data/x\\..\\..\\y',
    '/srv/data/%2e%2E/x',
    '/srv/data/.%2e%2fx',
    '/srv/data%2f..%5cx',
  ])('that allows by a pattern does not cover the way up in %s, and one that denies does', (path) => {
    expect(matches('files/read(path: /srv/data*)', 'files', 'read', { path }, 'allow')).toBe(false);
    expect(matches('files/read(path: /srv/data*)', 'files', 'read', { path }, 'deny')).toBe(true);
  });

  it.each(['/srv/data/a..b', '/srv/data/...', '/srv/data/..x'])(
    'that allows by a pattern covers %s, which goes nowhere',
    (path) => {
      expect(matches('files/read(path: /srv/data/*)', 'files', 'read', { path }, 'allow')).toBe(true);
    },
  );
});

describe('a rule that cannot be read', () => {
  it.each([
    ['', 'no "/"'],
    ['github', 'no "/"'],
    ['github__create_issue', 'no "/"'],
    ['*', 'no "/"'],
    ['/x', 'names no server'],
    ['x/', 'names no tool'],
    [' / ', 'names no server'],
    ['a/b)', 'a ")" without'],
    ['a/b(', 'does not end in'],
    ['a/b()', 'does not end in'],
    ['a/b(x)', 'does not end in'],
    ['a/b(x: 1', 'does not end in'],
    ['a/b(x: 1) more', 'does not end in'],
    ['a(b)/c(x: 1)', 'no "/"'],
    ['a/b(: 1)', 'no argument name'],
    ['a/b(x:)', 'no value'],
    ['a/b(x: "open)', 'neither a JSON text'],
    ['a/b(x: {"a":1})', 'neither a JSON text'],
    ['a/b(x: [1])', 'neither a JSON text'],
    ['a/b\u202e', 'cannot be seen'],
    ['a/b\nc', 'cannot be seen'],
    [`a/${'b'.repeat(511)}`, 'longer than 512'],
  ])('%j is an error that names rule and file', (text, why) => {
    const fault = thrown(() => parseRule('deny', text, source));
    expect(isParleyError(fault, 'config-invalid')).toBe(true);
    const { message } = fault as Error;
    expect(message).toContain(why);
    expect(message).toContain('(permissions.deny.0 in /home/me/parley.jsonc)');
    // eslint-disable-next-line no-control-regex -- that none is there is the point
    expect(message).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(message.length).toBeLessThan(400);
  });

  it('stops the reading of all', () => {
    const written = (rule: string) => [{ rule, source }];
    expect(() => readRules({ allow: written('a/*'), ask: [], deny: written('a'), complete: true })).toThrow('The deny rule "a"');
  });
});

describe('the rules of a configuration', () => {
  it('keep effect, text and source, and whether all could be read', () => {
    const project = { file: '.parley/parley.jsonc', key: 'permissions.ask.0', scope: 'project' as Scope };
    const set = readRules({
      allow: [{ rule: 'a/*', source }],
      ask: [{ rule: 'a/b(x: 1)', source: project }],
      deny: [],
      complete: false,
    });
    expect(set).toEqual({
      complete: false,
      rules: [
        { effect: 'ask', text: 'a/b(x: 1)', source: project, server: 'a', tool: 'b', argument: { name: 'x', value: 1 } },
        { effect: 'allow', text: 'a/*', source, server: 'a', tool: '*' },
      ],
    });
  });
});

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}
