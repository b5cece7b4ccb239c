// Asks a server as fast as it can be asked, with prepared bytes and without reading what comes back beyond where it ends, so that
// the server is what is measured.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';

const TEXT = 'The quick brown fox jumps over the lazy dog.';
const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const CALL = 'tools/call';
const INFO = { name: 'hammer', version: '1.0.0' };
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
};

function echoParams(era) {
  return { name: 'echo', arguments: { text: TEXT }, ...(era === 'modern' && { _meta: META }) };
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: INFO },
};
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** Microseconds of processor time that the process has used. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Lets `run(isOver)` count answers for so many seconds, and says how many a second and what each cost the server. */
async function counted(pid, seconds, run) {
  const cpuBefore = cpuOf(pid);
  const start = performance.now();
  const count = await run(() => performance.now() - start >= seconds * 1_000);
  const elapsed = performance.now() - start;
  return { value: (count * 1_000) / elapsed, cpuUs: (cpuOf(pid) - cpuBefore) / count };
}

/** Keeps so many lines in flight with a server over its standard streams. */
export async function hammerStdio({ command, args }, era, inFlight) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const params = JSON.stringify(echoParams(era));
  let nextId = 1;
  const line = () => `{"jsonrpc":"2.0","id":${nextId++},"method":"${CALL}","params":${params}}\n`;
  let onLines = () => {};
  child.stdout.on('data', (chunk) => {
    let lines = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
    onLines(lines);
  });
  if (era === 'legacy') {
    const greeted = new Promise((resolve) => (onLines = resolve));
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    await greeted;
    child.stdin.write(`${JSON.stringify(INITIALIZED)}\n`);
  }
  return {
    round: (seconds) =>
      counted(child.pid, seconds, (isOver) => {
        let count = 0;
        let open = inFlight;
        return new Promise((resolve) => {
          onLines = (lines) => {
            count += lines;
            open -= lines;
            if (isOver()) return void (open === 0 && resolve(count));
            open += lines;
            child.stdin.write(Array.from({ length: lines }, line).join(''));
          };
          child.stdin.write(Array.from({ length: inFlight }, line).join(''));
        });
      }),
    close: () => child.stdin.end(),
  };
}

/** Keeps one request in flight on each of so many connections. */
export async function hammerHttp({ port, pid }, era, inFlight) {
  const session = era === 'legacy' ? await openSession(port) : undefined;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: CALL, params: echoParams(era) });
  // A session wants ids of its own for what is in flight at once.
  const requests = Array.from({ length: inFlight }, (_, index) => {
    const own = body.replace('"id":1', `"id":${1_000 + index}`);
    const headers = { ...HEADERS, ...(era === 'modern' ? MODERN_HEADERS : { 'MCP-Protocol-Version': LEGACY, ...session }) };
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers, 'Content-Length': Buffer.byteLength(own) });
    return Buffer.from(`POST /mcp HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${own}`);
  });
  return {
    // Opened for each round: a server closes what is idle while others have their turn.
    async round(seconds) {
      const sockets = await Promise.all(requests.map(() => openSocket(port)));
      const sample = await counted(pid, seconds, async (isOver) => {
        let count = 0;
        const loop = async (socket, request) => {
          while (!isOver()) {
            await socket.ask(request);
            count++;
          }
        };
        await Promise.all(sockets.map((socket, index) => loop(socket, requests[index])));
        return count;
      });
      for (const socket of sockets) socket.close();
      return sample;
    },
    close() {},
  };
}

const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const MODERN_HEADERS = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': CALL, 'Mcp-Name': 'echo' };

/** Shakes hands; resolves with the header that names the session, where the server gave one. */
async function openSession(port) {
  const post = (message, headers) =>
    new Promise((resolve, reject) => {
      const target = { port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: { ...HEADERS, ...headers } };
      const asked = http.request(target, (response) => response.resume().on('end', () => resolve(response.headers)));
      asked.on('error', reject).end(JSON.stringify(message));
    });
  const id = (await post(INITIALIZE))['mcp-session-id'];
  const session = id === undefined ? {} : { 'Mcp-Session-Id': id };
  await post(INITIALIZED, { 'MCP-Protocol-Version': LEGACY, ...session });
  return session;
}

async function openSocket(port) {
  const socket = net.connect({ port, host: '127.0.0.1' }).setNoDelay();
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  let held = '';
  let answered = () => {};
  let failed = () => {};
  socket.setEncoding('latin1').on('data', (chunk) => {
    held += chunk;
    if (!isWhole(held)) return;
    const refused = !held.startsWith('HTTP/1.1 200') || held.includes('"error"');
    const text = held;
    held = '';
    if (refused) failed(new Error(text.slice(0, 200)));
    else answered();
  });
  socket.on('close', () => failed(new Error('The server closed the connection.')));
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        answered = resolve;
        failed = reject;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** True when the text is a whole answer, by its length or by its last chunk. */
function isWhole(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(text.slice(0, end));
  return length === null ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length[1]);
}
