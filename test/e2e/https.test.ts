// HTTPS with a certificate that the machine trusts, which Node can be told only when it starts: so in a process of its own.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { selfSigned } from '../../src/transport/http/fixtures/self-signed.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 60_000 });

const REQUEST = join(import.meta.dirname, '../../dist/transport/http/request.js');

/** Asks three times, says what came, and what then keeps the process alive; nothing is closed. */
const CLIENT = `
  const { HttpLine } = await import(${JSON.stringify(REQUEST)});
  const url = new URL(process.argv[1]);
  const line = new HttpLine(url, 'The server');
  const came = [];
  for (let use = 0; use < 3; use++) {
    const asked = line.ask({ method: 'POST', url, headers: {}, body: '{}', signal: new AbortController().signal });
    came.push(await asked.then((answer) => answer.text(100, 'fail'), ({ code, cause }) => code + ' ' + cause?.code));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const alive = process.getActiveResourcesInfo().filter((name) => /TLS|TCP/.test(name));
  console.log(JSON.stringify({ came, alive }));
`;

async function ask(host: string) {
  const directory = mkdtempSync(join(tmpdir(), 'parley-https-'));
  const certificate = join(directory, 'ca.pem');
  writeFileSync(certificate, selfSigned.cert);
  const resumed: boolean[] = [];
  let connections = 0;
  const server = createServer(selfSigned, ({ socket }, response) => {
    resumed.push((socket as TLSSocket).isSessionReused());
    response.writeHead(200, resumed.length === 1 ? { connection: 'close' } : {}).end('ok');
  });
  server.on('connection', () => connections++);
  server.listen(0);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true });
  });
  const url = `https://${host}:${(server.address() as AddressInfo).port}/`;
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', CLIENT, url], { env });
  const said = JSON.parse(stdout) as { came: string[]; alive: string[] };
  return { ...said, resumed, connections };
}

it.each(['localhost', '127.0.0.1'])(
  'a session is resumed, a socket kept, and an idle one keeps no process alive: %s',
  async (host) => {
    const { came, alive, resumed, connections } = await ask(host);
    expect({ came, alive }).toEqual({ came: ['ok', 'ok', 'ok'], alive: [] });
    expect({ resumed, connections }).toEqual({ resumed: [false, true, true], connections: 2 });
  },
);

it('a certificate for another name is refused, though the machine trusts it', async () => {
  const { came, resumed } = await ask('127.0.0.2');
  const refused = 'unreachable ERR_TLS_CERT_ALTNAME_INVALID';
  expect({ came, resumed }).toEqual({ came: [refused, refused, refused], resumed: [] });
});
