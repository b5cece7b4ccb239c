// Prints who works with whom: our client and server, the official ones of both lines and the reference server, over every
// transport, by feature. It runs the tests that show it and reads their results; an empty cell is something one side lacks.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fail } from './page.mjs';

/** Which tests of a pair show which feature, by the words of their titles. */
const FEATURES = {
  list: /\blists?\b|whole conversation/,
  call: /\bcalls\b|whole conversation/,
  progress: /progress|whole conversation/,
  cancel: /cancels a call|gives a call up|whole conversation/,
  read: /reads? resources|whole conversation/,
  ask: /answers what the server asks|whole conversation/,
  follow: /resource it follows|changes and log messages/,
  complete: /complete|whole conversation/,
};
/** Whose pairs the describe blocks of a file are. */
const FILES = {
  'pair.test.ts': (title) => `parley client × parley server, ${title}`,
  'our-server.test.ts': (title) => `${title} × parley server`,
  'our-client.test.ts': (title) => `parley client × ${title}`,
};

const directory = mkdtempSync(join(tmpdir(), 'parley-interop-'));
const output = join(directory, 'results.json');
const tests = ['test/contracts/pair.test.ts', 'test/interop/our-server.test.ts', 'test/interop/our-client.test.ts'];
try {
  execFileSync('npx', ['vitest', 'run', ...tests, '--reporter=json', `--outputFile=${output}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
} catch {
  // Failed tests are what the matrix is to show.
}
const { testResults } = JSON.parse(readFileSync(output, 'utf8'));
rmSync(directory, { recursive: true, force: true });

const rows = new Map();
for (const { name, assertionResults } of testResults) {
  for (const { ancestorTitles, title, status } of assertionResults) {
    const pair = FILES[basename(name)](ancestorTitles.join(' '));
    const cells = rows.get(pair) ?? new Map();
    rows.set(pair, cells);
    for (const [feature, words] of Object.entries(FEATURES)) {
      if (!words.test(title)) continue;
      const verdict = status === 'passed' ? 'ok' : status === 'failed' ? 'FAIL' : '';
      if (cells.get(feature) !== 'FAIL') cells.set(feature, verdict);
    }
    if (status === 'failed') fail(`${pair}: ${title}`);
  }
}

const features = Object.keys(FEATURES);
const width = Math.max(...[...rows.keys()].map((pair) => pair.length));
console.log(`${' '.repeat(width)}  ${features.map((feature) => feature.padEnd(8)).join(' ')}`);
for (const [pair, cells] of rows) {
  if (cells.size === 0) continue;
  console.log(`${pair.padEnd(width)}  ${features.map((feature) => (cells.get(feature) ?? '').padEnd(8)).join(' ')}`);
}
if (rows.size === 0) fail('No test ran.');
