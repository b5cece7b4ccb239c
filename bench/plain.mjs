// Ways to the plain server: a process for each line over stdio, one process for everybody over HTTP.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('server.mjs', import.meta.url));

/** A way to a plain server of its own that offers so many tools; the client starts it. */
export function plainStdio(tools = 10) {
  return { way: { command: process.execPath, args: [SERVER, String(tools)] }, close() {} };
}

/** A way to the plain server over HTTP: the one that the run has started, or else one of this process. */
export async function plainHttp(query = '') {
  if (process.env.BENCH_PORT !== undefined) return { way: wayTo(process.env.BENCH_PORT, query), close() {} };
  const { port, close } = await startPlainHttp();
  return { way: wayTo(port, query), close };
}

export async function startPlainHttp() {
  return startServer(SERVER, ['http']);
}

/** Starts a server that prints its port and ends with its input. */
export async function startServer(script, args) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  return { pid: child.pid, port: String(line).trim(), close: () => child.stdin.end() };
}

function wayTo(port, query) {
  return { url: `http://127.0.0.1:${port}/mcp${query}` };
}
