// One call as it will be made: built once, frozen, with one digest. What is decided, shown, approved and sent is this object
// and nothing else, so that nothing can change in between.
import { canonical, digest } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Tool } from '../../protocol/index.ts';

/** Deepest nesting of arguments; the wire takes no more. */
const DEEPEST = 64;

/** Which call is meant. All of it is frozen, to the bottom. */
export interface CallIntent {
  /** The configured server's name. */
  readonly server: string;
  /** The tool's name as its server gave it. */
  readonly tool: string;
  /** A copy of the definition the call was built against. Untrusted. */
  readonly definition: Tool;
  readonly definitionDigest: string;
  /** A copy of the arguments; the keys of its objects are in canonical order. */
  readonly args: JsonObject;
  /** SHA-256 over server, tool, definition and arguments. */
  readonly digest: string;
}

/**
 * The intent of one call. Later changes of what was passed in do not reach it.
 * @throws ParleyError `invalid-arguments` when the arguments are not JSON, or nested deeper than 64 levels
 */
export function createIntent(call: { readonly server: string; readonly tool: Tool; readonly args: JsonObject }): CallIntent {
  const { server } = call;
  const { definition, args } = copyOf(call);
  const tool = definition.name;
  const definitionDigest = digest(definition);
  const whole = digest({ server, tool, definition: definitionDigest, args });
  return Object.freeze({ server, tool, definition, definitionDigest, args, digest: whole });
}

function copyOf(call: { readonly server: string; readonly tool: Tool; readonly args: JsonObject }) {
  try {
    return { definition: frozen(jsonCopy(call.tool), Infinity), args: frozen(jsonCopy(call.args), DEEPEST) };
  } catch (cause) {
    throw new ParleyError(
      'invalid-arguments',
      `Arguments for server "${call.server}" cannot be written as JSON of at most ${DEEPEST} levels. Pass plain values.`,
      { cause, details: { server: call.server } },
    );
  }
}

function jsonCopy<T>(value: T): T {
  return JSON.parse(canonical(value)) as T;
}

/** `value` itself, frozen with all it holds. */
function frozen<T>(value: T, levels: number): T {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) throw new RangeError('nested too deep');
  for (const member of Object.values(value)) frozen(member, levels - 1);
  return Object.freeze(value);
}
