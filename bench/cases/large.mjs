// One result of 10 MB of text.
import { clientsFor, CLIENTS } from '../clients.mjs';
import { duration } from '../measure.mjs';
import { plainHttp, plainStdio } from '../plain.mjs';

function largeCase(kind, targets) {
  return {
    name: `large-${kind}`,
    title: `a result of 10 MB of text, ${kind === 'http' ? 'HTTP' : kind}`,
    unit: 'ms',
    better: 'less',
    contenders: clientsFor(kind),
    targets,
    async prepare(contender, { seconds }) {
      const plain = kind === 'stdio' ? plainStdio() : await plainHttp();
      const client = await CLIENTS[contender].connect(plain.way);
      return {
        round: () => duration(() => client.call('big', {}), { seconds }),
        async close() {
          await client.close();
          plain.close();
        },
      };
    },
  };
}

export const cases = [largeCase('stdio', { raw: 1.2, 'official 2': 8 }), largeCase('http', { raw: 1.2, 'official 2': 1 })];
