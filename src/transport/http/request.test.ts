import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ParleyError } from '../../errors.ts';
import { createFakeClock } from '../../testing/index.ts';
import { fakeServer, serve } from './fixtures/fake-server.ts';
import { codeOf, faultOf } from './fixtures/faults.ts';
import { selfSigned } from './fixtures/self-signed.ts';
import { HttpLine, type HttpAsk, type HttpLineOptions } from './request.ts';

/** A server below HTTP, over TCP or TLS; gives its URL. */
async function serveRaw(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

function open(url: string, options?: HttpLineOptions) {
  const line = new HttpLine(new URL(url), 'The server', options);
  onTestFinished(() => line.close());
  const control = new AbortController();
  const ask = (more: Partial<HttpAsk> = {}) =>
    line.ask({ method: 'POST', url: new URL(url), headers: {}, body: '{}', signal: control.signal, ...more });
  return { line, control, ask };
}

describe('an HTTP line', () => {
  it('sends method, path, headers and body, and reads status, headers and body', async () => {
    const server = await serve((_, response) => {
      response.writeHead(418, { 'content-type': 'Text/Plain; charset=utf-8', 'x-a': 'b' });
      response.end('héllo');
    });
    const { ask } = open(server.url);
    const answer = await ask({ url: new URL(`${server.url}?q=1`), headers: { 'x-mine': '1' }, body: '"é"' });
    expect([answer.status, answer.mediaType, answer.headers['x-a']]).toEqual([418, 'text/plain', 'b']);
    expect(await answer.text(1_000, 'fail')).toBe('héllo');
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/mcp?q=1', body: '"é"' });
    expect(server.seen[0]!.headers).toMatchObject({ 'x-mine': '1', 'content-length': '4' });
    expect(server.seen[0]!.headers['transfer-encoding']).toBeUndefined();
  });

  it('uses a socket again when a body was read or a short one discarded', async () => {
    const server = await serve((_, response) => response.end('ok'));
    const { ask } = open(server.url);
    await (await ask()).text(10, 'fail');
    const second = await ask();
    const over = server.seen[1]!.over;
    second.discard();
    await over;
    // The client's socket becomes free one turn after the server has seen the end.
    await new Promise((resolve) => setImmediate(resolve));
    await (await ask()).text(10, 'fail');
    expect(server.connections).toBe(1);
  });

  it('does not keep a socket for which the server announces a shorter life', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'keep-alive': 'timeout=1' });
      response.end('ok');
    });
    const { ask } = open(server.url);
    await (await ask()).text(10, 'fail');
    await server.idle();
    await (await ask()).text(10, 'fail');
    expect(server.connections).toBe(2);
  });

  it('closes an idle socket before a server that never would', async () => {
    const closed: Promise<unknown>[] = [];
    const tcp = createServer((socket) => {
      closed.push(once(socket, 'close'));
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nok'));
    });
    const { ask } = open(await serveRaw(tcp));
    for (let use = 0; use < 2; use++) {
      expect(await (await ask()).text(10, 'fail')).toBe('ok');
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(closed).toHaveLength(1);
    await closed[0];
  });

  it('sends its own headers in place of others of the same name, whatever gave them', async () => {
    let lines: string[] = [];
    const server = await serve((_, response) => {
      lines = response.req.rawHeaders;
      response.end('ok');
    });
    const { ask } = open(server.url);
    const answer = await ask({
      headers: { authorization: 'Basic x', 'mcp-method': 'theirs' },
      own: { 'mcp-method': 'ours' },
      credentials: () => Promise.resolve({ Authorization: 'Bearer y' }),
    });
    answer.discard();
    const sent = (name: string) => lines.filter((_, index) => index % 2 === 1 && lines[index - 1]!.toLowerCase() === name);
    expect(sent('authorization')).toEqual(['Bearer y']);
    expect(sent('mcp-method')).toEqual(['ours']);
    expect(sent('host')).toEqual([new URL(server.url).host]);
    expect(sent('content-length')).toEqual(['2']);
  });

  it('follows up to three redirects within the origin, with method and body', async () => {
    const statuses = [301, 302, 307];
    const server = await serve(({ path }, response) => {
      const hop = Number(path.slice(-1));
      if (hop === 3) return response.end('there');
      response.writeHead(statuses[hop]!, { location: `/hop${hop + 1}` });
      response.end('moved');
    });
    const { ask } = open(server.url);
    const answer = await ask({ url: new URL('/hop0', server.url), headers: { authorization: 'Bearer x' } });
    expect(await answer.text(100, 'fail')).toBe('there');
    expect(server.seen.map(({ method, path, body, headers }) => [method, path, body, headers.authorization])).toEqual(
      [0, 1, 2, 3].map((hop) => ['POST', `/hop${hop}`, '{}', 'Bearer x']),
    );
  });

  it('refuses to follow a redirect out of the origin, into one with a user name, or for ever', async () => {
    const canary = await serve((_, response) => response.end());
    let location = '';
    const server = await serve((_, response) => {
      response.writeHead(308, { location });
      response.end();
    });
    const { port, host } = new URL(server.url);
    const locations = [
      canary.url,
      canary.url.replace('http:', ''),
      `https://${host}/mcp`,
      `http://localhost:${port}/mcp`,
      `http://user:secret@${host}/mcp`,
      'file:///etc/passwd',
      'javascript:0',
      'http://',
      '/mcp',
    ];
    const { ask } = open(server.url);
    for (location of locations) {
      const fault = await faultOf(ask({ headers: { authorization: 'Bearer x' } }));
      expect([location, fault.code, fault.details.status]).toEqual([location, 'http-status', 308]);
      expect(fault.message).toContain('redirect');
      expect(fault.message).not.toContain('secret');
    }
    expect(canary.seen).toEqual([]);
    expect(server.seen).toHaveLength(locations.length + 3);
  });

  it('does not send a request again after 303, which says that it was carried out', async () => {
    const server = await serve((_, response) => {
      response.writeHead(303, { location: '/mcp' });
      response.end();
    });
    const { ask } = open(server.url);
    const answer = await ask();
    answer.discard();
    expect([answer.status, server.seen.length]).toEqual([303, 1]);
  });

  it('decodes one layer of gzip, deflate or br, and refuses any other encoding', async () => {
    const text = 'x'.repeat(100_000);
    const bodies: Record<string, Buffer> = {
      gzip: gzipSync(text),
      'X-Gzip': gzipSync(text),
      deflate: deflateSync(text),
      br: brotliCompressSync(text),
      identity: Buffer.from(text),
    };
    const server = await serve(({ headers }, response) => {
      const encoding = headers['x-encoding'] as string;
      response.writeHead(200, { 'content-encoding': encoding });
      response.end(bodies[encoding] ?? 'x');
    });
    const { ask } = open(server.url);
    for (const encoding of Object.keys(bodies)) {
      const answer = await ask({ headers: { 'x-encoding': encoding } });
      expect([encoding, await answer.text(100_000, 'fail')]).toEqual([encoding, text]);
    }
    for (const encoding of ['gzip, gzip', 'zstd']) {
      const answer = await ask({ headers: { 'x-encoding': encoding } });
      expect(await codeOf(answer.text(10, 'fail'))).toBe('protocol-violation');
    }
  });

  it('caps a body by its decoded size, so that a small one cannot become large', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1_048_576));
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    const { ask } = open(server.url);
    const fault = await faultOf((await ask()).text(1_048_576, 'fail'));
    expect([fault.code, fault.details.limit, fault.details.allowed]).toEqual(['limit', 'maxMessageBytes', 1_048_576]);
    expect(fault.details.observed).toBeLessThan(2 * 1_048_576);
  });

  it('reports a body that cannot be decoded', async () => {
    const server = await serve(({ headers }, response) => {
      response.writeHead(200, { 'content-encoding': headers['x-encoding'] as string });
      response.end('this is not compressed at all');
    });
    const { ask } = open(server.url);
    for (const encoding of ['gzip', 'br']) {
      const answer = await ask({ headers: { 'x-encoding': encoding } });
      expect(await codeOf(answer.text(1_000, 'fail'))).toBe('protocol-violation');
    }
  });

  it('stops an endless body at its cap, and cuts an error body there', async () => {
    const server = await serve((_, response) => {
      const more = () => {
        while (response.writable && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    const { ask } = open(server.url);
    expect(await codeOf((await ask()).text(50_000, 'fail'))).toBe('limit');
    expect(await (await ask()).text(50_000, 'cut')).toBe('x'.repeat(50_000));
    await server.idle();
  });

  it('frees the socket of a discarded body that is long, or never ends', async () => {
    const server = await serve(({ path }, response) => {
      if (path === '/stream') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      else response.write(path === '/long' ? 'x'.repeat(100_000) : 'x');
    });
    const clock = createFakeClock();
    const { ask } = open(server.url, { clock });
    for (const path of ['/stream', '/long', '/slow']) {
      (await ask({ url: new URL(path, server.url) })).discard();
      if (path === '/slow') clock.advance(1_000);
      await server.idle();
    }
    expect(clock.waiting).toBe(0);
  });

  it('reports a connection that breaks before the answer and one that breaks in the middle of it', async () => {
    const server = await serve(({ path }, response) => {
      if (path === '/early') return response.destroy();
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const { ask } = open(server.url);
    expect(await codeOf(ask({ url: new URL('/early', server.url) }))).toBe('server-stopped');
    expect(await codeOf((await ask()).text(1_000, 'fail'))).toBe('server-stopped');
    expect(server.seen).toHaveLength(2);
  });

  it('never sends a request again when a kept socket breaks under it', async () => {
    const server = await serve((_, response) => {
      if (server.seen.length === 1) response.end('ok');
      else response.destroy();
    });
    const { ask } = open(server.url);
    await (await ask()).text(10, 'fail');
    const fault = await faultOf(ask());
    expect([fault.code, fault.details.unsent]).toEqual(['server-stopped', undefined]);
    expect([server.seen.length, server.connections]).toEqual([2, 1]);
  });

  it('reports refused connections and unknown names as unreachable, and says that nothing was sent', async () => {
    const server = await fakeServer(() => {});
    await server.close();
    for (const url of [server.url, 'http://no-such-host.invalid/']) {
      const fault = await faultOf(open(url).ask());
      expect([fault.code, fault.details.unsent]).toEqual(['unreachable', true]);
    }
  });

  it('gives up on a handshake that does not end', async () => {
    const clock = createFakeClock();
    let accept!: (socket: Socket) => void;
    const accepted = new Promise<Socket>((resolve) => (accept = resolve));
    const url = await serveRaw(createServer(accept));
    const asked = open(url.replace('http:', 'https:'), { clock }).ask();
    await accepted;
    clock.advance(10_000);
    const fault = await faultOf(asked);
    expect([fault.code, fault.details.unsent]).toEqual(['unreachable', true]);
    expect(fault.message).toContain('10 s');
  });

  it('fails closed when TLS fails, whatever the environment says', async () => {
    const plain = await serve((_, response) => response.end());
    let handshakes = 0;
    const secure = createTlsServer(selfSigned, () => handshakes++);
    const tls = await serveRaw(secure);
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      for (const [url, why] of [
        [plain.url, 'does not speak TLS (EPROTO). Check the port; where the server has no TLS, its URL begins with http://.'],
        [tls, 'has a certificate that nobody trusted here vouches for (DEPTH_ZERO_SELF_SIGNED_CERT).'],
      ] as const) {
        const fault = await faultOf(open(url.replace('http:', 'https:')).ask());
        expect([fault.code, fault.details.unsent]).toEqual(['unreachable', true]);
        expect(fault.message).toContain(why);
      }
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect([plain.seen.length, handshakes]).toEqual([0, 0]);
  });

  it('tells what does not speak HTTP, and headers without end, from a lost connection', async () => {
    const noise = await serveRaw(createServer((socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n')));
    expect(await codeOf(open(noise).ask())).toBe('not-mcp');
    const other = await serveRaw(
      createServer((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n{}')),
    );
    expect(await codeOf(open(other).ask())).toBe('not-mcp');
    const endless = await serveRaw(
      createServer((socket) => socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1_000)}\r\n`.repeat(40)}`)),
    );
    expect(await codeOf(open(endless).ask())).toBe('limit');
    const interim = await serveRaw(createServer((socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(200))));
    expect(await codeOf(open(interim).ask())).toBe('limit');
  });

  it('waits for headers no longer than it is told, and otherwise as long as the signal allows', async () => {
    const clock = createFakeClock();
    const server = await serve(() => {});
    const { ask, control } = open(server.url, { clock });
    const bounded = ask({ headersTimeoutMs: 30_000 });
    const unbounded = ask();
    await server.until(() => server.seen.length === 2);
    clock.advance(30_000);
    const fault = await faultOf(bounded);
    expect([fault.code, fault.details.afterMs]).toEqual(['timeout', 30_000]);
    clock.advance(3_600_000);
    control.abort(new ParleyError('aborted', 'enough'));
    expect(await codeOf(unbounded)).toBe('aborted');
    await server.idle();
    expect(await codeOf(ask())).toBe('aborted');
  });

  it('frees the socket when the signal aborts in the middle of a body', async () => {
    const server = await serve((_, response) => response.write('some'));
    const { ask, control } = open(server.url);
    const text = (await ask()).text(1_000, 'fail');
    control.abort(new ParleyError('aborted', 'enough'));
    expect(await codeOf(text)).toBe('aborted');
    await server.idle();
  });

  it('refuses a header that cannot be sent', async () => {
    const server = await serve(() => {});
    expect(await codeOf(open(server.url).ask({ headers: { 'mcp-name': 'a\r\nb' } }))).toBe('internal');
    expect(server.connections).toBe(0);
  });

  it('closes idle and busy sockets alike', async () => {
    const server = await serve(({ path }, response) => path !== '/busy' && response.end('ok'));
    const { line, ask } = open(server.url);
    const busy = ask({ url: new URL('/busy', server.url) });
    await server.until(() => server.seen.length === 1);
    await (await ask()).text(10, 'fail');
    await line.close();
    expect(await codeOf(busy)).toBe('server-stopped');
    await server.idle();
    await line.close();
  });
});
