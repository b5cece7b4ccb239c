// A server that is open only to those whom an authorization server has given a token for it.
// #region protect
import { requireBearer } from 'parley/auth';
import { createServer, serveHttp } from 'parley/server';

/** Serves orders to people who signed in at `issuer`. */
export async function serveOrders(issuer: string) {
  const server = createServer({ name: 'orders', version: '1.0.0' });
  server.tool({ name: 'list_orders' }, (_, { request }) => `The orders of ${request.identity?.subject}`);
  server.tool({ name: 'refund_order' }, (_, { request }) => `Paid back by ${request.identity?.subject}`);

  return serveHttp(server, {
    gate: requireBearer({
      issuer,
      // The address by which clients reach this server, wherever it listens: tokens have to be for it.
      audience: 'https://orders.example.com/mcp',
      scopes: ['orders:read'],
      scopesFor: ({ method, params }) => (method === 'tools/call' && params['name'] === 'refund_order' ? ['orders:refund'] : []),
    }),
  });
}
// #endregion
