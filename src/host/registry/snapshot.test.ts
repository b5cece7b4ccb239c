import { describe, expect, it } from 'vitest';
import type { Tool } from '../../protocol/index.ts';
import type { Entry } from './entry.ts';
import { createRegistry } from './registry.ts';
import type { Lookup } from './snapshot.ts';

type Servers = Readonly<
  Record<string, { priority?: number; tools?: string[]; prompts?: string[]; uris?: string[]; templates?: string[] }>
>;

function tool(name: string): Tool {
  return { name, inputSchema: { type: 'object' } };
}

function snapshotOf(servers: Servers) {
  const registry = createRegistry();
  for (const [name, { priority = 0, tools = [], prompts = [], uris = [], templates = [] }] of Object.entries(servers)) {
    const server = { name, priority };
    registry.set(server, 'tool', { items: tools.map(tool), at: 0 });
    registry.set(server, 'prompt', { items: prompts.map((prompt) => ({ name: prompt })), at: 0 });
    registry.set(server, 'resource', { items: uris.map((uri) => ({ uri, name: uri.split('/').at(-1) as string })), at: 0 });
    registry.set(server, 'template', { items: templates.map((uriTemplate) => ({ uriTemplate, name: 't' })), at: 0 });
  }
  return registry.snapshot;
}

const label = ({ server, key }: Pick<Entry, 'server' | 'key'>) => `${server} ${key}`;

/** `found server key`, `ambiguous server key, server key` or `missing suggestion, suggestion`. */
function said(lookup: Lookup<Entry>): string {
  if (lookup.type === 'found') return `found ${label(lookup.entry)}`;
  return `${lookup.type} ${(lookup.type === 'ambiguous' ? lookup.entries.map(label) : lookup.suggestions).join(', ')}`.trim();
}

describe('the order of entries', () => {
  it('is by priority, then server, then as listed', () => {
    const { tools, servers } = snapshotOf({ b: { tools: ['z', 'y'] }, c: { priority: 5, tools: ['x'] }, a: { tools: ['w'] } });
    expect(tools.map(label)).toEqual(['c x', 'a w', 'b z', 'b y']);
    expect(servers.map(({ server }) => server)).toEqual(['c', 'a', 'b']);
  });

  it('does not depend on which server was first', () => {
    const entries: [string, { tools: string[] }][] = [
      ['a', { tools: ['x', 'y'] }],
      ['b', { tools: ['x'] }],
    ];
    const forwards = snapshotOf(Object.fromEntries(entries));
    const backwards = snapshotOf(Object.fromEntries(entries.toReversed()));
    expect(backwards.tools.map(({ modelName }) => modelName)).toEqual(forwards.tools.map(({ modelName }) => modelName));
  });
});

describe('finding a tool', () => {
  const servers: Servers = {
    github: { tools: ['create_issue', 'search', 'admin.list', 'a/b:c__d'] },
    'io.github.me': { priority: 5, tools: ['search', 'only.here'] },
    gitlab: { tools: ['create_issue', 'github__create_issue', 'github/merge'] },
    'io.github': { tools: ['me.deep'] },
  };

  it.each([
    ['github/create_issue', 'found github create_issue'],
    ['github__create_issue', 'found github create_issue'],
    ['github:create_issue', 'found github create_issue'],
    ['github.create_issue', 'found github create_issue'],
    ['github/a/b:c__d', 'found github a/b:c__d'],
    ['a/b:c__d', 'found github a/b:c__d'],
    ['admin.list', 'found github admin.list'],
    ['only.here', 'found io.github.me only.here'],
    ['io.github.me/search', 'found io.github.me search'],
    ['io.github.me.only.here', 'found io.github.me only.here'],
    // The longer server has no such tool, the shorter has.
    ['io.github.me.deep', 'found io.github me.deep'],
    // A bare name is that of the highest priority; equal priorities are ambiguous.
    ['search', 'found io.github.me search'],
    ['create_issue', 'ambiguous github create_issue, gitlab create_issue'],
    // No server answers under another server's name.
    ['github/merge', 'missing'],
    ['gitlab/github/merge', 'found gitlab github/merge'],
    ['github/creat_issue', 'missing github/create_issue'],
    ['github/nothing-like-it', 'missing'],
    ['creat_issue', 'missing create_issue'],
    ['githb/create_issue', 'missing create_issue, github__create_issue'],
    ['', 'missing'],
  ])('%s gives: %s', (typed, expected) => {
    const found = said(snapshotOf(servers).find('tool', typed));
    if (expected === 'missing') expect(found).toMatch(/^missing/);
    else expect(found).toBe(expected);
  });

  it('takes the name a model has for it, hashed or not', () => {
    const snapshot = snapshotOf({ 'io.github.me': { tools: ['search'] } });
    const name = snapshot.tools[0]?.modelName as string;
    expect(name).toMatch(/^io_github_me__search_[0-9a-z]{10}$/);
    expect(said(snapshot.find('tool', name))).toBe('found io.github.me search');
    expect(snapshot.byModelName(name)).toBe(snapshot.tools[0]);
    expect(snapshot.byModelName('search')).toBeUndefined();
  });

  it('means by a model name what a model means, even when it could be read otherwise', () => {
    const snapshot = snapshotOf({ a: { tools: ['b__c'] }, a__b: { tools: ['c'] } });
    expect(said(snapshot.find('tool', 'a__b__c'))).toBe('found a b__c');
    expect(said(snapshot.find('tool', 'a__b/c'))).toBe('found a__b c');
  });

  it('knows names that are members of every object', () => {
    const snapshot = snapshotOf({ constructor: { tools: ['__proto__'] } });
    expect(said(snapshot.find('tool', 'constructor/__proto__'))).toBe('found constructor __proto__');
    expect(said(snapshot.find('tool', 'toString'))).toBe('missing');
  });

  it('does not confuse prompts and tools', () => {
    const snapshot = snapshotOf({ a: { tools: ['x'], prompts: ['y'] } });
    expect(said(snapshot.find('prompt', 'a/y'))).toBe('found a y');
    expect(said(snapshot.find('tool', 'a/y'))).toMatch(/^missing/);
  });
});

