// From nothing to the first list: starting the server, the greeting, the tools. One server, and 50 at once.
import { clientsFor, CLIENTS } from '../clients.mjs';
import { duration } from '../measure.mjs';
import { plainStdio } from '../plain.mjs';

async function connectAndList(contender) {
  const client = await CLIENTS[contender].connect(plainStdio().way);
  // What a bare client must say too before it may ask.
  await client.discover?.();
  await client.listTools();
  return client;
}

function connectCase(servers, targets) {
  return {
    name: `connect-${servers}`,
    title: servers === 1 ? 'connect to first list, one stdio server' : `connect to first list, ${servers} stdio servers at once`,
    unit: 'ms',
    better: 'less',
    cold: true,
    contenders: servers === 1 ? clientsFor('stdio') : ['raw', 'parley', 'official 2', 'official 1'],
    slow: servers > 1,
    ...(servers > 1 && { rounds: 5 }),
    targets,
    async prepare(contender) {
      return {
        async round() {
          let clients = [];
          const sample = await duration(async () => {
            clients = await Promise.all(Array.from({ length: servers }, () => connectAndList(contender)));
          });
          await Promise.all(clients.map((client) => client.close()));
          return sample;
        },
      };
    },
  };
}

export const cases = [connectCase(1), connectCase(50, { raw: 1.15, 'official 2': 1 })];
