import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ErrorCode } from '../../errors.ts';
import { createFakeClock } from '../../testing/index.ts';
import type { Channel } from '../../jsonrpc/index.ts';
import {
  beginStream,
  event,
  fakeServer,
  news,
  notification,
  receive,
  reply,
  request,
  sendJson,
  serve,
  type Answer,
  type FakeServer,
} from '../http/fixtures/fake-server.ts';
import { codeOf, faultOf } from '../http/fixtures/faults.ts';
import { sseTransport, type SseTransportOptions } from './client.ts';

async function open(server: FakeServer, options: Partial<SseTransportOptions> = {}): Promise<Channel> {
  const channel = await sseTransport({ url: server.url, ...options }).open();
  onTestFinished(() => channel.close());
  return channel;
}

/** A server whose stream names `/post` and that answers POSTs as `answer` says, with the stream at hand. */
function serveOld(answer: (id: unknown, response: ServerResponse, stream: ServerResponse) => unknown): Promise<FakeServer> {
  let stream!: ServerResponse;
  return serve(({ method, id }, response) => {
    if (method === 'POST') return answer(id, response, stream);
    return beginStream((stream = response), 'event: endpoint\ndata: /post?session=1\n\n');
  });
}

describe('opening', () => {
  it('waits for the address to post to, which may be relative or absolute', async () => {
    for (const address of ['/post?s=1', 'post?s=1', 'http://HOST/post?s=1#x', '//HOST/post?s=1']) {
      const server = await serve(({ method, headers }, response) => {
        if (method === 'GET')
          beginStream(response, `: hello\n\nevent: endpoint\ndata: ${address.replace('HOST', headers.host!)}\n\n`);
        else response.writeHead(202).end('Accepted');
      });
      const url = server.url.replace('//', '//user:word@');
      const channel = await open(server, { url, headers: { 'x-key': 'k' } });
      await channel.send(notification);
      expect(server.seen).toMatchObject([
        { method: 'GET', path: '/mcp', headers: { accept: 'text/event-stream', 'x-key': 'k' } },
        { method: 'POST', path: '/post?s=1', headers: { 'content-type': 'application/json', 'x-key': 'k' } },
      ]);
      for (const { headers } of server.seen) expect(headers.authorization).toBe(`Basic ${btoa('user:word')}`);
    }
  });

  it('refuses an address of another origin or with a user name, and never posts there', async () => {
    const canary = await serve(() => {});
    const addresses = [
      canary.url,
      '//evil.invalid/x',
      'https://HOST/x',
      'javascript:0',
      'http://u:p@HOST/x',
      '//u@HOST/x',
      'http://',
    ];
    for (const address of addresses) {
      const server = await serve(({ headers }, response) =>
        beginStream(response, `event: endpoint\ndata: ${address.replace('HOST', headers.host!)}\n\n`),
      );
      expect([address, await codeOf(open(server))]).toEqual([address, 'protocol-violation']);
      await server.idle();
    }
    expect(canary.connections).toBe(0);
  });

  it('says what the server answered instead of a stream, and leaves nothing open', async () => {
    const answers: [ErrorCode, (response: ServerResponse) => void][] = [
      ['http-status', (response) => sendJson(response, 'x', 404)],
      ['http-status', (response) => sendJson(response, 'x', 405)],
      ['auth-required', (response) => sendJson(response, 'x', 401, { 'www-authenticate': 'Bearer' })],
      ['auth-required', (response) => sendJson(response, 'x', 403)],
      ['not-mcp', (response) => sendJson(response, '<html>', 200, { 'content-type': 'text/html' })],
      ['server-stopped', (response) => response.destroy()],
      ['server-stopped', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event(news(1)))],
    ];
    for (const [code, answer] of answers) {
      const server = await serve((_, response) => answer(response));
      expect(await codeOf(open(server))).toBe(code);
      await server.idle();
    }
    const gone = await fakeServer(() => {});
    await gone.close();
    expect(await codeOf(open(gone))).toBe('unreachable');
  });

  it('waits no longer than 10 s, and not at all once the signal aborts', async () => {
    const clock = createFakeClock();
    const server = await serve(({ path }, response) => path !== '/silent' && beginStream(response, event(news(1))));
    for (const path of ['/silent', '/nameless']) {
      const failed = faultOf(open(server, { url: new URL(path, server.url), clock }));
      await server.until(() => server.seen.at(-1)?.path === path);
      clock.advance(10_000);
      expect([(await failed).code, (await failed).details.afterMs]).toEqual(['timeout', 10_000]);
      const control = new AbortController();
      const aborted = codeOf(sseTransport({ url: new URL(path, server.url), clock }).open({ signal: control.signal }));
      const before = server.seen.length;
      await server.until(() => server.seen.length > before);
      control.abort();
      expect(await aborted).toBe('aborted');
      await server.idle();
    }
    expect(await codeOf(sseTransport({ url: server.url }).open({ signal: AbortSignal.abort() }))).toBe('aborted');
    expect(clock.waiting).toBe(0);
  });
});

