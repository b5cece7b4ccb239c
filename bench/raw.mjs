// Clients that do nothing but the wire: a message out, a message in, a Map by id. No limits, no checks, no time-outs. What they
// reach is what the pipe, the socket and JSON cost, and the measure for all others.
import { spawn } from 'node:child_process';
import http from 'node:http';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** What both kinds share, on top of `request(method, params)`. */
function clientOver(request, close, facts = {}) {
  return {
    ...facts,
    call: (name, args) => request('tools/call', { name, arguments: args, _meta: META }),
    async listTools() {
      const tools = [];
      for (let cursor; ;) {
        const page = await request('tools/list', cursor === undefined ? { _meta: META } : { cursor, _meta: META });
        tools.push(...page.tools);
        cursor = page.nextCursor;
        if (cursor === undefined) return tools.length;
      }
    },
    discover: () => request('server/discover', { _meta: META }),
    close,
  };
}

/** Starts `command` and speaks lines of JSON with it. */
export function rawStdio({ command, args }) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map();
  let nextId = 1;
  let held = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      const { id, result } = JSON.parse(held + chunk.slice(start, end));
      held = '';
      start = end + 1;
      waiting.get(id)(result);
      waiting.delete(id);
    }
    held += chunk.slice(start);
  });
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  return clientOver(
    request,
    () => {
      child.stdin.end();
      return gone;
    },
    { pid: child.pid },
  );
}

function headersOf(method, params, body) {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(params.name !== undefined && { 'mcp-name': params.name }),
    'content-length': Buffer.byteLength(body),
  };
}

/** The result in a body that is JSON, or a stream with one event. */
function resultIn(text, type) {
  return JSON.parse(type === 'application/json' ? text : text.slice(text.indexOf('data: ') + 6)).result;
}

/** POSTs over node:http with sockets that are kept. */
export function rawHttp({ url }) {
  const agent = new http.Agent({ keepAlive: true });
  const { hostname, port, pathname, search } = new URL(url);
  let nextId = 1;
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params });
      const target = { agent, hostname, port, path: pathname + search, method: 'POST', headers: headersOf(method, params, body) };
      const asked = http.request(target, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve(resultIn(text, response.headers['content-type'])));
      });
      asked.on('error', reject);
      asked.end(body);
    });
  return clientOver(request, async () => agent.destroy());
}

/** POSTs over undici's `request`. */
export async function rawUndici({ url }) {
  const { Agent, request: send } = await import('undici');
  const dispatcher = new Agent();
  let nextId = 1;
  const request = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params });
    const answer = await send(url, { method: 'POST', headers: headersOf(method, params, body), body, dispatcher });
    return resultIn(await answer.body.text(), answer.headers['content-type']);
  };
  return clientOver(request, () => dispatcher.close());
}
