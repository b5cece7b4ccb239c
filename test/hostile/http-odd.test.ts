// Answers over HTTP that are odd: what can be understood is, the rest costs its own call alone and at once.
import type { Socket } from 'node:net';
import { brotliCompressSync, constants, createGzip, deflateRawSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { event, fakeHttp, reply, type Exchange, type FakeHttp } from './fixtures/fake-http.ts';
import { eventually, textOf, withOracle } from './fixtures/scene.ts';

let open: FakeHttp | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM_TYPE = { 'content-type': 'text/event-stream' };
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
const good = ({ id }: Exchange) => JSON.stringify(reply(id));

type Odd = (exchange: Exchange) => unknown;
const body =
  (make: (exchange: Exchange) => string | Buffer, headers: Record<string, string> = {}, status = 200): Odd =>
  (exchange) =>
    exchange.response.writeHead(status, { ...JSON_TYPE, ...headers }).end(make(exchange));
const stream =
  (make: (exchange: Exchange) => string | Buffer): Odd =>
  (exchange) =>
    exchange.response.writeHead(200, STREAM_TYPE).end(make(exchange));
/** The bytes of a whole answer, after which the connection ends. */
const raw =
  (make: (exchange: Exchange) => string): Odd =>
  (exchange) =>
    exchange.socket.end(make(exchange));
const chunked = (bytes: string) => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n0\r\n\r\n`;
const head = (...lines: string[]) => ['HTTP/1.1 200 OK', 'content-type: application/json', ...lines, '', ''].join('\r\n');
/** Every byte in a packet of its own, so that line ends and characters are cut in two. */
const bytewise =
  (make: (exchange: Exchange) => string): Odd =>
  async (exchange) => {
    exchange.stream();
    for (const byte of Buffer.from(make(exchange))) {
      exchange.response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    exchange.response.end();
  };

const UNDERSTOOD: Readonly<Record<string, Odd>> = {
  'a reply under status 206': body(good, {}, 206),
  'a reply under status 404': body(good, {}, 404),
  'a reply under status 500': body(good, {}, 500),
  'a reply under status 999': body(good, {}, 999),
  'no content type': ({ response, ...exchange }) => response.writeHead(200).end(JSON.stringify(reply(exchange.id))),
  'a content type of its own': body(good, { 'content-type': 'Application/Vnd.Example+JSON; Charset=UTF-8' }),
  'HTTP/1.0 without a length': raw((exchange) => head().replace('1.1', '1.0') + good(exchange)),
  'a connection that ends with each answer': body(good, { connection: 'close' }),
  'a byte order mark before JSON': body((exchange) => `\ufeff${good(exchange)}`),
  'a byte order mark before a stream': stream(({ id }) => `\ufeff${event(reply(id))}`),
  'line ends of every kind': stream(
    (exchange) => `: hello\r\nevent: message\rdata: ${good(exchange).replace(',', ',\r\ndata: ')}\n\r\n`,
  ),
  'a stream cut at every byte': bytewise(({ id }) => event(reply(id, text('done'))).replaceAll('\n', '\r\n')),
  'a last event without its blank line': stream((exchange) => `data: ${good(exchange)}\n`),
  'events that are no messages': stream(
    ({ id }) => `data: ping\n\ndata: [DONE]\n\nevent: ping\ndata: {}\n\n: \n\n${event(reply(id))}`,
  ),
  'two different replies': stream(({ id }) => event(reply(id)) + event(reply(id, text('SECOND')))),
  'the reply to the next call before its own': stream(
    ({ id }) => event(reply(Number(id) + 1, text('STOLEN'))) + event(reply(id)),
  ),
  'a request, which this revision does not have': stream(
    ({ id }) => event({ jsonrpc: '2.0', id, method: 'sampling/createMessage', params: {} }) + event(reply(id)),
  ),
  'a stream that goes on after the reply': ({ id, response }) => response.writeHead(200, STREAM_TYPE).write(event(reply(id))),
  'a second answer that nobody asked for': raw((exchange) => {
    const stolen = JSON.stringify(reply(Number(exchange.id) + 1, text('STOLEN')));
    const of = (words: string) => head(`content-length: ${String(Buffer.byteLength(words))}`) + words;
    return of(good(exchange)) + of(stolen);
  }),
  'a compressed body': body((exchange) => brotliCompressSync(good(exchange)), { 'content-encoding': 'br' }),
  'a compressed stream that does not end': ({ id, response }) => {
    const gzip = createGzip();
    gzip.pipe(response.writeHead(200, { ...STREAM_TYPE, 'content-encoding': 'gzip' }));
    gzip.write(event(reply(id)));
    gzip.flush(constants.Z_SYNC_FLUSH);
  },
  'times that make no sense': body(good, { date: 'Thu, 01 Jan 1970 00:00:00 GMT', expires: '-1', 'retry-after': '-1e99' }),
  'a promise to keep the connection for ever': body(good, { 'keep-alive': 'timeout=99999999999999999999, max=0' }),
  'a promise to keep the connection for no time': body(good, { 'keep-alive': 'timeout=0' }),
  'ninety cookies': body(good, { 'set-cookie': Array.from({ length: 90 }, (_, n) => `a${String(n)}=b`).join(', ') }),
};

const REFUSED: Readonly<Record<string, Odd>> = {
  'another protocol (101)': raw(() => 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n{}'),
  'its id as a text': body(({ id }) => JSON.stringify(reply(String(id)))),
  'a stream in the middle of JSON': body(({ id }) => `${JSON.stringify(reply(id))}\n\n${event(reply(id))}`),
  'two documents of JSON': body((exchange) => good(exchange) + good(exchange)),
  'a line of JSON for each message': body((exchange) => `{"jsonrpc":"2.0","method":"x"}\n${good(exchange)}\n`),
  'JSON under the name of a stream': body(good, STREAM_TYPE),
  'a stream under the name of JSON': body(({ id }) => event(reply(id))),
  'a chunked body with something behind it': raw(
    (exchange) => `${head('transfer-encoding: chunked')}${chunked(good(exchange))}X\r\n`,
  ),
  'a chunk of no size': raw(() => `${head('transfer-encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`),
  'a length and chunks': raw((exchange) => head('content-length: 3', 'transfer-encoding: chunked') + chunked(good(exchange))),
  'no headers at all': raw(good),
  'half of a header': raw(() => 'HTTP/1.1 200 OK\r\ncontent-type: appl'),
  'the end of the connection': ({ socket }) => socket.end(),
  'half of a compressed body': body((exchange) => gzipSync(good(exchange)).subarray(0, 30), { 'content-encoding': 'gzip' }),
  'a body that is not compressed as it says': body(good, { 'content-encoding': 'gzip' }),
  'a compressed body with something behind it': body((exchange) => Buffer.concat([gzipSync(good(exchange)), Buffer.from('x')]), {
    'content-encoding': 'gzip',
  }),
  'a body compressed without its header': body((exchange) => deflateRawSync(good(exchange)), { 'content-encoding': 'deflate' }),
  'an encoding that nobody asked for': body(good, { 'content-encoding': 'zstd' }),
  'fifty encodings': body(good, { 'content-encoding': Array<string>(50).fill('gzip').join(', ') }),
  'another character set': body((exchange) => Buffer.from(good(exchange), 'utf16le'), {
    'content-type': 'application/json; charset=utf-16le',
  }),
  'a NUL in the middle of a text': body((exchange) => good(exchange).replace('done', 'a\0b')),
  'a stream with nothing on it': stream(() => ''),
  'a stream that only says that it is done': stream(() => 'data: [DONE]\n\n'),
  'an event of another name': stream(({ id }) => `event: result\n${event(reply(id))}`),
  'a result that is a text': body(({ id }) => JSON.stringify({ jsonrpc: '2.0', id, result: 'done' })),
  'a result that is null': body(({ id }) => JSON.stringify({ jsonrpc: '2.0', id, result: null })),
  'content that is a text': body(({ id }) => JSON.stringify(reply(id, { content: 'done' }))),
  'a type of result in capitals': body(({ id }) => JSON.stringify(reply(id, { resultType: 'Complete', ...text('done') }))),
  'a type of result that is null': body(({ id }) => JSON.stringify(reply(id, { resultType: null, ...text('done') }))),
  'nothing changed (304)': body(() => '', {}, 304),
  'too many requests, and a time that makes no sense': body(() => '', { 'retry-after': '99999999999' }, 429),
  'a redirect to nowhere': body(() => '', {}, 307),
  'a redirect to itself': body(() => '', { location: '' }, 308),
};

const both = Object.entries({ ...UNDERSTOOD, ...REFUSED });

describe('an answer of', () => {
  it.each([
    ['is understood', UNDERSTOOD],
    ['ends its call at once', REFUSED],
  ])(
    'each odd kind %s, and the call after it is answered',
    async (_, kinds) => {
      let last: Socket | undefined;
      open = await fakeHttp((exchange) => {
        last = exchange.socket;
        if (exchange.rpc !== 'tools/call') return 'well';
        const { kind } = exchange.params['arguments'] as { kind?: string };
        const odd = both.find(([name]) => name === kind)?.[1];
        if (odd === undefined) return 'well';
        void odd(exchange);
        return undefined;
      });
      const server = open;
      await withOracle({ url: server.url, type: 'http' }, async ({ host, call }) => {
        await host.settled();
        for (const kind of Object.keys(kinds)) {
          // No wait of ours is short enough to be the reason.
          const outcome = await host.call('bad/work', { kind }, { timeoutMs: 600_000 });
          if (kinds === UNDERSTOOD) expect([kind, outcome.type === 'ok' && textOf(outcome)]).toEqual([kind, 'done']);
          else expect([kind, outcome.type]).toEqual([kind, expect.stringMatching(/^(fault|lost)$/)]);
          // A connection that the server has ended is seen to be over, so that the next call does not meet it.
          await eventually(() => !last?.writableEnded || last.destroyed);
          expect([kind, textOf(await call('work', {}))]).toEqual([kind, 'done']);
        }
      });
      await eventually(() => server.connections === 0);
      expect(server.connections).toBe(0);
    },
    60_000,
  );
});
