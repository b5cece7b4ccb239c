// Runs the tests of hostile and broken peers, wherever they stand, and prints which kinds of misbehaviour they cover and with how
// many tests each. A kind without a passed test fails the run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fail } from './page.mjs';

const kinds = JSON.parse(readFileSync('test/hostile/kinds.json', 'utf8'));
const files = [...new Set(['test/hostile', ...kinds.flatMap(({ tests = {} }) => Object.keys(tests))])];

const directory = mkdtempSync(join(tmpdir(), 'parley-kinds-'));
const output = join(directory, 'results.json');
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json', `--outputFile=${output}`, ...files],
  { stdio: 'inherit' },
);
const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(output, 'utf8'));
rmSync(directory, { recursive: true, force: true });

/** How many tests passed, and how many did not, whose title begins as `title` does; what a row fills in may be anything. */
function count(file, title) {
  const pattern = new RegExp(
    `^${title
      .split(/%[sijdo]/)
      .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}`,
    's',
  );
  const results = testResults.find(({ name }) => relative('.', name) === file)?.assertionResults ?? [];
  const ours = results.filter((result) => pattern.test(result.title));
  const passed = ours.filter((result) => result.status === 'passed').length;
  return { passed, failed: ours.length - passed };
}

console.log('\nkind  tests  what a peer does (* must hold before any release)');
let covered = 0;
for (const { id, what, star, tests, later } of kinds) {
  const name = `${id}${star ? '*' : ''}`.padEnd(5);
  if (tests === undefined) {
    console.log(`${name}     -  ${what} (not yet: ${later})`);
    continue;
  }
  const counts = Object.entries(tests).flatMap(([file, titles]) => titles.map((title) => count(file, title)));
  const passed = counts.reduce((sum, each) => sum + each.passed, 0);
  const failed = counts.reduce((sum, each) => sum + each.failed, 0);
  console.log(`${name} ${String(passed).padStart(5)}  ${what}${failed > 0 ? ` (${String(failed)} failed)` : ''}`);
  if (counts.every((each) => each.passed > 0)) covered++;
  else fail(`${id} names a test that did not pass.`);
}
const missing = kinds.filter(({ tests }) => tests === undefined).length;
console.log(`\n${covered} kinds covered, ${missing} not yet. ${numPassedTests} tests passed, ${numFailedTests} failed.`);
if (status !== 0) process.exitCode = 1;
