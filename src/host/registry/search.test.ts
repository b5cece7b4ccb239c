import { describe, expect, it } from 'vitest';
import type { Tool } from '../../protocol/index.ts';
import { createRegistry } from './registry.ts';

function snapshotOf(tools: readonly (Partial<Tool> & { name: string })[], server = 'srv') {
  const registry = createRegistry();
  registry.set({ name: server, priority: 0 }, 'tool', {
    items: tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })),
    at: 0,
  });
  return registry.snapshot;
}

describe('search', () => {
  const snapshot = snapshotOf([
    { name: 'list_commits', description: 'Lists commits; needs no issue.' },
    { name: 'issue_read' },
    { name: 'reissue_card' },
    { name: 'createIssue', description: 'Opens a ticket.' },
    { name: 'issue' },
    { name: 'ticket_close', title: 'Close an issue' },
    { name: 'unrelated', description: 'Weather.' },
    { name: '+' },
  ]);
  const names = (text: string, limit = 10) => snapshot.search(text, limit).map(({ name }) => name);

  it.each([
    ['issue', ['issue', 'issue_read', 'createIssue', 'reissue_card', 'ticket_close', 'list_commits']],
    ['Issue_Re', ['issue_read', 'reissue_card', 'createIssue', 'issue', 'ticket_close', 'list_commits']],
    ['create issue', ['createIssue', 'issue_read', 'issue', 'reissue_card', 'ticket_close', 'list_commits']],
    ['open ticket', ['createIssue', 'ticket_close']],
    ['+', ['+']],
    ['', []],
    ['  ', []],
    ['zebra', []],
  ])('for "%s" ranks the exact name, then the beginning, then words', (text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  it('gives at most as many as asked for', () => {
    expect(names('issue', 2)).toEqual(['issue', 'issue_read']);
    expect(names('issue', 0)).toEqual([]);
  });

  it('finds by the server’s name too', () => {
    expect(snapshot.search('srv', 3)).toHaveLength(3);
  });

  it('keeps the order of the list among equals', () => {
    const many = snapshotOf(Array.from({ length: 50 }, (_, index) => ({ name: `get_thing_${index}` })));
    expect(many.search('thing', 3).map(({ name }) => name)).toEqual(['get_thing_0', 'get_thing_1', 'get_thing_2']);
  });

  it('answers over 10,000 tools', () => {
    const many = snapshotOf(
      Array.from({ length: 10_000 }, (_, index) => ({
        name: `tool_${index}`,
        description: `Number ${index} of all the things.`,
      })),
    );
    expect(many.search('tool 9999', 1).map(({ name }) => name)).toEqual(['tool_9999']);
    expect(many.search('things', 5)).toHaveLength(5);
  });

  it('searches other kinds when asked', () => {
    const registry = createRegistry();
    registry.set({ name: 'a', priority: 0 }, 'prompt', { items: [{ name: 'review_code' }], at: 0 });
    expect(registry.snapshot.search('review', 5, 'prompt').map(({ kind, name }) => [kind, name])).toEqual([
      ['prompt', 'review_code'],
    ]);
    expect(registry.snapshot.search('review', 5)).toEqual([]);
  });
});
