import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../testing/index.ts';
import type { Channel, ChannelTerms } from '../../jsonrpc/index.ts';
import { httpTransport, type HttpTransportOptions } from './client.ts';
import {
  beginStream,
  event,
  news,
  notification,
  receive,
  reply,
  request,
  sendJson,
  serve,
  type Answer,
  type FakeServer,
  type Received,
} from './fixtures/fake-server.ts';
import { codeOf, faultOf } from './fixtures/faults.ts';

async function connect(
  answer: Answer,
  options: Partial<HttpTransportOptions> = {},
): Promise<{ server: FakeServer; channel: Channel; received: Received }> {
  const server = await serve(answer);
  const channel = await httpTransport({ url: server.url, ...options }).open();
  onTestFinished(() => channel.close());
  return { server, channel, received: receive(channel) };
}

const terms = (more: Partial<ChannelTerms> = {}): ChannelTerms => ({ headers: {}, standingStream: false, ...more });

/** Answers the request with id 1 as a server does that opens a session; everything else as `answer` says. */
const withSession =
  (answer: Answer): Answer =>
  (seen, response) =>
    seen.id === 1 ? sendJson(response, reply(1), 200, { 'mcp-session-id': 'abc' }) : answer(seen, response);

async function connectWithSession(answer: Answer, options?: Partial<HttpTransportOptions>) {
  const all = await connect(withSession(answer), options);
  await all.channel.send(request(1, 'initialize'));
  all.channel.adopt!(terms());
  return all;
}

describe('opening', () => {
  it('sends nothing, says where it leads without secrets, and heeds a signal', async () => {
    const server = await serve(() => {});
    const { host } = new URL(server.url);
    const transport = httpTransport({ url: `http://user:secret@${host}/mcp?key=secret` });
    expect([transport.kind, transport.target]).toEqual(['http', `http://${host}/mcp?key=…`]);
    const channel = await transport.open();
    receive(channel);
    await channel.close();
    expect(server.connections).toBe(0);
    expect(await codeOf(transport.open({ signal: AbortSignal.abort() }))).toBe('aborted');
  });

  it('refuses URLs and headers that cannot be used', () => {
    expect(() => httpTransport({ url: 'ws://a/' })).toThrow(/http or https/);
    expect(() => httpTransport({ url: 'http://a/', headers: { Accept: 'x' } })).toThrow(/"Accept"/);
  });
});

describe('a message', () => {
  it('is one POST, with the headers of the transport, the user and the message', async () => {
    const { server, channel } = await connect(({ id }, response) => sendJson(response, reply(id)), {
      headers: { Authorization: 'Bearer x', 'mcp-method': 'overridden' },
    });
    await channel.send(request(7, 'tools/list'), { headers: { 'Mcp-Method': 'tools/list', 'MCP-Protocol-Version': 'v' } });
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/mcp' });
    expect(JSON.parse(server.seen[0]!.body)).toEqual(request(7, 'tools/list'));
    expect(server.seen[0]!.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      authorization: 'Bearer x',
      'mcp-method': 'tools/list',
      'mcp-protocol-version': 'v',
    });
    expect(server.seen[0]!.headers['mcp-session-id']).toBeUndefined();
    expect(server.seen[0]!.headers['user-agent']).toBe('parley');
  });

  it('asks the function that gives the headers before each request', async () => {
    let token = 0;
    const { server, channel } = await connect(({ id }, response) => sendJson(response, reply(id)), {
      headers: async () => ({ Authorization: `Bearer ${++token}` }),
    });
    await channel.send(request(1));
    await channel.send(request(2));
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2']);
  });

  it('waits for the receiver when it is sent before the start', async () => {
    const server = await serve(({ id }, response) => sendJson(response, reply(id)));
    const channel = await httpTransport({ url: server.url }).open();
    onTestFinished(() => channel.close());
    const sent = channel.send(request(1));
    const received = receive(channel);
    await sent;
    expect(received.messages).toEqual([reply(1)]);
  });

  it('is refused when too many are in flight, and not sent', async () => {
    const { server, channel } = await connect(() => {}, { maxExchanges: 2 });
    const sent = [codeOf(channel.send(request(1))), codeOf(channel.send(request(2)))];
    const fault = await faultOf(channel.send(request(3)));
    expect([fault.code, fault.details.limit, fault.details.allowed, fault.details.unsent]).toEqual([
      'limit',
      'maxExchanges',
      2,
      true,
    ]);
    await server.until(() => server.seen.length === 2);
    // Notifications have room of their own: one may be needed to cancel a request.
    const cancel = codeOf(channel.send(notification));
    await server.until(() => server.seen.length === 3);
    await channel.close();
    expect(await Promise.all([...sent, cancel])).toEqual(['closed', 'closed', 'closed']);
  });

  it('that cannot reach the server is unreachable, and unsent', async () => {
    const { server, channel } = await connect(() => {});
    await server.close();
    const fault = await faultOf(channel.send(request(1)));
    expect([fault.code, fault.details.unsent]).toEqual(['unreachable', true]);
  });
});

