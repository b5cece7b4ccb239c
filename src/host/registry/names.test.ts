import { describe, expect, it } from 'vitest';
import { modelName, parseName } from './names.ts';

describe('the name of a tool for models', () => {
  it.each([
    ['github', 'create_issue', 'github__create_issue'],
    ['my-server', 'get-user', 'my-server__get-user'],
    ['a_b', 'c', 'a_b__c'],
    ['x', 'y__z', 'x__y__z'],
    ['a', '_b', 'a___b'],
    ['github', 'create_repository', 'github__create_repository'],
    ['s', 't'.repeat(61), `s__${'t'.repeat(61)}`],
  ])('is plain for %s and %s', (server, tool, name) => {
    expect(modelName(server, tool)).toBe(name);
  });

  it.each([
    ['io.github.me', 'search', 'io_github_me__search_1a761stlun'],
    ['a', 'admin.tools.list', 'a__admin_tools_list_89y23kgly2'],
    ['a', 'käse 🧀', 'a__k_se___5s7yqb2wkm'],
    ['a__b', 'c', 'a__b__c_6wavopeebh'],
    ['a_', 'b', 'a___b_3gee1x01ej'],
    ['_a', 'b', '_a__b_82b65d6fla'],
    ['a', '', 'a___6mbk798el4'],
    ['a', 'b_0123456789', 'a__b_0123456789_0d304b3k6r'],
    ['s', 't'.repeat(62), `s__${'t'.repeat(50)}_54wet0fw70`],
  ])('is cleaned and hashed for %s and %s', (server, tool, name) => {
    expect(modelName(server, tool)).toBe(name);
  });
});

describe('a typed name', () => {
  const servers = new Set(['github', 'a', 'a.b', 'files']);

  it.each([
    ['github__create_issue', [['github', 'create_issue']]],
    ['github:create_issue', [['github', 'create_issue']]],
    ['github/create_issue', [['github', 'create_issue']]],
    ['github.create_issue', [['github', 'create_issue']]],
    ['create_issue', []],
    ['gitlab/create_issue', []],
    // The longest server's name first.
    [
      'a.b.c',
      [
        ['a.b', 'c'],
        ['a', 'b.c'],
      ],
    ],
    ['a/b.c/d:e__f', [['a', 'b.c/d:e__f']]],
    ['a___b', [['a', '_b']]],
    ['files:file:///x.md', [['files', 'file:///x.md']]],
    ['github/', []],
    ['github', []],
    ['', []],
  ])('%s is read against the servers there are, and last as a bare name', (text, readings) => {
    const expected = readings.map(([server, name]) => ({ server, name }));
    expect(parseName(text, servers)).toEqual([...expected, { server: undefined, name: text }]);
  });
});
