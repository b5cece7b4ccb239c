// Twenty servers under load for some minutes: twelve that are well, and eight that crash, stall, flood, flap, or give far too much.
//   npm run soak -- --minutes 10
// At the end it says what it cost: memory, handles, processes left behind, and how fast the healthy ones answered with the bad ones
// beside them and without. It fails when memory grows, something is left, or the healthy ones became slower than twice.
// With --quick there are eleven servers, and it fails on what went wrong alone, not on what took memory or time: any machine can tell.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadConfig, openHost } from '../dist/host/index.js';
import { openStore } from '../dist/store/index.js';
import { markedProcesses } from './marked.mjs';
import { fail } from './page.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seconds: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const soakMs = values.seconds === undefined ? 60_000 * Number(values.minutes) : 1_000 * Number(values.seconds);
const FAKE = 'test/hostile/fixtures/fake-stdio.mjs';
const MARK = 'PARLEY_SOAK';
const HEALTHY = values.quick ? 3 : 12;
const BAD = [
  'dies-on-call',
  'silent',
  'flood-notifications',
  'flaps',
  'long-line',
  'stderr-flood',
  'flood-logs',
  'endless-progress',
];
/** How long a bad one is left alone once it was lost; each start of it costs the machine more than us. */
const REST_MS = values.quick ? 500 : 5_000;
/** Growth of the heap between the first and the last quarter, beyond what a measurement is off by. */
const MOST_GROWTH = 16 * 1_048_576;
/** Below this many milliseconds a ratio says more about the machine than about the servers. */
const LEAST_P95_MS = 5;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const mark = randomUUID();
const directory = mkdtempSync(join(tmpdir(), 'parley-soak-'));
const launch = (mode) => ({ command: process.execPath, args: [FAKE, '--mode', mode], env: { [MARK]: mark } });
const named = (names, mode) => Object.fromEntries(names.map((name) => [name, launch(mode(name))]));
const healthy = Array.from({ length: HEALTHY }, (_, n) => `well-${n}`);

const handles = () => process.getActiveResourcesInfo().filter((kind) => /Wrap$|^Worker$/.test(kind)).length;
const processes = () => markedProcesses(`${MARK}=${mark}`).length;
const memory = () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const p95 = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
const mib = (bytes) => `${(bytes / 1_048_576).toFixed(1)} MiB`;

/** Keeps all servers of a host busy for a while; resolves with what the healthy ones took, and the memory on the way. */
async function load(mcpServers, forMs) {
  const { config } = loadConfig({
    cwd: directory,
    home: directory,
    env: {},
    extra: { mcpServers, permissions: { allow: ['*/*'] }, limits: { maxLineBytes: 65_536 }, connectTimeoutMs: 5_000 },
  });
  // What is written down of each call goes to a file, as it does for the command.
  const store = await openStore(join(directory, `${randomUUID()}.sqlite`), { auditKey: randomBytes(32) });
  const host = openHost({
    config,
    store,
    surroundings: { env: process.env, home: directory, workspaceFolder: directory },
    approver: { ask: async () => ({ type: 'allow', scope: 'once' }) },
  });
  await host.settled({ withinMs: 30_000 });
  const until = performance.now() + forMs;
  const times = [];
  const heaps = [];
  let failures = 0;
  const busy = async (name) => {
    const bad = !name.startsWith('well');
    while (performance.now() < until) {
      const startedAt = performance.now();
      const outcome = await host.call(`${name}/${bad ? 'work' : 'ping'}`, {}, { timeoutMs: bad ? 2_000 : 30_000 });
      if (!bad && outcome.type !== 'ok') failures++;
      if (!bad) times.push(performance.now() - startedAt);
      // A bad one is brought back again and again, also when it was given up.
      if (bad && outcome.type !== 'ok') await Promise.all([sleep(REST_MS), host.restart(name).catch(() => {})]);
      await sleep(bad ? 50 : 20);
    }
  };
  const watch = async () => {
    while (performance.now() < until) {
      heaps.push(memory());
      await sleep(Math.min(5_000, forMs / 20));
    }
  };
  await Promise.all([...Object.keys(mcpServers).map(busy), watch()]);
  const unwell = host.servers.filter(
    ({ name, state }) => name.startsWith('well') && !(state.type === 'ready' && state.losses.length === 0),
  );
  await host.close();
  await store.close();
  return { times, heaps, failures, unwell: unwell.map(({ name }) => name) };
}

// Our own streams are handles too, from their first use on.
for (const stream of [process.stdout, process.stderr]) stream.write('');
const before = { handles: handles(), memory: memory() };
const alone = await load(
  named(healthy, () => 'healthy'),
  Math.min(soakMs / 4, 60_000),
);
const bad = Object.fromEntries(BAD.map((mode) => [`bad-${mode}`, launch(mode)]));
const together = await load({ ...named(healthy, () => 'healthy'), ...bad }, soakMs);
for (let waited = 0; waited < 15_000 && (processes() > 0 || handles() > before.handles); waited += 100) await sleep(100);
rmSync(directory, { recursive: true, force: true });

const quarter = Math.max(1, Math.floor(together.heaps.length / 4));
const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;
const growth = mean(together.heaps.slice(-quarter)) - mean(together.heaps.slice(quarter, 2 * quarter));
const [without, beside] = [p95(alone.times), p95(together.times)];
console.log(
  `${together.times.length} calls of ${HEALTHY} healthy servers beside ${BAD.length} bad ones in ${Math.round(soakMs / 1_000)} s.`,
);
console.log(`p95 of the healthy ones: ${without.toFixed(1)} ms without the bad ones, ${beside.toFixed(1)} ms beside them.`);
console.log(
  `Memory: ${mib(before.memory)} before, ${mib(Math.max(...together.heaps))} at most, ${mib(growth)} more at the end than in the second quarter, ${mib(memory())} after.`,
);
console.log(`Left: ${processes()} processes, ${handles() - before.handles} handles.`);
if (alone.failures + together.failures > 0) fail(`${alone.failures + together.failures} calls of healthy servers failed.`);
const unwell = [...new Set([...alone.unwell, ...together.unwell])];
if (unwell.length > 0) fail(`${unwell.join(', ')} did not live through it.`);
if (!values.quick && growth > MOST_GROWTH) fail(`Memory grew by ${mib(growth)}.`);
if (processes() > 0) fail('Processes were left behind.');
if (handles() > before.handles) fail('Handles were left behind.');
if (!values.quick && beside > 2 * Math.max(without, LEAST_P95_MS)) fail('The healthy servers became slower than twice.');
