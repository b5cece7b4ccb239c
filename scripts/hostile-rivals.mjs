// The same misbehaving servers before Parley and before other clients, each case in a process of its own with the same time-outs:
//   npm run hostile:rivals              prints a table; with --write it fills docs/rivals.md, with --only C4,D1 it plays some
// pass: it came to what it must. hang: it waited for a time-out, or for ever, where nothing more could come. fail: anything else.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { CASES } from '../test/hostile/rivals/cases.mjs';
import { markedProcesses } from './marked.mjs';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false }, only: { type: 'string' } } });
const version = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).version;
const CLIENTS = {
  parley: 'Parley',
  client: `@modelcontextprotocol/client ${version('@modelcontextprotocol/client')}`,
  sdk: `@modelcontextprotocol/sdk ${version('@modelcontextprotocol/sdk')}`,
};
const FAKE = 'test/hostile/fixtures/fake-stdio.mjs';
const MARK = 'PARLEY_RIVALS';
/** Longer than all time-outs of a case together. */
const KILL_MS = 45_000;
const kinds = new Map(JSON.parse(readFileSync('test/hostile/kinds.json', 'utf8')).map(({ id, what }) => [id, what]));
const wanted = values.only?.split(',');

/** A small server of the handshake era that leaves to `answer` what it wants. */
async function serve(answer, canary) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', id, params } = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
      if (answer({ method, tool: params?.name, id, response, canary }) === 'well')
        well({ http: request.method, method, id, response });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => (server.closeAllConnections(), server.close()) };
}

function well({ http, method, id, response }) {
  if (http !== 'POST') return response.writeHead(405).end();
  if (id === undefined) return response.writeHead(202).end();
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } },
    'tools/list': { tools: [{ name: 'work', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  const body = results[method]
    ? { jsonrpc: '2.0', id, result: results[method] }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
  response.writeHead(results[method] ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function play(client, { flags, answer, steps, expected, orphans, mostMiB, canary }) {
  const mark = randomUUID();
  let touched = false;
  const trap = await serve(() => ((touched = true), 'well'));
  const server = answer && (await serve(answer, trap.url));
  const way = server
    ? { kind: 'http', url: server.url }
    : { kind: 'stdio', command: process.execPath, args: [FAKE, ...flags], env: { ...process.env, [MARK]: mark } };
  const child = spawn(process.execPath, ['test/hostile/rivals/client.mjs', client, JSON.stringify({ way, steps })], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  await new Promise((resolve) => setTimeout(resolve, orphans === undefined ? 0 : 2_000));
  const left = markedProcesses(mark);
  for (const pid of left) process.kill(Number(pid), 'SIGKILL');
  server?.close();
  trap.close();

  const lines = said
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const end = lines.find(({ step }) => step === 'end');
  const results = lines.filter(({ step }) => step !== 'end' && step !== 'close');
  for (const [at, fits] of expected.entries()) {
    const line = results[at];
    if (line === undefined) return signal === 'SIGKILL' && code === null ? 'hang' : 'fail';
    if (!fits(line)) return line.late ? 'hang' : 'fail';
  }
  if (end === undefined) return 'hang';
  if (mostMiB !== undefined && end.peakMiB > mostMiB) return 'fail';
  if (orphans !== undefined && left.length > 0) return 'fail';
  return canary !== undefined && touched ? 'fail' : 'pass';
}

const rows = new Map();
const counts = Object.fromEntries(Object.keys(CLIENTS).map((client) => [client, { pass: 0, fail: 0, hang: 0 }]));
for (const each of CASES) {
  const way = each.answer ? 'HTTP' : 'pipes';
  if (wanted !== undefined && !wanted.includes(each.id)) continue;
  const row = rows.get(`${each.id} ${way}`) ?? { id: each.id, way, verdicts: {} };
  rows.set(`${each.id} ${way}`, row);
  for (const client of Object.keys(CLIENTS)) {
    const verdict = await play(client, each);
    counts[client][verdict]++;
    (row.verdicts[client] ??= []).push(verdict);
  }
  const shown = Object.keys(CLIENTS).map((client) => `${client} ${row.verdicts[client].at(-1)}`);
  console.log(`${each.id.padEnd(4)} ${way.padEnd(5)} ${(each.flags ?? []).slice(1).join(' ').padEnd(40)} ${shown.join('  ')}`);
}

/** All cases of a kind as one word, or each where they differ. */
const summary = (verdicts) => (new Set(verdicts).size === 1 ? verdicts[0] : verdicts.join(', '));
const table = [
  `| kind | what a peer does | over | ${Object.values(CLIENTS).join(' | ')} |`,
  `| --- | --- | --- | ${Object.values(CLIENTS)
    .map(() => '---')
    .join(' | ')} |`,
  ...[...rows.values()].map(
    ({ id, way, verdicts }) =>
      `| ${id} | ${kinds.get(id)} | ${way} | ${Object.keys(CLIENTS)
        .map((client) => summary(verdicts[client]))
        .join(' | ')} |`,
  ),
  `| | all ${Object.values(counts.parley).reduce((a, b) => a + b)} cases | | ${Object.keys(CLIENTS)
    .map((client) =>
      Object.entries(counts[client])
        .map(([verdict, count]) => `${count} ${verdict}`)
        .join(', '),
    )
    .join(' | ')} |`,
].join('\n');
console.log(`\n${table}`);
if (values.write) {
  const page = `# The same misbehaviour before three clients

What the kinds of [robustness.md](robustness.md) do to Parley and to the two official clients for TypeScript. Each case is a process
of its own with a fresh server; all three have the same time-outs (8 s without an answer, 10 s in all) and otherwise what their
documentation says. \`npm run hostile:rivals -- --write\` plays the cases again and fills this page.

- **pass**: it came to what it must: an answer where there is one, an error at once where there can be none, and the next call works.
- **hang**: it waited for a time-out, or for ever, where nothing more could come.
- **fail**: anything else: a lost session, a lost answer, memory beyond 400 MiB, a process or a request that should not be.

${table}
`;
  writeFileSync('docs/rivals.md', await format(page, { ...(await resolveConfig('docs/rivals.md')), parser: 'markdown' }));
}
if (counts.parley.fail + counts.parley.hang > 0) process.exitCode = 1;
