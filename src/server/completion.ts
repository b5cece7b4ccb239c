// Suggestions for the arguments of prompts and the variables of resource templates (server/utilities/completion).
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { method } from '../protocol/index.ts';
import { invalidParams, stringParam, type Call } from './call.ts';
import { infoOf, type RequestInfo } from './context.ts';
import type { List } from './list.ts';
import { unknownPrompt, type HeldPrompt } from './prompts.ts';
import type { HeldResource, HeldTemplate } from './resources.ts';

export interface CompletionContext {
  /** What was filled in before. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly request: RequestInfo;
}

/** All that fit, best first, of which the first 100 are sent; or some, with how many there are. */
export type Completions =
  readonly string[] | { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean };

export type Completer = (value: string, context: CompletionContext) => Completions | Promise<Completions>;

export type Completers = Readonly<Record<string, Completer>>;

const MAX_VALUES = 100;

interface Subject {
  readonly names: readonly string[];
  readonly completers: Completers;
}

export async function complete(
  { prompts, resources, templates }: { prompts: List<HeldPrompt>; resources: List<HeldResource>; templates: List<HeldTemplate> },
  call: Call,
): Promise<JsonObject> {
  const { ref, argument, context } = call.params;
  if (!isObject(ref)) throw invalidParams('"ref" is missing or not an object');
  if (!isObject(argument)) throw invalidParams('"argument" is missing or not an object');
  const name = stringParam(argument, 'name');
  const value = stringParam(argument, 'value');
  const subject = find(ref, prompts, resources, templates);
  if (!subject.names.includes(name)) throw invalidParams('there is no such argument');
  const completer = Object.hasOwn(subject.completers, name) ? subject.completers[name] : undefined;
  const known = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {};
  const completions =
    (await completer?.(value, {
      arguments: known as Record<string, string>,
      signal: call.cancellation.signal,
      request: infoOf(call),
    })) ?? [];
  return call.dialect.encode(method.complete, { completion: clip(completions) });
}

function find(ref: JsonObject, prompts: List<HeldPrompt>, resources: List<HeldResource>, templates: List<HeldTemplate>): Subject {
  switch (ref['type']) {
    case 'ref/prompt': {
      const name = stringParam(ref, 'name');
      const prompt = prompts.get(name);
      if (prompt === undefined) throw unknownPrompt(name, prompts);
      return { names: prompt.argumentNames, completers: prompt.definition.complete ?? {} };
    }
    case 'ref/resource': {
      const uri = stringParam(ref, 'uri');
      const template = templates.get(uri);
      if (template !== undefined) return { names: template.template.variables, completers: template.definition.complete ?? {} };
      throw invalidParams(
        resources.get(uri) === undefined ? 'there is no such resource template' : 'the resource has no variables',
        { uri },
      );
    }
    default:
      throw invalidParams('"ref" is of an unknown type');
  }
}

function clip(completions: Completions): JsonObject {
  const { values, total, hasMore } = isList(completions)
    ? { values: completions, total: undefined, hasMore: undefined }
    : completions;
  const sent = values.slice(0, MAX_VALUES);
  const all = total ?? (hasMore === true ? undefined : values.length);
  return { values: sent, ...(all !== undefined && { total: all }), hasMore: hasMore ?? (total ?? values.length) > sent.length };
}

function isList(completions: Completions): completions is readonly string[] {
  return Array.isArray(completions);
}
