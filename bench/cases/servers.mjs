// The other side: how many calls of an echo a server answers, over stdio and HTTP, in both eras.
import { fileURLToPath } from 'node:url';
import { hammerHttp, hammerStdio } from '../hammer.mjs';
import { startServer } from '../plain.mjs';

const IN_FLIGHT = 64;
const SERVERS = fileURLToPath(new URL('../servers.mjs', import.meta.url));

function serverCase(way, era) {
  const modern = era === 'modern';
  return {
    name: `server-${way}-${era}`,
    title: `server, ${way === 'http' ? 'HTTP' : way}, ${era}, 64 in flight`,
    unit: 'calls/s',
    better: 'more',
    base: 'bare',
    contenders: ['bare', 'parley', 'official 2', ...(modern ? [] : ['official 1', 'tmcp'])],
    targets: { bare: 0.75, 'official 2': 5, ...(!modern && { tmcp: 2 }) },
    async prepare(contender, { seconds }) {
      const args = [contender, way];
      const started = way === 'http' ? await startServer(SERVERS, args) : undefined;
      const hammer =
        started === undefined
          ? await hammerStdio({ command: process.execPath, args: [SERVERS, ...args] }, era, IN_FLIGHT)
          : await hammerHttp(started, era, IN_FLIGHT);
      return {
        round: () => hammer.round(seconds),
        close() {
          hammer.close();
          started?.close();
        },
      };
    },
  };
}

export const cases = [
  serverCase('stdio', 'modern'),
  serverCase('stdio', 'legacy'),
  serverCase('http', 'modern'),
  serverCase('http', 'legacy'),
];
