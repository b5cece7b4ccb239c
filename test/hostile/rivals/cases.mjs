// What each client is confronted with, by the kinds of `kinds.json`, and what it must come to. A step that must not wait says so:
// an answer that is there, or can no longer come, is not to be waited for until a time-out.
import { gzipSync } from 'node:zlib';

const ping = { act: 'call', tool: 'ping' };
const work = { act: 'call' };
const list = { act: 'list' };
const ok = (text) => (line) => line.ok && (text === undefined || line.text === text);
/** An error that came by itself. */
const refused = (line) => !line.ok && !line.late;
/** Anything but a wait for ever. */
const settled = () => true;
const pong = ok('pong');
const SMALL_MIB = 400;

/** A server behind pipes: the flags of the fake, the steps, and what must come of connecting and of each. */
const stdio = (id, flags, steps, expected, more = {}) => ({ id, flags: flags.split(' '), steps, expected, ...more });
/** One behind HTTP: what it does with a request it does not answer well. */
const http = (id, answer, steps, expected, more = {}) => ({ id, answer, steps, expected, ...more });

const json = (response, body, headers = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
const stream = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const reply = (id) => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
function flood(response, piece) {
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more).on('error', () => {});
  more();
}
const onCall = (act) => (exchange) => (exchange.tool === 'work' ? act(exchange) : 'well');

export const CASES = [
  stdio('A1', '--mode banner', [work, ping], [ok(), ok('after a banner'), pong]),
  stdio('A2', '--mode json-noise', [work, ping], [ok(), ok('after noise'), pong]),
  stdio('A3', '--mode byte-order-mark', [ping], [ok(), pong]),
  stdio('A4', '--mode batch', [work, ping], [ok(), (line) => ok('in a list')(line) || refused(line), pong]),
  stdio('A5', '--mode not-utf8', [work, ping], [ok(), ok('after bad bytes'), pong]),
  stdio('A7', '--mode pieces', [work, ping], [ok(), ok('in pieces: 🙂 中文'), pong]),
  stdio('A9', '--mode nine-megabytes', [work, ping], [ok(), (line) => line.ok || refused(line), pong]),
  stdio('B4', '--mode exits --at start', [], [refused]),
  stdio('B4', '--mode exits --at half', [], [refused]),
  stdio('B6', '--mode leaves-a-process', [work], [ok(), settled], { orphans: 'none' }),
  stdio('C1', '--mode last-progress', [{ ...work, progress: true }], [ok(), (line) => String(line.heard) === '1,2,3']),
  stdio('C2', '--mode wrong-ids', [work, ping], [ok(), ok('yours'), pong]),
  stdio('C3', '--mode error-without-id', [work, ping], [ok(), refused, pong]),
  stdio('C3', '--mode error-without-id --at initialize', [], [refused]),
  ...['neither', 'both', 'text code', 'no version'].map((kind) =>
    stdio('C4', '--mode sloppy', [{ ...work, given: { kind } }, ping], [ok(), (line) => line.ok || refused(line), pong]),
  ),
  stdio('C5', '--mode stranger-progress', [work, ping], [ok(), ok('done'), pong]),
  stdio('C9', '--mode asks-first', [ping], [ok(), pong]),
  stdio('F1', '--mode exits --at discover', [ping], [ok(), pong]),
  stdio('F3', '--mode quiet-on-discover', [ping], [ok(), pong]),
  stdio(
    'G2',
    '--mode bad-tools',
    [list, ping],
    [ok(), (line) => line.names?.includes('ping') && line.names.includes('work'), pong],
  ),
  stdio('G3', '--mode schema-bombs', [list, ping], [ok(), (line) => line.names?.includes('ping'), pong]),
  stdio('G6', '--mode slow-output', [list, work, ping], [ok(), settled, settled, pong]),
  stdio('G9', '--mode output-schemas', [list, { ...work, given: { kind: 'missing' } }], [ok(), ok(), ok('kept')]),
  stdio('G11', '--mode output-schemas', [{ ...work, given: { kind: 'unknown' } }], [ok(), ok('kept')]),
  stdio('S01', '--mode endless-line', [work], [ok(), settled], { mostMiB: SMALL_MIB }),
  stdio('J01', '--mode deep-result', [work, ping], [ok(), (line) => line.ok || refused(line), pong]),
  stdio('J10', '--mode endless-progress', [{ ...work, progress: true }, ping], [ok(), (line) => !line.ok, pong]),
  stdio('L01', '--mode repeated-cursor', [list, ping], [ok(), refused, pong]),
  stdio('L01', '--mode endless-pages', [list], [ok(), refused]),

  http(
    'C4',
    onCall(({ id, response }) => json(response, `{"jsonrpc":"2.0","id":${id}}`)),
    [work],
    [ok(), refused],
  ),
  http(
    'D1',
    onCall(({ response }) => void stream(response).end('data: {"jsonrpc":"2.0","method":"x"}\n\n')),
    [work, ping],
    [ok(), refused, ok()],
  ),
  ...[
    [204, ''],
    [200, ''],
    [200, '{}'],
  ].map(([status, body]) =>
    http(
      'D2',
      ({ method, response }) =>
        method.startsWith('notifications/')
          ? void response.writeHead(status, { 'content-type': 'application/json' }).end(body)
          : 'well',
      [work],
      [ok(), ok('done')],
    ),
  ),
  http(
    'D3',
    ({ method, response }) => (method.startsWith('notifications/') ? void stream(response).flushHeaders() : 'well'),
    [work],
    [ok(), ok('done')],
  ),
  http(
    'D4',
    onCall(({ response }) => void response.writeHead(202).end()),
    [work, ping],
    [ok(), refused, ok()],
  ),
  http(
    'D9',
    onCall(
      ({ id, response }) =>
        void response
          .writeHead(404, { 'content-type': 'application/json' })
          .end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no"}}`),
    ),
    [work],
    [ok(), (line) => line.error === '-32601'],
  ),
  http(
    'D14',
    onCall(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      flood(response, 'x'.repeat(65_536));
    }),
    [work],
    [ok(), refused],
    { mostMiB: SMALL_MIB },
  ),
  http(
    'E1',
    onCall(({ id, response }) => void stream(response).end(`data: ${reply(id)}\r\r`)),
    [work],
    [ok(), ok('done')],
  ),
  http(
    'E3',
    onCall(({ id, response }) => void stream(response).end(`data: ${reply(id)}\n`)),
    [work],
    [ok(), (line) => ok('done')(line) || refused(line)],
  ),
  http(
    'W01',
    onCall(({ response }) => {
      response.writeHead(500, { 'content-type': 'text/html' });
      flood(response, 'x'.repeat(65_536));
    }),
    [work],
    [ok(), refused],
    { mostMiB: SMALL_MIB },
  ),
  http(
    'W02',
    onCall(({ response }) => json(response, gzipSync(Buffer.alloc(300 * 1_048_576, 0x20)), { 'content-encoding': 'gzip' })),
    [work],
    [ok(), refused],
    { mostMiB: SMALL_MIB },
  ),
  http(
    'W03',
    onCall(({ response }) => {
      stream(response);
      flood(response, `data: ${'x'.repeat(65_536)}`);
    }),
    [work],
    [ok(), refused],
    { mostMiB: SMALL_MIB },
  ),
  http(
    'W09',
    onCall(({ response, canary }) => void response.writeHead(307, { location: canary }).end()),
    [work],
    [ok(), refused],
    { canary: 'untouched' },
  ),
  http(
    'W12',
    onCall(({ response }) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')),
    [work, ping],
    [ok(), refused, ok()],
  ),
];
