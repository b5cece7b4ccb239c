import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { HttpLine } from './request.ts';

/** A server that tells its connections apart, and a line to it. */
async function open(answer: (request: IncomingMessage, response: ServerResponse) => void, host = '127.0.0.1') {
  const sockets: Socket[] = [];
  const server = createServer(answer).on('connection', (socket: Socket) => sockets.push(socket));
  server.keepAliveTimeout = 60_000;
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}/`);
  const line = new HttpLine(url, 'The server');
  onTestFinished(async () => {
    await line.close();
    server.close();
  });
  const ask = (signal = new AbortController().signal) => line.ask({ method: 'POST', url, headers: {}, body: '{}', signal });
  return { sockets, ask, text: async () => (await ask()).text(100, 'fail') };
}

/** The client's socket becomes free in the turn after its answer was read. */
const freed = () => new Promise((resolve) => setImmediate(resolve));

/** Answers with the port that the request came from, all at once when `count` requests are there. */
function together(count: number) {
  const waiting: (() => void)[] = [];
  return (request: IncomingMessage, response: ServerResponse) => {
    waiting.push(() => response.end(String(request.socket.remotePort)));
    if (waiting.length >= count) for (const answer of waiting.splice(0)) answer();
  };
}

it('the socket that became idle last is used first, so that the others may age', async () => {
  let count = 3;
  const answers = together(3);
  const { sockets, text } = await open((request, response) =>
    count-- > 0 ? answers(request, response) : response.end(String(request.socket.remotePort)),
  );
  await Promise.all([text(), text(), text()]);
  await freed();
  const ports = [await text(), await text(), await text()];
  expect([new Set(ports).size, sockets.length]).toEqual([1, 3]);
});

it('as many sockets are kept as a busy client has requests in flight, and no more', async () => {
  const { sockets, text } = await open(together(70));
  const asked = Array.from({ length: 70 }, text);
  await Promise.all(asked);
  await expect.poll(() => sockets.filter((socket) => !socket.destroyed).length).toBe(64);
});

it('a socket that the server closed while it was idle is not used again', async () => {
  const { sockets, text } = await open((_, response) => response.end('ok'));
  await text();
  await freed();
  sockets[0]!.destroy();
  await once(sockets[0]!, 'close');
  await freed();
  expect([await text(), sockets.length]).toEqual(['ok', 2]);
});

it('a socket whose answer was not read to its end is not used again', async () => {
  let isFirst = true;
  const { sockets, ask, text } = await open((_, response) => {
    response.writeHead(200, { 'content-length': 2 });
    if (isFirst) response.write('o');
    else response.end('ok');
    isFirst = false;
  });
  const control = new AbortController();
  const answer = await ask(control.signal);
  control.abort(new Error('enough'));
  await expect(answer.text(100, 'fail')).rejects.toThrow('enough');
  await freed();
  expect([await text(), sockets.length]).toEqual(['ok', 2]);
});

it('a request that is given up before it has its socket is not sent', async () => {
  const seen: unknown[] = [];
  const { sockets, ask, text } = await open((request, response) => {
    seen.push(request);
    response.end('ok');
  });
  for (let use = 0; use < 2; use++) {
    const control = new AbortController();
    const asked = ask(control.signal);
    control.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await freed();
    await text();
    await freed();
  }
  expect(seen).toHaveLength(2);
  // The one that was idle the second time had nothing written to it, so it was used again.
  await expect.poll(() => sockets.filter((socket) => !socket.destroyed).length).toBe(1);
});

it('a literal IPv6 address is connected to', async ({ skip }) => {
  const { text } = await open((_, response) => response.end('ok'), '::1').catch(() => skip('There is no IPv6 here.'));
  expect(await text()).toBe('ok');
});