describe('the reply to a request', () => {
  it('is delivered from JSON, with the request it came for', async () => {
    const { channel, received } = await connect(({ id }, response) => sendJson(response, reply(id, { a: 'é' })));
    await channel.send(request('x'));
    expect(received.messages).toEqual([reply('x', { a: 'é' })]);
    expect(received.origins).toEqual([{ requestId: 'x' }]);
  });

  it('is delivered from a batch, from a type of its own, without a type, and with status 202', async () => {
    const answers: ((id: unknown, response: ServerResponse) => void)[] = [
      (id, response) => sendJson(response, [news(1), reply(id)]),
      (id, response) => sendJson(response, reply(id), 200, { 'content-type': 'application/vnd.mcp+json; charset=utf-8' }),
      (id, response) => response.end(JSON.stringify(reply(id))),
      (id, response) => sendJson(response, `\uFEFF${JSON.stringify(reply(id))}`, 202),
    ];
    const { channel, received } = await connect(({ id }, response) => answers[id as number]!(id, response));
    for (const id of answers.keys()) await channel.send(request(id));
    expect(received.messages).toEqual([[news(1), reply(0)], reply(1), reply(2), reply(3)]);
    expect(received.origins.at(-1)).toEqual({ requestId: 3, status: 202 });
  });

  it('may be five megabytes, and is refused above the limit', async () => {
    const text = 'x'.repeat(5_000_000);
    const { channel, received } = await connect(({ id }, response) =>
      sendJson(response, reply(id, { text: id === 2 ? text.repeat(4) : text })),
    );
    await channel.send(request(1));
    expect(received.messages).toEqual([reply(1, { text })]);
    const fault = await faultOf(channel.send(request(2)));
    expect([fault.code, fault.details.limit, fault.details.allowed]).toEqual(['limit', 'maxMessageBytes', 16 * 1_048_576]);
  });

  it('is delivered whatever the HTTP status when it carries the id, or none', async () => {
    const error = { code: -32601, message: 'no' };
    const { channel, received } = await connect(({ id }, response) => {
      const [status, own] = String(id).split(' ') as [string, string];
      sendJson(
        response,
        { jsonrpc: '2.0', ...(own === 'own' ? { id } : own === 'null' ? { id: null } : {}), error },
        Number(status),
      );
    });
    const ids = ['404 own', '400 own', '500 own', '400 null', '404 absent', '409 own'];
    for (const id of ids) await channel.send(request(id));
    expect(received.messages).toHaveLength(ids.length);
    expect(received.origins).toEqual(ids.map((id) => ({ requestId: id, status: Number(id.slice(0, 3)) })));
  });

  it('is not taken from an error page, or from an error for another request', async () => {
    const bodies: Record<string, string> = {
      html: '<html>nginx</html>',
      rest: '{"error":"Not Found"}',
      other: JSON.stringify(reply('another')),
      request: JSON.stringify({ jsonrpc: '2.0', id: 'request', method: 'ping' }),
      empty: '',
    };
    const { channel, received } = await connect(({ id }, response) => sendJson(response, bodies[id as string]!, 404));
    for (const id of Object.keys(bodies)) {
      const fault = await faultOf(channel.send(request(id)));
      expect([id, fault.code, fault.details]).toEqual([id, 'http-status', { status: 404, body: bodies[id] }]);
    }
    expect(received.messages).toEqual([]);
  });

  it('that cannot be one is a protocol violation, and what it was is delivered all the same', async () => {
    const { channel, received } = await connect(({ id }, response) => sendJson(response, id === 1 ? reply('1') : '{"jsonrpc":'));
    expect(await codeOf(channel.send(request(1)))).toBe('protocol-violation');
    expect(await codeOf(channel.send(request(2)))).toBe('protocol-violation');
    expect(received.messages).toEqual([reply('1')]);
  });

  it('that never comes is a fault at once when the server only accepted the request', async () => {
    const { channel } = await connect(({ id }, response) => {
      response.writeHead(id as number, id === 200 ? { 'content-type': 'application/json' } : {});
      response.end();
    });
    for (const status of [202, 204, 200]) expect(await codeOf(channel.send(request(status)))).toBe('protocol-violation');
  });

  it('is not sought in a web page', async () => {
    const { channel } = await connect((_, response) => sendJson(response, '<html>', 200, { 'content-type': 'text/html' }));
    const fault = await faultOf(channel.send(request(1)));
    expect([fault.code, fault.details]).toEqual(['not-mcp', { status: 200, body: '<html>' }]);
  });

  it('may take as long as the caller waits', async () => {
    const clock = createFakeClock();
    let finish: (() => void) | undefined;
    const { server, channel, received } = await connect(({ id }, response) => (finish = () => sendJson(response, reply(id))), {
      clock,
    });
    const sent = channel.send(request(1));
    await server.until(() => finish !== undefined);
    clock.advance(3_600_000);
    finish!();
    await sent;
    expect(received.messages).toHaveLength(1);
  });
});

