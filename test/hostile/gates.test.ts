// Whatever revision a server says it speaks, the same gates stand before it and behind it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Approver } from '../../src/host/index.ts';
import { fakeHttp } from './fixtures/fake-http.ts';
import { textOf, withOracle } from './fixtures/scene.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'parley-fakes-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const refusing: Approver = { ask: async () => ({ type: 'deny', by: 'person' }) };

describe.each(['modern', 'legacy'] as const)('a server that speaks the %s era', (era) => {
  it('gets no call over pipes that a person denied', async () => {
    const log = join(directory, 'calls');
    writeFileSync(log, '');
    await withOracle(
      ['healthy', '--era', era, '--log', log],
      async ({ call }) => {
        expect(await call()).toMatchObject({ type: 'denied', by: 'person' });
        expect(readFileSync(log, 'utf8')).toBe('');
      },
      { approver: refusing },
    );
  });

  it('gets no call over HTTP that a person denied', async () => {
    const server = await fakeHttp(() => 'well', era);
    await withOracle(
      { url: server.url, type: 'http' },
      async ({ call, host }) => {
        await host.settled();
        expect(await call()).toMatchObject({ type: 'denied', by: 'person' });
        expect(server.seen.filter(({ rpc }) => rpc === 'tools/call')).toEqual([]);
      },
      { approver: refusing },
    );
    await server.close();
  });

  it('gets no arguments that do not fit, and gives nothing that is too much or hidden', async () => {
    await withOracle(['controls', '--era', era], async ({ call }) => {
      const outcome = await call();
      expect(textOf(outcome)).toContain('\u202e');
      if (outcome.type !== 'ok') return;
      expect(outcome.result.findings.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['control', 'bidi', 'invisible']));
      expect(await call('work', 'no object' as unknown as object)).toMatchObject({ type: 'invalid' });
    });
  });
});
