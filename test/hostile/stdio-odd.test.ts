// Server processes whose replies are odd, and ways to end a line or a process that nobody would choose.
import { describe, expect, it } from 'vitest';
import { textOf, withOracle, type Scene } from './fixtures/scene.ts';

const stateOf = ({ host }: Scene) => host.servers.find(({ name }) => name === 'bad')?.state;

describe('a reply', () => {
  it.each(['legacy', 'modern'])('of each odd kind is understood, or ends its call at once (%s)', async (era) => {
    await withOracle(['odd-replies', '--era', era], async ({ host, call }) => {
      const outcomes = {
        'two different replies': 'done',
        'empty lines around it': 'done',
        'spaces around it': 'done',
        'an id with a fraction of nothing': 'done',
        'an id in powers of ten': 'done',
        'half a character as an escape': 'done\ud800',
        'an escaped NUL': 'done\0',
        'a NUL': 'fault',
        'a result that is a text': 'fault',
        'a result that is null': 'fault',
        'a result that is a list': 'fault',
        'content that is a text': 'fault',
      };
      for (const [kind, expected] of Object.entries(outcomes)) {
        // No wait of ours is short enough to be the reason.
        const outcome = await host.call('bad/work', { kind }, { timeoutMs: 600_000 });
        expect([kind, outcome.type === 'ok' ? textOf(outcome) : outcome.type]).toEqual([kind, expected]);
        expect([kind, textOf(await call('ping'))]).toEqual([kind, 'pong']);
      }
    });
  });
});

describe('a server whose last words are', () => {
  it.each([
    ['a reply, and the end', 'done'],
    ['a reply without its line end, and the end', 'done'],
    ['a reply, and no more output', 'done'],
    ['a reply, and no more input', 'done'],
    ['a reply, and no more standard error', 'done'],
    ['a reply, and a process in a session of its own', 'done'],
    ['the end', 'lost'],
    ['half a reply, and the end', 'lost'],
    ['no more output', 'lost'],
  ])('%s: is heard to the end, told at once, and started again', async (at, expected) => {
    await withOracle(['last-words', '--at', at], async (scene) => {
      const outcome = await scene.host.call('bad/work', {}, { timeoutMs: 600_000 });
      expect(outcome.type === 'ok' ? textOf(outcome) : outcome.type).toBe(expected);
      // Its end may not have been seen yet.
      await scene.until(() => stateOf(scene)?.type === 'ready');
      await scene.host.restart('bad');
      expect(textOf(await scene.call('ping'))).toBe('pong');
    });
  });
});

describe('a server that says by itself', () => {
  it.each(['flood-replies', 'flood-requests'])(
    'what answers nothing is cut off after ten seconds (%s)',
    async (mode) => {
      await withOracle(mode, async (scene) => {
        const outcome = await scene.host.call('bad/work', {}, { timeoutMs: 600_000 });
        expect(outcome).toMatchObject({
          type: 'fault',
          error: { code: 'limit', details: { limit: 'maxFloodPerSecond', allowed: 1_000 } },
        });
        expect(scene.events.filter(({ type }) => type === 'news').length).toBeLessThan(3_000);
      });
    },
    60_000,
  );
});
