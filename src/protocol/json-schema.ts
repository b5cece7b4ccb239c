// Checks values against JSON Schemas that come from anywhere: in bounded time, without a fetch, and with nothing shared between
// two schemas. It loads a compiler, so whoever needs it imports this file when the need arises; protocol's index does not.
import { Ajv, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { canonical, LIMITS, overLimit } from '../base/index.ts';
import { re2 } from '../base/re2.ts';
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { FORMATS } from './format.ts';
import { describeErrors, type SchemaError } from './json-schema-errors.ts';
import { measure, notLocal, printable, subschemas, type Subschema } from './json-schema-walk.ts';

export type Validated =
  | { readonly valid: true }
  /** `spent`: its check took more steps than it may, so that nobody knows whether it fits. */
  | { readonly valid: false; readonly errors: readonly string[]; readonly spent?: true };

/** Checks one value and changes nothing in it. A value whose check would take too long is not valid. */
export type Validator = (value: unknown) => Validated;

export interface CompileOptions {
  /** What errors call a member of the whole value. Default "argument". */
  readonly noun?: string;
  /** What becomes of a `pattern` that cannot be matched in linear time: the schema is refused (the default), or the pattern is. */
  readonly patterns?: 'refuse' | 'skip';
  /** Steps that one check may take; a step is about a subschema applied to a small value. Default 600,000, a tenth of a second. */
  readonly maxSteps?: number;
}

const MAX_PATTERN = LIMITS.maxPattern.default;
const MAX_PROGRAM = LIMITS.maxPatternProgram.default;

const MAX_STEPS = 600_000;
/** Steps spent on finding more than the first error. */
const MAX_DETAIL_STEPS = 50_000;

/** The keyword put into every subschema to count its use; the value is what it costs. */
const STEP = 'parley:step';

type Engine = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

const DIALECTS: ReadonlyMap<string, Engine> = new Map<string, Engine>([
  ['json-schema.org/draft/2020-12/schema', Ajv2020],
  ['json-schema.org/draft/2019-09/schema', Ajv2019],
  ['json-schema.org/draft-07/schema', Ajv],
  ['json-schema.org/draft-06/schema', Ajv],
]);

const validators = { refuse: new WeakMap<JsonObject, Check>(), skip: new WeakMap<JsonObject, Check>() };

/** The first error found, or everything found, or undefined when the value fits. */
type Check = (value: unknown, maxSteps: number) => readonly SchemaError[] | string | undefined;

/**
 * The validator for a schema: 2020-12, or the dialect its `$schema` names (2019-09, draft-07, draft-06). Formats other than date,
 * date-time, email and uri are not checked. Errors are whole phrases, at most twenty, and hold text of the schema and the value.
 * The same object gives the same compiled check again.
 * @throws ParleyError `unsupported` for another dialect, a reference that leads out of the schema or to nothing, or a schema that
 * makes no sense; `limit` for one that is too large
 * @see the specification's basic/index, "JSON Schema Usage"
 */
export function compileSchema(schema: JsonObject, options: CompileOptions = {}): Validator {
  const { noun = 'argument', patterns = 'refuse', maxSteps = MAX_STEPS } = options;
  let check = validators[patterns].get(schema);
  if (check === undefined) {
    check = createCheck(schema, patterns);
    validators[patterns].set(schema, check);
  }
  const found = check;
  return (value) => {
    const errors = found(value, maxSteps);
    if (errors === undefined) return { valid: true };
    if (typeof errors === 'string') return { valid: false, errors: [errors], spent: true };
    return { valid: false, errors: describeErrors(errors, noun) };
  };
}

const weights = new WeakMap<JsonObject, number>();

/**
 * About how much work it is to compile a schema: one for each schema in it, and ten for each of its patterns that counts.
 * @throws ParleyError as `compileSchema` does, for a schema that is too large or refers to nothing
 */
export function weightOf(schema: JsonObject): number {
  const known = weights.get(schema);
  if (known !== undefined) return known;
  measure(schema);
  let weight = 0;
  for (const { pattern, patternProperties } of subschemas(schema)) {
    const patterns = [pattern, ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])];
    weight += 1 + 10 * patterns.filter((each) => typeof each === 'string' && each.includes('{')).length;
  }
  weights.set(schema, weight);
  return weight;
}