describe('conflicts', () => {
  it('name what several servers offer, and who wins', () => {
    const { conflicts } = snapshotOf({
      a: { tools: ['x', 'y', 'alone'], uris: ['file:///r'] },
      b: { priority: 1, tools: ['x'] },
      c: { tools: ['y'], uris: ['file:///r'] },
    });
    expect(
      conflicts.map(({ kind, key, entries, winner }) => [kind, key, entries.map(({ server }) => server), winner?.server]),
    ).toEqual([
      ['tool', 'x', ['b', 'a'], 'b'],
      ['tool', 'y', ['a', 'c'], undefined],
      ['resource', 'file:///r', ['a', 'c'], undefined],
    ]);
  });
});

describe('finding a resource', () => {
  const servers: Servers = {
    notes: { uris: ['file:///notes/today.md', 'file:///shared.md'], templates: ['note://{id}', 'note://{+path}'] },
    docs: { priority: 1, uris: ['file:///shared.md'], templates: ['docs://{page}', '{bad'] },
    other: { uris: ['other://today.md'], templates: ['note://{id}'] },
    docs2: { templates: ['docs://{page}'] },
  };

  it.each([
    ['file:///notes/today.md', 'found notes file:///notes/today.md'],
    ['file:///shared.md', 'found docs file:///shared.md'],
    ['notes:file:///shared.md', 'found notes file:///shared.md'],
    ['shared.md', 'found docs file:///shared.md'],
    ['notes/today.md', 'found notes file:///notes/today.md'],
    ['today.md', 'ambiguous notes file:///notes/today.md, other other://today.md'],
    ['file:///shared.mdx', 'missing file:///shared.md, shared.md'],
  ])('%s gives: %s', (typed, expected) => {
    expect(said(snapshotOf(servers).find('resource', typed))).toBe(expected);
  });

  it.each([
    ['file:///shared.md', 'found docs file:///shared.md resource'],
    ['docs://intro', 'found docs docs://intro template'],
    ['docs2:docs://intro', 'found docs2 docs://intro template'],
    ['note://7', 'ambiguous notes note://7 template, other note://7 template'],
    ['note://a/b', 'found notes note://a/b template'],
    ['notes:note://7', 'found notes note://7 template'],
    ['docs://intro/more', 'missing'],
  ])('%s is read from: %s', (typed, expected) => {
    const lookup = snapshotOf(servers).findResource(typed);
    const target = (to: { server: string; uri: string; entry: Entry }) => `${to.server} ${to.uri} ${to.entry.kind}`;
    if (lookup.type === 'found') expect(`found ${target(lookup.entry)}`).toBe(expected);
    else
      expect(`${lookup.type} ${lookup.type === 'ambiguous' ? lookup.entries.map(target).join(', ') : ''}`.trim()).toBe(expected);
  });

  it('knows who owns a URI: who lists it, else whose template it fits, each server once', () => {
    const snapshot = snapshotOf(servers);
    expect(snapshot.resourceOwners('file:///shared.md').map(label)).toEqual([
      'docs file:///shared.md',
      'notes file:///shared.md',
    ]);
    expect(snapshot.resourceOwners('note://7').map(label)).toEqual(['notes note://{id}', 'other note://{id}']);
    expect(snapshot.resourceOwners('docs://intro').map(label)).toEqual(['docs docs://{page}', 'docs2 docs://{page}']);
    expect(snapshot.resourceOwners('http://elsewhere/')).toEqual([]);
  });
});
