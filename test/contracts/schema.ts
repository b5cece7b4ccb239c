// Checks every message of a conversation against the official implementation's schemas, and against the specification's own JSON
// Schema for its revision where that is at hand.
import { existsSync, readFileSync } from 'node:fs';
import * as official from '@modelcontextprotocol/core';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Passing } from '../../src/transport/index.ts';

const folder = new URL('../../../shared/spec/', import.meta.url);

const haveSchemas = existsSync(folder);
if (!haveSchemas) {
  process.stderr.write(
    'The specification’s schemas are not beside the project: messages are compared with the official ones alone.\n',
  );
}

/** What is read of an official schema. */
interface OfficialSchema {
  safeParse(value: unknown): { success: boolean; error?: { message: string } };
  readonly shape?: Readonly<Record<string, { readonly value?: unknown } | undefined>>;
}

const OFFICIAL = new Map(
  Object.entries(official as unknown as Record<string, OfficialSchema>).flatMap(([name, schema]) =>
    name.endsWith('Schema') ? [[name.replace(/Schema$/, ''), schema] as const] : [],
  ),
);

/** The name of each method's definition, the same in both sources. */
const NAMES = new Map(
  [...OFFICIAL].flatMap(([name, { shape }]) => {
    const method = shape?.['method']?.value;
    return typeof method === 'string' ? [[method, name] as const] : [];
  }),
);

/** Tells a greeting in the newest revision's words, by which eras are told apart, from the conversation itself. */
const GREETING = 'server/discover';

export interface SchemaCheck {
  observe: (passing: Passing) => void;
  /** What did not fit, each with the message. */
  readonly problems: string[];
  /** The definitions that were looked up. */
  readonly seen: Set<string>;
}

/** A check for a conversation in `revision`. */
export function createSchemaCheck(revision: string): SchemaCheck {
  const problems: string[] = [];
  const seen = new Set<string>();
  const validator = haveSchemas ? readSpecification(revision) : undefined;
  const asked = new Map<string, string>();

  const check = (name: string, value: unknown) => {
    seen.add(name);
    const text = JSON.stringify(value).slice(0, 500);
    const parsed = OFFICIAL.get(name)?.safeParse(value);
    if (parsed?.success === false) problems.push(`official ${name}: ${parsed.error?.message ?? ''}: ${text}`);
    const fault = validator?.(name, value);
    if (fault !== undefined) problems.push(`${revision} ${name}: ${fault}: ${text}`);
  };

  return {
    problems,
    seen,
    observe({ direction, message }) {
      const value = message as Record<string, unknown>;
      const id = JSON.stringify(value['id']);
      const method = value['method'];
      if (typeof method === 'string') {
        if (method === GREETING && revision !== '2026-07-28') return;
        const name = NAMES.get(method);
        check('id' in value ? 'JSONRPCRequest' : 'JSONRPCNotification', value);
        if (name === undefined) problems.push(`The method ${method} is not known: ${JSON.stringify(value).slice(0, 300)}`);
        else check(name, value);
        if ('id' in value && name !== undefined) asked.set(`${direction} ${id}`, name.replace(/Request$/, 'Result'));
        return;
      }
      const name = asked.get(`${direction === 'in' ? 'out' : 'in'} ${id}`);
      if (name === undefined || !('result' in value)) return;
      const { resultType } = value['result'] as { resultType?: unknown };
      check(resultType === 'input_required' ? 'InputRequiredResult' : OFFICIAL.has(name) ? name : 'EmptyResult', value['result']);
    },
  };
}

/** A function that says why a value does not fit a definition of `revision`; undefined when it does. */
function readSpecification(revision: string): (name: string, value: unknown) => string | undefined {
  const schema = JSON.parse(readFileSync(new URL(`${revision}/schema.json`, folder), 'utf8')) as Record<string, unknown>;
  const modern = '$defs' in schema;
  const ajv = modern
    ? new Ajv2020({ strict: false, validateFormats: false })
    : new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(schema, 'mcp');
  return (name, value) => {
    const validate = ajv.getSchema(`mcp#/${modern ? '$defs' : 'definitions'}/${name}`);
    if (validate === undefined) return `there is no such definition`;
    return validate(value) === true ? undefined : ajv.errorsText(validate.errors);
  };
}
