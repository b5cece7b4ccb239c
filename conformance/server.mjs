// The server under test: everything the suite's scenarios ask for, on Parley's public API alone.
// Prints its URL on the first line and serves until its input ends.
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, createServer, inputRequired, serveHttp, ToolError } from '../dist/server/index.js';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const text = (value) => ({ type: 'text', text: value });
const pause = (ms, signal) => sleep(ms, undefined, { signal });
const form = (message, properties, required = Object.keys(properties)) => ({
  message,
  requestedSchema: { type: 'object', properties, required },
});
const answer = (context, key, fits) => {
  const response = context.inputResponses[key];
  return response?.action === 'accept' && fits(response.content ?? {}) ? response.content : undefined;
};

const server = createServer({
  name: 'parley-conformance',
  version: '1.0.0',
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  },
});

// Content of every kind.
server.tool({ name: 'test_simple_text', description: 'Returns text.' }, () => 'This is a simple text response for testing.');
server.tool({ name: 'test_image_content', description: 'Returns an image.' }, () => [
  { type: 'image', data: PNG, mimeType: 'image/png' },
]);
server.tool({ name: 'test_audio_content', description: 'Returns audio.' }, () => [
  { type: 'audio', data: WAV, mimeType: 'audio/wav' },
]);
server.tool({ name: 'test_embedded_resource', description: 'Returns a resource.' }, () => [
  {
    type: 'resource',
    resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource.' },
  },
]);
server.tool({ name: 'test_multiple_content_types', description: 'Returns several kinds of content.' }, () => [
  text('Multiple content types:'),
  { type: 'image', data: PNG, mimeType: 'image/png' },
  { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data"}' } },
]);
server.tool({ name: 'test_error_handling', description: 'Always fails.' }, () => {
  throw new ToolError('This tool intentionally returns an error for testing.');
});

// Progress, logging, and coming back for an answer.
server.tool({ name: 'test_tool_with_progress', description: 'Reports progress.' }, async (_args, context) => {
  for (const progress of [0, 50, 100]) {
    context.progress(progress, 100, `Step ${progress}`);
    await pause(20);
  }
  return 'Done.';
});
server.tool({ name: 'test_tool_with_logging', description: 'Logs while it works.' }, async (_args, context) => {
  for (const step of ['started', 'processing', 'completed']) {
    context.log('info', `Tool execution ${step}`);
    await pause(20);
  }
  return 'Logged.';
});
server.tool({ name: 'test_logging_tool', description: 'Logs once.' }, (_args, context) => {
  context.log('info', 'A log message');
  return 'Logged.';
});
server.tool({ name: 'test_reconnection', description: 'Lets the client come back for the answer.' }, async (_args, context) => {
  context.detach(100);
  await pause(200);
  return 'Reconnection test completed.';
});

// Asking the client, in either era.
server.tool(
  {
    name: 'test_sampling',
    description: 'Asks the client’s model.',
    input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  },
  async ({ prompt }, context) => {
    const { content } = await context.sample({ messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 });
    return `LLM response: ${JSON.stringify(content)}`;
  },
);
server.tool(
  {
    name: 'test_elicitation',
    description: 'Asks the user.',
    input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  },
  async ({ message }, context) => {
    const wanted = form(message, { username: { type: 'string' }, email: { type: 'string' } });
    return `User response: ${JSON.stringify(await context.elicit(wanted))}`;
  },
);
server.tool({ name: 'test_elicitation_sep1034_defaults', description: 'Asks with defaults.' }, async (_args, context) => {
  const fields = {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  };
  return `Elicitation completed: ${JSON.stringify(await context.elicit(form('Please review', fields, [])))}`;
});
server.tool({ name: 'test_elicitation_sep1330_enums', description: 'Asks with choices.' }, async (_args, context) => {
  const titled = ['1', '2', '3'].map((number) => ({ const: `value${number}`, title: `Option ${number}` }));
  const values = titled.map((choice) => choice.const);
  const fields = {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: values, enumNames: titled.map((choice) => choice.title) },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  };
  return `Elicitation completed: ${JSON.stringify(await context.elicit(form('Please choose', fields, [])))}`;
});
server.tool({ name: 'test_missing_capability', description: 'Needs sampling.' }, async (_args, context) => {
  await context.sample({ messages: [{ role: 'user', content: text('Hello') }], maxTokens: 10 });
  return 'Sampled.';
});
server.tool({ name: 'test_streaming_elicitation', description: 'Asks at once.' }, async (_args, context) => {
  await context.elicit(form('Your name?', { name: { type: 'string' } }));
  return 'Asked.';
});