describe('an open line', () => {
  it('posts each message and hears everything on the stream', async () => {
    const server = await serveOld((id, response, stream) => {
      stream.write(event(news(1)) + event(reply(id)));
      response.writeHead(202).end('Accepted');
    });
    const channel = await open(server);
    const received = receive(channel);
    await channel.send(request(1), { headers: { 'X-One': '1' } });
    await received.until(2);
    expect(received.messages).toEqual([news(1), reply(1)]);
    expect(received.origins).toEqual([undefined, undefined]);
    expect(JSON.parse(server.seen[1]!.body)).toEqual(request(1));
    expect(server.seen[1]!.headers['x-one']).toBe('1');
    channel.adopt!({ headers: { 'MCP-Protocol-Version': 'v' }, standingStream: true });
    await channel.send(notification);
    expect(server.seen[2]!.headers['mcp-protocol-version']).toBe('v');
    expect(server.seen).toHaveLength(3);
  });

  it('keeps what comes before the receiver', async () => {
    const answer: Answer = (_, response) =>
      beginStream(response, `event: endpoint\ndata: /post\n\n${event(news(1))}${event(news(2))}`);
    const received = receive(await open(await serve(answer)));
    await received.until(2);
    expect(received.messages).toEqual([news(1), news(2)]);
  });

  it('ends when too much comes before the receiver', async () => {
    const flood = Array.from({ length: 1_001 }, (_, n) => event(news(n))).join('');
    const server = await serve((_, response) => beginStream(response, `event: endpoint\ndata: /post\n\n${flood}`));
    // Whether that is before or after `open` resolves depends on how the stream is cut.
    const error = await open(server).then(
      async (channel) => {
        await server.seen[0]!.over;
        return receive(channel).endings[0]?.error;
      },
      (fault: unknown) => fault,
    );
    expect(error).toMatchObject({ code: 'limit' });
  });

  it('reports events that are no messages, and ignores names it does not know', async () => {
    const server = await serveOld((id, response, stream) => {
      stream.write(`data: hello\n\nevent: ping\ndata: {"method":"x"}\n\n${event(reply(id))}`);
      response.writeHead(202).end();
    });
    const channel = await open(server);
    const received = receive(channel);
    await channel.send(request(1));
    await received.until(1);
    expect(received).toMatchObject({ messages: [reply(1)], problems: [{ kind: 'noise', excerpt: 'hello' }] });
  });

  it('rejects a message that is refused, unless the body is the reply', async () => {
    const server = await serveOld((id, response) =>
      id === 2 ? sendJson(response, reply(2), 400) : sendJson(response, 'gone', id === 3 ? 401 : 404),
    );
    const channel = await open(server);
    const received = receive(channel);
    await channel.send(request(2));
    expect(received.messages).toEqual([reply(2)]);
    expect(received.origins).toEqual([{ requestId: 2, status: 400 }]);
    expect(await codeOf(channel.send(request(3)))).toBe('auth-required');
    expect(await faultOf(channel.send(request(4)))).toMatchObject({
      code: 'http-status',
      details: { status: 404, body: 'gone' },
    });
    expect(await codeOf(channel.send(notification))).toBe('http-status');
    expect(received.endings).toEqual([]);
  });

  it('waits 30 s until a notification is accepted, and as long as the work takes for a request', async () => {
    const clock = createFakeClock();
    let accept: (() => void) | undefined;
    const server = await serveOld((id, response) => {
      if (id === 1) accept = () => response.writeHead(202).end();
    });
    const channel = await open(server, { clock });
    receive(channel);
    const told = codeOf(channel.send(notification));
    const asked = channel.send(request(1));
    await server.until(() => server.seen.length === 3);
    clock.advance(30_000);
    expect(await told).toBe('timeout');
    clock.advance(300_000);
    accept!();
    await asked;
  });

  it('refuses to post too many messages at once', async () => {
    const server = await serveOld(() => {});
    const channel = await open(server, { maxExchanges: 1 });
    const first = codeOf(channel.send(request(1)));
    expect(await faultOf(channel.send(request(2)))).toMatchObject({ code: 'limit', details: { allowed: 1, unsent: true } });
    await channel.close();
    expect(await first).toBe('closed');
  });
});

describe('the end of the line', () => {
  it('comes when the stream ends, breaks, names a second address or says too much', async () => {
    const ways: [ErrorCode, (stream: ServerResponse) => void][] = [
      ['server-stopped', (stream) => stream.end()],
      ['server-stopped', (stream) => stream.destroy()],
      ['protocol-violation', (stream) => stream.write('event: endpoint\ndata: /post\n\n')],
      ['limit', (stream) => stream.write(`data: ${'x'.repeat(2_000)}`)],
    ];
    for (const [code, way] of ways) {
      const server = await serveOld((_id, _response, stream) => way(stream));
      const channel = await open(server, { maxMessageBytes: 1_000 });
      const received = receive(channel);
      const sent = codeOf(channel.send(request(1)));
      await received.ended;
      expect(received.endings).toMatchObject([{ by: 'lost', error: { code } }]);
      expect(await sent).toBe(code);
      expect(await codeOf(channel.send(request(2)))).toBe(code);
      await server.idle();
      await channel.close();
      expect(received.endings).toHaveLength(1);
    }
  });

  it('comes once by closing, with nothing left open', async () => {
    const server = await serveOld(() => {});
    const channel = await open(server);
    const received = receive(channel);
    const sent = codeOf(channel.send(request(1)));
    await server.until(() => server.seen.length === 2);
    await Promise.all([channel.close(), channel.close()]);
    expect(await sent).toBe('closed');
    expect(received.endings).toMatchObject([{ by: 'closed', error: { code: 'closed' } }]);
    await server.idle();
    // There is no session to say goodbye to.
    expect(server.seen).toHaveLength(2);
  });

  it('is told to a receiver that starts after it', async () => {
    const server = await serveOld(() => {});
    const channel = await open(server);
    server.drop();
    await server.idle();
    await channel.close();
    const received = receive(channel);
    expect(received.endings).toHaveLength(1);
  });
});
