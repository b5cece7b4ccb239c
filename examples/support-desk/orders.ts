// The shop's orders, on standard streams. Its operator trusts it, so what it says about its tools counts.
import { createServer, serveStdio, ToolError } from 'parley/server';

interface Order {
  readonly id: string;
  readonly customer: string;
  readonly item: string;
  /** In cents. */
  readonly total: number;
  refunded: number;
}

const orders = new Map<string, Order>([
  ['1001', { id: '1001', customer: 'Ada Park', item: 'Walnut desk lamp', total: 8_900, refunded: 0 }],
  ['1002', { id: '1002', customer: 'Ben Osei', item: 'Linen notebook, 3 pcs', total: 2_700, refunded: 0 }],
]);

function find(id: string): Order {
  const order = orders.get(id);
  if (order === undefined) throw new ToolError(`There is no order ${id}.`);
  return order;
}

const server = createServer({ name: 'orders', version: '1.0.0', instructions: 'Amounts are in cents.' });

// #region tool
server.tool(
  {
    name: 'get_order',
    description: 'Reads one order.',
    input: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  ({ id }) => JSON.stringify(find(String(id))),
);
// #endregion

server.tool(
  {
    name: 'refund_order',
    description: 'Pays back all or part of an order.',
    input: {
      type: 'object',
      properties: { id: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
      required: ['id', 'cents'],
      additionalProperties: false,
    },
    annotations: { destructiveHint: true, idempotentHint: false },
  },
  ({ id, cents }) => {
    const order = find(String(id));
    if (order.refunded + Number(cents) > order.total) throw new ToolError(`Order ${order.id} cost only ${order.total} cents.`);
    order.refunded += Number(cents);
    return `Refunded ${String(cents)} cents of order ${order.id}.`;
  },
);

server.resource({ uri: 'orders://open', name: 'Open orders', mimeType: 'application/json' }, () =>
  JSON.stringify([...orders.values()]),
);

await serveStdio(server);
