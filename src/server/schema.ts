// Schemas as an application gives them: plain JSON Schema, or any library that follows Standard Schema. Both end as a JSON
// Schema for the list and a check for the values; the validator for plain ones is loaded when the first is needed.
import { ParleyError } from '../errors.ts';
import { isObject } from '../jsonrpc/index.ts';
import type { JsonSchema } from '../protocol/index.ts';
import type { Validator } from '../protocol/json-schema.ts';

/** Whatever follows Standard Schema v1 and can say what it is as JSON Schema: zod 4.2, ArkType, … See standardschema.dev. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Missing in libraries that cannot; such a schema is refused here. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

export type Schema = StandardSchema | JsonSchema;

/** The value, as the schema's library made it, or what is wrong with it: a line for each, beginning with the path. */
export type Checked =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: readonly string[] };

export type Check = (value: unknown) => Checked | Promise<Checked>;

/** Problems that are named; a value can have any number. */
const MAX_PROBLEMS = 20;

function isStandard(schema: Schema): schema is StandardSchema {
  return '~standard' in schema && isObject(schema['~standard']);
}

/**
 * The JSON Schema of what `schema` takes (`input`) or gives (`output`).
 * @throws ParleyError `usage` when the schema's library cannot say
 */
export function describe(schema: Schema, side: 'input' | 'output', owner: string): JsonSchema {
  if (!isStandard(schema)) return schema;
  const { jsonSchema, vendor } = schema['~standard'];
  if (jsonSchema === undefined) {
    throw new ParleyError(
      'usage',
      `The ${side} schema of ${owner}, made by ${vendor}, cannot say what it is as JSON Schema. Give a JSON Schema instead.`,
    );
  }
  try {
    return jsonSchema[side]({ target: 'draft-2020-12' });
  } catch (cause) {
    throw new ParleyError('usage', `The ${side} schema of ${owner} has no form as JSON Schema.`, { cause });
  }
}

/** `noun` is what errors of a plain schema call a member of the value. */
export function checkOf(schema: Schema, noun: string): Check {
  if (!isStandard(schema)) return checkOfJsonSchema(schema, noun);
  const { validate } = schema['~standard'];
  return async (value) => {
    const result = await validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    const problems = result.issues.slice(0, MAX_PROBLEMS).map(({ path = [], message }) => {
      const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
      return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
    });
    return { ok: false, problems };
  };
}

function checkOfJsonSchema(schema: JsonSchema, noun: string): Check {
  let validate: Validator | undefined;
  const checkWith = (validator: Validator, value: unknown): Checked => {
    const result = validator(value);
    return result.valid ? { ok: true, value } : { ok: false, problems: result.errors };
  };
  return (value) => {
    if (validate !== undefined) return checkWith(validate, value);
    return import('../protocol/json-schema.ts').then(({ compileSchema }) =>
      checkWith((validate ??= compileSchema(schema, { noun })), value),
    );
  };
}
