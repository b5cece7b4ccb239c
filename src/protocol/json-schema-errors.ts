// What does not fit a schema, in words that a person or a model can act on. Names and values in them are the peer's text.
import { closest } from '../base/index.ts';
import { isObject } from '../jsonrpc/index.ts';

const MAX_ERRORS = 20;
const MAX_TEXT = 300;

/** One finding of the compiled schema, as far as it is used here. */
export interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  /** The schema that holds the keyword. */
  readonly parentSchema?: unknown;
}

/** The first twenty findings, each once. `noun` is what a member of the whole value is called: "argument". */
export function describeErrors(errors: readonly SchemaError[], noun: string): string[] {
  const texts = new Set<string>();
  for (const error of errors) {
    if (texts.size === MAX_ERRORS) break;
    texts.add(cut(describe(error, noun), MAX_TEXT));
  }
  return [...texts];
}

function describe({ keyword, instancePath, params, message, parentSchema }: SchemaError, noun: string): string {
  const at = cut(instancePath, 120);
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params['additionalProperty'] ?? params['unevaluatedProperty']);
      const unknown = `unknown ${instancePath === '' ? noun : 'member'} ${quote(name)}${suggestion(name, parentSchema)}`;
      return instancePath === '' ? unknown : `${at} has an ${unknown}`;
    }
    case 'required': {
      const name = quote(String(params['missingProperty']));
      return instancePath === '' ? `missing ${noun} ${name}` : `${at} must have a member ${name}`;
    }
    case 'type': {
      const types = Array.isArray(params['type']) ? params['type'] : String(params['type']).split(',');
      return `${at || 'the value'} must be ${types.join(' or ')}`;
    }
    case 'enum': {
      const allowed = Array.isArray(params['allowedValues']) ? (params['allowedValues'] as unknown[]) : [];
      const shown = allowed.slice(0, 10).map(quote).join(', ');
      return `${at || 'the value'} must be one of ${shown}${allowed.length > 10 ? ', …' : ''}`;
    }
    case 'const':
      return `${at || 'the value'} must be ${quote(params['allowedValue'])}`;
    case 'anyOf':
      return `${at || 'the value'} must fit one of the alternatives`;
    case 'oneOf':
      return `${at || 'the value'} must fit exactly one of the alternatives`;
    case 'false schema':
      return `${at || 'the value'} is not allowed`;
    default:
      return `${at || 'the value'} ${message ?? `does not fit "${keyword}"`}`;
  }
}

function suggestion(name: string, parentSchema: unknown): string {
  const properties = isObject(parentSchema) ? parentSchema['properties'] : undefined;
  if (!isObject(properties) || name.length > 64) return '';
  // Comparing takes time in proportion to both lengths.
  const known = Object.keys(properties).slice(0, 200);
  const near = closest(
    name,
    known.filter((candidate) => candidate.length <= 64),
  );
  return near.length === 0 ? '' : `; did you mean ${near.map(quote).join(' or ')}?`;
}

function quote(value: unknown): string {
  return cut(JSON.stringify(value), 80);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
