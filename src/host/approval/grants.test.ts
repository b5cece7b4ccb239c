import { expect, it } from 'vitest';
import { createGrants } from './grants.ts';
import { createIntent } from './intent.ts';

function intent(server: string, tool: string, description = '', args = {}) {
  return createIntent({ server, tool: { name: tool, description, inputSchema: {} }, args });
}

it('A grant covers the tool with any arguments, and nothing else', () => {
  const grants = createGrants();
  grants.add(intent('files', 'write', '', { path: '/a' }));
  expect(grants.covers(intent('files', 'write', '', { path: '/b' }))).toBe(true);
  expect(grants.covers(intent('files', 'write', 'Another text.'))).toBe(false);
  expect(grants.covers(intent('files', 'read'))).toBe(false);
  expect(grants.covers(intent('files2', 'write'))).toBe(false);
});

it('A grant given twice is there once', () => {
  const grants = createGrants();
  grants.add(intent('files', 'write', '', { path: '/a' }));
  grants.add(intent('files', 'write', '', { path: '/b' }));
  expect(grants.list).toHaveLength(1);
});

it('A revoked grant stays revoked when the same definition comes back', () => {
  const grants = createGrants();
  for (const tool of ['write', 'read']) grants.add(intent('files', tool));
  grants.add(intent('other', 'write'));
  const before = grants.list;
  grants.revoke('files', 'write');
  expect(grants.list.map(({ server, tool }) => `${server}/${tool}`)).toEqual(['files/read', 'other/write']);
  expect(grants.covers(intent('files', 'write'))).toBe(false);
  grants.revoke('files');
  expect(grants.list.map(({ server }) => server)).toEqual(['other']);
  expect(before).toHaveLength(3);
});
