// The least that can be called an issuer: it publishes a key and signs tokens with it. People sign in at a real one.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: '1' }];
  const http = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/keys' ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    issuer,
    token: (subject: string, scope: string) =>
      new SignJWT({ scope, client_id: 'example' })
        .setProtectedHeader({ alg: 'ES256', kid: '1', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience('https://orders.example.com/mcp')
        .setSubject(subject)
        .setExpirationTime('5 minutes')
        .sign(privateKey),
    async close() {
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    },
  };
}
