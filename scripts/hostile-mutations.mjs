// Shows that the tests of hostile peers bite: for each kind that must hold before any release the sources are weakened in one place,
// in a copy, and the test that stands for the kind must fail there. `npm run hostile:mutations`, or with `-- --only S01,W09`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail } from './page.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.split(',');
const mutations = JSON.parse(readFileSync('test/hostile/mutations.json', 'utf8')).filter(
  ({ id }) => wanted?.includes(id) ?? true,
);

const copy = mkdtempSync(join(tmpdir(), 'parley-mutations-'));
for (const each of [
  'src',
  'test',
  'scripts',
  'examples',
  'package.json',
  'vitest.config.ts',
  'tsconfig.json',
  'tsconfig.build.json',
]) {
  cpSync(each, join(copy, each), { recursive: true });
}
for (const each of ['node_modules', 'dist']) symlinkSync(resolve(each), join(copy, each));

/** The summary of one run of the test that `title` begins. */
function run(file, title) {
  const pattern = title.split(/%[sijdo]/)[0].replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const { stdout } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', file, '-t', pattern],
    {
      cwd: copy,
      encoding: 'utf8',
      maxBuffer: 64 * 1_048_576,
    },
  );
  const { numPassedTests, numFailedTests } = JSON.parse(stdout.slice(stdout.indexOf('{"numTotal')));
  return { passed: numPassedTests, failed: numFailedTests };
}

let caught = 0;
for (const { id, weakening, file, from, to, test } of mutations) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) {
    fail(`${id}: ${file} has no one place to weaken. Write the mutation anew.`);
    continue;
  }
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const { passed, failed } = run(test.file, test.title);
  writeFileSync(path, source);
  if (failed > 0) caught++;
  else fail(`${id}: nobody notices that ${weakening} (${passed} tests passed).`);
  console.log(`${id.padEnd(4)} ${failed > 0 ? 'caught' : 'MISSED'}  ${weakening}`);
}
rmSync(copy, { recursive: true, force: true });
console.log(`${caught} of ${mutations.length} weakenings were caught.`);
