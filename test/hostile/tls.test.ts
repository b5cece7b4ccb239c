// Servers behind TLS whose certificates are no proof, before the real command: which authorities a process trusts is settled when
// it starts.
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { expired, selfSigned } from '../../src/transport/http/fixtures/self-signed.ts';
import { createCliHome } from '../support/cli.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 60_000 });

const user = createCliHome();
afterAll(() => user.remove());

let open: ReturnType<typeof createServer> | undefined;
afterEach(async () => {
  open?.closeAllConnections();
  await new Promise<void>((resolve) => (open === undefined ? resolve() : open.close(() => resolve())));
  open = undefined;
});

/** Lists the tools of a server that proves itself with `certificate`, and says how often it was asked anything. */
async function list(certificate: typeof expired, host: string, env: Readonly<Record<string, string>> = {}) {
  let asked = 0;
  open = createServer(certificate, (request, response) => {
    asked++;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number };
      const result = {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        tools: [{ name: 'work', inputSchema: { type: 'object' } }],
        ttlMs: 0,
        cacheScope: 'private',
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  }).listen(0, host);
  // What a refused handshake looks like from here.
  open.on('tlsClientError', () => {});
  await once(open, 'listening');
  const url = `https://${host}:${String((open.address() as AddressInfo).port)}/mcp`;
  const config = user.write('config.json', { mcpServers: { s: { url } } });
  return { ...(await user.run(['--config', config, 'tools', 'list'], { env })), asked: () => asked };
}

it.each([
  ['that nobody vouches for', selfSigned, '127.0.0.1', false, /that nobody trusted here vouches for .*NODE_EXTRA_CA_CERTS/],
  ['whose time has run out', expired, '127.0.0.1', true, /that is not valid now \(CERT_HAS_EXPIRED\)/],
  ['for another name', selfSigned, '127.0.0.2', true, /for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)/],
])(
  'a certificate %s ends it before anything is sent, whatever the environment says',
  async (_, given, host, trusted, message) => {
    const file = user.write('authority.pem', given.cert);
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', ...(trusted && { NODE_EXTRA_CA_CERTS: file }) };
    const { code, stdout, stderr, asked } = await list(given, host, env);
    expect({ code, stdout, asked: asked() }).toEqual({ code: 4, stdout: '', asked: 0 });
    expect(stderr).toMatch(message);
  },
);

it('an authority that the user names is trusted, as the message says', async () => {
  const env = { NODE_EXTRA_CA_CERTS: user.write('authority.pem', selfSigned.cert) };
  const { code, stdout, asked } = await list(selfSigned, '127.0.0.1', env);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 's/work\n' });
  expect(asked()).toBeGreaterThan(0);
});
