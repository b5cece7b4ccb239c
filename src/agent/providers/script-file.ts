// Reads the script of a scripted model: a JSON list of steps, one for each turn. Whatever is not understood is refused, with its place.
import { readFileSync } from 'node:fs';
import { ParleyError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';

/** What the model does in one turn. */
export interface ScriptStep {
  readonly say?: string;
  readonly call?: readonly ScriptCall[];
}

export interface ScriptCall {
  /** `server/tool`, a bare name, or the name models have for it. */
  readonly tool: string;
  /** Default none. */
  readonly arguments?: JsonObject;
}

/** The steps in a file. @throws ParleyError `usage`, naming the file, the step and what is wrong */
export function readScript(file: string): readonly ScriptStep[] {
  const steps = readJson(file);
  if (!Array.isArray(steps) || steps.length === 0) {
    throw refusal(file, 'must hold a list of steps, at least one: [{ "say": "…" }].');
  }
  for (const [index, step] of steps.entries()) {
    const problem = problemOf(step);
    if (problem !== undefined) throw refusal(file, `cannot be played: step ${index + 1} ${problem}.`);
  }
  return steps as readonly ScriptStep[];
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw refusal(file, `cannot be read: ${(error as Error).message}.`, error);
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    throw refusal(file, `is not valid JSON: ${(error as Error).message}.`, error);
  }
}

function refusal(file: string, message: string, cause?: unknown): ParleyError {
  return new ParleyError('usage', `The script "${file}" ${message}`, { cause });
}

function problemOf(step: unknown): string | undefined {
  if (!isObject(step)) return 'is no object';
  const unknown = unknownKey(step, ['say', 'call']);
  if (unknown !== undefined) return unknown;
  const { say, call } = step;
  if (say !== undefined && typeof say !== 'string') return 'has a "say" that is no text';
  if (call !== undefined && !Array.isArray(call)) return 'has a "call" that is no list';
  if ((say ?? '') === '' && (call ?? []).length === 0) return 'says nothing and calls nothing';
  for (const [index, each] of ((call ?? []) as readonly unknown[]).entries()) {
    const problem = problemOfCall(each);
    if (problem !== undefined) return `has a call, number ${index + 1}, that ${problem}`;
  }
  return undefined;
}

function problemOfCall(call: unknown): string | undefined {
  if (!isObject(call)) return 'is no object';
  const unknown = unknownKey(call, ['tool', 'arguments']);
  if (unknown !== undefined) return unknown;
  if (typeof call['tool'] !== 'string' || call['tool'] === '') return 'names no "tool"';
  return call['arguments'] === undefined || isObject(call['arguments']) ? undefined : 'has "arguments" that are no object';
}

function unknownKey(object: JsonObject, known: readonly string[]): string | undefined {
  const key = Object.keys(object).find((each) => !known.includes(each));
  if (key === undefined) return undefined;
  return `has the member ${JSON.stringify(key.slice(0, 64))}, and may have ${known.map((each) => `"${each}"`).join(' and ')} alone`;
}
