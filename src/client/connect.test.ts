import { describe, expect, it, vi } from 'vitest';
import { ParleyError } from '../errors.ts';
import { createFakeClock, createScriptedLine } from '../testing/index.ts';
import { connect } from './connect.ts';
import {
  discovery,
  handshake,
  legacyServer,
  modernServer,
  script,
  settle,
  unknownMethod,
  type Reply,
} from './fixtures/script.ts';

const methods = (server: { requests: { method: string }[] }) => server.requests.map(({ method }) => method);

describe('connecting', () => {
  it('speaks 2026-07-28 after one discovery, and says who asks in every request', async () => {
    const server = modernServer({ 'tools/list': () => ({ result: { tools: [] } }) });
    const session = await connect(server, {
      client: { name: 'me', version: '9' },
      inputs: { listRoots: async () => ({ roots: [] }) },
    });
    expect(session).toMatchObject({ era: 'modern', revision: '2026-07-28', server: { info: { name: 'modern' } } });
    await session.listTools();
    expect(methods(server)).toEqual(['server/discover', 'tools/list']);
    for (const request of server.requests) {
      expect(request.params?.['_meta']).toEqual({
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'me', version: '9' },
        'io.modelcontextprotocol/clientCapabilities': {
          roots: { listChanged: true },
          extensions: { 'io.modelcontextprotocol/tasks': {} },
        },
      });
    }
    await session.close();
  });

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'shakes hands with a server of %s on the same line',
    async (version) => {
      const server = legacyServer({}, { version });
      const session = await connect(server);
      expect(session).toMatchObject({ era: 'legacy', revision: version, server: { info: { name: 'legacy' } } });
      expect(methods(server)).toEqual(['server/discover', 'initialize']);
      expect(server.told).toEqual(['notifications/initialized']);
      expect(server.lines).toHaveLength(1);
      await session.close();
    },
  );

  it('hears what a server said before anybody listened', async () => {
    const line = createScriptedLine();
    line.deliver({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'early' } });
    line.deliver({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    line.problem({ kind: 'noise', message: 'A line that is not MCP was skipped.' });
    const connected = connect({ kind: 'memory', target: 'early', open: async () => line.channel });
    const sent = [await line.next(), await line.next()] as { id: number; method?: string }[];
    const probe = sent.find(({ method }) => method === 'server/discover');
    line.deliver({ jsonrpc: '2.0', id: probe?.id, result: { supportedVersions: ['2026-07-28'], capabilities: {} } });
    const session = await connected;
    const news: string[] = [];
    session.news.subscribe(({ type }) => news.push(type));
    await new Promise((resolve) => setImmediate(resolve));
    expect(news).toEqual(['log', 'problem']);
    await session.close();
  });

  it('starts a server again that dies of the probe, and greets it the way it knows', async () => {
    const server = script((request) => (request.method === 'initialize' ? handshake() : 'die'));
    const session = await connect(server);
    expect(session.era).toBe('legacy');
    expect(server.lines).toHaveLength(2);
    expect(methods(server)).toEqual(['server/discover', 'initialize']);
    await session.close();
  });

  it('shakes hands when a server stays silent to the probe, without sending it a cancellation', async () => {
    const clock = createFakeClock();
    const server = script((request) => (request.method === 'initialize' ? handshake() : 'silence'));
    const connecting = connect(server, { clock, probeTimeoutMs: 3_000 });
    await settle();
    clock.advance(3_000);
    const session = await connecting;
    expect(session.era).toBe('legacy');
    expect(server.told).toEqual(['notifications/initialized']);
    // The probe's answer may still come; nobody waits for it.
    server.line.deliver({ jsonrpc: '2.0', id: 1, result: {} });
    expect(session.stats.stale).toBe(1);
    await session.close();
  });

  it('asks a server again that was slow to wake up and knows no handshake', async () => {
    const clock = createFakeClock();
    const refusal: Reply = { error: { code: -32_022, message: 'Unsupported', data: { supported: ['2026-07-28'] } } };
    let asleep = true;
    const server = script(({ method }) => {
      if (method === 'initialize') {
        asleep = false;
        return refusal;
      }
      return asleep ? 'silence' : discovery();
    });
    const connecting = connect(server, { clock });
    await settle();
    clock.advance(3_000);
    const session = await connecting;
    expect(session.era).toBe('modern');
    expect(methods(server)).toEqual(['server/discover', 'initialize', 'server/discover']);
    expect(server.lines).toHaveLength(1);
    await session.close();
    // The same for one that spoke the handshake last time.
    const remembered = await connect(server, { remembered: '2025-11-25' });
    expect(remembered.era).toBe('modern');
    await remembered.close();
  });

  it('stays modern with a server that was slow to start and answers the probe after the handshake was begun', async () => {
    const clock = createFakeClock();
    let asleep = true;
    const server = script(({ method }) => (asleep || method === 'initialize' ? 'silence' : discovery()));
    const connecting = connect(server, { clock });
    await settle();
    clock.advance(3_000);
    await vi.waitFor(() => expect(methods(server)).toEqual(['server/discover', 'initialize']));
    asleep = false;
    // In the order in which it was asked; the second answer is nobody's any more.
    server.line.deliver({ jsonrpc: '2.0', id: 1, ...(discovery() as object) });
    server.line.deliver({ jsonrpc: '2.0', id: 2, ...(handshake() as object) });
    const session = await connecting;
    expect(session.era).toBe('modern');
    expect(methods(server)).toEqual(['server/discover', 'initialize', 'server/discover']);
    expect(server.told).toEqual([]);
    await session.close();
  });

  it('shakes hands with a server that turns out to be slow, and then speaks the handshake alone', async () => {
    const clock = createFakeClock();
    const refusal: Reply = { error: { code: -32_600, message: 'Shake hands first' } };
    let asked = 0;
    const server = script(({ method }) => {
      if (method === 'initialize') return ++asked === 1 ? 'silence' : handshake();
      return asked === 0 ? 'silence' : refusal;
    });
    const connecting = connect(server, { clock });
    await settle();
    clock.advance(3_000);
    await vi.waitFor(() => expect(methods(server)).toEqual(['server/discover', 'initialize']));
    server.line.deliver({ jsonrpc: '2.0', id: 1, ...(discovery() as object) });
    const session = await connecting;
    expect(session.era).toBe('legacy');
    await session.close();
  });

  it('waits for a slow server when there is no handshake to try instead', async () => {
    const server = script(() => 'silence');
    const clock = createFakeClock();
    const connecting = connect(server, { clock, revisions: ['2026-07-28'] });
    await settle();
    clock.advance(20_000);
    await settle();
    server.line.deliver({ jsonrpc: '2.0', id: 1, ...(discovery() as object) });
    const session = await connecting;
    expect(session.revision).toBe('2026-07-28');
    await session.close();
  });

  it('skips the probe of a server that is remembered as legacy', async () => {
    const server = legacyServer({});
    await (await connect(server, { remembered: '2025-06-18' })).close();
    expect(methods(server)).toEqual(['initialize']);
    expect(server.requests[0]?.params?.['protocolVersion']).toBe('2025-06-18');
  });

  it('probes after all when a server remembered as legacy has become modern', async () => {
    const server = modernServer({});
    const session = await connect(server, { remembered: '2025-11-25' });
    expect(session.era).toBe('modern');
    expect(methods(server)).toEqual(['initialize', 'server/discover']);
    await session.close();
  });

  it('retries once after -32022 and never loops', async () => {
    const refusal = { error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'], requested: 'x' } } };
    const server = script(() => refusal);
    await expect(connect(server)).rejects.toMatchObject({ code: 'version-unsupported' });
    expect(methods(server)).toEqual(['server/discover', 'server/discover']);
  });

  it('names both sides’ versions when nothing is common, in either era', async () => {
    const modern = script(() => ({ error: { code: -32022, message: 'no', data: { supported: ['2027-01-01'] } } }));
    await expect(connect(modern)).rejects.toMatchObject({
      code: 'version-unsupported',
      message: expect.stringMatching(/2027-01-01.*2026-07-28.*2024-11-05/s) as string,
    });
    expect(methods(modern)).toHaveLength(1);
    const legacy = legacyServer({}, { version: '2023-01-01' });
    await expect(connect(legacy)).rejects.toMatchObject({ code: 'version-unsupported', details: { theirs: ['2023-01-01'] } });
    expect(methods(legacy)).toEqual(['server/discover', 'initialize']);
  });

  it('passes a server’s refusal of the handshake on', async () => {
    await expect(connect(script(() => unknownMethod))).rejects.toMatchObject({ name: 'RpcError', code: -32601 });
  });

  it('gives up within its bound when nothing ever answers, and closes the line', async () => {
    const clock = createFakeClock();
    const server = script(() => 'silence');
    const connecting = connect(server, { clock, connectTimeoutMs: 10_000 });
    const outcome = expect(connecting).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('10 s') as string,
    });
    await settle();
    clock.advance(3_000);
    await settle();
    clock.advance(7_000);
    await outcome;
    await expect(
      server.line
        .next()
        .then(() => server.line.next())
        .then(() => server.line.next()),
    ).rejects.toMatchObject({ code: 'closed' });
  });

  it('tells a server that prints and does not answer from one that is silent', async () => {
    const clock = createFakeClock();
    const line = createScriptedLine();
    const transport = { target: 'a program', kind: 'memory', open: async () => line.channel } as const;
    const connecting = connect(transport, { clock, connectTimeoutMs: 5_000 });
    await settle();
    for (const excerpt of ['Welcome!', 'Press q to quit.']) {
      line.problem({ kind: 'noise', message: 'A line that is not MCP was skipped.', excerpt });
    }
    clock.advance(5_000);
    const error: unknown = await connecting.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'timeout' });
    expect((error as Error).message).toBe(
      'a program gave no answer to server/discover or initialize within 5 s. What it wrote, 2 lines, is not MCP. ' +
        'Check that it is an MCP server.',
    );
  });

  it('reports a transport’s failure as it is, and takes sign-in for no evidence of an era', async () => {
    const server = script(() => new ParleyError('auth-required', 'sign in', { details: { status: 401 } }), 'http');
    await expect(connect(server)).rejects.toMatchObject({ code: 'auth-required' });
    expect(methods(server)).toEqual(['server/discover']);
  });

  it('goes to the older transport when POST initialize is refused without an MCP answer', async () => {
    const older = legacyServer({}, { kind: 'sse', version: '2024-11-05' });
    const newer = script(() => new ParleyError('http-status', 'no', { details: { status: 404 } }), 'http');
    const session = await connect(Object.assign(Object.create(newer) as typeof newer, { fallback: older }));
    expect(session.revision).toBe('2024-11-05');
    expect(methods(newer)).toEqual(['server/discover', 'initialize']);
    expect(methods(older)).toEqual(['initialize']);
    await session.close();
  });

  it('answers a ping that comes before initialize is answered', async () => {
    const server = script((request, line) => {
      if (request.method !== 'initialize') return unknownMethod;
      line.deliver({ jsonrpc: '2.0', id: 'p', method: 'ping' });
      return handshake();
    });
    const session = await connect(server);
    await settle();
    expect(server.line.sent).toContainEqual({ jsonrpc: '2.0', id: 'p', result: {} });
    await session.close();
  });

  it('tells what came during the greeting to who listens once the session is there, in order', async () => {
    const log = (data: string) =>
      server.line.deliver({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
    const server = script((request) => {
      if (request.method !== 'initialize') return { error: { code: -32_601, message: 'No' } };
      log('first');
      return handshake();
    });
    const session = await connect(server);
    const heard: unknown[] = [];
    session.news.subscribe((item) => item.type === 'log' && heard.push(item.message.data));
    log('second');
    await settle();
    expect(heard).toEqual(['first', 'second']);
    await session.close();
  });

  it('sends headers and adopts the session’s on a transport that has some', async () => {
    const modern = modernServer({}, 'http');
    await (await connect(modern)).close();
    expect(modern.requests[0]?.headers).toEqual({ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'server/discover' });
    expect(modern.line.terms).toBeUndefined();
    const legacy = legacyServer({}, { kind: 'http', version: '2025-06-18' });
    await (await connect(legacy)).close();
    expect(legacy.requests.at(-1)?.headers).toBeUndefined();
    expect(legacy.line.terms).toEqual({ headers: { 'MCP-Protocol-Version': '2025-06-18' }, standingStream: true });
  });

  it('stops at once when its caller gives up', async () => {
    const stop = new AbortController();
    const server = script(() => 'silence');
    const connecting = connect(server, { signal: stop.signal });
    await settle();
    stop.abort();
    await expect(connecting).rejects.toMatchObject({ code: 'aborted' });
  });

  it('picks the discovery’s own revision list over the error codes', async () => {
    const session = await connect(
      script((request) => (request.method === 'server/discover' ? discovery({ tools: {} }) : 'silence')),
    );
    expect(session.server.capabilities).toEqual({ tools: {} });
    await session.close();
  });
});