describe('a refusal', () => {
  it('with 401 or 403 is a matter of credentials, whatever the body says', async () => {
    const challenge = 'Bearer realm="x", Bearer resource_metadata="https://a/b"';
    const { channel, received } = await connect(({ id }, response) =>
      sendJson(response, reply(id), id as number, { 'www-authenticate': challenge }),
    );
    for (const status of [401, 403]) {
      const fault = await faultOf(channel.send(request(status)));
      expect([fault.code, fault.details]).toEqual(['auth-required', { status, challenge, body: JSON.stringify(reply(status)) }]);
    }
    expect(received.messages).toEqual([]);
  });

  it('carries a short piece of the body and no more', async () => {
    const { channel } = await connect((_, response) => sendJson(response, 'x'.repeat(200_000), 500));
    for (const message of [request(1), notification]) {
      const fault = await faultOf(channel.send(message));
      expect([fault.code, fault.details]).toEqual(['http-status', { status: 500, body: 'x'.repeat(2_048) }]);
      expect(fault.message).not.toContain('xx');
    }
  });

  it('whose body does not end is understood after 5 s', async () => {
    const clock = createFakeClock();
    const { server, channel } = await connect((_, response) => response.writeHead(500).write('half'), { clock });
    const refused = faultOf(channel.send(request(1)));
    await server.until(() => server.seen.length === 1);
    while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    // One turn more for the body, which may come after the headers.
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    expect(await refused).toMatchObject({ code: 'http-status', details: { status: 500 } });
  });

  it('that redirects to another origin says so, and nothing is sent there', async () => {
    const canary = await serve(() => {});
    const { channel } = await connect((_, response) => sendJson(response, '', 307, { location: canary.url }));
    for (const message of [request(1), notification]) {
      const fault = await faultOf(channel.send(message));
      expect([fault.code, fault.details.status]).toEqual(['http-status', 307]);
      expect(fault.message).toContain('another origin');
    }
    expect(canary.connections).toBe(0);
  });

  it('that redirects within the origin is followed with the message', async () => {
    const { server, channel } = await connect(({ path, id }, response) =>
      path === '/mcp' ? sendJson(response, '', 307, { location: '/mcp/' }) : sendJson(response, reply(id)),
    );
    await channel.send(request(1));
    expect(server.seen.map(({ path, body }) => [path, body])).toEqual([
      ['/mcp', JSON.stringify(request(1))],
      ['/mcp/', JSON.stringify(request(1))],
    ]);
  });

  it('by a connection that breaks is reported at once, and the request is not sent again', async () => {
    const { server, channel } = await connect((_, response) => response.destroy());
    const fault = await faultOf(channel.send(request(1)));
    expect([fault.code, fault.details.unsent]).toEqual(['server-stopped', undefined]);
    expect(server.seen).toHaveLength(1);
  });
});

