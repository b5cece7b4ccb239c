// Servers whose lines, bytes and replies are odd or nearly right: what can be understood is, the rest costs its own call alone.
import { expect, describe, it } from 'vitest';
import { textOf, withOracle } from './fixtures/scene.ts';

describe('what arrives on a line', () => {
  it.each([
    ['a banner before the first message, and text between the others', 'banner', 'after a banner'],
    ['a byte order mark before the first message', 'byte-order-mark', '{}'],
    ['line ends of Windows', 'line-ends', '{}'],
    ['a message cut at every byte', 'pieces', 'in pieces: 🙂 中文'],
    ['three messages in one piece', 'several-in-one', 'three in one'],
    ['a line that is not UTF-8, before one that is', 'not-utf8', 'after bad bytes'],
    ['a reply in a list', 'batch', 'in a list'],
    ['a list of fifty thousand replies', 'huge-batch --amount 50000', 'after a batch'],
    ['a copy of the reply on standard error', 'answers-on-stderr', 'from standard output'],
    ['progress of nobody’s request', 'stranger-progress', 'done'],
    ['a ping before the greeting is answered', 'asks-first', '{}'],
  ])('may be %s', async (_what, words, expected) => {
    const [mode = '', ...flags] = words.split(' ');
    await withOracle([mode, ...flags], async ({ call }) => {
      expect(textOf(await call())).toBe(expected);
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });
});

describe('a reply', () => {
  it.each([
    ['no version', 'fault'],
    ['both', 'fault'],
    ['neither', 'fault'],
    ['text code', 'fault'],
    ['no message', 'fault'],
    // A result is one, whatever stands beside it to say that there is no error.
    ['null error', 'ok'],
  ])('that is nearly right (%s) ends its call at once', async (kind, type) => {
    await withOracle('sloppy', async ({ call }) => {
      expect((await call('work', { kind })).type).toBe(type);
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it('that is an error of nobody’s request fails the only one that waits', async () => {
    await withOracle('error-without-id', async ({ call }) => {
      expect(await call()).toMatchObject({ type: 'protocol-error', code: -32700 });
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it('that is an error of nobody’s request ends the greeting, too', async () => {
    await withOracle(['error-without-id', '--at', 'initialize'], async ({ host }) => {
      await expect(host.session('bad')).rejects.toMatchObject({ code: -32700 });
    });
  });

  it.each(['legacy', 'modern'])('comes after all progress that was sent with it (%s)', async (era) => {
    await withOracle(['last-progress', '--era', era], async ({ host }) => {
      const heard: number[] = [];
      const outcome = await host.call('bad/work', {}, { onProgress: ({ progress }) => heard.push(progress) });
      expect(textOf(outcome)).toBe('done');
      expect(heard).toEqual([1, 2, 3]);
    });
  });
});
