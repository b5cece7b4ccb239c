// One contender of one case, in a process of its own: runs a round whenever it is told to. Nothing else runs here, so that no
// contender pays for another's code, garbage or warm caches.
import { CASES } from './cases/index.mjs';

const [, , name, contender, settings] = process.argv;

// The run is over, however it ended.
process.on('disconnect', () => process.exit());

try {
  const { prepare } = CASES.find((each) => each.name === name);
  const { round, close } = await prepare(contender, JSON.parse(settings));
  process.on('message', (message) => {
    const act = message === 'round' ? round() : Promise.resolve(close?.()).then(() => process.exit());
    Promise.resolve(act).then((sample) => process.send({ sample }), fail);
  });
  process.send({ ready: true });
} catch (error) {
  fail(error);
}

function fail(error) {
  process.send({ error: `${error?.name ?? 'Error'}: ${error?.message ?? String(error)}` });
}