// Changes.
for (const [kind, add] of [
  ['tool', () => server.tool({ name: 'test_added', description: 'Comes and goes.' }, () => 'Here.')],
  ['prompt', () => server.prompt({ name: 'test_added', description: 'Comes and goes.' }, () => 'Here.')],
]) {
  let added;
  server.tool({ name: `test_trigger_${kind}_change`, description: `Changes the list of ${kind}s.` }, () => {
    if (added?.remove() !== true) added = add();
    return 'Changed.';
  });
}

// Rounds of input (2026-07-28).
const rounds = (name, description, handler) => server.tool({ name: `test_input_required_result_${name}`, description }, handler);
const askName = { method: 'elicitation/create', params: form('What is your name?', { name: { type: 'string' } }) };
const askModel = (prompt) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 },
});
const askRoots = { method: 'roots/list', params: {} };
const named = (context) => answer(context, 'user_name', ({ name }) => typeof name === 'string');

rounds('elicitation', 'Asks for a name.', (_args, context) => {
  const content = named(context);
  return content === undefined ? inputRequired({ inputRequests: { user_name: askName } }) : `Hello, ${content.name}!`;
});
rounds('sampling', 'Asks the model.', (_args, context) => {
  const { capital_question: response } = context.inputResponses;
  return response === undefined
    ? inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?') } })
    : `The model said: ${JSON.stringify(response.content)}`;
});
rounds('list_roots', 'Asks for the roots.', (_args, context) => {
  const { client_roots: response } = context.inputResponses;
  return response === undefined
    ? inputRequired({ inputRequests: { client_roots: askRoots } })
    : `Roots: ${JSON.stringify(response.roots)}`;
});
const askConfirm = { method: 'elicitation/create', params: form('Please confirm', { ok: { type: 'boolean' } }) };
rounds('request_state', 'Keeps a state.', (_args, context) => {
  if (context.requestState !== undefined && context.unseal(context.requestState) === 'first' && context.inputResponses.confirm)
    return 'state-ok';
  return inputRequired({ inputRequests: { confirm: askConfirm }, requestState: context.seal('first') });
});
rounds('multiple_inputs', 'Asks for three things.', (_args, context) => {
  const { greeting, client_roots: roots } = context.inputResponses;
  if (context.requestState !== undefined) context.unseal(context.requestState);
  if (named(context) !== undefined && greeting !== undefined && roots !== undefined) return 'All inputs received.';
  return inputRequired({
    inputRequests: { user_name: askName, greeting: askModel('Write a greeting'), client_roots: askRoots },
    requestState: context.seal('all'),
  });
});
rounds('multi_round', 'Asks twice.', (_args, context) => {
  const state = context.requestState === undefined ? undefined : context.unseal(context.requestState);
  const name = state?.name ?? answer(context, 'step1', (content) => typeof content.name === 'string')?.name;
  if (name === undefined) {
    return inputRequired({ inputRequests: { step1: askName }, requestState: context.seal({ round: 1 }) });
  }
  const color = answer(context, 'step2', (content) => typeof content.color === 'string')?.color;
  if (color !== undefined) return `${name} likes ${color}.`;
  const step2 = { method: 'elicitation/create', params: form('Favourite colour?', { color: { type: 'string' } }) };
  return inputRequired({ inputRequests: { step2 }, requestState: context.seal({ round: 2, name }) });
});
rounds('tampered_state', 'Refuses a state it did not make.', (_args, context) => {
  if (context.requestState !== undefined && context.unseal(context.requestState) === 'genuine') return 'The state was genuine.';
  return inputRequired({ inputRequests: { confirm: askConfirm }, requestState: context.seal('genuine') });
});
rounds('capabilities', 'Asks only what the client can answer.', (_args, context) => {
  const { elicitation, sampling, roots } = context.request.capabilities;
  if (Object.keys(context.inputResponses).length > 0) return 'Thank you.';
  return inputRequired({
    inputRequests: {
      ...(elicitation && { user_name: askName }),
      ...(sampling && { greeting: askModel('Write a greeting') }),
      ...(roots && { client_roots: askRoots }),
    },
    requestState: context.seal('capabilities'),
  });
});

