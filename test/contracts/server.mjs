// The server of the contract suite: a little of everything. `serve(server)` it in-process, or run this file for a server on
// standard streams.
import { createServer, serveStdio, ToolError } from '../../dist/server/index.js';

export function contractServer() {
  const server = createServer({ name: 'contract', version: '1.2.3', instructions: 'Be brief.', pageSize: 100 });
  const cancelled = [];
  let grown = 0;

  for (let index = 0; index < 1_000; index++) {
    server.tool({ name: `bulk_${index}`, description: `Number ${index}` }, () => String(index));
  }
  server.tool(
    { name: 'echo', input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
    ({ text }) => text,
  );
  server.tool({ name: 'fails' }, () => {
    throw new ToolError('It did not work.');
  });
  server.tool({ name: 'breaks' }, () => {
    throw new Error('secret detail');
  });
  server.tool(
    {
      name: 'structured',
      output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    },
    () => ({ sum: 3 }),
  );
  server.tool({ name: 'progress' }, (_args, context) => {
    for (const step of [1, 2, 3]) context.progress(step, 3, `step ${step}`);
    return 'done';
  });
  server.tool({ name: 'waits' }, async (_args, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    cancelled.push('waits');
    return 'nobody hears this';
  });
  server.tool({ name: 'cancelled' }, () => JSON.stringify(cancelled));
  server.tool({ name: 'asks' }, async (_args, context) => {
    const { action, content } = await context.elicit({
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    });
    const poem = await context.sample({ messages: [{ role: 'user', content: { type: 'text', text: 'A poem' } }], maxTokens: 50 });
    const roots = await context.listRoots();
    return JSON.stringify({ action, name: content?.name, poem: poem.content.text, roots: roots.map(({ uri }) => uri) });
  });
  server.tool({ name: 'logs' }, (_args, context) => {
    context.log('debug', 'a detail');
    context.log('warning', { careful: true }, 'contract');
    return 'logged';
  });
  server.tool({ name: 'grows' }, () => {
    server.tool({ name: `grown_${grown++}` }, () => 'new');
    return 'grown';
  });
  server.tool({ name: 'touches' }, () => {
    server.resourceUpdated('note://today');
    return 'touched';
  });

  server.resource({ uri: 'note://today', name: 'Today', mimeType: 'text/plain' }, () => 'Buy milk.');
  server.resource({ uri: 'note://picture', name: 'Picture', mimeType: 'image/png' }, () => new Uint8Array([1, 2, 3]));
  server.template(
    {
      uriTemplate: 'note://{day}/lines/{line}',
      name: 'A line',
      complete: { day: (value) => ['monday', 'tuesday'].filter((day) => day.startsWith(value)) },
    },
    ({ day, line }) => `${day}, line ${line}`,
  );
  server.prompt(
    { name: 'review', arguments: [{ name: 'text', required: true }], complete: { text: (value) => [`${value}!`] } },
    ({ text }) => `Please review: ${text}`,
  );
  return server;
}

if (process.argv[1] === import.meta.filename) await serveStdio(contractServer());
