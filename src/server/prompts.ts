// Prompts: how they are defined, and what becomes of a request for one.
import { ParleyError, RpcError } from '../errors.ts';
import { didYouMean } from '../base/index.ts';
import { isObject, rpcCode, type JsonObject } from '../jsonrpc/index.ts';
import {
  method,
  type GetPromptResult,
  type Icon,
  type Meta,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
} from '../protocol/index.ts';
import { invalidParams, stringParam, type Call } from './call.ts';
import type { Completers } from './completion.ts';
import type { Context } from './context.ts';
import type { InputRequired } from './input-required.ts';
import type { List } from './list.ts';
import { perform } from './perform.ts';
import { checkOf, describe, type Check, type StandardSchema } from './schema.ts';

/** `Args` is what the handler is given. */
export interface PromptDefinition<Args = unknown> {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** A list, or an object schema whose members take strings. */
  readonly arguments?: readonly PromptArgument[] | StandardSchema<unknown, Args>;
  /** Suggestions for arguments, by their names. */
  readonly complete?: Completers;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

/** Text as one message of the user, messages, or a whole result. */
export type PromptReturn = string | readonly PromptMessage[] | GetPromptResult | InputRequired;

export type PromptHandler<Args = never> = (args: Args, context: Context) => PromptReturn | Promise<PromptReturn>;

export interface HeldPrompt {
  readonly definition: PromptDefinition;
  readonly handler: PromptHandler;
  readonly wire: JsonObject;
  readonly argumentNames: readonly string[];
  readonly check: Check;
}

/** @throws ParleyError `usage` for arguments no prompt can have, or a completer of one it does not have */
export function holdPrompt(definition: PromptDefinition, handler: PromptHandler): HeldPrompt {
  const { arguments: wanted = [], complete = {}, ...rest } = definition;
  const isSchema = '~standard' in wanted;
  const listed = isSchema ? argumentsOf(wanted, definition.name) : wanted;
  const argumentNames = listed.map(({ name }) => name);
  const stray = Object.keys(complete).find((name) => !argumentNames.includes(name));
  if (stray !== undefined) throw new ParleyError('usage', `Prompt "${definition.name}" has no argument "${stray}" to complete.`);
  const wire: Prompt = { ...rest, ...(listed.length > 0 && { arguments: listed }) };
  return {
    definition,
    handler,
    wire: wire as unknown as JsonObject,
    argumentNames,
    check: isSchema ? checkOf(wanted, 'argument') : requireAll(listed),
  };
}

function argumentsOf(schema: StandardSchema, prompt: string): PromptArgument[] {
  const described = describe(schema, 'input', `prompt "${prompt}"`);
  const { properties, required } = described;
  if (described['type'] !== 'object' || !isObject(properties)) {
    throw new ParleyError('usage', `The arguments of prompt "${prompt}" must be an object schema with named members.`);
  }
  return Object.entries(properties).map(([name, property]) => {
    const { title, description } = isObject(property) ? property : {};
    return {
      name,
      ...(typeof title === 'string' && { title }),
      ...(typeof description === 'string' && { description }),
      ...(Array.isArray(required) && required.includes(name) && { required: true }),
    };
  });
}

function requireAll(listed: readonly PromptArgument[]): Check {
  const required = listed.filter((argument) => argument.required === true).map(({ name }) => name);
  return (value) => {
    const missing = required.filter((name) => !Object.hasOwn(value as JsonObject, name));
    return missing.length === 0 ? { ok: true, value } : { ok: false, problems: missing.map((name) => `${name}: is required`) };
  };
}

export async function getPrompt(prompts: List<HeldPrompt>, call: Call): Promise<JsonObject> {
  const { params, dialect } = call;
  const name = stringParam(params, 'name');
  const prompt = prompts.get(name);
  if (prompt === undefined) throw unknownPrompt(name, prompts);
  const args = params['arguments'] ?? {};
  if (!isObject(args) || !Object.values(args).every((value) => typeof value === 'string')) {
    throw invalidParams('"arguments" is not an object of strings');
  }
  const checked = await prompt.check(args);
  if (!checked.ok) throw invalidParams(checked.problems.join('; '));
  const outcome = await perform(call, (context) => prompt.handler(checked.value as never, context));
  const result = outcome.type === 'input' ? outcome.result : resultOf(prompt, outcome.value);
  return dialect.encode(method.getPrompt, result);
}

export function unknownPrompt(name: string, prompts: List<HeldPrompt>): RpcError {
  const shown = name.slice(0, 128);
  return new RpcError(rpcCode.invalidParams, `Unknown prompt: ${shown}.${didYouMean(shown, prompts.keys())}`);
}

function resultOf({ definition }: HeldPrompt, returned: unknown): JsonObject {
  const about = definition.description === undefined ? {} : { description: definition.description };
  if (typeof returned === 'string') return { ...about, messages: [{ role: 'user', content: { type: 'text', text: returned } }] };
  if (Array.isArray(returned)) return { ...about, messages: returned };
  if (isObject(returned) && Array.isArray(returned['messages'])) return returned;
  throw new ParleyError('internal', `The handler of prompt "${definition.name}" returned neither text, messages nor a result.`);
}