function createCheck(schema: JsonObject, patterns: 'refuse' | 'skip'): Check {
  measure(schema);
  const own = JSON.parse(JSON.stringify(schema)) as Subschema;
  const parts = subschemas(own);
  const engine = engineOf(own, parts);
  const matchers = createMatchers();
  for (const part of parts) prepare(part, matchers, patterns);
  const decide = compile(engine, own, matchers, 'first');
  let detail: ReturnType<typeof compile> | undefined;
  return (value, maxSteps) => {
    const errors = decide(value, maxSteps);
    if (errors === undefined || typeof errors === 'string') return errors;
    try {
      detail ??= compile(engine, own, matchers, 'all');
      const more = detail(value, Math.min(MAX_DETAIL_STEPS, maxSteps));
      return typeof more === 'object' ? more : errors;
    } catch {
      // A schema near the limits may compile for the first error only; the verdict stands with that.
      return errors;
    }
  };
}

function engineOf(schema: Subschema, parts: readonly Subschema[]): Engine {
  const dialect = schema['$schema'];
  // A list of `items` has had no meaning since 2020-12: servers that send one without `$schema` mean an earlier draft.
  if (dialect === undefined) return parts.some((part) => Array.isArray(part['items'])) ? Ajv : Ajv2020;
  const name = typeof dialect === 'string' ? dialect.replace(/^https?:\/\//, '').replace(/#$/, '') : '';
  const engine = DIALECTS.get(name);
  if (engine !== undefined) return engine;
  throw new ParleyError(
    'unsupported',
    `The schema is in a dialect that is not known here: ${typeof dialect === 'string' ? printable(dialect) : 'no text'}. ` +
      'Known are 2020-12, 2019-09, draft-07 and draft-06.',
  );
}

/** Takes out of a subschema what would mislead the compiler, and puts the step in. */
function prepare(part: Subschema, matchers: Matchers, patterns: 'refuse' | 'skip'): void {
  delete part['$schema'];
  // It would turn the verdict into a promise, which is always true.
  delete part['$async'];
  if (part['type'] === undefined || part['nullable'] === false) delete part['nullable'];
  if (typeof part['format'] !== 'string' || !Object.hasOwn(FORMATS, part['format'])) delete part['format'];
  const usable = (pattern: string) => {
    try {
      matchers.of(pattern);
      return true;
    } catch (error) {
      if (patterns === 'refuse') throw error;
      return false;
    }
  };
  if (typeof part['pattern'] === 'string' && !usable(part['pattern'])) delete part['pattern'];
  const named = part['patternProperties'];
  if (typeof named === 'object' && named !== null) {
    for (const pattern of Object.keys(named)) {
      if (usable(pattern)) continue;
      delete (named as Subschema)[pattern];
      // Which members are additional can no longer be told.
      delete part['additionalProperties'];
    }
  }
  // A pure reference stays one: what it refers to has a step of its own.
  if (Object.keys(part).some((key) => key !== '$ref')) part[STEP] = costOf(part);
}

/** One for the subschema, and one for each thing it may compare or look up by itself. */
function costOf(part: Subschema): number {
  let cost = 1;
  for (const key of ['enum', 'required', 'properties', 'dependentRequired', 'dependencies']) {
    const value = part[key];
    if (typeof value === 'object' && value !== null) cost += Object.keys(value).length;
  }
  return cost;
}

/** Thrown out of the compiled check when its steps are spent. */
const SPENT = Symbol('spent');

interface Matcher {
  readonly size: number;
  test(text: string): boolean;
}

interface Matchers {
  /** @throws ParleyError `unsupported` or `limit` */
  of(pattern: string): Matcher;
}

function createMatchers(): Matchers {
  const known = new Map<string, Matcher>();
  let total = 0;
  return {
    of(pattern) {
      let matcher = known.get(pattern);
      if (matcher === undefined) {
        matcher = matcherOf(pattern);
        total += matcher.size;
        if (total > MAX_PROGRAM) {
          throw overLimit('maxPatternProgram', total, 'The patterns of the schema are too large together to be matched here.');
        }
        known.set(pattern, matcher);
      }
      return matcher;
    },
  };
}

function matcherOf(pattern: string): Matcher {
  try {
    if (pattern.length > MAX_PATTERN) throw new Error(`it has more than ${MAX_PATTERN} characters`);
    // Taken for a plain "k" otherwise.
    if (/(?:^|[^\\])(?:\\\\)*\\k/.test(pattern)) throw new Error('it has a back reference');
    const RE2JS = re2();
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { size: compiled.programSize(), test: (text) => compiled.test(text) };
  } catch (cause) {
    throw new ParleyError(
      'unsupported',
      `The schema has a pattern that cannot be matched in linear time: ${printable(pattern)}.`,
      {
        cause,
      },
    );
  }
}

/** The compiled schema, as a function of the value and the steps it may take. */
function compile(
  Engine: Engine,
  schema: Subschema,
  matchers: Matchers,
  errors: 'first' | 'all',
): (value: unknown, steps: number) => readonly SchemaError[] | string | undefined {
  let left = 0;
  const pay = (steps: number) => {
    left -= steps;
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- no fault: it unwinds the compiled check
    if (left < 0) throw SPENT;
  };
  const regExp = (pattern: string) => {
    const { size, test } = matchers.of(pattern);
    return {
      test(text: string) {
        pay(text.length * (1 + size / 64));
        return test(text);
      },
      // The compiler keeps one matcher for each text.
      toString: () => pattern,
    };
  };
  const options: Options = {
    strict: false,
    meta: false,
    validateSchema: false,
    logger: false,
    // A definition that is used often would be copied as often.
    inlineRefs: false,
    ownProperties: true,
    allErrors: errors === 'all',
    verbose: errors === 'all',
    formats: FORMATS,
    code: { optimize: false, regExp: Object.assign(regExp, { code: 'linear' }) },
  };
  const ajv = new Engine(options);
  countSteps(ajv, pay);
  replaceUniqueItems(ajv, pay);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema);
  } catch (cause) {
    if (cause instanceof ParleyError) throw cause;
    if (cause instanceof Ajv.MissingRefError) throw notLocal(cause.missingRef);
    const why = cause instanceof RangeError ? 'it is too intricate' : printable(cause instanceof Error ? cause.message : '');
    throw new ParleyError('unsupported', `The schema cannot be used: ${why}.`, { cause });
  }
  return (value, steps) => {
    left = steps;
    try {
      return validate(value) ? undefined : (validate.errors ?? []);
    } catch (error) {
      // The stack ends where a value is deeper than calls may be.
      if (error === SPENT || error instanceof RangeError) return 'the value takes too long to be checked against the schema';
      throw error;
    }
  };
}

function countSteps(ajv: Ajv | Ajv2019 | Ajv2020, pay: (steps: number) => void): void {
  ajv.addKeyword({
    keyword: STEP,
    schemaType: 'number',
    valid: true,
    validate: (cost: number, value: unknown) => {
      pay(Math.max(1, cost) + sizeOf(value) / 16);
      return true;
    },
  });
  // Paid before anything else in the subschema is done.
  const { rules } = ajv.RULES;
  for (const group of rules) {
    const at = group.rules.findIndex((rule) => rule.keyword === STEP);
    if (at !== -1) {
      rules.unshift({ rules: group.rules.splice(at, 1) });
      break;
    }
  }
}

/** Equal items are found by their canonical text, where comparing each with each would take quadratic time. */
function replaceUniqueItems(ajv: Ajv | Ajv2019 | Ajv2020, pay: (steps: number) => void): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must have no item twice' },
    validate: (unique: boolean, items: unknown[]) => {
      if (!unique) return true;
      const seen = new Set<string>();
      for (const item of items) {
        const text = canonical(item);
        pay(1 + text.length / 16);
        seen.add(text);
      }
      return seen.size === items.length;
    },
  });
}

/** How many characters, items or members a keyword may have to go over. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}
