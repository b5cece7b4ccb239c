// A list of 1,000 and of 10,000 tools in pages of 100.
import { clientsFor, CLIENTS } from '../clients.mjs';
import { duration } from '../measure.mjs';
import { plainHttp, plainStdio } from '../plain.mjs';

// It gives its first page and no more.
const WITHOUT_PAGES = ['mcp-use'];

function listCase(kind, tools, targets) {
  return {
    name: `list-${kind}-${tools / 1_000}k`,
    title: `a list of ${tools.toLocaleString('en')} tools, ${kind === 'http' ? 'HTTP' : kind}`,
    unit: 'ms',
    better: 'less',
    contenders: clientsFor(kind).filter((name) => !WITHOUT_PAGES.includes(name)),
    targets,
    async prepare(contender, { seconds }) {
      const plain = kind === 'stdio' ? plainStdio(tools) : await plainHttp(`?tools=${tools}`);
      const client = await CLIENTS[contender].connect(plain.way);
      const list = async () => {
        const count = await client.listTools();
        if (count !== tools) throw new Error(`It listed ${count} of ${tools} tools.`);
      };
      return {
        round: () => duration(list, { seconds }),
        async close() {
          await client.close();
          plain.close();
        },
      };
    },
  };
}

const TARGETS = { raw: 1.4, 'official 2': 1.8 };

export const cases = [
  listCase('stdio', 1_000),
  listCase('stdio', 10_000, TARGETS),
  listCase('http', 1_000),
  listCase('http', 10_000, TARGETS),
];
