import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { HostConfig, Rules, Scope } from '../config/index.ts';
import { rule, subject } from './fixtures/world.ts';
import { parseRule, readRules, type Effect } from './rules.ts';

const source = { file: '/home/me/parley.jsonc', key: 'permissions.deny.0', scope: 'user' as Scope };

function matches(text: string, server: string, tool: string, args: JsonObject = {}, effect: Effect = 'deny') {
  return rule(effect, text).matches(subject(server, tool, args));
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
    ['db/query(limit: "10")', { limit: '10' }, true],
    ['db/query(limit: 10)', { limit: 11 }, false],
    ['db/query(limit: 10)', {}, false],
    ['db/query(force: true)', { force: true, more: 1 }, true],
    ['db/query(force: true)', { force: false }, false],
    ['db/query(force: true)', { force: 1 }, false],
    ['db/query(at: null)', { at: null }, true],
    ['db/query(at: null)', {}, false],
    ['db/query(table: users)', { table: 'users' }, true],
    ['db/query(table: users)', { table: 'users2' }, false],
    ['db/query(table: user*)', { table: 'users2' }, true],
    ['db/query(table: "user*")', { table: 'users2' }, false],
    ['db/query(table: "user*")', { table: 'user*' }, true],
    ['db/query(table: *)', { table: 7 }, false],
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

describe('what an argument must be', () => {
  it.each<[string, JsonObject, boolean, Effect?]>([
    // Several arguments.
    ['db/query(table: users, limit: 1..100)', { table: 'users', limit: 5 }, true],
    ['db/query(table: users, limit: 1..100)', { table: 'users', limit: 101 }, false],
    ['db/query(table: users, limit: 1..100)', { table: 'users' }, false],
    // Ranges.
    ['db/query(limit: 1..100)', { limit: 1 }, true],
    ['db/query(limit: 1..100)', { limit: 100 }, true],
    ['db/query(limit: 1..100)', { limit: 100.5 }, false],
    // A text that spells a number or a truth value may be taken for it: enough to hold back, and never to allow.
    ['db/query(limit: 1..100)', { limit: '5' }, false, 'allow'],
    ['db/query(limit: 1..100)', { limit: ' 5.0 ' }, true, 'deny'],
    ['db/query(limit: > 100)', { limit: '1e3' }, true, 'ask'],
    ['db/query(limit: > 100)', { limit: '' }, false, 'deny'],
    ['db/query(limit: ..0)', { limit: '' }, false, 'deny'],
    ['db/query(limit: 10)', { limit: '10' }, false, 'allow'],
    ['db/query(limit: 10)', { limit: '10' }, true, 'deny'],
    ['db/query(limit: "10")', { limit: 10 }, false, 'deny'],
    ['db/query(force: true)', { force: 'true' }, false, 'allow'],
    ['db/query(force: true)', { force: 'True' }, true, 'deny'],
    ['db/query(limit: ..-1)', { limit: -2 }, true],
    ['db/query(limit: 2.5 ..)', { limit: 2.4 }, false],
    ['db/query(limit: >= 5)', { limit: 5 }, true],
    ['db/query(limit: > 5)', { limit: 5 }, false],
    ['db/query(limit: <5)', { limit: 4 }, true],
    ['db/query(path: ..)', { path: '..' }, true],
    // Alternatives.
    ['db/query(state: open | closed)', { state: 'closed' }, true],
    ['db/query(state: open | closed)', { state: 'open | closed' }, false],
    ['db/query(state: open|"half, open"|null|3..4)', { state: 'half, open' }, true],
    ['db/query(state: open|"half, open"|null|3..4)', { state: null }, true],
    ['db/query(state: open|"half, open"|null|3..4)', { state: 3.5 }, true],
    ['db/query(state: open|"half, open"|null|3..4)', { state: 'half' }, false],
    // Regular expressions cover all of a text to allow it, and are found somewhere to hold it back.
    ['db/query(id: matches /[A-Z]+-\\d+/)', { id: 'AB-12' }, true, 'allow'],
    ['db/query(id: matches /[A-Z]+-\\d+/)', { id: 'AB-12; drop' }, false, 'allow'],
    ['db/query(id: matches /[A-Z]+-\\d+/)', { id: 'AB-12; drop' }, true, 'deny'],
    ['db/query(id: matches /drop.*table/i)', { id: 'x; DROP\n TABLE' }, true, 'deny'],
    ['db/query(id: matches /drop.*table/i)', { id: 'drop\ntable' }, false, 'allow'],
    ['db/query(id: matches /a\\/b|c,d\\)/, n: 1)', { id: 'c,d)', n: 1 }, true],
    ['db/query(id: matches /a/ | 5)', { id: 5 }, true],
    // A path without a word before it is a text, whatever its ends.
    ['db/query(path: /srv/data/)', { path: 'x/srv/data/y' }, false],
    ['db/query(path: /srv/data/)', { path: '/srv/data/' }, true],
    // Arguments in arguments.
    ['db/query(options.limit: 5)', { options: { limit: 5 } }, true],
    ['db/query(options.limit: 5)', { options: { limit: 6 } }, false],
    ['db/query(options.limit: 5)', { options: 5 }, false],
    ['db/query(/options/a~1b: 5)', { options: { 'a/b': 5 } }, true],
    ['db/query(/options.limit: 5)', { options: { limit: 5 } }, false],
    ['db/query("options.limit": 5)', { 'options.limit': 5 }, true],
    ['db/query("a: b": 5)', { 'a: b': 5 }, true],
    ['db/query(items.1: x)', { items: ['y', 'x'] }, true],
    // One name for two arguments: both must fit to allow, one to hold back.
    ['db/query(a.b: 1)', { 'a.b': 1 }, true, 'allow'],
    ['db/query(a.b: 1)', { 'a.b': 1, a: { b: 2 } }, false, 'allow'],
    ['db/query(a.b: 1)', { 'a.b': 2, a: { b: 1 } }, true, 'deny'],
    // Each of a list: all to allow, one to hold back.
    ['db/query(ids.*: 1..9)', { ids: [1, 2] }, true, 'allow'],
    ['db/query(ids.*: 1..9)', { ids: [1, 20] }, false, 'allow'],
    ['db/query(ids.*: 1..9)', { ids: [1, 20] }, true, 'deny'],
    ['db/query(ids.*: 1..9)', { ids: [] }, false, 'allow'],
    ['db/query(edits.*.path: /srv/*)', { edits: [{ path: '/srv/x' }, { text: '' }] }, false, 'allow'],
    ['db/query(*: secret*)', { any: 'secrets' }, true, 'deny'],
    // What stands in a list or an object is enough to hold back, and never to allow.
    ['db/query(table: *)', { table: ['users'] }, false, 'allow'],
    ['db/query(table: users)', { table: ['orders', 'users'] }, true, 'deny'],
    ['db/query(table: "users")', { table: { name: 'users' } }, true, 'deny'],
    ['db/query(path: /etc/*)', { path: ['/etc/passwd'] }, true, 'deny'],
    ['db/query(path: /etc/*)', { path: { '/etc/passwd': 1 } }, false, 'deny'],
    ['db/query(id: matches /a/)', { id: ['a'] }, false, 'allow'],
    ['db/query(id: matches /a/)', { id: [['b'], ['a']] }, true, 'ask'],
    ['db/query(limit: > 100)', { limit: [5, '500'] }, true, 'deny'],
    ['db/query(force: true)', { force: [true] }, true, 'deny'],
    ['db/query(force: true)', { force: [true] }, false, 'allow'],
    ['db/query(x: host good.example)', { x: ['https://good.example/'] }, false, 'allow'],
    ['db/query(x: host evil.example)', { x: { to: ['https://evil.example/'] } }, true, 'deny'],
    ['db/query(x: under /srv)', { x: ['/srv/a'] }, false, 'allow'],
    ['db/query(x: under /srv)', { x: ['/etc', { y: '/srv/a' }] }, true, 'ask'],
    ['db/query(x: under /srv)', { x: 7 }, false, 'deny'],
  ])('%s on %j: %s', (text, args, expected, effect = 'deny') => {
    expect(matches(text, 'db', 'query', args, effect)).toBe(expected);
  });
});

describe('a condition', () => {
  const hints = (annotations: object) => ({ hints: annotations });
  const mark = { server: 'web', from: 'fetch', untrusted: true, private: 'to-others', digest: 'd' } as const;
  it.each<[Effect, string, Parameters<typeof subject>[3], boolean]>([
    ['allow', 'read-only', hints({ readOnlyHint: true }), true],
    ['allow', 'read-only', hints({}), false],
    ['allow', 'read-only', hints({ readOnlyHint: 'true' }), false],
    ['allow', 'not destructive', hints({ destructiveHint: false }), true],
    ['allow', 'not destructive', hints({}), false],
    ['deny', 'destructive', hints({}), true],
    ['deny', 'destructive', hints({ readOnlyHint: true, destructiveHint: true }), false],
    ['allow', 'idempotent and not open-world', hints({ idempotentHint: true, openWorldHint: false }), true],
    ['allow', 'idempotent and not open-world', hints({ idempotentHint: true }), false],
    // Of a server that is not trusted nothing is known: that allows nothing, and holds everything back.
    ['allow', 'read-only', {}, false],
    ['allow', 'not destructive', {}, false],
    ['deny', 'destructive', {}, true],
    ['ask', 'not read-only', {}, true],
    ['allow', 'route run | chat', { route: 'chat' }, true],
    ['allow', 'route run | chat', { route: 'call' }, false],
    ['deny', 'not route library', { route: 'gateway' }, true],
    ['allow', 'principal alice | svc-*', { principal: 'svc-1' }, true],
    ['allow', 'principal alice | svc-*', { principal: 'bob' }, false],
    ['allow', 'not tainted', { taint: [] }, true],
    ['allow', 'not tainted', { taint: [mark] }, false],
    ['deny', 'tainted and private', { taint: [mark] }, true],
    ['deny', 'tainted and private', { taint: [] }, false],
    ['deny', 'private', { taint: [{ ...mark, server: 'a' }] }, false],
    ['deny', 'private', { taint: [{ ...mark, server: 'a', private: 'to-all' }] }, true],
  ])('%s … when %s, %j: %s', (effect, condition, more, expected) => {
    expect(rule(effect, `a/b when ${condition}`).matches(subject('a', 'b', {}, more))).toBe(expected);
  });

  it('stands behind arguments too, and a text that looks like one is a text', () => {
    expect(rule('allow', 'a/b(x: 1) when route run').matches(subject('a', 'b', { x: 1 }, { route: 'run' }))).toBe(true);
    expect(rule('allow', 'a/b(x: go when ready)').matches(subject('a', 'b', { x: 'go when ready' }))).toBe(true);
  });
});

describe('resources and prompts', () => {
  const of = (kind: 'resource' | 'prompt', name: string, args: JsonObject = {}) => ({ ...subject('files', name, args), kind });
  it.each<[Effect, string, ReturnType<typeof of>, boolean]>([
    ['deny', 'files/resource:file:///srv/*', of('resource', 'file:///srv/x'), true],
    ['deny', 'files/resource:file:///srv/*', of('resource', 'file:///etc/x'), false],
    ['deny', 'files/resource:file:///srv/*', of('resource', 'FILE:///srv/x'), true],
    ['deny', 'files/resource:file:///srv/*', of('resource', 'file:///etc/../srv/x'), true],
    ['deny', 'files/resource:file:///srv/*', of('resource', 'file:///%73rv/x'), true],
    ['deny', 'files/resource:file:///srv/*', of('resource', 'file://localhost//srv/./x'), true],
    ['ask', 'files/resource:file:///srv/*', of('resource', ' file:/srv/x'), true],
    ['deny', 'files/resource:https://x.example/*', of('resource', 'https://X.example:443/a'), true],
    ['allow', 'files/resource:file:///srv/*', of('resource', 'FILE:///srv/x'), false],
    ['allow', 'files/resource:file:///srv/*', of('resource', 'file:///srv/../etc/x'), false],
    ['deny', 'files/resource:*(uri: under /etc)', of('resource', 'x', { uri: 'file:///etc/passwd' }), true],
    ['deny', 'files/prompt:sum*', of('prompt', 'summary'), true],
    ['deny', 'files/prompt:sum*', of('resource', 'summary'), false],
    ['deny', 'files/prompt:p(topic: war)', of('prompt', 'p', { topic: 'war' }), true],
    ['deny', 'files/summary', of('prompt', 'summary'), false],
    // All that a server has is held back, and only its tools are allowed.
    ['deny', 'files/*', of('prompt', 'summary'), true],
    ['ask', '*/*', of('resource', 'file:///x'), true],
    ['allow', 'files/*', of('resource', 'file:///x'), false],
    ['allow', 'files/resource:*', of('resource', 'file:///x'), true],
    ['allow', 'files/resource:*', { ...of('prompt', 'x'), kind: 'tool' as never }, false],
  ])('%s %s on %j: %s', (effect, text, asked, expected) => {
    expect(rule(effect, text).matches(asked)).toBe(expected);
  });
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

  it.each<[Effect, string, string]>([
    ['allow', 'a/b(x: 5..1)', 'no number is in 5..1'],
    ['allow', 'a/b(x: > many)', 'is no number'],
    ['deny', 'a/b(x: matches /a^b/)', 'no text can match'],
    ['deny', 'a/b(x: matches /[^\\s\\S]/)', 'no text can match'],
    ['deny', 'a/b(x: matches /a$b/)', 'no text can match'],
    ['deny', 'a/b(x: matches /(/)', 'cannot be read'],
    ['deny', 'a/b(x: matches /(a)\\1/)', 'cannot be read'],
    ['deny', 'a/b(x: matches /abc)', 'does not end'],
    ['deny', `a/b(x: matches /${'a'.repeat(257)}/)`, 'longer than 256'],
    ['deny', 'a/b(x: under srv)', 'not absolute'],
    ['deny', 'a/b(x: under ~other/x)', 'not absolute'],
    ['deny', 'a/b(x: host *.*.example)', 'a host that is none'],
    ['deny', 'a/b(x: host http://x.example)', 'a host that is none'],
    ['deny', 'a/b(x: host *.127.0.0.1)', 'no subdomains'],
    ['deny', 'a/b(x: 1, x: 2)', 'names an argument twice'],
    ['deny', 'a/b(x.y: 1, /x/y: 2)', 'names an argument twice'],
    ['deny', 'a/b(text: one, two)', 'stands in double quotes'],
    ['deny', 'a/b(x..y: 1)', 'an empty step'],
    ['deny', 'a/b(x: 1 | )', 'no value'],
    ['deny', 'a/b(x: (1)', 'does not end in'],
    ['deny', 'a/b when', 'white space in the name'],
    ['deny', 'a/b c(x: 1)', 'white space in the name'],
    ['deny', 'a/b(x: 1) when', 'but in "when"'],
    ['deny', 'a/b when nice', 'There are read-only'],
    ['deny', 'a/b when toString', 'There are read-only'],
    ['deny', 'a/b when read-only now', 'behind the condition'],
    ['deny', 'a/b when read-only and not read-only', 'twice'],
    ['deny', 'a/b when read-only and destructive', 'no tool is all'],
    ['deny', 'a/b when read-only and not idempotent', 'no tool is all'],
    ['deny', 'a/b when route', 'without a name'],
    ['deny', 'a/b when route chta', 'no route "chta". Did you mean "chat"?'],
    ['deny', 'a/b when not tainted', 'cannot hold back'],
    ['ask', 'a/b when not private', 'cannot hold back'],
    ['allow', 'a/b when tainted', 'cannot allow because of'],
    ['deny', 'a/b even when tainted', 'drop "even when tainted"'],
    ['allow', 'a/b when not tainted even when tainted', 'contradicts itself'],
    ['deny', 'a/resource:x(y: 1)', 'the argument "uri" alone'],
    ['deny', 'a/prompt:', 'names no prompt'],
  ])('%s %s: %s', (effect, text, why) => {
    expect(() => parseRule(effect, text, source)).toThrow(why);
  });
});

describe('the rules of a configuration', () => {
  const written = (text: string, scope: Scope = 'user') => [{ rule: text, source: { ...source, scope } }];
  const read = (rules: Partial<Rules>, servers: readonly Partial<HostConfig['servers'][number]>[] = []) =>
    readRules({
      rules: { allow: [], ask: [], deny: [], unread: [], ...rules },
      servers: servers.map((server) => ({ reviewedTools: [], trusted: false, source, ...server })) as never,
    });

  it('keep effect, text and source, those that deny first', () => {
    const { rules, problems } = read({ allow: written('a/*'), ask: written(' a/b(x: 1) ', 'project') });
    expect(problems).toEqual([]);
    expect(rules).toMatchObject([
      { effect: 'ask', text: 'a/b(x: 1)', source: { scope: 'project' }, server: 'a' },
      { effect: 'allow', text: 'a/*', source: { scope: 'user' }, server: 'a' },
    ]);
  });

  it('have a problem for each rule that cannot be read, with its file and key', () => {
    const { problems } = read({ allow: written('a'), deny: written('b(') });
    expect(problems).toHaveLength(2);
    for (const problem of problems) expect(problem).toContain('(permissions.deny.0 in /home/me/parley.jsonc)');
  });

  it('have a problem when a file could not be read', () => {
    expect(read({ unread: ['/a.jsonc'] }).problems).toEqual(['The rules of /a.jsonc cannot be read.']);
  });

  it('have a problem when they allow by what a server says that is not trusted', () => {
    const rules = { allow: written('files/* when read-only') };
    expect(read(rules, [{ name: 'files' }]).problems[0]).toContain('server "files" is not trusted');
    expect(read(rules, [{ name: 'files', trusted: true }]).problems).toEqual([]);
    expect(read(rules, []).problems).toEqual([]);
    expect(read({ allow: written('*/* when read-only') }, [{ name: 'files' }]).problems).toEqual([]);
    expect(read({ deny: written('files/* when destructive') }, [{ name: 'files' }]).problems).toEqual([]);
    // A project that calls its server as the user calls one does not break the user's rules.
    expect(read(rules, [{ name: 'files', source: { ...source, scope: 'project' } }]).problems).toEqual([]);
  });

  it('that allow a server by name are not for the one that a project has put in its place', () => {
    const project = { ...source, scope: 'project' } as const;
    const texts = (servers: Parameters<typeof read>[1], scope: 'user' | 'local' = 'user') =>
      read({ allow: written('files/read', scope), repeatable: written('files/*', scope), deny: written('files/x') }, servers);
    const hiding = [{ name: 'files', source: project, hidesUsers: true as const }];
    expect(texts(hiding)).toMatchObject({ rules: [{ effect: 'deny' }], repeatable: [], problems: [] });
    expect(texts([{ name: 'files', source: project }]).rules).toHaveLength(2);
    expect(texts(hiding, 'local').rules).toHaveLength(2);
    expect(read({ allow: written('*/read') }, hiding).rules).toHaveLength(1);
  });

  it('have the version of all that counts, whatever its order and place', () => {
    const of = (...allow: string[]) => read({ allow: allow.flatMap((text) => written(text)) }).version('a');
    expect(of('a/x', 'a/y')).toBe(of('a/y', 'a/x'));
    expect(of('a/x')).not.toBe(of('a/y'));
    expect(read({ deny: written('a/x') }).version('a')).not.toBe(of('a/x'));
    const servers = [{ trusted: true }, { private: true }, { private: false }, { reviewedTools: ['x'] }, {}];
    const versions = servers.map((server) => read({}, [{ name: 'a', ...server }]).version('a'));
    expect(new Set(versions).size).toBe(servers.length);
    // What is said of another server is nothing to it.
    expect(read({}, [{ name: 'a' }, { name: 'b', trusted: true }]).version('a')).toBe(read({}, [{ name: 'a' }]).version('a'));
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
