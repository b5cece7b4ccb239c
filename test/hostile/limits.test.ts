// Each limit bites, and nothing else does: the same misbehaviour goes through as soon as its one limit is lifted.
import { afterEach, describe, expect, it } from 'vitest';
import type { LimitName, Limits } from '../../src/base/index.ts';
import { isParleyError } from '../../src/errors.ts';
import { event, fakeHttp, reply, type Exchange, type FakeHttp } from './fixtures/fake-http.ts';
import { withOracle, type Bad, type Scene } from './fixtures/scene.ts';

const KIB = 1_024;

let open: FakeHttp | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

/** The limit that `act` went past, or undefined when all went well. */
async function breached(
  bad: Bad,
  limits: Limits,
  act: (scene: Scene) => Promise<string | undefined>,
): Promise<string | undefined> {
  let limit: string | undefined;
  await withOracle(
    bad,
    async (scene) => {
      await scene.host.settled();
      limit = await act(scene);
    },
    { limits },
  );
  return limit;
}

const call =
  (args: object = {}) =>
  async ({ call }: Scene) => {
    const outcome = await call('work', args);
    if (outcome.type === 'ok') return undefined;
    return outcome.type === 'fault' ? outcome.error.details.limit : outcome.type;
  };
const list = async ({ host }: Scene) => {
  const session = await host.session('bad');
  return session.listTools({ cache: 'fresh' }).then(
    () => undefined,
    (error: unknown) => (isParleyError(error) ? error.details.limit : 'another error'),
  );
};

describe('over pipes', () => {
  it.each<[LimitName, number, number, Bad, (scene: Scene) => Promise<string | undefined>]>([
    ['maxLineBytes', 64 * KIB, 8_192 * KIB, 'long-line', call()],
    ['maxBacklogBytes', 64 * KIB, 1_024 * KIB, 'healthy', call({ text: 'x'.repeat(200 * KIB) })],
    ['maxJsonDepth', 64, 512, ['deep-result', '--amount', '300'], call()],
    ['maxJsonValues', 10_000, 500_000, ['many-values', '--amount', '50000'], call()],
    ['maxPages', 20, 100, ['some-pages', '--amount', '30'], list],
    ['maxItems', 20, 100, ['some-pages', '--amount', '30'], list],
    ['maxRounds', 2, 8, ['asks-some-times', '--amount', '3', '--era', 'modern'], call()],
  ])('%s of %i is what stops a server, and %i lets it pass', async (limit, low, high, bad, act) => {
    expect(await breached(bad, { [limit]: low }, act)).toBe(limit);
    expect(await breached(bad, { [limit]: high }, act)).toBeUndefined();
  });
});

describe('over HTTP', () => {
  const stream = (text: string) => (exchange: Exchange) => {
    exchange.stream();
    exchange.response.end(text + event(reply(exchange.id)));
    return undefined;
  };
  const nested = (id: unknown) =>
    reply(id, { content: [], structuredContent: { a: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown } });
  const deep = (exchange: Exchange) => void exchange.json(nested(exchange.id));
  const deepEvent = (exchange: Exchange) => stream(event(nested(exchange.id)))(exchange);
  const large = { content: [{ type: 'text', text: 'x'.repeat(100 * KIB) }] };

  it.each<[LimitName, number, number, string, (exchange: Exchange) => undefined]>([
    ['maxMessageBytes', 64 * KIB, 256 * KIB, 'a body', (exchange) => void exchange.json(reply(exchange.id, large))],
    ['maxMessageBytes', 64 * KIB, 256 * KIB, 'an event', stream(event(reply('other', large)))],
    ['maxJsonDepth', 64, 512, 'a body', deep],
    ['maxJsonDepth', 64, 512, 'an event', deepEvent],
    ['maxStreamBytes', 64 * KIB, 256 * KIB, 'a stream', stream(`: ${'x'.repeat(1_000)}\n`.repeat(100))],
    ['maxStreamEvents', 50, 200, 'a stream', stream(event({}).repeat(100))],
  ])('%s of %i is what stops a server, and %i lets it pass (%s)', async (limit, low, high, _what, misbehave) => {
    open = await fakeHttp((exchange) => (exchange.rpc === 'tools/call' ? misbehave(exchange) : 'well'));
    const bad = { url: open.url, type: 'http' };
    expect(await breached(bad, { [limit]: low }, call())).toBe(limit);
    expect(await breached(bad, { [limit]: high }, call())).toBeUndefined();
  });
});

describe('in the configuration', () => {
  const options = { servers: { bad: { limits: { maxLineBytes: 64 * KIB, maxBlocks: 1 } } } };

  it('a limit of one server is held by that server alone, and a breach says whose it is and what to set', async () => {
    await withOracle(
      'long-line',
      async ({ call, host }) => {
        const outcome = await call();
        expect(outcome).toMatchObject({
          type: 'fault',
          error: { code: 'limit', details: { limit: 'maxLineBytes', allowed: 64 * KIB, server: 'bad' } },
        });
        if (outcome.type !== 'fault') return;
        expect(outcome.error.message).toMatch(/^Server "bad": .* Raise limits\.maxLineBytes if that is honest\.$/);
        const large = await host.call('good/work', { text: 'x'.repeat(200 * KIB) });
        expect(large.type).toBe('ok');
      },
      options,
    );
  });

  it('a limit of results is held as well', async () => {
    await withOracle(
      'links',
      async ({ call }) => {
        const outcome = await call();
        expect(outcome.type === 'ok' && outcome.result.findings).toContainEqual(expect.objectContaining({ kind: 'too-many' }));
      },
      options,
    );
  });
});
