// A process of its own at a store: `store-process.mjs ADDRESS ACT …`, which says `ready`, waits for a line, acts and prints what
// came of it as one line of JSON.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { openStore } from '../../dist/store/index.js';

const [address, act, ...rest] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const audit = (kind) => ({ at: Date.now(), kind, body: { pid: process.pid } });

const ACTS = {
  /** Opens the store only when told to, as all the others do at this very moment. */
  open: async () => (await open()).close(),
  /** Decides every ticket, and claims every one. */
  async race(store) {
    const won = { decided: [], claimed: [] };
    for (const id of rest) {
      const decision = { verdict: 'approve', by: String(process.pid), channel: 'cli' };
      if ((await store.approvals.decide(id, decision, audit('approval')))?.won) won.decided.push(id);
      if (await store.approvals.claim(id)) won.claimed.push(id);
    }
    return won;
  },
  async append(store) {
    for (let count = Number(rest[0]); count > 0; count--) await store.audit.append(audit('note'));
  },
  /** Begins a call and claims a ticket, and is killed then. */
  async begin(store) {
    const [id, ticket] = rest;
    const names = { run: 'run', principal: 'ann', route: 'call', serverName: 'shop', server: 'a', tool: 'buy' };
    const digests = { definitionDigest: 'b', intentDigest: randomUUID() };
    const entry = { id, ...names, ...digests, args: {}, facts: {}, because: 'rule', at: Date.now() };
    await store.journal.begin(entry, audit('call'));
    return store.approvals.claim(ticket);
  },
};

const open = () => openStore(address, { auditKey: Buffer.alloc(32, 7) });
const store = act === 'open' ? undefined : await open();
console.log('ready');
await lines.next();
console.log(JSON.stringify((await ACTS[act](store)) ?? null));
if (act === 'begin') await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
await store?.close();
process.exit(0);
