import { afterEach, describe, expect, test } from 'vitest';
import { isParleyError, type RpcError } from '../errors.ts';
import { createFakeClock, createScriptedLine } from '../testing/index.ts';
import type { Problem } from './channel.ts';
import { conventions, progress } from './fixtures/conventions.ts';
import { createPeer, type Peer, type PeerOptions } from './peer.ts';

let peer: Peer | undefined;
afterEach(() => peer?.close());

function start(options: Partial<PeerOptions> = {}) {
  const clock = createFakeClock();
  const line = createScriptedLine();
  const heard: string[] = [];
  const problems: Problem[] = [];
  peer = createPeer(line.channel, {
    conventions,
    clock,
    onNotification: ({ method }) => heard.push(method),
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  const tell = (method: string, times = 1) => {
    for (let time = 0; time < times; time++) line.deliver({ jsonrpc: '2.0', method });
  };
  return { clock, line, peer, heard, problems, tell };
}

describe('notifications', () => {
  test('are heard up to a burst and then so many a second, and what is dropped is counted and reported once', () => {
    const { peer, clock, heard, problems, tell } = start();
    tell('a', 1_000);
    expect(heard).toHaveLength(200);
    expect(peer.stats.flooded).toBe(800);
    clock.advance(1_000);
    tell('a', 1_000);
    expect(heard).toHaveLength(300);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      kind: 'oversized',
      breach: { code: 'limit', details: { limit: 'maxNotificationsPerSecond', allowed: 100, observed: 101 } },
    });
  });

  test('of one kind do not drown those of another, and of endless kinds no more are heard than of some', () => {
    const { heard, tell } = start();
    tell('flood', 1_000);
    tell('rare');
    expect(heard.at(-1)).toBe('rare');
    for (let kind = 0; kind < 10_000; kind++) tell(`kind ${String(kind)}`);
    expect(heard.length).toBeLessThan(500);
  });

  test('of more than a thousand a second end the line after ten seconds, and not before', async () => {
    const { peer, clock, tell } = start();
    for (let second = 0; second < 10; second++) {
      clock.advance(1_000);
      tell('a', 1_001);
    }
    const waiting = peer.request('b');
    clock.advance(1_000);
    tell('a');
    await expect(waiting).rejects.toMatchObject({ code: 'limit', details: { limit: 'maxFloodPerSecond', allowed: 1_000 } });
    await expect(peer.ended).resolves.toMatchObject({ by: 'lost' });
  });

  test('that flood the line with pauses do not end it', () => {
    const { peer, clock, tell } = start();
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      tell('a', second % 5 === 0 ? 1_000 : 2_000);
    }
    expect(peer.inFlight).toBe(0);
    tell('a');
    expect(peer.stats.flooded).toBeGreaterThan(0);
  });
});

describe('what answers nothing', () => {
  const junk = {
    'replies to nobody': { jsonrpc: '2.0', id: 987_654, result: {} },
    'errors of nobody': { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } },
    'messages that are none': { jsonrpc: '2.0', method: 5 },
    'requests of one that has none to make': { jsonrpc: '2.0', id: 'mine', method: 'ping' },
  };

  test.each(Object.entries(junk))(
    'and is %s ends the line after ten seconds, too, and few words are lost on it',
    async (_, message) => {
      const { peer, clock, line, problems } = start({ asks: 'seldom' });
      for (let second = 0; second < 10; second++) {
        clock.advance(1_000);
        for (let time = 0; time < 1_001; time++) line.deliver(message);
      }
      expect(problems.length).toBeLessThan(1_300);
      clock.advance(1_000);
      line.deliver(message);
      await expect(peer.ended).resolves.toMatchObject({
        by: 'lost',
        error: { code: 'limit', details: { limit: 'maxFloodPerSecond', allowed: 1_000 } },
      });
    },
  );

  test('is answered no more than may come', () => {
    const { clock, line } = start({ asks: 'seldom' });
    for (let second = 0; second < 3; second++) {
      clock.advance(1_000);
      for (let time = 0; time < 5_000; time++) line.deliver({ jsonrpc: '2.0', id: second * 5_000 + time, method: 'ping' });
    }
    expect(line.sent).toHaveLength(3_000);
  });

  test('is not what a client asks a server, however often', async () => {
    const { peer, clock, line } = start();
    for (let second = 0; second < 12; second++) {
      clock.advance(1_000);
      for (let time = 0; time < 2_000; time++) line.deliver({ jsonrpc: '2.0', id: second * 2_000 + time, method: 'ping' });
    }
    expect(line.sent).toHaveLength(24_000);
    expect(await Promise.race([peer.ended, Promise.resolve('open')])).toBe('open');
  });

  test('is what a line reports as well', async () => {
    const { peer, clock, line } = start();
    for (let second = 0; second < 11; second++) {
      clock.advance(1_000);
      for (let time = 0; time < 1_001; time++) line.problem({ kind: 'noise', message: 'A line that is not MCP was skipped.' });
    }
    await expect(peer.ended).resolves.toMatchObject({ by: 'lost', error: { code: 'limit' } });
  });
});

test('what a peer answers as an error is kept within bounds', async () => {
  const { peer, line } = start();
  const answer = async (message: string, data: unknown) => {
    const asked = peer.request('a').catch((error: unknown) => error as RpcError);
    const { id } = line.sent.at(-1) as { id: number };
    line.deliver({ jsonrpc: '2.0', id, error: { code: -32000, message, data } });
    return asked as Promise<RpcError>;
  };
  const large = await answer('x'.repeat(10_000), 'y'.repeat(70_000));
  expect([large.code, large.message.length, large.data]).toEqual([-32000, 2_048, undefined]);
  const small = await answer('x', { list: ['y'.repeat(60_000)] });
  expect(small.data).toEqual({ list: ['y'.repeat(60_000)] });
});

test('a request whose id has more than 256 characters is refused, and its id is not sent back', () => {
  const { line, peer } = start();
  line.deliver({ jsonrpc: '2.0', id: 'x'.repeat(257), method: 'a' });
  expect(line.sent).toEqual([]);
  expect(peer.stats.invalid).toBe(1);
  line.deliver({ jsonrpc: '2.0', id: 'x'.repeat(256), method: 'a' });
  expect(line.sent).toHaveLength(1);
});

test('progress beyond its limit is not heard and wins no time', async () => {
  const { peer, line, clock } = start({ maxProgress: 3 });
  const heard: number[] = [];
  const asked = peer
    .request('a', {}, { timeoutMs: 100, onProgress: (each) => heard.push(each.progress) })
    .catch((error: unknown) => error);
  for (let at = 1; at <= 10; at++) {
    clock.advance(50);
    line.deliver(progress(1, at));
  }
  expect(isParleyError(await asked, 'timeout')).toBe(true);
  expect(heard).toEqual([1, 2, 3]);
});
