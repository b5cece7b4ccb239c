// The host's whole path: the name resolved, the arguments checked, the policy asked, the call recorded and its result held, beside
// the bare client that does none of it.
import { CLIENTS } from '../clients.mjs';
import { throughput } from '../measure.mjs';
import { plainStdio } from '../plain.mjs';

const ARGS = { text: 'The quick brown fox jumps over the lazy dog.' };

async function openCalls(contender, way) {
  if (contender === 'client') {
    const client = await CLIENTS.parley.connect(way);
    return { call: () => client.call('echo', ARGS), close: () => client.close() };
  }
  const { loadConfig, openHost } = await import('../../dist/host/index.js');
  const surroundings = { cwd: '/nowhere', home: '/nowhere', env: {} };
  const loaded = loadConfig({ ...surroundings, extra: { mcpServers: { plain: way }, permissions: { allow: ['plain/*'] } } });
  const host = openHost({
    config: loaded.config,
    surroundings: { ...surroundings, workspaceFolder: '/nowhere' },
    mayLaunch: () => true,
  });
  let calls = 0;
  host.events.subscribe((event) => (calls += event.type === 'call' ? 1 : 0));
  await host.settled();
  return {
    async call() {
      const outcome = await host.call('plain/echo', ARGS);
      if (outcome.type !== 'ok') throw new Error(`The host said ${outcome.type}.`);
    },
    close: () => host.close(),
  };
}

function hostCase(inFlight) {
  return {
    name: `host-${inFlight}`,
    title: `the host's whole path, stdio, ${inFlight === 1 ? 'one at a time' : `${inFlight} in flight`}`,
    unit: 'calls/s',
    better: 'more',
    base: 'client',
    contenders: ['client', 'host'],
    subject: 'host',
    targets: { client: 0.75 },
    async prepare(contender, { seconds }) {
      const { call, close } = await openCalls(contender, plainStdio().way);
      return { round: () => throughput(call, { inFlight, seconds }), close };
    },
  };
}

export const cases = [hostCase(1), hostCase(64)];
