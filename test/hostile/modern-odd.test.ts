// What is new in 2026-07-28, answered oddly: discovery, times to live, pages, streams of changes, rounds of input and tasks.
import { afterEach, describe, expect, it } from 'vitest';
import { connect, type ConnectOptions, type Session } from '../../src/client/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import { event, fakeHttp, reply, type Exchange, type FakeHttp } from './fixtures/fake-http.ts';
import { withOracle } from './fixtures/scene.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const facts = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  ttlMs: 0,
  cacheScope: 'private',
};
const tools = { tools: [{ name: 'work', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' };
const failure = (id: unknown, code: number, data?: object) => ({ jsonrpc: '2.0', id, error: { code, message: 'no', data } });

type Odd = (exchange: Exchange) => unknown;
const answers =
  (make: (exchange: Exchange) => object): Odd =>
  (exchange) =>
    exchange.json(make(exchange));

let open: FakeHttp | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

/** Speaks with a server that answers `method` oddly. No wait of ours is short enough to be the reason for anything. */
async function play<T>(
  method: string,
  odd: Odd,
  act: (session: Session, server: FakeHttp) => Promise<T>,
  options: ConnectOptions = {},
): Promise<T> {
  const server = await fakeHttp((exchange) => {
    if (exchange.rpc === method) return void odd(exchange);
    if (exchange.rpc === 'server/discover') return void exchange.json(reply(exchange.id, facts));
    return 'well';
  });
  open = server;
  try {
    const session = await connect(httpTransport({ url: server.url }), { connectTimeoutMs: 600_000, ...options });
    return await act(session, server).finally(() => session.close());
  } finally {
    await server.close();
  }
}

/** What became of it, in a word: `ok`, or the code of the fault. */
const word = (acting: Promise<unknown>) =>
  acting.then(
    () => 'ok',
    (error: unknown) => (error as { readonly code: unknown }).code,
  );

/** Plays each row in turn, under one oracle. */
async function each<T>(
  rows: Readonly<Record<string, readonly [T, unknown]>>,
  outcome: (odd: T) => Promise<unknown>,
): Promise<void> {
  await withOracle('healthy', async () => {
    for (const [kind, [odd, expected]] of Object.entries(rows)) expect([kind, await outcome(odd)]).toEqual([kind, expected]);
  });
}

describe('a discovery', () => {
  const says = (more: object) => answers(({ id }) => reply(id, { ...facts, ...more }));

  it('that is odd leads to an era or to a fault, at once', async () => {
    await each<Odd>(
      {
        'revisions that are no list': [says({ supportedVersions: { '2026-07-28': true } }), 'legacy'],
        'no revision': [says({ supportedVersions: [] }), 'version-unsupported'],
        'revisions that are numbers': [says({ supportedVersions: [2026] }), 'version-unsupported'],
        'far too many revisions': [
          says({ supportedVersions: Array.from({ length: 100_000 }, (_, n) => `v${String(n)}`) }),
          'version-unsupported',
        ],
        'capabilities that are a list': [says({ capabilities: [] }), 'legacy'],
        'capabilities that are true': [says({ capabilities: { tools: true } }), 'modern'],
        'other types all over': [says({ instructions: { a: 1 }, serverInfo: 'x', ttlMs: 'x', cacheScope: 7 }), 'modern'],
        'a wish for input': [
          answers(({ id }) => ({ ...reply(id), result: { resultType: 'input_required', requestState: 'x' } })),
          'legacy',
        ],
        'nothing in it': [answers(({ id }) => ({ jsonrpc: '2.0', id, result: {} })), 'legacy'],
        'its id as a text': [answers(({ id }) => reply(String(id), facts)), 'legacy'],
        'a refusal that names the same revision': [
          ({ id, json }) => json(failure(id, -32022, { supported: ['2026-07-28'] }), 400),
          'version-unsupported',
        ],
        'a refusal that names none': [({ id, json }) => json(failure(id, -32022), 400), 'version-unsupported'],
        'a stream that goes on': [
          (exchange) => (exchange.stream(), exchange.response.write(event(reply(exchange.id, facts)))),
          'modern',
        ],
      },
      (odd) =>
        play('server/discover', odd, async ({ era }) => era).catch((error: unknown) => {
          expect((error as Error).message.length).toBeLessThan(2_000);
          return (error as { readonly code: unknown }).code;
        }),
    );
  });
});

describe('a list', () => {
  const says = (more: object) => answers(({ id }) => reply(id, { ...tools, ...more }));
  const twice = async (session: Session, server: FakeHttp) => {
    for (let time = 0; time < 2; time++) expect((await session.listTools()).items).toHaveLength(1);
    return server.seen.filter(({ rpc }) => rpc === 'tools/list').length;
  };

  it('is reused only for a time that makes sense', async () => {
    await each<Odd>(
      {
        'no time': [answers(({ id }) => reply(id, { tools: tools.tools })), 2],
        'less than none': [says({ ttlMs: -1 }), 2],
        null: [says({ ttlMs: null }), 2],
        'a text': [says({ ttlMs: 'NaN' }), 2],
        'longer than anything': [says({ ttlMs: 1e308 }), 1],
        'for ever': [
          ({ id, response }) =>
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify(reply(id, tools)).replace('"ttlMs":0', '"ttlMs":1e999')),
          1,
        ],
        'for nobody knows whom': [says({ ttlMs: 60_000, cacheScope: 'everybody' }), 1],
      },
      (odd) => play('tools/list', odd, twice),
    );
  });

  it('that is said to have changed while it is read is not kept', async () => {
    await withOracle('healthy', async () => {
      let tell = () => {};
      const server = await fakeHttp((exchange) => {
        const { rpc, id, response, json } = exchange;
        if (rpc === 'server/discover') return void json(reply(id, facts));
        if (rpc === 'tools/list') {
          tell();
          // The news must be first.
          setTimeout(() => json(reply(id, { ...tools, ttlMs: 60_000 })), 50);
          return;
        }
        if (rpc !== 'subscriptions/listen') return 'well';
        const news = (method: string, more: object = {}) =>
          void response.write(event({ jsonrpc: '2.0', method, params: { _meta: { [SUBSCRIPTION]: id }, ...more } }));
        exchange.stream();
        news('notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
        tell = () => news('notifications/tools/list_changed');
        return;
      });
      open = server;
      const session = await connect(httpTransport({ url: server.url }));
      await session.watch({ toolsListChanged: true }).acknowledged;
      for (let time = 0; time < 3; time++) expect((await session.listTools()).items).toHaveLength(1);
      expect(server.seen.filter(({ rpc }) => rpc === 'tools/list')).toHaveLength(3);
      await session.close();
      await server.close();
    });
  });

  it('whose pages make no sense is not used', async () => {
    await each<Odd>(
      {
        'a cursor that is a number': [says({ nextCursor: 5 }), 'protocol-violation'],
        'a cursor that is an object': [says({ nextCursor: {} }), 'protocol-violation'],
        'a cursor that is false': [says({ nextCursor: false }), 'protocol-violation'],
        'a cursor that grows': [
          answers(({ id, params }) =>
            reply(id, { ...tools, nextCursor: `${(params['cursor'] as string | undefined) ?? ''}${'x'.repeat(500)}` }),
          ),
          'limit',
        ],
        'a cursor that is not known afterwards': [
          answers(({ id, params }) =>
            params['cursor'] === undefined ? reply(id, { ...tools, nextCursor: '2' }) : failure(id, -32602),
          ),
          -32602,
        ],
        'tools that are null': [says({ tools: null }), 'protocol-violation'],
        'tools that are an object': [says({ tools: { work: {} } }), 'protocol-violation'],
      },
      (odd) => play('tools/list', odd, (session) => word(session.listTools())),
    );
  });
});

describe('a stream of changes', () => {
  const acknowledged = (id: unknown, notifications: unknown) =>
    event({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { [SUBSCRIPTION]: id }, notifications },
    });

  it('that is answered oddly keeps nobody waiting, and is not asked for without end', async () => {
    const nothing = '{}';
    await each<Odd>(
      {
        'a result at once': [answers(({ id }) => reply(id, {})), undefined],
        'not found': [({ response }) => response.writeHead(404).end(), undefined],
        'accepted, and no more': [({ response }) => response.writeHead(202).end(), undefined],
        'a page': [({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), undefined],
        'an acknowledgement of a number': [
          (exchange) => (exchange.stream(), exchange.response.write(acknowledged(exchange.id, 5))),
          nothing,
        ],
        'an acknowledgement, and the end': [
          (exchange) => (
            exchange.stream(),
            exchange.response.end(acknowledged(exchange.id, { toolsListChanged: true }) + event(reply(exchange.id, {})))
          ),
          '{"toolsListChanged":true}',
        ],
        'another stream’s acknowledgement': [
          (exchange) => (exchange.stream(), exchange.response.write(acknowledged(987_654, { toolsListChanged: true }))),
          undefined,
        ],
      },
      (odd) =>
        play('subscriptions/listen', odd, async (session, server) => {
          let agreed: string | undefined;
          void session.watch({ toolsListChanged: true }).acknowledged.then((filter) => (agreed = JSON.stringify(filter)));
          for (let time = 0; time < 20; time++) await session.callTool('work');
          // An answer may be on its way longer than twenty others.
          for (let turn = 0; turn < 100 && agreed === undefined; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
          // Asked for again after a pause, if at all.
          expect(server.seen.filter(({ rpc }) => rpc === 'subscriptions/listen').length).toBeLessThan(4);
          return agreed;
        }),
    );
  });
});

describe('a call', () => {
  it('that wants input oddly ends at once, or after its rounds', async () => {
    const asks = (more: object) =>
      answers(({ id }) => ({ jsonrpc: '2.0', id, result: { resultType: 'input_required', ...more } }));
    const states: unknown[] = [];
    await each<Odd>(
      {
        'another state each time': [
          ({ id, params, json }) => {
            states.push(params['requestState']);
            json({
              jsonrpc: '2.0',
              id,
              result: { resultType: 'input_required', requestState: `state ${String(states.length)}` },
            });
          },
          'limit',
        ],
        'a state that is a number': [asks({ requestState: 7 }), 'protocol-violation'],
        'a state of a megabyte': [asks({ requestState: 'x'.repeat(1_000_000) }), 'limit'],
        'questions that are a list': [asks({ inputRequests: [] }), 'protocol-violation'],
        'questions that are null': [asks({ inputRequests: null }), 'protocol-violation'],
        'no question at all': [asks({}), 'protocol-violation'],
        'an error in the second round': [
          ({ id, params, json }) =>
            params['requestState'] === undefined
              ? json({ jsonrpc: '2.0', id, result: { resultType: 'input_required', requestState: 's' } })
              : json(failure(id, -32602), 400),
          -32602,
        ],
        'a task, of a server without tasks': [
          answers(({ id }) => reply(id, { resultType: 'task', taskId: 't', status: 'working', ttlMs: 1, pollIntervalMs: 0 })),
          'protocol-violation',
        ],
        'a task without a name': [answers(({ id }) => reply(id, { resultType: 'task' })), 'protocol-violation'],
      },
      (odd) =>
        play('tools/call', odd, (session) => word(session.callTool('work', {}, { timeoutMs: 600_000 })), {
          limits: { maxRounds: 2 },
        }),
    );
    // Each state went back once, byte for byte.
    expect(states).toEqual([undefined, 'state 1', 'state 2']);
  });
});
