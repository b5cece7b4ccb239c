// Servers behind pipes that send too much, too deep, too fast, or die.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { Limits } from '../../src/base/index.ts';
import { stdioTransport, type StdioChannel } from '../../src/transport/index.ts';
import { eventually, textOf, withOracle } from './fixtures/scene.ts';

const KIB = 1_024;
const FAKE = join(import.meta.dirname, 'fixtures/fake-stdio.mjs');
const breach = (limit: string, allowed: number) => ({
  type: 'fault',
  error: { code: 'limit', details: { limit, allowed, observed: expect.any(Number) as number } },
});

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'parley-fakes-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('a line', () => {
  const limits = { maxLineBytes: 64 * KIB };

  it('that is too long fails its own call, and the next one is answered', async () => {
    await withOracle(
      'long-line',
      async ({ call }) => {
        expect(await call()).toMatchObject(breach('maxLineBytes', limits.maxLineBytes));
        expect(textOf(await call('ping'))).toBe('pong');
      },
      { limits },
    );
  });

  it('without an end is dropped as it comes, and its server given up', async () => {
    await withOracle(
      'endless-line',
      async ({ call, host, until }) => {
        const lost = call();
        await until(() => host.servers.find(({ name }) => name === 'bad')?.state.type === 'waiting');
        expect(await lost).toMatchObject(breach('messageMs', 1_000));
      },
      { limits: { ...limits, messageMs: 1_000 } },
    );
  });

  it('of JSON that is no message changes nothing', async () => {
    await withOracle('json-noise', async ({ call }) => expect(textOf(await call())).toBe('after noise'));
  });

  it('of noise, and nothing but noise, gives the server up with a hint', async () => {
    await withOracle('noise', async ({ host, until }) => {
      const state = () => host.servers.find(({ name }) => name === 'bad')?.state;
      await until(() => state()?.type === 'failed');
      expect(state()).toMatchObject({ error: { code: 'not-mcp', message: expect.stringContaining('stdout') as string } });
    });
  });
});

