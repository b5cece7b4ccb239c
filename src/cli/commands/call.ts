// `parley call`: one tool, once.
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import type { Host } from '../../host/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { readArguments } from '../arguments.ts';
import { printOutcome } from '../outcome.ts';
import { createProgressLine } from '../progress.ts';
import type { Run } from '../run.ts';
import { serversFor, withHost, type Workspace } from '../workspace.ts';
import { findTool } from './tools.ts';

interface CallOptions {
  readonly args?: string;
  readonly timeout?: string;
}

export function addCallCommand(program: Command, run: Run): void {
  program
    .command('call')
    .description('Call a tool: parley call server/tool key=value key:=json key=@file')
    .argument('<tool>', 'server/tool, or a bare name')
    .argument('[arguments...]', 'key=value, key:=json, key=@file, one JSON object, or - for standard input')
    .option('--args <json>', 'the arguments as one JSON object')
    .option('--timeout <ms>', 'milliseconds without an answer or progress')
    .action(run((workspace, [tool, ...words], options: CallOptions) => call(workspace, tool as string, words, options)));
}

function call(workspace: Workspace, name: string, words: readonly string[], options: CallOptions): Promise<number> {
  const { io, printer } = workspace;
  const timeoutMs = options.timeout === undefined ? undefined : Number(options.timeout);
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new ParleyError('usage', `"${String(options.timeout)}" is no time in milliseconds.`);
  return withHost(workspace, serversFor(workspace, name), async (host) => {
    getReady(host);
    const entry = await findTool(host, workspace, name);
    const args = await readArguments({
      words,
      json: options.args,
      cwd: io.cwd,
      schema: entry.definition.inputSchema,
      readStdin: () => text(io.stdin),
    });
    const line = createProgressLine(io, entry.name);
    const outcome = await host.call(entry.modelName, args, {
      signal: io.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
      onProgress(progress) {
        line.show(progress);
        printer.event({ type: 'progress', ...progress });
      },
    });
    line.clear();
    return printOutcome(printer, outcome);
  });
}

/** As most schemas of tools are, and like none in particular. */
const USUAL: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, count: { type: 'integer', minimum: 1 }, kind: { enum: ['a', 'b'] } },
  required: ['name'],
};

/** Opens and loads what a call needs while its server is still starting. What fails here is told where it is waited for. */
function getReady(host: Host): void {
  const open = async () => host.store();
  const warmUp = async () => {
    const { compileSchema } = await import('../../protocol/json-schema.ts');
    // Most of the time that a first schema takes is Node's, which makes ready what compiles it.
    compileSchema(USUAL)({});
  };
  // All of that holds this process, so the server's is started first.
  setImmediate(() => void Promise.allSettled([open(), warmUp()]));
}
