// The one server that every client is measured against: as plain and as fast as node:http and a pipe allow, checking nothing, of
// both eras. It must never be what a measurement waits for.
//   node server.mjs [tools]      speaks over its standard streams and offers that many tools (default 10)
//   node server.mjs http         prints its port; the URL says how it answers: /mcp?tools=1000&sse=1
import http from 'node:http';

const PAGE = 100;
const BIG = JSON.stringify('0123456789 abcdefghijklmnopqrstuvwxyz, once more. '.repeat(200_000));

/** The texts of the result objects of `tools/list`, a page each, made once for each number of tools. */
const lists = new Map();

function pagesOf(count) {
  if (!lists.has(count)) {
    const tools = Array.from({ length: count }, (_, index) => ({
      name: index === 0 ? 'echo' : `tool-${index}`,
      title: `The tool of number ${index}`,
      description: `Does with what it is given what a tool of number ${index} does, and says in a few words what came of it.`,
      inputSchema: {
        type: 'object',
        properties: {
          text: { type: 'string', description: 'What is said.' },
          times: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
          mode: { enum: ['plain', 'loud', 'soft'] },
        },
        required: ['text'],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    }));
    const pages = [];
    for (let start = 0; start < count; start += PAGE) {
      const last = start + PAGE >= count;
      const page = { tools: tools.slice(start, start + PAGE), ...(!last && { nextCursor: String(start + PAGE) }) };
      pages.push(JSON.stringify({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...page }));
    }
    lists.set(count, pages);
  }
  return lists.get(count);
}

const INFO = { name: 'plain', version: '1.0.0' };
const CAPABILITIES = { tools: {} };

/** The text of the answer to one message, or undefined for what gets none. */
function answer(text, tools) {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return undefined;
  const result = resultOf(method, params, tools);
  return result === undefined
    ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"Method not found"}}`
    : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

function resultOf(method, params, tools) {
  switch (method) {
    case 'tools/call': {
      const text = params.name === 'big' ? BIG : JSON.stringify(String(params.arguments?.text));
      return `{"resultType":"complete","content":[{"type":"text","text":${text}}]}`;
    }
    case 'tools/list':
      return pagesOf(tools)[Number(params?.cursor ?? 0) / PAGE];
    case 'server/discover':
      return JSON.stringify({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: CAPABILITIES,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
      });
    case 'initialize':
      return JSON.stringify({ protocolVersion: params.protocolVersion, capabilities: CAPABILITIES, serverInfo: INFO });
    case 'ping':
      return '{}';
    default:
      return undefined;
  }
}

function serveStdio(tools) {
  let held = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (held + chunk).split('\n');
    held = lines.pop();
    let out = '';
    for (const line of lines) {
      const reply = answer(line, tools);
      if (reply !== undefined) out += `${reply}\n`;
    }
    if (out !== '') process.stdout.write(out);
  });
}

function serveHttp() {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const query = new URLSearchParams(request.url.split('?')[1]);
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const reply = answer(body, Number(query.get('tools') ?? 10));
      if (reply === undefined) return void response.writeHead(202).end();
      if (query.has('sse')) {
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
        return void response.end(`event: message\ndata: ${reply}\n\n`);
      }
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(reply) });
      response.end(reply);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  // Whoever started it ends it by ending its input.
  process.stdin.resume().on('end', () => process.exit());
}

if (process.argv[2] === 'http') serveHttp();
else serveStdio(Number(process.argv[2] ?? 10));
