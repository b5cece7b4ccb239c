// Checks every message of a conversation against the specification's own JSON Schema for its revision.
import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Passing } from '../../src/transport/index.ts';

const folder = new URL('../../../shared/spec/', import.meta.url);

export const haveSchemas = existsSync(folder);
if (!haveSchemas)
  process.stderr.write('The specification’s schemas are not beside the project: messages are not compared with them.\n');

/** Names of the definitions that messages of each kind must fit. */
const KINDS = { request: 'JSONRPCRequest', notification: 'JSONRPCNotification' } as const;

export interface SchemaCheck {
  observe: (passing: Passing) => void;
  /** What did not fit, each with the message. */
  readonly problems: string[];
  readonly seen: Set<string>;
}

/** A check for `revision`; without the schemas it passes everything. */
export function createSchemaCheck(revision: string): SchemaCheck {
  const problems: string[] = [];
  const seen = new Set<string>();
  if (!haveSchemas) return { observe: () => {}, problems, seen };
  const schema = JSON.parse(readFileSync(new URL(`${revision}/schema.json`, folder), 'utf8')) as Record<string, unknown>;
  const modern = '$defs' in schema;
  const ajv = modern
    ? new Ajv2020({ strict: false, validateFormats: false })
    : new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(schema, 'mcp');
  const definitions = (schema['$defs'] ?? schema['definitions']) as Record<
    string,
    { properties?: Record<string, { const?: unknown }> }
  >;
  const at = (name: string) => ajv.getSchema(`mcp#/${modern ? '$defs' : 'definitions'}/${name}`);
  const byMethod = new Map<unknown, string>();
  for (const [name, definition] of Object.entries(definitions)) {
    const method = definition.properties?.['method']?.const;
    if (typeof method === 'string') byMethod.set(method, name);
  }
  const asked = new Map<string, string>();

  const check = (name: string, value: unknown) => {
    const validate = at(name);
    if (validate === undefined)
      return problems.push(`There is no ${name} in ${revision}: ${JSON.stringify(value).slice(0, 300)}`);
    seen.add(name);
    if (!validate(value)) problems.push(`${name}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 500)}`);
    return undefined;
  };

  return {
    problems,
    seen,
    observe({ direction, message }) {
      const value = message as Record<string, unknown>;
      const id = JSON.stringify(value['id']);
      if (typeof value['method'] === 'string') {
        // A greeting in another revision's words is how eras are told apart.
        if (value['method'] === 'server/discover' && !modern) return void asked.set(`out ${id}`, '');
        const name = byMethod.get(value['method']);
        check('id' in value ? KINDS.request : KINDS.notification, value);
        if (name === undefined) problems.push(`The method ${value['method']} is not in ${revision}.`);
        else check(name, value);
        if ('id' in value) asked.set(`${direction} ${id}`, name?.replace(/Request$/, 'Result') ?? '');
        return;
      }
      const name = asked.get(`${direction === 'in' ? 'out' : 'in'} ${id}`);
      if (name === undefined || name === '' || !('result' in value)) return;
      const result = value['result'] as { resultType?: unknown };
      if (result.resultType === 'input_required') check('InputRequiredResult', result);
      else check(at(name) === undefined ? 'EmptyResult' : name, result);
    },
  };
}
