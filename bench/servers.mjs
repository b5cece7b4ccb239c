// The servers that are measured, each with one tool that echoes: as each one's documentation shows it.
//   node servers.mjs <name> stdio|http     over HTTP it prints its port
import http from 'node:http';

const [, , name, way] = process.argv;
const INFO = { name: 'echo', version: '1.0.0' };
const ECHO = { name: 'echo', description: 'Says it again.' };
const text = (said) => ({ content: [{ type: 'text', text: said }] });

const SERVERS = {
  // JSON-RPC and nothing else: a message parsed, an answer written, no check of either.
  bare() {
    const answer = (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return undefined;
      if (method !== 'tools/call') return JSON.stringify({ jsonrpc: '2.0', id, result: {} });
      return JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...text(params.arguments.text) } });
    };
    if (way === 'http') {
      return listen((request, response) => {
        const chunks = [];
        request.on('data', (chunk) => chunks.push(chunk));
        request.on('end', () => {
          const reply = answer(Buffer.concat(chunks).toString());
          if (reply === undefined) return void response.writeHead(202).end();
          response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(reply) });
          response.end(reply);
        });
      });
    }
    let held = '';
    process.stdin.setEncoding('utf8').on('data', (chunk) => {
      const lines = (held + chunk).split('\n');
      held = lines.pop();
      for (const line of lines) {
        const reply = answer(line);
        if (reply !== undefined) process.stdout.write(`${reply}\n`);
      }
    });
  },

  async parley() {
    const { createServer, serveHttp, serveStdio } = await import('../dist/server/index.js');
    const server = createServer(INFO);
    const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
    server.tool({ ...ECHO, input }, ({ text: said }) => said);
    if (way === 'stdio') await serveStdio(server);
    else console.log((await serveHttp(server)).port);
  },

  async 'official 2'() {
    const { createMcpHandler, McpServer } = await import('@modelcontextprotocol/server');
    const { z } = await import('zod');
    const build = () => {
      const server = new McpServer(INFO);
      server.registerTool('echo', { ...ECHO, inputSchema: z.object({ text: z.string() }) }, ({ text: said }) => text(said));
      return server;
    };
    if (way === 'stdio') return void (await import('@modelcontextprotocol/server/stdio')).serveStdio(build);
    const handler = createMcpHandler(build);
    listen(await fetchListener((request) => handler.fetch(request)));
  },

  async 'official 1'() {
    const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
    const { z } = await import('zod');
    const build = () => {
      const server = new McpServer(INFO);
      server.registerTool('echo', { ...ECHO, inputSchema: { text: z.string() } }, ({ text: said }) => text(said));
      return server;
    };
    if (way === 'stdio') {
      const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
      return build().connect(new StdioServerTransport());
    }
    const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
    const sessions = new Map();
    listen(async (request, response) => {
      let transport = sessions.get(request.headers['mcp-session-id']);
      if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => String(sessions.size + 1),
          onsessioninitialized: (id) => void sessions.set(id, transport),
        });
        await build().connect(transport);
      }
      await transport.handleRequest(request, response);
    });
  },

  async tmcp() {
    const { McpServer } = await import('tmcp');
    const { ZodJsonSchemaAdapter } = await import('@tmcp/adapter-zod');
    const { z } = await import('zod');
    const server = new McpServer(INFO, { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } });
    server.tool({ ...ECHO, schema: z.object({ text: z.string() }) }, ({ text: said }) => text(said));
    if (way === 'stdio') return new (await import('@tmcp/transport-stdio')).StdioTransport(server).listen();
    const transport = new (await import('@tmcp/transport-http')).HttpTransport(server);
    listen(await fetchListener((request) => transport.respond(request)));
  },
};

/** A server that takes web Requests, behind the fastest bridge there is. */
async function fetchListener(answer) {
  const { getRequestListener } = await import('@hono/node-server');
  return getRequestListener(answer);
}

function listen(handle) {
  const server = http.createServer(handle);
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

if (way === 'http') process.stdin.resume().on('end', () => process.exit());
await SERVERS[name]();
