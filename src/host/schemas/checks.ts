// Checks values against schemas of servers without holding the event loop: what is light is checked at once, what may take longer
// in a thread that is ended when its time is over. A schema that cannot be checked lets nothing through.
import { limitOf, overLimit, type Clock, type Limits } from '../../base/index.ts';
import type { ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type * as JsonSchema from '../../protocol/json-schema.ts';
import type { CompileOptions, Validated } from '../../protocol/json-schema.ts';
import { SchemaThread } from './thread.ts';

export interface SchemaChecks extends AsyncDisposable {
  /**
   * Whether the value fits the schema. @throws what compiling throws; ParleyError `limit` when the schema takes too long to be
   * made ready, or the value to be checked. What is light is checked at once, and throws at once.
   */
  check(schema: JsonObject, value: unknown, options: CheckOptions): Validated | Promise<Validated>;
  /** Ends the thread, where there is one. Idempotent. */
  close(): Promise<void>;
}

export interface CheckOptions extends CompileOptions {
  readonly limits?: Pick<Limits, 'schemaCompileMs' | 'schemaCheckMs'> | undefined;
}

/** What is compiled at once: about this many schemas take twenty milliseconds, and four times as long when all is new. */
const LIGHT = 64;
/** Steps that a check at once may take: some ten milliseconds. */
const QUICK_STEPS = 60_000;

export function createSchemaChecks({ clock }: { readonly clock: Clock }): SchemaChecks {
  const thread = new SchemaThread(clock);
  /** Schemas that were given up while they were compiled, so that nobody waits for one of them again. */
  const tooSlow = new WeakMap<JsonObject, ParleyError>();
  let compiler: typeof JsonSchema | undefined;

  /** What comes of a check that is made at once; undefined where it would take too long. */
  function quickly(
    { compileSchema, weightOf }: typeof JsonSchema,
    schema: JsonObject,
    value: unknown,
    { noun, patterns }: CompileOptions,
  ): Validated | undefined {
    if (weightOf(schema) > LIGHT) return undefined;
    const given = { maxSteps: QUICK_STEPS, ...(noun !== undefined && { noun }), ...(patterns !== undefined && { patterns }) };
    const checked = compileSchema(schema, given)(value);
    return checked.valid || checked.spent !== true ? checked : undefined;
  }

  async function elsewhere(schema: JsonObject, value: unknown, { limits = {}, ...options }: CheckOptions): Promise<Validated> {
    const slow = tooSlow.get(schema);
    if (slow !== undefined) throw slow;
    const compileMs = limitOf('schemaCompileMs', limits.schemaCompileMs);
    const checkMs = limitOf('schemaCheckMs', limits.schemaCheckMs);
    const outcome = await thread.run({ schema, value, options }, { compileMs, checkMs });
    switch (outcome.type) {
      case 'checked':
        return outcome.checked;
      case 'failed':
        throw outcome.error;
      case 'late': {
        const [limit, allowed, what] =
          outcome.stage === 'compile'
            ? (['schemaCompileMs', compileMs, 'The schema takes too long to be made ready'] as const)
            : (['schemaCheckMs', checkMs, 'The value takes too long to be checked against the schema'] as const);
        const error = overLimit(limit, allowed, `${what}; it was given up.`, allowed);
        if (outcome.stage === 'compile') tooSlow.set(schema, error);
        throw error;
      }
      default:
        return outcome satisfies never;
    }
  }

  const checkWith = (loaded: typeof JsonSchema, schema: JsonObject, value: unknown, options: CheckOptions) =>
    quickly(loaded, schema, value, options) ?? elsewhere(schema, value, options);

  const close = () => thread.close();
  return {
    check(schema, value, options) {
      if (compiler !== undefined) return checkWith(compiler, schema, value, options);
      // Loaded now, since it is large and all that starts without a check starts sooner.
      return import('../../protocol/json-schema.ts').then((loaded) => checkWith((compiler = loaded), schema, value, options));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
