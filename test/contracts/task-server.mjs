// The server whose tools run as tasks. Run by itself it serves its own standard streams.
import { createServer, serveStdio, ToolError } from '../../dist/server/index.js';

export function taskServer() {
  const server = createServer({ name: 'tasks', version: '1.0.0', tasks: { promptMs: 50 } });
  const stopped = [];

  server.tool({ name: 'quick', task: 'optional' }, () => 'at once');
  server.tool({ name: 'job', task: 'required' }, (_args, context) => {
    context.progress(1, 2, 'begun');
    return 'done';
  });
  server.tool({ name: 'fails', task: 'required' }, () => {
    throw new ToolError('It did not work.');
  });
  server.tool({ name: 'breaks', task: 'required' }, () => {
    throw new Error('secret detail');
  });
  server.tool({ name: 'asks', task: 'optional' }, async (_args, context) => {
    const { action, content } = await context.elicit({
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    });
    const roots = await context.listRoots();
    return JSON.stringify({ action, name: content?.name, roots: roots.map(({ uri }) => uri) });
  });
  server.tool({ name: 'endless', task: 'required' }, async (_args, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    stopped.push('endless');
    return 'nobody hears this';
  });
  server.tool({ name: 'stopped' }, () => JSON.stringify(stopped));
  return server;
}

if (process.argv[1] === import.meta.filename) await serveStdio(taskServer());
