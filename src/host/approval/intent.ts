// One call as it will be made: built once, frozen, with one digest. What is decided, shown, approved, recorded and sent is this
// object and nothing else, so that nothing can change in between.
import { digest, inOrder } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { Tool } from '../../protocol/index.ts';
import { hideInUrl } from '../config/index.ts';
import type { TaintMark } from '../trust/index.ts';

/** Deepest nesting of arguments; the wire takes no more. */
const DEEPEST = 64;

/** For whom, from where and under what a call is made. */
export interface CallCircumstances {
  readonly principal: string;
  /** The run it belongs to, and the way it came: `library`, `call`, … Neither is part of the digest. */
  readonly run: string;
  readonly route: string;
  /** Digest of the server's identity: what it is, never what it is called. */
  readonly serverDigest: string;
  /** The policy it is decided under. */
  readonly policyVersion: string;
  /** What this run has seen by now that may speak through the call. */
  readonly taint: readonly TaintMark[];
}

/** Which call is meant. All of it is frozen, to the bottom. */
export interface CallIntent extends CallCircumstances {
  /** The configured server's name. */
  readonly server: string;
  /** What is asked for. A resource and a prompt are `resource:URI` and `prompt:NAME` in a tool's place. */
  readonly kind: 'tool' | 'resource' | 'prompt';
  /** The tool's name as its server gave it. */
  readonly tool: string;
  /** A copy of the definition the call was built against. Untrusted. */
  readonly definition: Tool;
  readonly definitionDigest: string;
  /** A copy of the arguments; the keys of its objects are in canonical order. */
  readonly args: JsonObject;
  /**
   * SHA-256 over server, identity, tool, definition, arguments, principal, policy and taint. The same call made again, in another
   * run or on another way, has the same digest.
   */
  readonly digest: string;
}

export interface IntendedCall extends Partial<CallCircumstances> {
  readonly server: string;
  readonly tool: Tool;
  readonly args: JsonObject;
  /** Default `tool`. */
  readonly kind?: CallIntent['kind'];
}

/**
 * The intent of one call. Later changes of what was passed in do not reach it; a definition is copied when it is first met, and
 * taken for the same as long as it is the same object.
 * @throws ParleyError `invalid-arguments` when the arguments are not JSON, or nested deeper than 64 levels
 */
export function createIntent(call: IntendedCall): CallIntent {
  const { server } = call;
  try {
    return new Intent(call, copyOf(call.tool), copied(call.args, DEEPEST) as JsonObject);
  } catch (cause) {
    throw new ParleyError(
      'invalid-arguments',
      `Arguments for server "${server}" cannot be written as JSON of at most ${DEEPEST} levels. Pass plain values.`,
      { cause, details: { server } },
    );
  }
}

/** Made of frozen parts, so that its digest is the same whenever it is first asked for. */
class Intent implements CallIntent {
  readonly server: string;
  readonly kind: CallIntent['kind'];
  readonly tool: string;
  readonly definition: Tool;
  readonly definitionDigest: string;
  readonly args: JsonObject;
  readonly principal: string;
  readonly run: string;
  readonly route: string;
  readonly serverDigest: string;
  readonly policyVersion: string;
  readonly taint: readonly TaintMark[];
  #digest: string | undefined;

  constructor(call: IntendedCall, { definition, definitionDigest }: CopiedDefinition, args: JsonObject) {
    const { taint = [], kind = 'tool' } = call;
    this.server = call.server;
    this.kind = kind;
    this.tool = kind === 'tool' ? definition.name : `${kind}:${definition.name}`;
    this.definition = definition;
    this.definitionDigest = definitionDigest;
    this.args = args;
    this.principal = call.principal ?? '';
    this.run = call.run ?? '';
    this.route = call.route ?? 'library';
    this.serverDigest = call.serverDigest ?? '';
    this.policyVersion = call.policyVersion ?? '';
    this.taint = Object.isFrozen(taint) ? taint : Object.freeze([...taint]);
    Object.freeze(this);
  }

  get digest(): string {
    return (this.#digest ??= digestOf(this));
  }
}

function digestOf({ args, definitionDigest, policyVersion, principal, server, serverDigest, taint, tool }: Intent): string {
  return digest({ args, definition: definitionDigest, policyVersion, principal, server, serverDigest, taint, tool });
}

/** The value as JSON keeps it, with the keys of its objects in canonical order, frozen with all it holds. */
function copied(value: unknown, levels: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no other zero and nothing that is not finite.
      return Number.isFinite(value) ? value + 0 : null;
    case 'undefined':
      return null;
    case 'object':
      break;
    default:
      throw new TypeError(`JSON has no ${typeof value}.`);
  }
  if (value === null) return null;
  if (levels === 0) throw new RangeError('nested too deep');
  if (Array.isArray(value)) return Object.freeze(Array.from(value, (item) => copied(item, levels - 1)));
  const copy: Record<string, unknown> = {};
  for (const name of inOrder(Object.keys(value))) {
    const given = (value as JsonObject)[name];
    if (given === undefined) continue;
    const member = copied(given, levels - 1);
    // None is to be taken for more than a name.
    if (name in copy) Object.defineProperty(copy, name, { value: member, enumerable: true });
    else copy[name] = member;
  }
  return Object.freeze(copy);
}

/**
 * An intent's `tool` as it may be written down and said: a resource's URI without a user, a password and the values of its query, which
 * are among the arguments all the same.
 */
export function writtenTool(tool: string): string {
  return tool.startsWith('resource:') ? `resource:${hideInUrl(tool.slice('resource:'.length))}` : tool;
}

interface CopiedDefinition {
  readonly definition: Tool;
  readonly definitionDigest: string;
}

const copies = new WeakMap<Tool, CopiedDefinition>();

function copyOf(tool: Tool): CopiedDefinition {
  let copy = copies.get(tool);
  if (copy === undefined) {
    const definition = copied(tool, Infinity) as Tool;
    copy = { definition, definitionDigest: digest(definition) };
    copies.set(tool, copy);
  }
  return copy;
}