describe('a notification', () => {
  it('is accepted by any 2xx, and what comes with it is not delivered', async () => {
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => response.writeHead(202).end(),
      (response) => response.writeHead(204).end(),
      (response) => response.writeHead(200).end(),
      (response) => sendJson(response, '{}'),
      (response) => sendJson(response, 'null'),
      (response) => sendJson(response, reply(1)),
      (response) => sendJson(response, 'Accepted', 202, { 'content-type': 'text/plain' }),
    ];
    let next = 0;
    const { channel, received } = await connect((_, response) => answers[next++ % answers.length]!(response));
    for (let count = 0; count < answers.length; count++) await channel.send(notification);
    await channel.send({ jsonrpc: '2.0', id: 5, result: {} });
    expect(received).toMatchObject({ messages: [], problems: [], endings: [] });
  });

  it('does not wait for a body that never ends, and frees its socket', async () => {
    const { server, channel } = await connect((_, response) => beginStream(response, event(news(1))));
    await channel.send(notification);
    await server.idle();
  });

  it('waits 30 s for the headers and no longer', async () => {
    const clock = createFakeClock();
    const { server, channel } = await connect(() => {}, { clock });
    const sent = faultOf(channel.send(notification));
    await server.until(() => server.seen.length === 1);
    clock.advance(29_999);
    clock.advance(1);
    const fault = await sent;
    expect([fault.code, fault.details.afterMs]).toEqual(['timeout', 30_000]);
    await server.idle();
  });
});

