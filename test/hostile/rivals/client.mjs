// One client of several behind one face, in a process of its own: connects, takes the steps it is given, and prints what came of
// each as a line of JSON. `node client.mjs parley|client|sdk '{"way": …, "steps": […]}'`.
const [implementation, plan] = [process.argv[2], JSON.parse(process.argv[3])];
/** The same for all, in milliseconds: without an answer, and in all. */
const TIMES = { idleMs: 8_000, allMs: 10_000 };
const INFO = { name: 'rival', version: '1' };

/** Each: connect, list, call, close; everything else as its documentation says by default. */
const clients = {
  async parley({ kind, url, command, args, env }) {
    const { connect } = await import('../../../dist/client/index.js');
    const { httpTransport, stdioTransport } = await import('../../../dist/transport/index.js');
    const transport = kind === 'stdio' ? stdioTransport({ command, args, env }) : httpTransport({ url });
    const session = await connect(transport, { connectTimeoutMs: TIMES.allMs, callTimeoutMs: TIMES.idleMs });
    return {
      list: async () => (await session.listTools()).items,
      call: (name, given, onProgress) =>
        session.callTool(name, given, { timeoutMs: TIMES.idleMs, maxMs: TIMES.allMs, ...(onProgress && { onProgress }) }),
      close: () => session.close(),
    };
  },

  async client({ kind, url, command, args, env }) {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    const client = new Client(INFO, { capabilities: {}, versionNegotiation: { mode: 'auto' } });
    const transport =
      kind === 'stdio'
        ? new StdioClientTransport({ command, args, env, stderr: 'ignore' })
        : new StreamableHTTPClientTransport(new URL(url));
    await client.connect(transport, { timeout: TIMES.idleMs });
    return {
      list: async () => (await client.listTools(undefined, { timeout: TIMES.idleMs })).tools,
      call: (name, given, onprogress) => client.callTool({ name, arguments: given }, options(onprogress)),
      close: () => client.close(),
    };
  },

  async sdk({ kind, url, command, args, env }) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(INFO, { capabilities: {} });
    const transport =
      kind === 'stdio'
        ? new StdioClientTransport({ command, args, env, stderr: 'ignore' })
        : new StreamableHTTPClientTransport(new URL(url));
    await client.connect(transport, { timeout: TIMES.idleMs });
    return {
      async list() {
        const tools = [];
        let cursor;
        do {
          const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: TIMES.idleMs });
          tools.push(...page.tools);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        return tools;
      },
      call: (name, given, onprogress) => client.callTool({ name, arguments: given }, undefined, options(onprogress)),
      close: () => client.close(),
    };
  },
};

function options(onprogress) {
  return {
    timeout: TIMES.idleMs,
    maxTotalTimeout: TIMES.allMs,
    ...(onprogress && { onprogress, resetTimeoutOnProgress: true }),
  };
}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function step(name, act) {
  try {
    say({ step: name, ok: true, ...(await act()) });
    return true;
  } catch (error) {
    const late = error?.code === 'timeout' || error?.code === -32001 || /time(d)?[ -]?out/i.test(String(error?.message));
    say({ step: name, ok: false, late, error: String(error?.code ?? error?.name) });
    return false;
  }
}

// A fault that nobody handles ends a process; the parent sees which step is missing.
let session;
if (await step('connect', async () => void (session = await clients[implementation](plan.way)))) {
  for (const { act, tool = 'work', given = {}, progress = false } of plan.steps) {
    await step(act, async () => {
      if (act === 'list') return { names: (await session.list()).map(({ name }) => name) };
      const heard = [];
      const result = await session.call(tool, given, progress ? (each) => heard.push(each.progress) : undefined);
      const text = result.content
        ?.map((block) => block.text ?? '')
        .join('')
        .slice(0, 100);
      return { text, heard: [...heard] };
    });
  }
  await step('close', () => session.close());
}
say({ step: 'end', peakMiB: Math.round(process.resourceUsage().maxRSS / 1_024) });
process.exit();
