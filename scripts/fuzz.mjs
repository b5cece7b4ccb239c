// Runs the properties of test/hostile/fuzz.prop.test.ts again and again, each time with a new seed, which is printed:
//   npm run fuzz -- --seconds 60          npm run fuzz -- --seed 42 repeats one round
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' }, runs: { type: 'string', default: '1000' } },
});
const until = Date.now() + 1_000 * Number(values.seconds);
let round = 0;

do {
  const seed = values.seed ?? String(Math.floor(Math.random() * 2 ** 31));
  console.log(`round ${++round}, seed ${seed}, ${values.runs} runs of each property`);
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--reporter=dot', 'test/hostile/fuzz.prop.test.ts'],
    {
      stdio: 'inherit',
      env: { ...process.env, PARLEY_FUZZ_SEED: seed, PARLEY_FUZZ_RUNS: values.runs },
    },
  );
  if (status !== 0) {
    console.error(`It failed with seed ${seed}. Repeat it with: npm run fuzz -- --seed ${seed} --runs ${values.runs}`);
    process.exit(1);
  }
} while (values.seed === undefined && Date.now() < until);
