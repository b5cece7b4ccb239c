import { describe, expect, it } from 'vitest';
import type { Tool } from '../../protocol/index.ts';
import { createRegistry, type RegistryChange } from './registry.ts';

const github = { name: 'github', priority: 0 };

function tool(name: string, description = ''): Tool {
  return { name, description, inputSchema: { type: 'object' } };
}

/** A registry and what its feed said, as `added +a, changed ~b, removed -c`. */
function watched() {
  const registry = createRegistry();
  const heard: string[] = [];
  const label = (sign: string, entries: RegistryChange['added']) => entries.map(({ key }) => `${sign}${key}`);
  registry.changes.subscribe(({ server, kind, added, changed, removed }) => {
    heard.push([`${server} ${kind}`, ...label('+', added), ...label('~', changed), ...label('-', removed)].join(' '));
  });
  return { registry, heard };
}

describe('the feed of changes', () => {
  it('tells what was added, changed and removed, by server and kind', () => {
    const { registry, heard } = watched();
    registry.set(github, 'tool', { items: [tool('a'), tool('b'), tool('c')], at: 1 });
    registry.set(github, 'tool', { items: [tool('b', 'now with a text'), tool('c'), tool('d')], at: 2 });
    registry.set(github, 'prompt', { items: [{ name: 'p' }], at: 2 });
    registry.remove('github');
    expect(heard).toEqual([
      'github tool +a +b +c',
      'github tool +d ~b -a',
      'github prompt +p',
      'github tool -b -c -d',
      'github prompt -p',
    ]);
  });

  it('is silent when the definitions are the same, whatever the order of entries and members', () => {
    const { registry, heard } = watched();
    registry.set(github, 'tool', { items: [tool('a', 'x'), tool('b')], at: 1 });
    registry.set(github, 'tool', {
      items: [tool('b'), { inputSchema: { type: 'object' }, description: 'x', name: 'a' }],
      at: 2,
    });
    registry.set(github, 'tool', { items: [tool('b'), tool('a', 'x')], stale: 'No answer within 30 s.', at: 2 });
    registry.remove('gitlab');
    expect(heard).toEqual(['github tool +a +b']);
  });

  it('ends when the registry is closed', async () => {
    const registry = createRegistry();
    const following = registry.changes[Symbol.asyncIterator]();
    const next = following.next();
    registry.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('speaks after the snapshot holds the change', () => {
    const registry = createRegistry();
    let seen = 0;
    registry.changes.subscribe(() => (seen = registry.snapshot.tools.length));
    registry.set(github, 'tool', { items: [tool('a'), tool('b')], at: 1 });
    expect(seen).toBe(2);
  });
});

describe('a snapshot', () => {
  it('that was taken never changes', () => {
    const { registry } = watched();
    registry.set(github, 'tool', { items: [tool('a')], at: 1 });
    const before = registry.snapshot;
    registry.set(github, 'tool', { items: [tool('b')], at: 2 });
    expect(before.tools.map(({ name }) => name)).toEqual(['a']);
    expect(before.find('tool', 'a')).toMatchObject({ type: 'found' });
    expect(registry.snapshot.tools.map(({ name }) => name)).toEqual(['b']);
  });

  it('keeps the same entry, with its digest, while a definition stays the same', () => {
    const { registry } = watched();
    registry.set(github, 'tool', { items: [tool('a'), tool('b')], at: 1 });
    const [a, b] = registry.snapshot.tools;
    registry.set(github, 'tool', { items: [tool('a'), tool('b', 'other')], at: 2 });
    expect(registry.snapshot.tools[0]).toBe(a);
    expect(registry.snapshot.tools[1]?.digest).not.toBe(b?.digest);
    expect(a?.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('keeps the first of two entries with one name and reports the second', () => {
    const { registry } = watched();
    registry.set(github, 'tool', {
      items: [tool('a', 'first'), tool('a', 'second')],
      rejected: [{ name: 'x', why: 'has no name' }],
      at: 1,
    });
    expect(registry.snapshot.tools.map(({ definition }) => definition.description)).toEqual(['first']);
    expect(registry.snapshot.servers[0]?.listings.tool?.rejected).toEqual([
      { name: 'x', why: 'has no name' },
      { name: 'a', why: 'is listed twice' },
    ]);
  });

  it('tells which lists are stale, and since when', () => {
    const { registry } = watched();
    registry.set(github, 'tool', { items: [tool('a')], at: 1 });
    registry.set(github, 'tool', { items: [tool('a')], stale: 'No answer within 30 s.', at: 1 });
    registry.set(github, 'prompt', { items: [], at: 5 });
    expect(registry.snapshot.servers).toMatchObject([
      { server: 'github', priority: 0, listings: { tool: { stale: 'No answer within 30 s.', at: 1 }, prompt: { at: 5 } } },
    ]);
    expect(registry.snapshot.servers[0]?.listings.prompt).not.toHaveProperty('stale');
  });

  it('takes only the name for the key of a tool, even when the definition has a uri too', () => {
    const { registry } = watched();
    registry.set(github, 'tool', { items: [{ ...tool('a'), uri: 'file:///other' } as Tool], at: 1 });
    expect(registry.snapshot.find('tool', 'a')).toMatchObject({ type: 'found', entry: { key: 'a' } });
    expect(registry.snapshot.find('tool', 'file:///other')).toMatchObject({ type: 'missing' });
  });
});
