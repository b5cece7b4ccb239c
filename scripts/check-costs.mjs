// Fails when a main path costs more than it did: counts what does not depend on the clock or on how busy the machine is (promises,
// timers, writes and sockets a call, files that are loaded and their size) and compares it with the figures below. Speed itself is what `bench/`
// measures.
import { execFileSync } from 'node:child_process';
import { createHook } from 'node:async_hooks';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail } from './page.mjs';

const { connect } = await import('../dist/client/index.js');
const { loadConfig, openHost } = await import('../dist/host/index.js');
const { createServer } = await import('../dist/server/index.js');
const { httpTransport, memoryTransport, stdioTransport } = await import('../dist/transport/index.js');
const { startPlainHttp } = await import('../bench/plain.mjs');

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PLAIN = at('../bench/server.mjs');

/** What each path costs. One that costs more by a tenth fails; one that costs less by as much is to be stored anew. */
const FIGURES = {
  'stdio, a call: promises': 10,
  'stdio, a call: timers': 0,
  'stdio, 64 calls at once: writes': 5,
  'HTTP, a call: promises': 16,
  'HTTP, a call: connections': 0,
  'HTTP, 64 calls at once: connections': 0,
  'host over stdio, a call: promises': 14,
  'client and server in one process, a call: promises': 23,
  'parley/client: files': 56,
  'parley --version: files': 4,
  'parley --version: KiB': 733,
  'parley call: files': 14,
  'parley call: KiB': 1_206,
};

const TOLERANCE = 0.1;
const CALLS = 100;
const found = {};

const stdio = await connect(stdioTransport({ command: process.execPath, args: [PLAIN] }));
const echo = (session) => session.callTool('echo', { text: 'hello' });
{
  const { PROMISE = 0, Timeout = 0 } = await countEach(() => echo(stdio), CALLS);
  found['stdio, a call: promises'] = PROMISE;
  found['stdio, a call: timers'] = Timeout;
  const together = () => Promise.all(Array.from({ length: 64 }, () => echo(stdio)));
  found['stdio, 64 calls at once: writes'] = await countWrites(together);
}
await stdio.close();

const plain = await startPlainHttp();
const http = await connect(httpTransport({ url: `http://127.0.0.1:${plain.port}/mcp` }));
{
  const { PROMISE = 0, TCPCONNECTWRAP = 0 } = await countEach(() => echo(http), CALLS);
  found['HTTP, a call: promises'] = PROMISE;
  found['HTTP, a call: connections'] = TCPCONNECTWRAP;
  const together = () => Promise.all(Array.from({ length: 64 }, () => echo(http)));
  await together();
  found['HTTP, 64 calls at once: connections'] = (await countEach(together, 10)).TCPCONNECTWRAP ?? 0;
}
await http.close();
plain.close();

{
  const nowhere = { cwd: at('../nowhere'), home: at('../nowhere'), env: {} };
  const mcpServers = { plain: { command: process.execPath, args: [PLAIN] } };
  const { config } = loadConfig({ ...nowhere, extra: { mcpServers, permissions: { allow: ['plain/*'] } } });
  const host = openHost({ config, surroundings: { ...nowhere, workspaceFolder: nowhere.cwd }, mayLaunch: () => true });
  await host.settled();
  found['host over stdio, a call: promises'] = (await countEach(() => host.call('plain/echo', { text: 'hello' }), CALLS)).PROMISE;
  await host.close();
}

const server = createServer({ name: 'echo', version: '1.0.0' });
server.tool({ name: 'echo', input: { type: 'object' } }, ({ text }) => text);
const near = await connect(memoryTransport((channel) => server.accept(channel)));
found['client and server in one process, a call: promises'] = (await countEach(() => echo(near), CALLS)).PROMISE ?? 0;
await near.close();
await server.close();

found['parley/client: files'] = loaded(['--input-type=module', '--eval', "await import('parley/client')"]).files;
const version = loaded([at('../dist/cli/bin.js'), '--version']);
const call = inNewHome((home) => {
  const config = join(home, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { plain: { command: process.execPath, args: [PLAIN] } } }));
  return loaded([at('../dist/cli/bin.js'), '--config', config, '--allow', 'plain/*', 'call', 'plain/echo', 'text=hello'], {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_STATE_HOME: home,
  });
});
for (const [name, { files, kib }] of Object.entries({ 'parley --version': version, 'parley call': call })) {
  found[`${name}: files`] = files;
  found[`${name}: KiB`] = kib;
}

for (const [what, figure] of Object.entries(FIGURES)) {
  const cost = found[what];
  const isLess = cost < figure * (1 - TOLERANCE);
  console.log(`${what}: ${cost}${isLess ? `, less than ${figure}: store the new figure, so that it stays so` : ''}`);
  if (cost > figure * (1 + TOLERANCE))
    fail(`${what} costs ${cost}; it did cost ${figure}. Find out why, or store the new figure here.`);
}
// Sessions are closed; what Node keeps of idle sockets need not be waited for.
process.exit();

/** Resources of each kind that Node makes in one of `times` runs of `act`, as a mean without fractions. */
async function countEach(act, times) {
  await act();
  const counts = {};
  const hook = createHook({ init: (_id, type) => void (counts[type] = (counts[type] ?? 0) + 1) });
  hook.enable();
  for (let run = 0; run < times; run++) await act();
  hook.disable();
  return Object.fromEntries(Object.entries(counts).map(([type, count]) => [type, Math.round(count / times)]));
}

/** How often `act` writes to a pipe or socket. */
async function countWrites(act) {
  const { Socket } = createRequire(import.meta.url)('node:net');
  const { _write: write, _writev: writev } = Socket.prototype;
  let writes = 0;
  Socket.prototype._write = function (...args) {
    writes++;
    return write.apply(this, args);
  };
  Socket.prototype._writev = function (...args) {
    writes++;
    return writev.apply(this, args);
  };
  await act();
  Object.assign(Socket.prototype, { _write: write, _writev: writev });
  return writes;
}

/** How many files Node loads as modules when it runs with `args`, and how large they are together. */
function loaded(args, env = process.env) {
  return inNewHome((directory) => {
    const log = join(directory, 'loaded');
    const hooks = `import { appendFileSync } from 'node:fs';
      export async function load(url, context, next) {
        if (url.startsWith('file:')) appendFileSync(${JSON.stringify(log)}, url + '\\n');
        return next(url, context);
      }`;
    const register = `import { appendFileSync } from 'node:fs';
      import { createRequire, register } from 'node:module';
      import { pathToFileURL } from 'node:url';
      register(${JSON.stringify(asUrl(hooks))});
      const { cache } = createRequire(process.execPath);
      process.on('exit', () => {
        for (const path of Object.keys(cache)) appendFileSync(${JSON.stringify(log)}, pathToFileURL(path) + '\\n');
      });`;
    execFileSync(process.execPath, ['--import', asUrl(register), ...args], {
      cwd: at('..'),
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const urls = new Set(readFileSync(log, 'utf8').trim().split('\n'));
    const bytes = [...urls].filter((url) => url.endsWith('js')).reduce((sum, url) => sum + statSync(fileURLToPath(url)).size, 0);
    return { files: urls.size, kib: Math.round(bytes / 1_024) };
  });
}

function asUrl(source) {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

function inNewHome(act) {
  const directory = mkdtempSync(join(tmpdir(), 'parley-costs-'));
  try {
    return act(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
