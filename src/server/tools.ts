// Tools: how they are defined, and what becomes of a call.
import { ParleyError, RpcError } from '../errors.ts';
import { didYouMean } from '../base/index.ts';
import { isObject, rpcCode, type JsonObject } from '../jsonrpc/index.ts';
import {
  checkParamHeaders,
  method,
  paramHeaders,
  type CallToolResult,
  type ContentBlock,
  type Icon,
  type JsonSchema,
  type Meta,
  type ParamHeader,
  type Tool,
  type ToolAnnotations,
} from '../protocol/index.ts';
import { invalidParams, stringParam, type Call } from './call.ts';
import type { Context } from './context.ts';
import type { InputRequired } from './input-required.ts';
import type { List } from './list.ts';
import { perform } from './perform.ts';
import type { Tasks, TaskSupport } from './tasks.ts';
import { checkOf, describe, type Check, type Checked, type StandardSchema } from './schema.ts';
import { ToolError } from './tool-error.ts';

/** `Args` is what the handler is given. */
export interface ToolDefinition<Args = unknown> {
  /** 1–128 of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** What the arguments must be. Without it the tool takes none. */
  readonly input?: StandardSchema<unknown, Args> | JsonSchema;
  /** What the structured content is. With it the handler returns that, and it is checked before it is sent. */
  readonly output?: StandardSchema | JsonSchema;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /**
   * Whether calls may go on as tasks, which clients ask about instead of waiting. `optional`: those that take a while, of clients
   * that can follow tasks; for others the call is answered when it is done. `required`: all, and other clients are refused. Either
   * way the handler may first return `inputRequired`, at once, for a round of input before there is a task. Default: none.
   */
  readonly task?: TaskSupport;
  readonly _meta?: Meta;
}

/**
 * What a tool's handler may return: text, blocks, or a whole result. With an output schema it returns the structured content, or a
 * whole result that holds it.
 */
export type ToolReturn<Output = never> = string | readonly ContentBlock[] | CallToolResult | InputRequired | Output;

export type ToolHandler<Args = never, Output = unknown> = (
  args: Args,
  context: Context,
) => ToolReturn<Output> | Promise<ToolReturn<Output>>;

export interface HeldTool {
  readonly definition: ToolDefinition;
  readonly handler: ToolHandler;
  readonly wire: JsonObject;
  readonly check: Check;
  readonly checkOutput: Check | undefined;
  readonly headers: readonly ParamHeader[];
}

const NO_ARGUMENTS: JsonSchema = { type: 'object', additionalProperties: false };

const checkNone: Check = (value) =>
  Object.keys(value as JsonObject).length === 0 ? { ok: true, value } : { ok: false, problems: ['the tool takes no arguments'] };

/** @throws ParleyError `usage` for schemas that cannot be those of a tool */
export function holdTool(definition: ToolDefinition, handler: ToolHandler): HeldTool {
  const { input, output, task: _ofServer, ...rest } = definition;
  const owner = `tool "${definition.name}"`;
  const inputSchema = input === undefined ? NO_ARGUMENTS : objectSchema(describe(input, 'input', owner), owner);
  const headers = paramHeaders(inputSchema);
  if ('invalid' in headers) {
    throw new ParleyError('usage', `The input schema of ${owner} has a header no client would send: ${headers.invalid}.`);
  }
  const outputSchema = output === undefined ? undefined : describe(output, 'output', owner);
  const wire: Tool = { ...rest, inputSchema, ...(outputSchema !== undefined && { outputSchema }) };
  return {
    definition,
    handler,
    wire: wire as unknown as JsonObject,
    check: input === undefined ? checkNone : checkOf(input, 'argument'),
    checkOutput: output === undefined ? undefined : checkOf(output, 'member'),
    headers,
  };
}

/** Arguments are always an object, which the schema of a union, for one, does not say by itself. */
function objectSchema(schema: JsonSchema, owner: string): JsonSchema {
  if (schema['type'] === 'object') return schema;
  if (schema['type'] === undefined) return { type: 'object', ...schema };
  throw new ParleyError('usage', `The input schema of ${owner} must be of type "object".`);
}

export function callTool(tools: List<HeldTool>, tasks: Tasks, call: Call): Promise<JsonObject> | JsonObject {
  const { params, dialect, headers } = call;
  const name = stringParam(params, 'name');
  const tool = tools.get(name);
  if (tool === undefined) {
    throw new RpcError(
      rpcCode.invalidParams,
      `Unknown tool: ${name.slice(0, 128)}.${didYouMean(name.slice(0, 128), tools.keys())}`,
    );
  }
  // Hosts in use send null for none.
  const args = params['arguments'] ?? {};
  if (!isObject(args)) throw invalidParams('"arguments" is not an object');
  if (headers !== undefined && dialect.era === 'modern') checkParamHeaders(headers, tool.headers, args);
  const checking = tool.check(args);
  if (checking instanceof Promise) return checking.then((checked) => callChecked(tool, checked, tasks, call));
  return callChecked(tool, checking, tasks, call);
}

function callChecked(tool: HeldTool, checked: Checked, tasks: Tasks, call: Call): Promise<JsonObject> | JsonObject {
  const { name, task } = tool.definition;
  const encoded = (result: JsonObject) => call.dialect.encode(method.callTool, result);
  if (!checked.ok) return encoded(failure(`Invalid arguments for tool ${name}:\n${checked.problems.join('\n')}`));
  const work = (current: Call) => answer(tool, checked.value, current);
  return (task === undefined ? work(call) : tasks.perform(call, task, work)).then(encoded);
}

function answer(tool: HeldTool, args: unknown, call: Call): Promise<JsonObject> {
  return perform(call, (context) => tool.handler(args as never, context)).then(
    (outcome) => (outcome.type === 'input' ? outcome.result : resultOf(tool, outcome.value)),
    (error: unknown) => {
      if (error instanceof ToolError) return failure(error.message);
      throw error;
    },
  );
}

function failure(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}

/** @throws ParleyError `internal` when the handler returned what its tool does not promise */
function resultOf(tool: HeldTool, returned: unknown): Promise<JsonObject> | JsonObject {
  if (tool.checkOutput !== undefined) return structuredResultOf(tool, tool.checkOutput, returned);
  if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] };
  if (Array.isArray(returned)) return { content: returned };
  if (isObject(returned) && Array.isArray(returned['content'])) return returned;
  throw broken(tool, 'returned neither text, content blocks nor a result');
}

async function structuredResultOf(tool: HeldTool, checkOutput: Check, returned: unknown): Promise<JsonObject> {
  const whole = isObject(returned) && Array.isArray(returned['content']) ? returned : undefined;
  if (whole?.['isError'] === true) return whole;
  const structured = whole !== undefined && 'structuredContent' in whole ? whole['structuredContent'] : returned;
  const checked = await checkOutput(structured);
  if (!checked.ok) throw broken(tool, `returned what its output schema does not allow: ${checked.problems.join('; ')}`);
  if (structured !== returned) return { ...whole, structuredContent: checked.value };
  // Clients that know nothing of structured content read the text (server/tools, "Structured Content").
  return { content: [{ type: 'text', text: JSON.stringify(checked.value) }], structuredContent: checked.value };
}

function broken(tool: HeldTool, how: string): ParleyError {
  return new ParleyError('internal', `The handler of tool "${tool.definition.name}" ${how}.`);
}
