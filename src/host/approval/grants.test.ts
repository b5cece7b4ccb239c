import { expect, it } from 'vitest';
import { createMemoryStore } from '../../store/index.ts';
import { createGrants, grantCovers, grantFor, subjectOf } from './grants.ts';
import { createIntent, type IntendedCall } from './intent.ts';

const DAY_MS = 86_400_000;
const GIVEN = { by: 'ann', channel: 'terminal', at: Date.now() };
const AUDIT = { at: 0, kind: 'grant', body: {} };

function intent(of: Partial<Omit<IntendedCall, 'tool'>> & { tool?: string; description?: string } = {}) {
  const { tool: name = 'write', description = '', server = 'files', args = {}, ...rest } = of;
  return createIntent({
    server,
    serverDigest: 'id-1',
    policyVersion: 'p-1',
    principal: 'ann',
    run: 'r-1',
    ...rest,
    args,
    tool: { name, description, inputSchema: {} },
  });
}

it('A grant for the run covers the tool with any arguments, and nothing else', () => {
  const grant = grantFor(subjectOf(intent({ args: { path: '/a' } })), { type: 'run' }, GIVEN);
  expect(grantCovers(grant, intent({ args: { path: '/b' } }))).toBe(true);
  for (const other of [
    { description: 'Another text.' },
    { tool: 'read' },
    { server: 'files2' },
    { serverDigest: 'id-2' },
    { policyVersion: 'p-2' },
    { principal: 'bob' },
    { run: 'r-2' },
  ]) {
    expect(grantCovers(grant, intent(other)), JSON.stringify(other)).toBe(false);
  }
});

it('A grant until a date or for ever covers what its pattern means, in every run, and ends within 30 days', () => {
  const pattern = { args: { '/cents': { from: 0, to: 500 } } };
  const subject = subjectOf(intent({ args: { cents: 500 } }));
  const always = grantFor(subject, { type: 'always', pattern }, GIVEN);
  expect(grantCovers(always, intent({ run: 'r-2', args: { cents: 3 } }))).toBe(true);
  expect(grantCovers(always, intent({ args: { cents: 501 } }))).toBe(false);
  expect(always).not.toHaveProperty('expiresAt');
  const until = grantFor(subject, { type: 'until', at: GIVEN.at + 90 * DAY_MS, pattern }, GIVEN);
  expect(until.expiresAt).toBe(GIVEN.at + 30 * DAY_MS);
  expect(grantCovers({ ...until, pattern: { anything: true } }, intent({ args: { cents: 3 } }))).toBe(false);
});

it('A revoked grant stays revoked when the same definition comes back', async () => {
  const store = createMemoryStore();
  const grants = createGrants(() => store);
  for (const tool of ['write', 'read'])
    await store.grants.add(grantFor(subjectOf(intent({ tool })), { type: 'run' }, GIVEN), AUDIT);
  expect(await grants.covering(intent())).toHaveLength(1);
  grants.revoke('files', 'write');
  expect(await grants.covering(intent())).toEqual([]);
  expect(await grants.covering(intent({ tool: 'read' }))).toHaveLength(1);
});

it('A call of a changed definition ends what was given for the one before', async () => {
  const store = createMemoryStore();
  const grants = createGrants(() => store);
  await store.grants.add(grantFor(subjectOf(intent()), { type: 'run' }, GIVEN), AUDIT);
  expect(await grants.covering(intent({ description: 'Changed.' }))).toEqual([]);
  expect(await grants.covering(intent())).toEqual([]);
});

it('A grant with uses is used up', async () => {
  const store = createMemoryStore();
  const grants = createGrants(() => store);
  await store.grants.add({ ...grantFor(subjectOf(intent()), { type: 'run' }, GIVEN), usesLeft: 1 }, AUDIT);
  const [grant] = await grants.covering(intent());
  expect(grant && (await grants.use(grant, intent()))).toBe(true);
  expect(grant && (await grants.use(grant, intent()))).toBe(false);
  expect(await grants.covering(intent())).toEqual([]);
});
