// Parley as a library: a client of one server, then a host with a policy and a model's tool loop. Asserts what it shows.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { scriptedModel } from 'parley/agent';
import { readOrder } from './client.js';
import { work } from './host.js';

process.chdir(fileURLToPath(new URL('../../..', import.meta.url)));

const { content } = await readOrder('dist/examples/support-desk/orders.js', '1001');
assert.match(JSON.stringify(content), /Walnut desk lamp/);

const model = scriptedModel([
  { say: 'I pay it back.', call: [{ tool: 'orders/refund_order', arguments: { id: '1001', cents: 100 } }] },
  { say: 'That is all.' },
]);
const asked: string[] = [];
const result = await work(
  'examples/library/parley.jsonc',
  model,
  { ask: async ({ intent }) => (asked.push(intent.tool), { type: 'deny', by: 'person' }) },
  'Pay 100 cents of order 1001 back.',
);
assert.deepEqual(asked, ['refund_order']);
assert.equal(result.calls[0]?.status, 'denied');
console.log(result.text);
