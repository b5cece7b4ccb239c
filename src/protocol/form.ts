// Forms that servers ask a person to fill in (client/elicitation): flat, a few kinds of field, checked before the answer is sent.
// The schema is the server's and may be malformed: a field that is no kind of field takes no value. A `pattern` is left to the
// server, for whoever fills in a form is shown its text and not a regular expression.
import { isObject } from '../jsonrpc/index.ts';
import { FORMATS } from './format.ts';
import type { FormField, FormSchema, FormValue } from './schema/index.ts';

export type CheckedForm =
  | { readonly ok: true; readonly content: Readonly<Record<string, FormValue>> }
  | { readonly ok: false; readonly errors: readonly string[] };

/** The fields that have a default which fits them, with it. */
export function formDefaults(schema: FormSchema): Record<string, FormValue> {
  const defaults = Object.entries(schema.properties).flatMap(([name, field]): [string, FormValue][] => {
    const value = isObject(field) ? field.default : undefined;
    return value !== undefined && checkField(field, value) === undefined ? [[name, value]] : [];
  });
  return Object.fromEntries(defaults);
}

/**
 * The content to send: what was filled in, and defaults for what was left out; or everything that is wrong with it, an error for
 * each field that says its name. A field that is null is filled in, one that is undefined is not.
 */
export function checkForm(schema: FormSchema, content: Readonly<Record<string, unknown>>): CheckedForm {
  const given = Object.entries(content).filter(([, value]) => value !== undefined);
  const filled: Record<string, unknown> = Object.fromEntries([...Object.entries(formDefaults(schema)), ...given]);
  const errors: string[] = [];
  for (const [name, value] of Object.entries(filled)) {
    const why = Object.hasOwn(schema.properties, name)
      ? checkField(schema.properties[name], value)
      : 'is not a field of the form';
    if (why !== undefined) errors.push(`${label(name)} ${why}`);
  }
  for (const name of Array.isArray(schema.required) ? (schema.required as unknown[]) : []) {
    if (typeof name === 'string' && !Object.hasOwn(filled, name)) errors.push(`${label(name)} is required`);
  }
  return errors.length === 0 ? { ok: true, content: filled as Record<string, FormValue> } : { ok: false, errors };
}

/** Why the value does not fit the field, as the end of a sentence ("must be a number"); undefined when it does. */
export function checkField(field: FormField | undefined, value: unknown): string | undefined {
  if (!isObject(field)) return NO_FIELD;
  switch (field.type) {
    case 'string':
      if (typeof value !== 'string') return 'must be text';
      if (field.enum !== undefined) return oneOf(value, field.enum);
      if (field.oneOf !== undefined) return oneOf(value, constants(field.oneOf));
      return (
        within(Array.from(value).length, field.minLength, field.maxLength, 'character') ??
        (field.format === undefined ? undefined : formatted(value, field.format))
      );
    case 'number':
    case 'integer':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
      if (field.type === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
      return within(value, field.minimum, field.maximum);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'array': {
      if (!Array.isArray(value)) return 'must be a list';
      if (!isObject(field.items)) return NO_FIELD;
      const allowed = field.items.enum ?? constants(field.items.anyOf);
      for (const item of value as unknown[]) {
        const why = oneOf(item, allowed);
        if (why !== undefined) return `may only hold choices of the form: each ${why}`;
      }
      return within(value.length, field.minItems, field.maxItems, 'choice');
    }
    default:
      return NO_FIELD;
  }
}

const NO_FIELD = 'is of a kind that no form may have';

function oneOf(value: unknown, allowed: unknown): string | undefined {
  if (!Array.isArray(allowed)) return NO_FIELD;
  if (typeof value === 'string' && allowed.includes(value)) return undefined;
  const shown = allowed.filter((choice) => typeof choice === 'string').slice(0, 10);
  return `must be one of ${shown.map(label).join(', ')}${allowed.length > shown.length ? ', …' : ''}`;
}

function constants(choices: unknown): unknown[] | undefined {
  return Array.isArray(choices) ? choices.map((choice) => (isObject(choice) ? choice['const'] : undefined)) : undefined;
}

function within(size: number, least: unknown, most: unknown, unit?: string): string | undefined {
  const say = (bound: string, count: number) => {
    if (unit === undefined) return `must be at ${bound} ${count}`;
    return `must have at ${bound} ${count} ${unit}${count === 1 ? '' : 's'}`;
  };
  if (typeof least === 'number' && size < least) return say('least', least);
  if (typeof most === 'number' && size > most) return say('most', most);
  return undefined;
}

function formatted(value: string, format: string): string | undefined {
  const known = Object.hasOwn(FORMATS, format) ? FORMATS[format as keyof typeof FORMATS] : undefined;
  return known === undefined || known(value) ? undefined : `must be ${NAMES[format as keyof typeof FORMATS]}`;
}

const NAMES: Readonly<Record<keyof typeof FORMATS, string>> = {
  date: 'a date such as 2026-07-28',
  'date-time': 'a date and time such as 2026-07-28T09:30:00Z',
  email: 'an e-mail address',
  uri: 'a URI such as https://example.com/',
};

function label(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
}
