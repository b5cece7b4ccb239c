// What an idle connection keeps in the client's memory.
import { setTimeout as sleep } from 'node:timers/promises';
import { clientsFor, CLIENTS } from '../clients.mjs';
import { plainHttp, plainStdio } from '../plain.mjs';

function memoryCase(kind, connections) {
  return {
    name: `memory-${kind}`,
    title: `memory of an idle connection, ${kind === 'http' ? 'HTTP' : kind} (of ${connections})`,
    unit: 'KiB',
    better: 'less',
    contenders: clientsFor(kind),
    rounds: 1,
    cold: true,
    slow: true,
    async prepare(contender) {
      const { connect } = CLIENTS[contender];
      const plain = kind === 'stdio' ? plainStdio() : await plainHttp();
      const open = async () => {
        const client = await connect(plain.way);
        await client.call('echo', { text: 'once' });
        return client;
      };
      return {
        async round() {
          // The first ones bring what is shared by all.
          const clients = [await open(), await open()];
          const before = await settled();
          for (let count = 0; count < connections; count += 10) {
            clients.push(...(await Promise.all(Array.from({ length: 10 }, open))));
          }
          const value = ((await settled()) - before) / connections / 1_024;
          await Promise.all(clients.map((client) => client.close()));
          return { value };
        },
      };
    },
  };
}

/** Bytes of the heap and beside it once garbage is gone and sockets have rested. */
async function settled() {
  await sleep(500);
  for (let times = 0; times < 3; times++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export const cases = [memoryCase('stdio', 50), memoryCase('http', 500)];