// Tasks (SEP-2663).
const filename = { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] };
server.tool(
  {
    name: 'greet',
    description: 'Greets at once.',
    input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  ({ name }) => `Hello, ${name}!`,
);
server.tool(
  {
    name: 'slow_compute',
    description: 'Takes its time.',
    input: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } }, required: ['seconds'] },
    task: 'optional',
  },
  async ({ seconds, label }, { signal }) => {
    await pause(seconds * 1_000, signal);
    return `Computed ${label}.`;
  },
);
server.tool({ name: 'failing_job', description: 'Fails after a while.', task: 'required' }, async (_args, { signal }) => {
  await pause(1_000, signal);
  throw new ToolError('The job failed.');
});
server.tool({ name: 'protocol_error_job', description: 'Breaks.', task: 'required' }, () => {
  throw new Error('The job broke.');
});
server.tool(
  { name: 'confirm_delete', description: 'Asks before it deletes.', input: filename, task: 'optional' },
  async ({ filename }, context) => {
    const { action, content } = await context.elicit(form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }));
    return action === 'accept' && content.confirm ? `Deleted ${filename}.` : `Kept ${filename}.`;
  },
);
server.tool({ name: 'multi_input', description: 'Asks two things at once.', task: 'optional' }, async (_args, context) => {
  const { first, second } = await context.inputs({
    first: ask.elicit(form('First name?', { name: { type: 'string' } })),
    second: ask.elicit(form('Second name?', { name: { type: 'string' } })),
  });
  return `${first.content?.name} and ${second.content?.name}`;
});
server.tool({ name: 'test_tool_with_task', description: 'Asks, then works.', task: 'required' }, async (_args, context) => {
  const content = named(context);
  if (content === undefined) return inputRequired({ inputRequests: { user_name: askName } });
  await pause(200, context.signal);
  return `Hello, ${content.name}!`;
});

// Schemas.
server.tool(
  {
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema that uses much of JSON Schema 2020-12.',
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  },
  (args) => `JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`,
);
server.tool(
  {
    name: 'test_x_mcp_header',
    description: 'Has an argument that travels in a header.',
    input: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }, required: ['region'] },
  },
  ({ region }) => `Region: ${region}`,
);

// Resources.
server.resource(
  { uri: 'test://static-text', name: 'Static text', description: 'A text.', mimeType: 'text/plain' },
  () => 'This is the content of the static text resource.',
);
server.resource({ uri: 'test://static-binary', name: 'Static binary', description: 'An image.', mimeType: 'image/png' }, () =>
  Buffer.from(PNG, 'base64'),
);
server.resource(
  { uri: 'test://watched-resource', name: 'Watched', description: 'Can be followed.', mimeType: 'text/plain' },
  () => 'Watched.',
);
server.template(
  { uriTemplate: 'test://template/{id}/data', name: 'Template', description: 'One for each id.', mimeType: 'application/json' },
  ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
);

// Prompts.
server.prompt({ name: 'test_simple_prompt', description: 'A simple prompt.' }, () => 'This is a simple prompt for testing.');
server.prompt(
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments.',
    arguments: [
      { name: 'arg1', description: 'First', required: true },
      { name: 'arg2', description: 'Second', required: true },
    ],
    complete: { arg1: (value) => ['paris', 'parliament', 'party'].filter((each) => each.startsWith(value)) },
  },
  ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
);
server.prompt(
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt that holds a resource.',
    arguments: [{ name: 'resourceUri', description: 'Which one', required: true }],
  },
  ({ resourceUri }) => [
    {
      role: 'user',
      content: { type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded content.' } },
    },
    { role: 'user', content: text('Please process the resource above.') },
  ],
);
server.prompt({ name: 'test_prompt_with_image', description: 'A prompt that holds an image.' }, () => [
  { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
  { role: 'user', content: text('Please describe the image above.') },
]);
server.prompt({ name: 'test_input_required_result_prompt', description: 'A prompt that asks first.' }, (_args, context) => {
  const content = answer(context, 'user_context', () => true);
  const asked = { method: 'elicitation/create', params: form('What is it about?', { context: { type: 'string' } }) };
  return content === undefined ? inputRequired({ inputRequests: { user_context: asked } }) : `About: ${JSON.stringify(content)}`;
});

const { url, close } = await serveHttp(server, { port: 0 });
console.log(url);
process.stdin.resume().on('end', () => void close());
