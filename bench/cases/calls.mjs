// A call of a tool that echoes: over stdio and HTTP, with JSON and with SSE replies, one at a time and 64 in flight.
import { clientsFor, CLIENTS } from '../clients.mjs';
import { plainHttp, plainStdio } from '../plain.mjs';
import { throughput } from '../measure.mjs';

const TEXT = 'The quick brown fox jumps over the lazy dog.';

function callCase(name, title, kind, inFlight, targets) {
  return {
    name,
    title,
    unit: 'calls/s',
    better: 'more',
    contenders: clientsFor(kind === 'stdio' ? 'stdio' : 'http'),
    targets,
    async prepare(contender, { seconds }) {
      const plain = kind === 'stdio' ? plainStdio() : await plainHttp(kind === 'sse' ? '?sse=1' : '');
      const client = await CLIENTS[contender].connect(plain.way);
      return {
        round: () => throughput(() => client.call('echo', { text: TEXT }), { inFlight, seconds }),
        async close() {
          await client.close();
          plain.close();
        },
      };
    },
  };
}

export const cases = [
  callCase('stdio-1', 'stdio, one at a time', 'stdio', 1, { raw: 0.85, 'official 2': 2.5 }),
  callCase('stdio-64', 'stdio, 64 in flight', 'stdio', 64, { raw: 0.8, 'official 2': 4 }),
  callCase('http-1', 'HTTP with JSON replies, one at a time', 'http', 1, { raw: 0.9, 'official 2': 3 }),
  callCase('http-64', 'HTTP with JSON replies, 64 in flight', 'http', 64, { raw: 0.9, 'official 2': 3 }),
  callCase('sse-1', 'HTTP with SSE replies, one at a time', 'sse', 1, { raw: 0.85, 'official 2': 3 }),
  callCase('sse-64', 'HTTP with SSE replies, 64 in flight', 'sse', 64, { raw: 0.85, 'official 2': 4 }),
];
