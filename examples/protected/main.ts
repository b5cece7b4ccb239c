// A protected server, and what clients with one token, another and none get of it. Asserts what it shows.
import assert from 'node:assert/strict';
import { isParleyError } from 'parley';
import { connect } from 'parley/client';
import { httpTransport } from 'parley/transport/http';
import { startIssuer } from './issuer.js';
import { serveOrders } from './orders.js';

const { issuer, token, close } = await startIssuer();
const { url, close: stop } = await serveOrders(issuer);

const refused = await fetch(url, { method: 'POST' });
assert.equal(refused.status, 401);
console.log(`Without a token: ${refused.status} ${refused.headers.get('www-authenticate')}`);

const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
console.log('Where to get one:', await metadata.json());

const session = await connect(httpTransport({ url, headers: { authorization: `Bearer ${await token('ann', 'orders:read')}` } }));
try {
  const { content } = await session.callTool('list_orders');
  assert.match(JSON.stringify(content), /The orders of ann/);
  const fault: unknown = await session.callTool('refund_order').catch((error: unknown) => error);
  assert.ok(isParleyError(fault, 'auth-required'));
  assert.equal(fault.details.status, 403);
  console.log(`To pay back: ${fault.details.challenge}`);
} finally {
  await session.close();
  await stop();
  await close();
}