describe('an answer', () => {
  it('under any id but its own answers nothing, and is counted', async () => {
    await withOracle('wrong-ids', async ({ call, host }) => {
      expect(textOf(await call())).toBe('yours');
      const { stats } = await host.session('bad');
      await call('ping');
      expect(stats.unknown + stats.invalid + stats.stale).toBeGreaterThanOrEqual(9);
      expect(stats.duplicate).toBe(1);
    });
  });

  it.each(['deep-result', 'deep-error'])('that is 200,000 levels deep fails its own call (%s)', async (mode) => {
    await withOracle(mode, async ({ call }) => {
      expect(await call()).toMatchObject(breach('maxJsonDepth', 64));
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it('of too many values fails its own call', async () => {
    await withOracle('many-values', async ({ call }) => {
      expect(await call()).toMatchObject(breach('maxJsonValues', 200_000));
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it('that is a huge error is kept small', async () => {
    await withOracle('large-error', async ({ call }) => {
      const outcome = await call();
      expect(outcome).toMatchObject({ type: 'protocol-error', code: -32000, data: undefined });
      expect(outcome.type === 'protocol-error' && outcome.message.length).toBe(2_048);
    });
  });

  it('with keys that objects choke on stays data', async () => {
    await withOracle('poisoned-keys', async ({ call, host }) => {
      expect(textOf(await call())).toBe('poison');
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect(host.registry.snapshot.tools.filter(({ server }) => server === 'bad').map(({ name }) => name)).toEqual([
        '__proto__',
        'constructor',
        'work',
      ]);
      expect(textOf(await call('__proto__'))).toBe('{}');
    });
  });

  it('with the same key twice means one thing to everybody', async () => {
    await withOracle('twin-keys', async ({ call, events }) => {
      const outcome = await call();
      expect(textOf(outcome)).toBe('last');
      const records = events.filter((event) => event.type === 'call' && event.record.server === 'bad');
      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({ record: { outcome } });
    });
  });
});

describe('what a server says by itself', () => {
  it.each(['deep-notification', 'deep-request'])('costs nobody anything when it is too deep (%s)', async (mode) => {
    await withOracle(mode, async ({ call }) => expect(textOf(await call())).toContain('after a deep'));
  });

  it('is refused where it is junk, and the call goes on', async () => {
    await withOracle('junk-requests', async ({ call }) => expect(textOf(await call())).toBe('after junk'));
  });

  it('does not even get an answer in an era that has no such requests, nor can it cancel our calls', async () => {
    await withOracle(['asks-in-modern', '--era', 'modern'], async ({ call, events }) => {
      expect(textOf(await call())).toBe('still answered');
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'news', news: expect.objectContaining({ type: 'problem' }) as object }),
      );
    });
  });

  it('in a flood is mostly not heard, and ends its line after ten seconds', async () => {
    await withOracle('flood-notifications', async ({ call, events }) => {
      const outcome = await call();
      expect(outcome).toMatchObject(breach('maxFloodPerSecond', 1_000));
      const heard = events.filter((event) => event.type === 'news' && event.news.type !== 'problem').length;
      expect(heard).toBeLessThan(3_000);
    });
  }, 60_000);

  it('as five thousand changes at once makes few new lists', async () => {
    await withOracle('flood-changes', async ({ call, host }) => {
      expect(textOf(await call())).toBe('after changes');
      const { stats } = await host.session('bad');
      await call('ping');
      expect(stats.flooded).toBeGreaterThan(4_000);
    });
  });

  it('about each list that it gives makes no endless work, and no news where nothing changed', async () => {
    const log = join(directory, 'lists');
    writeFileSync(log, '');
    const lists = () => readFileSync(log, 'utf8').split('\n').length - 1;
    await withOracle(['changes-after-each-list', '--log', log], async ({ call, events, host }) => {
      await host.settled();
      while (lists() < 4) await new Promise((resolve) => setTimeout(resolve, 20));
      // Each wait is longer than the one before, so that few lists are read however long this goes on.
      expect(textOf(await call('ping'))).toBe('pong');
      expect(lists()).toBeLessThan(8);
      expect(events.filter((event) => event.type === 'registry' && event.change.server === 'bad')).toHaveLength(1);
    });
  });

  it('as five thousand log messages at once is heard in part, which is said once', async () => {
    await withOracle('flood-logs', async ({ call, events }) => {
      expect(textOf(await call())).toBe('after logs');
      await call('ping');
      const news = events.flatMap((event) => (event.type === 'news' ? [event.news] : []));
      const logs = news.filter(({ type }) => type === 'log').length;
      expect(logs).toBeGreaterThan(50);
      expect(logs).toBeLessThan(300);
      const limits = news.flatMap((each) => (each.type === 'problem' ? [each.problem.breach?.details.limit] : []));
      expect(limits.sort()).toEqual(['maxLogsPerSecond', 'maxNotificationsPerSecond']);
    });
  });

  it('as progress without end does not keep a call alive', async () => {
    await withOracle('healthy', async () => {
      const fake = { command: process.execPath, args: [FAKE, '--mode', 'endless-progress'] };
      const session = await connect(stdioTransport(fake));
      const heard: number[] = [];
      await expect(
        session.callTool('work', {}, { timeoutMs: 500, maxMs: 1_500, onProgress: ({ progress }) => heard.push(progress) }),
      ).rejects.toMatchObject({ code: 'timeout', details: { afterMs: 1_500 } });
      expect(heard.length).toBeGreaterThan(1);
      expect(heard).toEqual([...heard].sort((a, b) => a - b));
      expect(heard.every(Number.isSafeInteger)).toBe(true);
      await session.close();
    });
  });
});

describe('a process', () => {
  it.each(['start', 'discover', 'initialize', 'half'].flatMap((at) => [0, 3].map((code) => [at, code] as const)))(
    'that ends in its greeting (%s) with code %i is told at once, with its code',
    async (at, code) => {
      await withOracle('healthy', async () => {
        const flags = ['--mode', 'exits', '--at', at, '--code', String(code)];
        // No wait of ours is short enough to be the reason.
        const options = { connectTimeoutMs: 600_000, probeTimeoutMs: 600_000 };
        const connected = connect(stdioTransport({ command: process.execPath, args: [FAKE, ...flags] }), options);
        if (at !== 'discover') {
          await expect(connected).rejects.toMatchObject({ code: 'server-stopped', details: { exitCode: code } });
          return;
        }
        // It knows no discovery, and is started again for a greeting that it knows.
        const session = await connected;
        expect(session.era).toBe('legacy');
        await session.close();
      });
    },
  );

  it('that starts slower than the probe waits, and speaks both eras, is spoken to in the newer one', async () => {
    await withOracle('healthy', async () => {
      const fake = { command: process.execPath, args: [FAKE, '--era', 'modern'] };
      // No process starts within a millisecond: it finds the probe and the handshake in its input together.
      const session = await connect(stdioTransport(fake), { probeTimeoutMs: 1 });
      expect(session.era).toBe('modern');
      expect((await session.callTool('ping')).content).toMatchObject([{ text: 'pong' }]);
      await session.close();
    });
  });

  it('that dies of every call is called once each time, and is given up as a crash loop', async () => {
    const log = join(directory, 'calls');
    writeFileSync(log, '');
    await withOracle(['dies-on-call', '--log', log], async ({ call, host, until }) => {
      for (let time = 1; time <= 6; time++) {
        expect(await call()).toMatchObject({ type: 'lost', sent: 'perhaps', error: { details: { exitCode: 7 } } });
        expect(readFileSync(log, 'utf8')).toBe('work\n'.repeat(time));
      }
      await until(() => host.servers.find(({ name }) => name === 'bad')?.state.type === 'failed');
      expect(await call()).toMatchObject({ type: 'lost', sent: 'no' });
      appendFileSync(log, 'end\n');
      expect(readFileSync(log, 'utf8')).toBe(`${'work\n'.repeat(6)}end\n`);
    });
  });

  it('that never answers is given up within its bound, and is gone', async () => {
    await withOracle(
      'silent',
      async ({ host, until, processes }) => {
        const state = () => host.servers.find(({ name }) => name === 'bad')?.state;
        await until(() => state()?.type === 'waiting');
        expect(state()).toMatchObject({ error: { code: 'timeout', details: { server: 'bad' } } });
        await host.restart('bad');
        expect(processes().length).toBeLessThanOrEqual(3);
      },
      { servers: { bad: { connectTimeoutMs: 4_000 } } },
    );
  });

  it('that leaves another behind takes it along', async () => {
    await withOracle('leaves-a-process', async ({ call, processes }) => {
      const pid = Number(textOf(await call()));
      expect(processes()).toContain(pid);
    });
  });

  it('that floods its standard error before it answers is drained, and the last of it is kept', async () => {
    await withOracle('stderr-flood', async ({ call, host }) => {
      expect(textOf(await call('ping'))).toBe('pong');
      const { channel } = await host.session('bad');
      expect(Buffer.byteLength((channel as StdioChannel).stderr())).toBeLessThanOrEqual(256 * KIB);
    });
  });
});

describe.runIf(process.platform === 'linux')('a server that grows', () => {
  const MIB = 1_048_576;

  it.each<[mode: string, limit: string, allowed: number, what: RegExp, limits: Limits]>([
    ['fork-loop', 'maxServerProcesses', 64, /was \d{2,3} processes with those it started, where 64 are allowed/, {}],
    [
      'memory-hog',
      'maxServerMemoryBytes',
      200 * MIB,
      /used \d{3,4} MiB of memory, where 200 are allowed/,
      { maxServerMemoryBytes: 200 * MIB },
    ],
    ['file-leak', 'maxServerFiles', 256, /had 4\d\d files open in one process, where 256 are allowed/, { maxServerFiles: 256 }],
  ])('without an end is killed with all it started, and comes back (%s)', async (mode, limit, allowed, what, limits) => {
    await withOracle(
      mode,
      async ({ call, host, processes }) => {
        const before = processes().length;
        const outcome = await call();
        expect(outcome).toMatchObject(breach(limit, allowed));
        const { message = '' } = outcome.type === 'fault' ? outcome.error : {};
        expect(message).toMatch(what);
        expect(message).toMatch(
          new RegExp(`^Server "bad": The server process "node" .* Raise limits\\.${limit} if that is honest\\.$`),
        );
        expect(textOf(await call('ping'))).toBe('pong');
        expect(host.servers.find(({ name }) => name === 'bad')?.state).toMatchObject({ losses: [expect.any(Number)] });
        await eventually(() => processes().length === before);
        expect(processes()).toHaveLength(before);
      },
      { limits },
    );
  });
});
