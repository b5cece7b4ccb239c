// Measures Parley beside the bare wire and its peers.
//   npm run bench                          everything, about 12 minutes
//   npm run bench -- --quick               fewer and shorter rounds, under 2 minutes
//   npm run bench -- --only stdio-1,http   only cases whose name begins so
//   npm run bench -- --write               also writes docs/performance.md
// Each contender of a case has a process of its own; rounds go round all of them in turn, so that whatever else the machine does
// meets all alike, and what counts is the ratio in the same run.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES } from './cases/index.mjs';
import { summary } from './measure.mjs';
import { startPlainHttp } from './plain.mjs';
import { printCase, printVerdicts, writePage } from './report.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, write: { type: 'boolean' }, only: { type: 'string' }, rounds: { type: 'string' } },
});
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

if (!existsSync(here('node_modules/tmcp')) || !existsSync(here('../dist/client/index.js'))) {
  console.error(
    'What Parley is measured beside is not installed, or Parley is not built. Run `npm run bench:install` and `npm run build`.',
  );
  process.exit(1);
}

const wanted = options.only?.split(',');
const chosen = CASES.filter(({ name, slow }) => wanted?.some((each) => name.startsWith(each)) ?? !(options.quick && slow));
const plan = options.quick ? { rounds: 3, seconds: 0.2, warmMs: 600 } : { rounds: 5, seconds: 0.6, warmMs: 1_200 };
if (options.rounds !== undefined) plan.rounds = Number(options.rounds);

const plain = await startPlainHttp();
process.env.BENCH_PORT = plain.port;
const startedAt = performance.now();
const results = [];
for (const each of chosen) {
  const result = { case: each, contenders: await runCase(each) };
  results.push(result);
  printCase(result);
}
plain.close();
printVerdicts(results);
console.log(`\n${results.length} cases in ${Math.round((performance.now() - startedAt) / 1_000)} s.`);
if (options.write) await writePage(results, plan);

/** Contender → its summary, or why it has none. */
async function runCase({ name, contenders, cold, rounds = plan.rounds }) {
  const drivers = [];
  const found = new Map();
  for (const contender of contenders) {
    const driver = startDriver(name, contender);
    try {
      await driver.answer();
      // Where what is measured is not a beginning, the first rounds warm up.
      const warmAt = performance.now() + (cold ? 0 : plan.warmMs);
      while (performance.now() < warmAt) await driver.round();
      drivers.push({ contender, driver, samples: [] });
    } catch (error) {
      driver.stop();
      found.set(contender, { failed: error.message });
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const each of round % 2 === 0 ? drivers : drivers.toReversed()) {
      if (found.has(each.contender)) continue;
      try {
        each.samples.push(await each.driver.round());
      } catch (error) {
        found.set(each.contender, { failed: error.message });
      }
    }
  }
  for (const { contender, driver, samples } of drivers) {
    driver.stop();
    if (!found.has(contender)) found.set(contender, summary(samples));
  }
  return new Map(contenders.map((contender) => [contender, found.get(contender)]));
}

function startDriver(name, contender) {
  const settings = JSON.stringify({ seconds: plan.seconds });
  const child = fork(here('driver.mjs'), [name, contender, settings], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  const answer = () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(new Error('It did not end.'))), 60_000);
      const settle = (act) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
        act();
      };
      const onMessage = ({ error, sample }) => settle(() => (error === undefined ? resolve(sample) : reject(new Error(error))));
      const onExit = (code) => settle(() => reject(new Error(`Its process ended with ${code}.`)));
      child.on('message', onMessage).on('exit', onExit);
    });
  return {
    answer,
    round() {
      child.send('round');
      return answer();
    },
    stop() {
      if (child.connected) child.send('end');
      setTimeout(() => child.kill('SIGKILL'), 5_000).unref();
    },
  };
}
