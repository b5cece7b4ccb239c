import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { fakeServer, type Answer, type FakeServer } from '../transport/http/fixtures/fake-server.ts';
import { addressKind, createGuard, isLoopbackUrl, type Guard, type Resolver } from './guard.ts';

const servers: FakeServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serving(answer: Answer): Promise<FakeServer> {
  const server = await fakeServer(answer);
  servers.push(server);
  return server;
}

const remote = (resolve?: Resolver, trustedHosts: string[] = []): Guard =>
  createGuard({ serverUrl: new URL('https://mcp.example/mcp'), trustedHosts, ...(resolve && { resolve }) });
const local = createGuard({ serverUrl: new URL('http://127.0.0.1:1/mcp') });

it.each([
  ['8.8.8.8', 'public'],
  ['2606:4700::1111', 'public'],
  ['64:ff9b::808:808', 'public'],
  ['127.0.0.1', 'loopback'],
  ['127.8.9.10', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['64:ff9b::7f00:1', 'loopback'],
  ['0.0.0.0', 'private'],
  ['::', 'private'],
  ['10.1.2.3', 'private'],
  ['100.64.0.1', 'private'],
  ['169.254.169.254', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'private'],
  ['224.0.0.1', 'private'],
  ['255.255.255.255', 'private'],
  ['::ffff:10.0.0.1', 'private'],
  ['64:ff9b::a9fe:a9fe', 'private'],
  ['::10.0.0.1', 'private'],
  ['2002:a00:1::1', 'private'],
  ['2001:0:1234::1', 'private'],
  ['fd00::1', 'private'],
  ['fe80::1%eth0', 'private'],
  ['ff02::1', 'private'],
  ['not an address', 'private'],
] as const)('knows %s to be %s', (address, kind) => {
  expect(addressKind(address)).toBe(kind);
});

it.each([
  'http://as.example/',
  'http://127.0.0.1/',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://169.254.169.254/latest/meta-data',
  'https://[64:ff9b::10.0.0.1]/',
  'https://user:pass@as.example/',
  'https://as.example:22/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'parley://x',
  'no url',
])('refuses %s for a server that is not here, before anything is sent', (url) => {
  expect(() => remote().check(url, 'It')).toThrow(expect.objectContaining({ code: 'denied' }));
});

it('lets a server on this machine lead to this machine over http, and to https elsewhere, but to nothing private', () => {
  expect(local.check('http://localhost:9000/x#y', 'It').href).toBe('http://localhost:9000/x');
  expect(local.check('https://as.example/', 'It').href).toBe('https://as.example/');
  expect(() => local.check('http://as.example/', 'It')).toThrow('not https');
  expect(() => local.check('https://10.0.0.1/', 'It')).toThrow('private network');
  expect(isLoopbackUrl(new URL('http://127.0.0.1.evil.example/'))).toBe(false);
});

it('resolves a name and connects to nothing when one of its addresses is refused', async () => {
  const asked: string[] = [];
  const resolve: Resolver = async (hostname) => {
    asked.push(hostname);
    return [
      { address: '8.8.8.8', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
  };
  await expect(remote(resolve).fetch('https://as.example/', { method: 'GET' })).rejects.toMatchObject({ code: 'denied' });
  await expect(remote(async () => []).fetch('https://as.example/', { method: 'GET' })).rejects.toMatchObject({
    code: 'unreachable',
  });
  expect(asked).toEqual(['as.example']);
});

it('connects to the address that was checked, whatever the name means elsewhere', async () => {
  const server = await serving((_, response) => response.end('{}'));
  const { port } = new URL(server.url);
  const guard = createGuard({
    serverUrl: new URL('http://localhost:1/mcp'),
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  const response = await guard.fetch(`http://as.localhost:${port}/x`, { method: 'GET' });
  expect([response.status, server.seen[0]?.headers.host]).toEqual([200, `as.localhost:${port}`]);
  const elsewhere = createGuard({
    serverUrl: new URL('http://localhost:1/mcp'),
    resolve: async () => [{ address: '10.0.0.1', family: 4 }],
  });
  await expect(elsewhere.fetch(`http://localhost:${port}/x`, { method: 'GET' })).rejects.toMatchObject({ code: 'denied' });
});

it('lets a host that its user trusts be in a private network', () => {
  expect(remote(undefined, ['10.0.0.1']).check('https://10.0.0.1/x', 'It').hostname).toBe('10.0.0.1');
  expect(() => remote(undefined, ['10.0.0.1']).check('https://10.0.0.2/x', 'It')).toThrow('private network');
});

it('follows no redirect, takes no more than its cap, and repeats nothing of what came', async () => {
  const answers: Record<string, Answer> = {
    '/redirect': (_, response) => response.writeHead(302, { location: '/canary' }).end(),
    '/large': (_, response) => response.end('secret'.repeat(20_000)),
    '/gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('secret')),
    '/cut': (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('secret');
      setImmediate(() => response.destroy());
    },
  };
  const server = await serving((seen, response) => answers[seen.path]?.(seen, response));
  const at = (path: string) => local.fetch(new URL(path, server.url), { method: 'GET' });
  expect((await at('/redirect')).status).toBe(302);
  for (const [path, code] of [
    ['/large', 'limit'],
    ['/gzip', 'protocol-violation'],
    ['/cut', 'unreachable'],
  ] as const) {
    const error = await at(path).catch((failure: unknown) => failure as Error);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).not.toContain('secret');
  }
  expect(server.seen.map(({ path }) => path)).not.toContain('/canary');
});

it('gives up on a server that does not answer, and with the caller', async () => {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const hasty = createGuard({ serverUrl: new URL(url), fetchTimeoutMs: 20 });
  await expect(hasty.fetch(url, { method: 'GET' })).rejects.toMatchObject({ code: 'timeout' });
  const control = new AbortController();
  const waiting = expect(local.fetch(url, { method: 'GET', signal: control.signal })).rejects.toThrow('enough');
  await once(server, 'request');
  control.abort(new Error('enough'));
  await waiting;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});
