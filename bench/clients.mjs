// One table of the clients that are measured: how each connects, calls a tool and lists all tools. A client is loaded when it is
// connected, so that no process carries another's code. `way` is { command, args } or { url }.
import { rawHttp, rawStdio, rawUndici } from './raw.mjs';

const INFO = { name: 'bench', version: '1.0.0' };

/** All pages of a client whose `list(cursor)` gives one. */
async function countPages(list) {
  let count = 0;
  for (let cursor; ;) {
    const page = await list(cursor);
    count += page.tools.length;
    cursor = page.nextCursor;
    if (cursor === undefined) return count;
  }
}

async function parley(way, options = {}) {
  const { connect } = await import('../dist/client/index.js');
  const transport =
    way.url === undefined
      ? (await import('../dist/transport/stdio/index.js')).stdioTransport(way)
      : (await import('../dist/transport/http/index.js')).httpTransport(way);
  const session = await connect(transport, options);
  return {
    call: (name, args) => session.callTool(name, args),
    listTools: async () => (await session.listTools({ cache: 'fresh' })).items.length,
    close: () => session.close(),
  };
}

async function officialTwo(way, mode) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  // By default it refuses more than 64 pages.
  const client = new Client(INFO, { versionNegotiation: { mode }, listMaxPages: 1_000 });
  if (way.url === undefined) {
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    await client.connect(new StdioClientTransport({ ...way, stderr: 'ignore' }));
  } else await client.connect(new StreamableHTTPClientTransport(new URL(way.url)));
  return {
    call: (name, args) => client.callTool({ name, arguments: args }),
    listTools: async () => (await client.listTools()).tools.length,
    close: () => client.close(),
  };
}

async function officialOne(way) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const client = new Client(INFO);
  if (way.url === undefined) {
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    await client.connect(new StdioClientTransport({ ...way, stderr: 'ignore' }));
  } else {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    await client.connect(new StreamableHTTPClientTransport(new URL(way.url)));
  }
  return {
    call: (name, args) => client.callTool({ name, arguments: args }),
    listTools: () => countPages((cursor) => client.listTools(cursor === undefined ? {} : { cursor })),
    close: () => client.close(),
  };
}

async function aiSdk(way) {
  const { createMCPClient } = await import('@ai-sdk/mcp');
  const transport =
    way.url === undefined
      ? new (await import('@ai-sdk/mcp/mcp-stdio')).Experimental_StdioMCPTransport({ ...way, stderr: 'ignore' })
      : { type: 'http', url: way.url };
  const client = await createMCPClient({ transport });
  // It has calls of tools only as the AI SDK's tools, made from a definition.
  const definition = (name) => ({ name, inputSchema: { type: 'object', properties: {} } });
  const tools = client.toolsFromDefinitions({ tools: [definition('echo'), definition('big')] });
  return {
    call: (name, args) => tools[name].execute(args, { toolCallId: '1', messages: [] }),
    listTools: () => countPages((cursor) => client.listTools(cursor === undefined ? {} : { params: { cursor } })),
    close: () => client.close(),
  };
}

async function mcpUse(way) {
  process.env.MCP_USE_ANONYMIZED_TELEMETRY = 'false';
  const { MCPClient } = await import('mcp-use/client');
  const client = new MCPClient({ mcpServers: { plain: way } });
  const session = await client.createSession('plain');
  return {
    call: (name, args) => session.callTool(name, args),
    listTools: async () => (await session.listTools()).length,
    close: () => client.closeAllSessions(),
  };
}

/** Contender → connect. `entry` is what its import costs are measured by. */
export const CLIENTS = {
  raw: { connect: async (way) => (way.url === undefined ? rawStdio(way) : rawHttp(way)) },
  'raw undici': { connect: rawUndici, entry: 'undici', only: 'http' },
  parley: { connect: parley, entry: '../dist/client/index.js' },
  'parley legacy': { connect: (way) => parley(way, { revisions: ['2025-11-25'] }) },
  'official 2': { connect: (way) => officialTwo(way, 'auto'), entry: '@modelcontextprotocol/client' },
  'official 2 legacy': { connect: (way) => officialTwo(way, 'legacy') },
  'official 1': { connect: officialOne, entry: '@modelcontextprotocol/sdk/client/index.js' },
  'ai-sdk': { connect: aiSdk, entry: '@ai-sdk/mcp' },
  'mcp-use': { connect: mcpUse, entry: 'mcp-use/client' },
};

/** The names of those that can take this way. */
export function clientsFor(kind) {
  return Object.keys(CLIENTS).filter((name) => (CLIENTS[name].only ?? kind) === kind);
}
