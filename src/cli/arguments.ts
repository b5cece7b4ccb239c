// Arguments of a tool as people type them: `k=v` read by the tool's schema, `k:=json` as it stands, `k=@file`, one JSON object,
// `--args JSON`, or `-` for JSON on standard input.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { didYouMean } from '../base/index.ts';
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';

export interface ArgumentSources {
  readonly words: readonly string[];
  /** The value of `--args`. */
  readonly json?: string | undefined;
  /** All of standard input; called only when `-` is among the words. */
  readonly readStdin: () => Promise<string>;
  readonly cwd: string;
  /** What the names and types are checked against. */
  readonly schema: JsonObject;
}

/**
 * The arguments object that the words stand for. Later words win over earlier ones.
 * @throws ParleyError `usage` for words that make no sense, or a key that the schema does not have
 */
export async function readArguments(sources: ArgumentSources): Promise<JsonObject> {
  const { words, json, cwd, schema } = sources;
  const args: Record<string, unknown> = {};
  const take = (object: JsonObject) => {
    for (const [key, value] of Object.entries(object)) set(args, key, value);
  };
  if (json !== undefined) take(parseObject(json, 'of --args'));
  for (const word of words) {
    if (word === '-') take(parseObject(await sources.readStdin(), 'on standard input'));
    else if (word.startsWith('{')) take(parseObject(word, 'of the arguments'));
    else {
      const [, key, operator, text] = /^([^=:]+?)(:=|=)([^]*)$/.exec(word) ?? [];
      if (key === undefined || text === undefined) {
        throw new ParleyError('usage', `"${word}" is no argument. Write key=value, key:=json, or one JSON object.`);
      }
      checkKey(key, schema);
      const property = propertyOf(schema, key);
      if (operator === ':=') set(args, key, parseJson(text, `for "${key}"`));
      else set(args, key, coerce(key, text.startsWith('@') ? readFile(resolve(cwd, text.slice(1))) : text, property));
    }
  }
  for (const key of Object.keys(args)) checkKey(key, schema);
  return args;
}

/** Own data property, whatever its name. */
function set(args: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(args, key, { value, enumerable: true, configurable: true, writable: true });
}

function propertyOf(schema: JsonObject, key: string): JsonObject | undefined {
  const properties = schema['properties'];
  const property = isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  return isObject(property) ? property : undefined;
}

/** A key the schema does not name is a slip of the pen, unless the schema says that it takes others. */
function checkKey(key: string, schema: JsonObject): void {
  const properties = schema['properties'];
  if (!isObject(properties) || Object.hasOwn(properties, key)) return;
  const open = schema['additionalProperties'];
  if (open === true || isObject(open) || schema['patternProperties'] !== undefined || schema['$ref'] !== undefined) return;
  if (['allOf', 'anyOf', 'oneOf'].some((keyword) => schema[keyword] !== undefined)) return;
  const known = Object.keys(properties);
  const list = known.length === 0 ? 'It takes no arguments.' : `It takes ${known.map((name) => `"${name}"`).join(', ')}.`;
  throw new ParleyError('usage', `The tool has no argument "${key}".${didYouMean(key, known)} ${list}`);
}

/** The text as the type the schema wants; where it wants a string, or says nothing, it stays one. */
function coerce(key: string, text: string, property: JsonObject | undefined): unknown {
  const types = typesOf(property);
  if (types.length === 0 || types.includes('string')) return text;
  if ((types.includes('integer') || types.includes('number')) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.includes('null') && text === 'null') return null;
  if (types.includes('object') || types.includes('array')) {
    if (types.includes('array') && !/^\s*[[{]/.test(text)) {
      const items = isObject(property?.['items']) ? property['items'] : undefined;
      return text === '' ? [] : text.split(',').map((item) => coerce(key, item, items));
    }
    return parseJson(text, `for "${key}"`);
  }
  throw new ParleyError('usage', `"${key}" must be ${types.join(' or ')}, and "${text.slice(0, 80)}" is not. Nothing was sent.`);
}

function typesOf(property: JsonObject | undefined): readonly string[] {
  const type = property?.['type'];
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((each) => typeof each === 'string');
  for (const keyword of ['anyOf', 'oneOf']) {
    const choices = property?.[keyword];
    if (Array.isArray(choices)) return choices.filter(isObject).flatMap((choice) => typesOf(choice));
  }
  return [];
}

function parseObject(text: string, where: string): JsonObject {
  const value = parseJson(text, where);
  if (isObject(value)) return value;
  throw new ParleyError('usage', `The JSON ${where} is not an object, and the arguments of a tool are one.`);
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ParleyError('usage', `The text ${where} is not valid JSON: ${(error as Error).message}.`, { cause: error });
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ParleyError('usage', `The file "${path}" cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}
