// Runs the public suite against our client and our server, in both requirement sets, and judges strictly: what the suite itself
// lets pass in silence (a warning, a scenario without a success, a client that did not exit well) fails here.
//   node conformance/run.mjs [client|server] [2025-11-25|2026-07-28]
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const tool = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const bundled = join(here, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
// Where no newer Node can be installed beside it, this one must be new enough for the suite.
const node = existsSync(bundled) ? bundled : process.execPath;
const isNewEnough = node === bundled || Number(process.versions.node.split('.')[0]) >= 22;

const LEGS = [
  { side: 'client', revision: '2025-11-25', scenarios: 25 },
  { side: 'client', revision: '2026-07-28', scenarios: 39 },
  { side: 'server', revision: '2025-11-25', scenarios: 33 },
  { side: 'server', revision: '2026-07-28', scenarios: 50 },
];
/** Client scenarios outside the requirement sets, run one by one. */
const EXTRA = [
  ['auth/2025-03-26-oauth-metadata-backcompat', '2025-03-26'],
  ['auth/2025-03-26-oauth-endpoint-fallback', '2025-03-26'],
  ['sep-2640-client-no-prefetch', '2026-07-28'],
  ['sep-2640-client-verify-digest', '2026-07-28'],
  ['sep-2640-client-verify-size', '2026-07-28'],
  ['sep-2640-client-verify-frontmatter', '2026-07-28'],
];
/** Scenarios in which a client may well end with an error: the right thing is to stop. */
const MAY_FAIL = new Set([
  'auth/scope-retry-limit',
  'auth/resource-mismatch',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
  'http-invalid-tool-headers',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
]);
/** `side revision scenario` → why it is not passed. An entry that passes fails the run. */
const EXPECTED = JSON.parse(readFileSync(join(here, 'expected-failures.json'), 'utf8'));

if (!existsSync(tool) || !isNewEnough) {
  console.error('The suite, or the Node 22 it needs, is not installed. Run `npm run conformance:install`.');
  process.exit(1);
}

const [onlySide, onlyRevision] = process.argv.slice(2);
const wanted = ({ side, revision }) => (onlySide ?? side) === side && (onlyRevision ?? revision) === revision;
const directory = mkdtempSync(join(tmpdir(), 'parley-conformance-'));
const rows = [];

for (const leg of LEGS.filter(wanted)) {
  const found = await (leg.side === 'client' ? runClient(leg) : runServer(leg));
  if (found !== leg.scenarios)
    rows.push({ ...leg, scenario: '(all)', problems: [`${found} scenarios instead of ${leg.scenarios}`], counts: '' });
}
if (wanted({ side: 'client', revision: onlyRevision ?? 'extra' }))
  for (const [scenario, revision] of EXTRA) await runExtra(scenario, revision);
rmSync(directory, { recursive: true, force: true });
report();

async function runClient({ revision }) {
  const out = join(directory, `client-${revision}`);
  const exits = join(directory, `exits-${revision}.txt`);
  writeFileSync(exits, '');
  await suite(['client', '--command', clientCommand(), '--requirements', revision, '--timeout', '120000', '-o', out], exits);
  return collect('client', revision, out, exitCodes(exits));
}

async function runExtra(scenario, revision) {
  const out = join(directory, `extra-${scenario.replace('/', '-')}`);
  const exits = join(directory, `exits-${scenario.replace('/', '-')}.txt`);
  writeFileSync(exits, '');
  const args = ['client', '--command', clientCommand(), '--scenario', scenario, '--spec-version', revision, '--force'];
  await suite([...args, '--timeout', '120000', '-o', out], exits);
  collect('client', revision, out, exitCodes(exits));
}

async function runServer({ revision }) {
  const server = spawn(process.execPath, [join(here, 'server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = await once(createInterface(server.stdout), 'line');
  const out = join(directory, `server-${revision}`);
  await suite(['server', '--url', url, '--requirements', revision, '-o', out]);
  server.stdin.end();
  await once(server, 'exit');
  return collect('server', revision, out);
}

function clientCommand() {
  return `exec ${process.execPath} ${join(here, 'client.mjs')}`;
}

function suite(args, exits) {
  return new Promise((resolve) => {
    const env = { ...process.env, ...(exits !== undefined && { CONF_EXIT_LOG: exits }) };
    // Its own exit code says less than the checks it writes.
    execFile(node, [tool, ...args], { env, maxBuffer: 256 * 1_048_576, timeout: 900_000 }, () => resolve());
  });
}

function exitCodes(file) {
  const lines = readFileSync(file, 'utf8').trim().split('\n').filter(Boolean);
  return new Map(lines.map((line) => line.split(' ')));
}

/** Judges every scenario that left its checks below `out`; gives their number. */
function collect(side, revision, out, exits) {
  const files = existsSync(out) ? readdirSync(out, { recursive: true }).filter((path) => path.endsWith('checks.json')) : [];
  for (const path of files.sort()) {
    const scenario = path
      .replace(/-\d{4}-\d\d-\d\dT[^/]*\/checks\.json$/, '')
      .replace(/^server-/, side === 'server' ? '' : 'server-');
    const checks = JSON.parse(readFileSync(join(out, path), 'utf8'));
    const count = (status) => checks.filter((check) => check.status === status).length;
    const problems = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? ''}`);
    if (count('SUCCESS') === 0) problems.push('no check succeeded');
    const exit = exits?.get(scenario);
    if (exits !== undefined && exit !== '0' && !(exit !== undefined && MAY_FAIL.has(scenario))) {
      problems.push(exit === undefined ? 'the client did not end by itself' : `the client ended with exit code ${exit}`);
    }
    if (problems.length > 0 && exits !== undefined) problems.push(...lastWords(join(out, path, '..', 'stderr.txt')));
    rows.push({ side, revision, scenario, problems, counts: `${count('SUCCESS')} passed, ${count('SKIPPED')} skipped` });
  }
  return files.length;
}

/** What a client said before it ended badly. */
function lastWords(file) {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20) : [];
}

function report() {
  let passed = 0;
  let failed = 0;
  let expected = 0;
  const met = new Set();
  for (const { side, revision, scenario, problems, counts } of rows) {
    const key = `${side} ${revision} ${scenario}`;
    const reason = EXPECTED[key];
    met.add(key);
    let verdict = problems.length === 0 ? 'pass' : 'FAIL';
    if (reason !== undefined) verdict = problems.length === 0 ? 'STALE' : 'expected';
    if (verdict === 'pass') passed++;
    else if (verdict === 'expected') expected++;
    else failed++;
    console.log(`${verdict.padEnd(8)} ${side} ${revision} ${scenario.padEnd(52)} ${counts}`);
    if (verdict === 'expected') console.log(`           ${reason}`);
    else for (const problem of problems) console.log(`           ${problem}`);
  }
  const complete = onlySide === undefined && onlyRevision === undefined;
  for (const key of Object.keys(EXPECTED)) {
    if (complete && !met.has(key)) {
      failed++;
      console.log(`STALE    ${key} did not run`);
    }
  }
  console.log(`\nscenarios: ${passed} passed, ${failed} failed, ${expected} expected to fail`);
  console.log(`${passed + expected} passed, ${failed} failed`);
  process.exitCode = failed === 0 && rows.length > 0 ? 0 : 1;
}
