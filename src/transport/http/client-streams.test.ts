import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock, type FakeClock } from '../../testing/index.ts';
import type { Clock } from '../../base/index.ts';
import type { Channel } from '../../jsonrpc/index.ts';
import { httpTransport, type HttpTransportOptions } from './client.ts';
import {
  beginStream,
  event,
  news,
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

interface Connected {
  readonly server: FakeServer;
  readonly channel: Channel;
  readonly received: Received;
}

/** Bounds of real input and output are set beyond what any of the clocks here reaches. */
const OUT_OF_REACH_MS = 1e9;

/** A clock on which every timer is due at once. */
interface HastyClock extends Clock {
  /** The timers that fired, in milliseconds. */
  readonly waited: number[];
  /** Moves time on without firing anything. */
  skip(ms: number): void;
}

function createHastyClock(): HastyClock {
  let now = 0;
  const waited: number[] = [];
  return {
    waited,
    now: () => now,
    skip: (ms) => void (now += ms),
    after(ms, fire) {
      const due = ms < OUT_OF_REACH_MS ? setImmediate(() => (waited.push(ms), (now += ms), fire())) : undefined;
      return { cancel: () => clearImmediate(due), hold: () => {} };
    },
  };
}

/** Connects with a `random` of 1, so that a back-off is its upper bound. */
async function connect(answer: Answer, options: Partial<HttpTransportOptions> = {}): Promise<Connected> {
  const server = await serve(answer);
  const bounds = { connectTimeoutMs: OUT_OF_REACH_MS, answerTimeoutMs: OUT_OF_REACH_MS };
  const channel = await httpTransport({ url: server.url, random: () => 1, ...bounds, ...options }).open();
  onTestFinished(() => channel.close());
  return { server, channel, received: receive(channel) };
}

/** The same after a handshake: request 1 is answered with the session `abc`. */
async function connectLegacy(
  answer: Answer,
  standing: 'standing' | 'none',
  options: Partial<HttpTransportOptions> & { readonly clock: Clock },
): Promise<Connected> {
  const connected = await connect((seen, response) => {
    if (seen.method === 'DELETE') return response.writeHead(405).end();
    if (seen.id === 1) return sendJson(response, reply(1), 200, { 'mcp-session-id': 'abc' });
    return answer(seen, response);
  }, options);
  await connected.channel.send(request(1, 'initialize'));
  connected.received.messages.length = 0;
  connected.received.origins.length = 0;
  connected.channel.adopt!({ headers: { 'MCP-Protocol-Version': 'v' }, standingStream: standing === 'standing' });
  return connected;
}

/** Resolves when a timer is set on `clock`. */
async function timerOn(clock: FakeClock): Promise<void> {
  while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
}

const gets = (server: FakeServer) => server.seen.filter(({ method }) => method === 'GET');

describe('a reply stream', () => {
  it('delivers what it brings, in order, with the request it belongs to, and the reply ends it', async () => {
    const { server, channel, received } = await connect(({ id }, response) => {
      beginStream(response, `: hello\n\nretry: 5\n\n${event(news(1))}`);
      response.write(`:\n\nevent: ping\ndata: {"method":"x"}\n\n${event([news(2), news(3)])}`);
      response.end(event(news(4)) + event(reply(id)));
    });
    await channel.send(request(5));
    expect(received.messages).toEqual([news(1), [news(2), news(3)], news(4), reply(5)]);
    expect(received.origins).toEqual(Array.from({ length: 4 }, () => ({ requestId: 5 })));
    expect(received.problems).toEqual([]);
    await channel.send(request(6));
    expect(server.connections).toBe(1);
  });

  it('is read however it is cut and whatever its line ends are', async () => {
    const text = '世界 🜁';
    for (const end of ['\n', '\r\n', '\r']) {
      const { channel, received } = await connect(({ id }, response) => {
        beginStream(response);
        const wire = `\uFEFF: c${end}data: {"jsonrpc":"2.0",${end}data: "id":${String(id)},${end}: in between${end}data: "result":{"text":"${text}"}}${end}${end}`;
        const bytes = [...Buffer.from(wire)];
        const next = () => {
          const byte = bytes.shift();
          if (byte === undefined) response.end();
          else response.write(Uint8Array.of(byte), () => setImmediate(next));
        };
        next();
      });
      await channel.send(request(1));
      expect(received.messages).toEqual([reply(1, { text })]);
    }
  });

  it('delivers a last reply that lacks its blank line', async () => {
    const { channel, received } = await connect(({ id }, response) => {
      beginStream(response);
      response.end(`data: ${JSON.stringify(reply(id))}`);
    });
    await channel.send(request(1));
    expect(received.messages).toEqual([reply(1)]);
  });

  it('goes on after events that are no messages, and reports them', async () => {
    const { channel, received } = await connect(({ id }, response) => {
      beginStream(response, 'data: ping\n\ndata: 42\n\ndata: null\n\ndata: {"level":"info"}\n\n');
      response.end(event(reply(id)));
    });
    await channel.send(request(1));
    expect(received.messages).toEqual([reply(1)]);
    expect(received.problems.map(({ kind, excerpt }) => [kind, excerpt])).toEqual(
      ['ping', '42', 'null', '{"level":"info"}'].map((text) => ['noise', text]),
    );
  });

  it('that ends or breaks before the reply fails the request at once; nothing is asked again', async () => {
    const clock = createFakeClock();
    const { server, channel, received } = await connect(
      ({ id }, response) => {
        beginStream(response, event(news(1), 'event-1'));
        if (id === 1) response.end();
        else setImmediate(() => response.destroy());
      },
      { clock },
    );
    expect(await codeOf(channel.send(request(1)))).toBe('server-stopped');
    expect(await codeOf(channel.send(request(2)))).toBe('server-stopped');
    expect(received.messages).toEqual([news(1), news(1)]);
    expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(clock.waiting).toBe(0);
  });

  it('that stays open after the reply is cut after a second', async () => {
    const clock = createFakeClock();
    const { server, channel, received } = await connect(({ id }, response) => beginStream(response, event(reply(id))), { clock });
    const sent = channel.send(request(1));
    await received.until(1);
    clock.advance(1_000);
    await sent;
    await server.idle();
  });

  it('may be silent for hours', async () => {
    const clock = createFakeClock();
    let stream: ServerResponse | undefined;
    const { channel, received } = await connect((_, response) => beginStream((stream = response), event(news(1))), {
      clock,
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 30_000,
    });
    const sent = channel.send(request(1));
    await received.until(1);
    clock.advance(86_400_000);
    stream!.end(event(reply(1)));
    await sent;
    expect(received.messages).toEqual([news(1), reply(1)]);
  });

  it('that says too much within a minute is cut', async () => {
    const { server, channel } = await connect(
      ({ id }, response) => {
        beginStream(response, id === 1 ? event(news(1)).repeat(101) : `: ${'x'.repeat(200)}\n`.repeat(100));
      },
      { maxStreamBytes: 20_000, maxStreamEvents: 100 },
    );
    for (const [id, limit] of [
      [1, 'maxStreamEvents'],
      [2, 'maxStreamBytes'],
    ] as const) {
      const fault = await faultOf(channel.send(request(id)));
      expect([fault.code, fault.details.limit]).toEqual(['limit', limit]);
      await server.seen.at(-1)!.over;
    }
  });

  it('that never ends a line is cut', async () => {
    const { server, channel } = await connect(
      (_, response) => {
        beginStream(response, 'data: ');
        const more = () => {
          while (response.writable && response.write('x'.repeat(10_000)));
        };
        response.on('drain', more);
        more();
      },
      { maxMessageBytes: 100_000 },
    );
    const fault = await faultOf(channel.send(request(1)));
    expect([fault.code, fault.details.limit]).toEqual(['limit', 'maxMessageBytes']);
    await server.idle();
  });

  it('takes a message that is exactly as long as is allowed', async () => {
    const message = JSON.stringify(reply(1, { text: 'x'.repeat(1_000) }));
    const { channel, received } = await connect(
      (_, response) => {
        beginStream(response, `data: ${message}\n\n`);
        response.end();
      },
      { maxMessageBytes: message.length },
    );
    await channel.send(request(1));
    expect(received.messages).toHaveLength(1);
  });
});

describe('after a handshake, a reply stream with event ids', () => {
  it('is resumed after the delay the server asked for, not before it, and with what the handshake brought', async () => {
    const clock = createFakeClock();
    const answer: Answer = ({ method }, response) => {
      beginStream(response, method === 'POST' ? 'id: event-1\nretry: 500\ndata:\n\n' : event(reply(2), 'event-2'));
      response.end();
    };
    const { server, channel, received } = await connectLegacy(answer, 'none', { clock });
    const sent = channel.send(request(2));
    await server.until(() => server.seen.length === 2);
    await timerOn(clock);
    clock.advance(499);
    await new Promise((resolve) => setImmediate(resolve));
    expect([clock.waiting, gets(server)]).toEqual([1, []]);
    clock.advance(1);
    await sent;
    expect(received.messages).toEqual([reply(2)]);
    expect(received.origins).toEqual([{ requestId: 2 }]);
    expect(gets(server)).toMatchObject([
      {
        path: '/mcp',
        headers: {
          accept: 'text/event-stream',
          'last-event-id': 'event-1',
          'mcp-session-id': 'abc',
          'mcp-protocol-version': 'v',
        },
      },
    ]);
  });

  it('is resumed after several cuts, each time after the last event, and nothing is delivered twice', async () => {
    const clock = createHastyClock();
    const parts = [
      event(news(1), 'a') + event(news(2), 'b'),
      // Sends again what it had sent, and uses an id twice.
      event(news(2), 'b') + event(news(3), 'c') + event(news(4), 'c'),
      event(news(1), 'a') + event(reply(2), 'd'),
    ];
    const answer: Answer = (_, response) => {
      beginStream(response);
      // Cut when the client has it: a reset may overtake what was sent before it.
      response.write(`retry: 300\n\n${parts.shift()!}`, () => response.end());
    };
    const { server, channel, received } = await connectLegacy(answer, 'none', { clock });
    await channel.send(request(2));
    expect(received.messages).toEqual([news(1), news(2), news(3), news(4), reply(2)]);
    expect(gets(server).map(({ headers }) => headers['last-event-id'])).toEqual(['b', 'c']);
    expect(clock.waited).toEqual([300, 300]);
  });

  it('is resumed when the connection breaks', async () => {
    let stream: ServerResponse | undefined;
    const answer: Answer = ({ method }, response) => {
      beginStream((stream = response), method === 'POST' ? event(news(1), 'a') : event(reply(2), 'b'));
      if (method === 'GET') response.end();
    };
    const { channel, received } = await connectLegacy(answer, 'none', { clock: createHastyClock() });
    const sent = channel.send(request(2));
    await received.until(1);
    stream!.destroy();
    await sent;
    expect(received.messages).toEqual([news(1), reply(2)]);
  });

  it('delivers a reply whose event id was used before', async () => {
    const parts = [event(news(1), '1'), event(reply(2), '1')];
    const answer: Answer = (_, response) => {
      beginStream(response, parts.shift());
      response.end();
    };
    const { channel, received } = await connectLegacy(answer, 'none', { clock: createHastyClock() });
    await channel.send(request(2));
    expect(received.messages).toEqual([news(1), reply(2)]);
  });

  it('is given up after five connections that bring nothing, with growing delays', async () => {
    for (const [retry, waited] of [
      ['retry: 0', [100, 100, 1_000, 2_000, 4_000]],
      ['retry: 500', [500, 500, 1_000, 2_000, 4_000]],
      ['retry: 99999999999', [60_000, 60_000, 60_000, 60_000, 60_000]],
      ['retry: -1', [1_000, 2_000, 4_000, 8_000, 16_000]],
      ['retry: abc', [1_000, 2_000, 4_000, 8_000, 16_000]],
    ] as const) {
      const clock = createHastyClock();
      const answer: Answer = (_, response) => {
        beginStream(response, `id: 1\n${retry}\ndata:\n\n`);
        response.end();
      };
      const { server, channel } = await connectLegacy(answer, 'none', { clock });
      expect(await codeOf(channel.send(request(2)))).toBe('server-stopped');
      expect([retry, clock.waited]).toEqual([retry, waited]);
      expect(gets(server)).toHaveLength(5);
    }
  });

  it('is tried again when the server is away for a while, and not when it says no', async () => {
    const statuses = [503, 429, 200, 404];
    const answer: Answer = ({ method, id }, response) => {
      if (method === 'POST') beginStream(response, event(news(id as number), String(id)));
      else if (statuses[0] === 200) beginStream(response, event(reply(2)));
      else response.writeHead(statuses[0]!);
      if (method === 'GET') statuses.shift();
      response.end();
    };
    const { server, channel, received } = await connectLegacy(answer, 'none', { clock: createHastyClock() });
    await channel.send(request(2));
    expect(received.messages).toEqual([news(2), reply(2)]);

    const fault = await faultOf(channel.send(request(3)));
    // The request had been accepted: nobody may think that it was not carried out.
    expect(fault).toMatchObject({ code: 'session-lost', retryable: false, details: { status: 404 } });
    expect(fault.details.unsent).toBeUndefined();
    expect(gets(server)).toHaveLength(4);
  });

  it('is not resumed when it was given up while waiting', async () => {
    const clock = createFakeClock();
    const answer: Answer = (_, response) => {
      beginStream(response, event(news(1), '1'));
      response.end();
    };
    const { server, channel, received } = await connectLegacy(answer, 'none', { clock });
    const sent = codeOf(channel.send(request(2)));
    await received.until(1);
    await timerOn(clock);
    channel.abandon!(2);
    expect(await sent).toBe('aborted');
    expect([clock.waiting, gets(server)]).toEqual([0, []]);
  });

  it('is not resumed when no event had an id, or the server took it back', async () => {
    const bodies = [event(news(1)), `${event(news(1), '1')}id\ndata:\n\n`];
    const answer: Answer = (_, response) => {
      beginStream(response, bodies.shift());
      response.end();
    };
    const { server, channel } = await connectLegacy(answer, 'none', { clock: createHastyClock() });
    expect(await codeOf(channel.send(request(2)))).toBe('server-stopped');
    expect(await codeOf(channel.send(request(3)))).toBe('server-stopped');
    expect(gets(server)).toEqual([]);
  });
});

describe('the standing stream', () => {
  it('is opened by the handshake, and what it brings belongs to no request', async () => {
    const answer: Answer = (_, response) => beginStream(response, event(news(1)) + event(news(2), 'x'));
    const { server, received } = await connectLegacy(answer, 'standing', { clock: createFakeClock() });
    await received.until(2);
    expect(received.messages).toEqual([news(1), news(2)]);
    expect(received.origins).toEqual([undefined, undefined]);
    expect(gets(server)).toMatchObject([
      { headers: { accept: 'text/event-stream', 'mcp-session-id': 'abc', 'mcp-protocol-version': 'v' } },
    ]);
    expect(gets(server)[0]!.headers['last-event-id']).toBeUndefined();
  });

  it('is opened once, however often terms are adopted, and not when they do not ask for it', async () => {
    const answer: Answer = (_, response) => beginStream(response, event(news(1)));
    const { server, channel, received } = await connectLegacy(answer, 'none', { clock: createFakeClock() });
    channel.adopt!({ headers: {}, standingStream: true });
    channel.adopt!({ headers: {}, standingStream: true });
    await received.until(1);
    expect(gets(server)).toHaveLength(1);
  });

  it('is done without, quietly, where the server has none', async () => {
    for (const status of [405, 404]) {
      const clock = createHastyClock();
      const answer: Answer = ({ method, id }, response) => {
        if (method === 'GET') response.writeHead(status).end();
        else sendJson(response, reply(id));
      };
      const { server, channel, received } = await connectLegacy(answer, 'standing', { clock });
      await server.until(() => gets(server).length === 1);
      await channel.send(request(2));
      expect(received).toMatchObject({ messages: [reply(2)], problems: [], endings: [] });
      expect([gets(server).length, clock.waited]).toEqual([1, []]);
    }
  });

  it('is done without, with a word, where the server refuses it or answers something else', async () => {
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => sendJson(response, '', 401),
      (response) => sendJson(response, 'bad', 400),
      (response) => sendJson(response, '{}'),
      (response) => response.writeHead(204).end(),
    ];
    for (const answer of answers) {
      const { server, received } = await connectLegacy((_, response) => answer(response), 'standing', {
        clock: createHastyClock(),
      });
      await received.problem(1);
      expect(received).toMatchObject({ problems: [{ kind: 'undelivered' }], endings: [] });
      expect(gets(server)).toHaveLength(1);
    }
  });

  it('is opened again after the last event when it is lost, and goes on', async () => {
    const clock = createHastyClock();
    const parts = [event(news(1), 'a'), event(news(1), 'a') + event(news(2), 'b')];
    const answer: Answer = (_, response) => {
      beginStream(response, `retry: 200\n\n${parts.shift()!}`);
      if (parts.length > 0) response.end();
    };
    const { server, received } = await connectLegacy(answer, 'standing', { clock });
    await received.until(2);
    expect(received).toMatchObject({ messages: [news(1), news(2)], problems: [] });
    expect(gets(server).map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'a']);
    expect(clock.waited).toEqual([200]);
  });

  it('that is lost again and again is given up, and the host is told', async () => {
    const clock = createHastyClock();
    const answer: Answer = ({ method, id }, response) => {
      if (method === 'POST') return sendJson(response, reply(id));
      beginStream(response, ': nothing\n\n');
      return response.end();
    };
    const { server, channel, received } = await connectLegacy(answer, 'standing', { clock });
    await received.problem(1);
    expect(received.problems).toMatchObject([{ kind: 'undelivered' }]);
    expect(clock.waited).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(gets(server)).toHaveLength(6);
    // The channel goes on without it.
    await channel.send(request(2));
    expect(received.messages).toEqual([reply(2)]);
  });

  it('starts anew with its delays after a message or a healthy while', async () => {
    const clock = createHastyClock();
    let stream: ServerResponse | undefined;
    const answer: Answer = (_, response) => {
      // Noise is no progress, but shows that the client has the stream.
      beginStream((stream = response), 'data: noise\n\n');
    };
    const { received } = await connectLegacy(answer, 'standing', { clock });
    const cut = async () => {
      stream!.end();
      await received.problem(received.problems.length + 1);
    };
    await received.problem(1);
    for (let times = 0; times < 3; times++) await cut();
    stream!.write(event(news(1)));
    await received.until(1);
    await cut();
    await cut();
    clock.skip(29_999);
    await cut();
    clock.skip(30_000);
    await cut();
    expect(clock.waited).toEqual([1_000, 2_000, 4_000, 1_000, 2_000, 4_000, 1_000]);
  });

  it('ends the channel when it is opened again and the session is gone', async () => {
    let lost = false;
    const answer: Answer = ({ method }, response) => {
      if (method === 'POST') return undefined;
      if (lost) return response.writeHead(404).end();
      return beginStream(response, event(news(1)));
    };
    const { server, channel, received } = await connectLegacy(answer, 'standing', { clock: createHastyClock() });
    await received.until(1);
    const sent = codeOf(channel.send(request(2)));
    await server.until(() => server.seen.length === 3);
    lost = true;
    server.drop();
    await received.ended;
    // The request on its own connection broke before that.
    expect(await sent).toBe('server-stopped');
    expect(received.endings).toMatchObject([{ by: 'lost', error: { code: 'session-lost' } }]);
    expect(await codeOf(channel.send(request(3)))).toBe('session-lost');
    await channel.close();
    await server.idle();
    // A session that is gone gets no farewell.
    expect(server.seen.some(({ method }) => method === 'DELETE')).toBe(false);
    expect(received.endings).toHaveLength(1);
  });

  it('reports a message that is too large and goes on', async () => {
    const parts = [`data: ${'x'.repeat(2_000)}\n\n`, event(news(1))];
    const answer: Answer = (_, response) => beginStream(response, parts.shift());
    const { received } = await connectLegacy(answer, 'standing', { clock: createHastyClock(), maxMessageBytes: 1_000 });
    await received.until(1);
    expect(received.problems).toMatchObject([{ kind: 'oversized' }]);
  });

  it('may bring the reply to a request that was only accepted, or whose own stream stays silent', async () => {
    let standing: ServerResponse | undefined;
    const answer: Answer = ({ method, id }, response) => {
      if (method === 'GET') return beginStream((standing = response));
      if (id === 2) return response.writeHead(202).end();
      return beginStream(response);
    };
    const { server, channel, received } = await connectLegacy(answer, 'standing', { clock: createHastyClock() });
    await server.until(() => standing !== undefined);
    const sent = [channel.send(request(2)), channel.send(request(3))];
    await server.until(() => server.seen.length === 4);
    standing!.write(event(reply(2)) + event(reply(3)));
    await Promise.all(sent);
    expect(received.messages).toEqual([reply(2), reply(3)]);
    expect(received.origins).toEqual([undefined, undefined]);
  });

  it('fails the requests that wait for it when it is gone', async () => {
    let refuse: (() => void) | undefined;
    const answer: Answer = ({ method }, response) => {
      if (method === 'GET') refuse = () => response.writeHead(405).end();
      else response.writeHead(202).end();
    };
    const { server, channel } = await connectLegacy(answer, 'standing', { clock: createFakeClock() });
    const sent = codeOf(channel.send(request(2)));
    await server.until(() => server.seen.length === 3);
    refuse!();
    expect(await sent).toBe('protocol-violation');
    expect(await codeOf(channel.send(request(3)))).toBe('protocol-violation');
  });

  it('is closed with the channel', async () => {
    const clock = createFakeClock();
    const answer: Answer = ({ method }, response) => {
      if (method === 'GET') beginStream(response, event(news(1)));
      else response.writeHead(200).end();
    };
    const { server, channel, received } = await connectLegacy(answer, 'standing', { clock });
    await received.until(1);
    await channel.close();
    await server.idle();
    expect(clock.waiting).toBe(0);
    expect(received.problems).toEqual([]);
  });
});
