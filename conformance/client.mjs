// The client under test: plays one scenario of the suite, named by the environment, on Parley's public API alone.
// Exits 0 when the scenario went as it should, 1 otherwise; tells its exit code to the gate.
import { deepStrictEqual, strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { connect } from '../dist/client/index.js';
import { eitherTransport } from '../dist/transport/index.js';

const {
  MCP_CONFORMANCE_SCENARIO: scenario = '',
  MCP_CONFORMANCE_PROTOCOL_VERSION: revision = '',
  MCP_CONFORMANCE_CONTEXT,
} = process.env;
const { CONF_EXIT_LOG: exitLog } = process.env;
const url = process.argv.at(-1);
const context = MCP_CONFORMANCE_CONTEXT === undefined ? {} : JSON.parse(MCP_CONFORMANCE_CONTEXT);

// Only the revision under test, as an application would set it that must speak exactly one.
const options = {
  client: { name: 'parley-conformance', version: '1.0.0' },
  revisions: [revision],
  inputs: {
    elicitForm: async ({ requestedSchema }) => ({
      action: 'accept',
      content: 'confirmed' in requestedSchema.properties ? { confirmed: true } : {},
    }),
    sample: async () => ({ role: 'assistant', content: { type: 'text', text: 'Hello.' }, model: 'none' }),
    listRoots: async () => ({ roots: [] }),
  },
};

async function withSession(act) {
  const session = await connect(eitherTransport({ url }), options);
  try {
    await act(session);
  } finally {
    await session.close();
  }
}

/** Loads the first skill, each file only once it is wanted and only as its entry says it is (SEP-2640). */
async function loadSkill(session) {
  const { skills } = await session.request('skills/list');
  const [{ uri, frontmatter, resources }] = skills;
  const text = await readVerified(session, resources, uri);
  const [, head = ''] = /^---\n(.*?)\n---\n/s.exec(text) ?? [];
  const found = Object.fromEntries(head.split('\n').map((line) => line.split(/:\s*(.*)/s, 2)));
  deepStrictEqual(found, frontmatter, 'The front matter is not what the entry says.');
  for (const file of resources) if (file.uri !== uri) await readVerified(session, resources, file.uri);
}

async function readVerified(session, resources, uri) {
  const { digest, size } = resources.find((file) => file.uri === uri);
  const { contents } = await session.readResource(uri);
  const bytes = Buffer.from(contents[0].text);
  strictEqual(bytes.length, size, `${uri} does not have the size that its entry says.`);
  strictEqual(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, digest, `${uri} is not what its entry says.`);
  return contents[0].text;
}

const scenarios = {
  initialize: (session) => session.listTools(),
  async tools_call(session) {
    await session.listTools();
    await session.callTool('add_numbers', { a: 5, b: 3 });
  },
  'elicitation-sep1034-client-defaults': (session) => session.callTool('test_client_elicitation_defaults', {}),
  async 'sse-retry'(session) {
    await session.listTools();
    await session.callTool('test_reconnection', {});
  },
  'request-metadata': (session) => session.listTools(),
  async 'json-schema-2020-12-preservation'(session) {
    const { items } = await session.listTools();
    const { inputSchema: schema } = items.find(({ name }) => name === 'json_schema_2020_12_tool');
    await session.callTool('json_schema_echo', { schema });
  },
  'json-schema-ref-no-deref': (session) => session.listTools(),
  async 'sep-2322-client-request-state'(session) {
    await session.listTools();
    for (const name of ['test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated', 'test_mrtr_no_result_type']) {
      await session.callTool(name, {});
    }
  },
  async 'http-standard-headers'(session) {
    const { items } = await session.listTools();
    for (const { name } of items) await session.callTool(name, {});
    await session.listResources();
    await session.readResource('file:///path/to/file%20name.txt');
    await session.listPrompts();
    await session.getPrompt('test_prompt');
  },
  async 'http-custom-headers'(session) {
    await session.listTools();
    for (const { name, arguments: args } of context.toolCalls) await session.callTool(name, args);
  },
  'sep-2640-client-no-prefetch': (session) => session.request('skills/list'),
  'sep-2640-client-verify-digest': loadSkill,
  'sep-2640-client-verify-size': loadSkill,
  'sep-2640-client-verify-frontmatter': loadSkill,
  async 'http-invalid-tool-headers'(session) {
    const { items } = await session.listTools();
    for (const { name } of items) await session.callTool(name, { region: 'us-west1' });
  },
};

process.on('exit', (code) => {
  if (exitLog !== undefined) appendFileSync(exitLog, `${scenario} ${code}\n`);
});
// The suite does not end a client that hangs.
setTimeout(() => process.exit(1), 100_000).unref();

try {
  if (scenario.startsWith('auth/')) {
    const { runAuthScenario } = await import('./client-auth.mjs');
    await runAuthScenario(scenario, url, context, revision);
  } else if (Object.hasOwn(scenarios, scenario)) await withSession(scenarios[scenario]);
  else throw new Error(`There is no scenario "${scenario}" here.`);
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