describe('a session', () => {
  it('is named in everything after the handshake, and only with the id the server gave', async () => {
    const { server, channel } = await connectWithSession(({ id }, response) =>
      sendJson(response, reply(id), 200, { 'mcp-session-id': 'another' }),
    );
    await channel.send(notification);
    await channel.send(request(2));
    await channel.send({ jsonrpc: '2.0', id: 9, result: {} });
    expect(server.seen.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, 'abc', 'abc', 'abc']);
  });

  it('is not named in a request before the handshake is adopted, so a server without handshakes never hears of it', async () => {
    const { server, channel } = await connect(({ id }, response) =>
      sendJson(response, reply(id), 200, { 'mcp-session-id': 'abc' }),
    );
    await channel.send(request(1, 'server/discover'));
    await channel.send(request(2));
    await channel.close();
    expect(server.seen.map(({ method, headers }) => [method, headers['mcp-session-id']])).toEqual([
      ['POST', undefined],
      ['POST', undefined],
    ]);
  });

  it('is the one of the last request before the handshake was adopted', async () => {
    const { server, channel } = await connect(({ id }, response) =>
      sendJson(response, reply(id), 200, id === 1 ? { 'mcp-session-id': 'probe' } : {}),
    );
    await channel.send(request(1, 'server/discover'));
    await channel.send(request(2, 'initialize'));
    channel.adopt!(terms());
    await channel.send(request(3));
    expect(server.seen.at(-1)!.headers['mcp-session-id']).toBeUndefined();
  });

  it('answers the server while the handshake still goes on', async () => {
    const { server, channel, received } = await connect((seen, response) => {
      if (seen.id === 1)
        return beginStream(response, event({ jsonrpc: '2.0', id: 1, method: 'ping' }), { 'mcp-session-id': 'abc' });
      return response.writeHead(202).end();
    });
    const handshake = codeOf(channel.send(request(1, 'initialize')));
    await received.until(1);
    await channel.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect(server.seen.at(-1)!.headers['mcp-session-id']).toBe('abc');
    await channel.close();
    expect(await handshake).toBe('closed');
  });

  it('is not taken from an id that is no visible ASCII', async () => {
    const { server, channel } = await connect(({ id }, response) =>
      sendJson(response, reply(id), 200, { 'mcp-session-id': 'a b' }),
    );
    await channel.send(request(1));
    channel.adopt!(terms());
    await channel.send(request(2));
    expect(server.seen.at(-1)!.headers['mcp-session-id']).toBeUndefined();
  });

  it('is lost with 404, or with 400 when the body speaks of it, and the message was not carried out', async () => {
    const anonymous = { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request: No valid session ID provided' } };
    const { channel, received } = await connectWithSession(({ id }, response) =>
      id === 2 ? sendJson(response, '', 404) : sendJson(response, anonymous, id === 3 ? 404 : 400),
    );
    for (const message of [request(2), request(3), request(4), notification]) {
      const fault = await faultOf(channel.send(message));
      expect([fault.code, fault.retryable, fault.details.unsent]).toEqual(['session-lost', true, true]);
    }
    expect(received).toMatchObject({ messages: [reply(1)], endings: [] });
  });

  it('is not lost by a reply that comes with 404 or 400 and carries the id, or by a 400 that does not speak of it', async () => {
    const { channel, received } = await connectWithSession(({ id }, response) => {
      const error = { code: -32602, message: 'unknown session' };
      if (id === 4) sendJson(response, 'bad request', 400);
      else sendJson(response, { jsonrpc: '2.0', id, error }, id === 2 ? 404 : 400);
    });
    await channel.send(request(2));
    await channel.send(request(3));
    expect(received.messages).toHaveLength(3);
    expect(await codeOf(channel.send(request(4)))).toBe('http-status');
  });

  it('is not lost where there was none', async () => {
    const { channel, received } = await connect((_, response) =>
      sendJson(response, { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No session' } }, 400),
    );
    await channel.send(request(1));
    expect(received.origins).toEqual([{ requestId: 1, status: 400 }]);
    expect(await codeOf(channel.send(notification))).toBe('http-status');
  });

  it('brings headers for everything that follows, including its end', async () => {
    const { server, channel } = await connectWithSession(({ id }, response) => sendJson(response, reply(id)), {
      headers: { authorization: 'Bearer x' },
    });
    channel.adopt!(terms({ headers: { 'MCP-Protocol-Version': 'v' } }));
    await channel.send(request(2));
    await channel.close();
    expect(server.seen.map(({ method, headers }) => [method, headers['mcp-protocol-version'], headers.authorization])).toEqual([
      ['POST', undefined, 'Bearer x'],
      ['POST', 'v', 'Bearer x'],
      ['DELETE', 'v', 'Bearer x'],
    ]);
    expect(server.seen.at(-1)!.headers['mcp-session-id']).toBe('abc');
  });
});

describe('giving up', () => {
  it('frees the socket of a request, whether it was answered by a stream, by half a body or not at all', async () => {
    const { server, channel } = await connect(({ id }, response) => {
      if (id === 1) beginStream(response, event(news(1), '1'));
      if (id === 2) response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    });
    for (const id of [1, 2, 3]) {
      const sent = codeOf(channel.send(request(id)));
      await server.until(() => server.seen.length === id);
      channel.abandon!(id);
      expect(await sent).toBe('aborted');
      await server.seen.at(-1)!.over;
    }
    await server.idle();
    expect(server.seen).toHaveLength(3);
    channel.abandon!(99);
  });
});

describe('closing', () => {
  it('rejects what is in flight, ends once, and leaves no socket', async () => {
    const { server, channel, received } = await connect(({ id }, response) => {
      if (id === 1) beginStream(response, event(news(1)));
    });
    const sent = [request(1), request(2), notification].map((message) => codeOf(channel.send(message)));
    await received.until(1);
    await server.until(() => server.seen.length === 3);
    await Promise.all([channel.close(), channel.close()]);
    expect(await Promise.all(sent)).toEqual(['closed', 'closed', 'closed']);
    expect(received.endings).toMatchObject([{ by: 'closed', error: { code: 'closed' } }]);
    expect(await codeOf(channel.send(request(3)))).toBe('closed');
    channel.adopt!(terms({ standingStream: true }));
    await server.idle();
    expect(server.seen).toHaveLength(3);
  });

  it('ends the session whatever the server answers', async () => {
    for (const status of [200, 405, 404, 500]) {
      const { server, channel } = await connectWithSession((_, response) => response.writeHead(status).end());
      await channel.close();
      expect(server.seen.at(-1)).toMatchObject({ method: 'DELETE', path: '/mcp', headers: { 'mcp-session-id': 'abc' } });
      await server.idle();
    }
  });

  it('waits 2 s for the answer to that and no longer', async () => {
    const clock = createFakeClock();
    const { server, channel } = await connectWithSession(() => {}, { clock });
    const closed = channel.close();
    await server.until(() => server.seen.length === 2);
    clock.advance(2_000);
    await closed;
    await server.idle();
  });

  it('delivers nothing more, not even what came in the same chunk', async () => {
    const { channel, server } = await connect((_, response) =>
      beginStream(response, event(news(1)) + event(news(2)) + 'data: x\n\n'),
    );
    onTestFinished(() => server.close());
    const other = await httpTransport({ url: server.url }).open();
    const received = receive(other, { message: () => void other.close() });
    expect(await codeOf(other.send(request(1)))).toBe('closed');
    expect([received.messages, received.problems, received.endings.length]).toEqual([[news(1)], [], 1]);
    await channel.close();
  });

  it('tells a receiver that starts too late', async () => {
    const channel = await httpTransport({ url: 'http://127.0.0.1:9/' }).open();
    const sent = codeOf(channel.send(request(1)));
    await channel.close();
    expect(await sent).toBe('closed');
    expect(receive(channel).endings).toHaveLength(1);
  });
});

it('keeps 100 requests apart', async () => {
  const held: (() => void)[] = [];
  const { server, channel, received } = await connect(({ id }, response) =>
    held.push(() => {
      if ((id as number) % 2 === 0) return sendJson(response, reply(id, { id: id as number }));
      beginStream(response, event(news(id as number)));
      return response.end(event(reply(id, { id: id as number })));
    }),
  );
  const sent = Array.from({ length: 100 }, (_, id) => channel.send(request(id)));
  await server.until(() => held.length === 100);
  for (const answer of held.reverse()) answer();
  await Promise.all(sent);
  const replies = received.messages.filter((message) => 'result' in (message as object));
  expect(new Set(replies.map((message) => (message as { id: number }).id)).size).toBe(100);
  for (const [at, message] of received.messages.entries()) {
    const { id, params } = message as { id?: number; params?: { n: number } };
    expect(received.origins[at]).toEqual({ requestId: id ?? params!.n });
  }
});
