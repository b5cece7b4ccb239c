// One call as it will be made: built once, frozen, with one digest. What is decided, shown, approved, recorded and sent is this
// object and nothing else, so that nothing can change in between.
import { hash } from 'node:crypto';
import { canonical, digest } from '../../base/index.ts';
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
  const { server, kind = 'tool', principal = '', run = '', route = 'library', serverDigest = '', policyVersion = '' } = call;
  const taint = Object.freeze([...(call.taint ?? [])]);
  try {
    const copied = copyOf(call.tool);
    const { definition, definitionDigest } = copied;
    const tool = kind === 'tool' ? definition.name : `${kind}:${definition.name}`;
    const argsText = canonical(call.args);
    const args = frozen(JSON.parse(argsText) as JsonObject, DEEPEST);
    const of = [server, tool, serverDigest, policyVersion, principal, call.taint];
    if (copied.rest?.of.every((part, at) => part === of[at]) !== true) {
      const rest = { definition: definitionDigest, policyVersion, principal, server, serverDigest, taint, tool };
      copied.rest = { of, text: canonical(rest).slice(1) };
    }
    // The canonical form of one object with all of these, without writing out what is the same from call to call.
    const whole = hash('sha256', `{"args":${argsText},${copied.rest.text}`);
    return Object.freeze({
      server,
      kind,
      tool,
      definition,
      definitionDigest,
      args,
      principal,
      run,
      route,
      serverDigest,
      policyVersion,
      taint,
      digest: whole,
    });
  } catch (cause) {
    throw new ParleyError(
      'invalid-arguments',
      `Arguments for server "${server}" cannot be written as JSON of at most ${DEEPEST} levels. Pass plain values.`,
      { cause, details: { server } },
    );
  }
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
  /** The canonical form of all but the arguments, as it was for the last call. */
  rest?: { readonly of: readonly unknown[]; readonly text: string };
}

const copies = new WeakMap<Tool, CopiedDefinition>();

function copyOf(tool: Tool): CopiedDefinition {
  let copy = copies.get(tool);
  if (copy === undefined) {
    const definition = frozen(JSON.parse(canonical(tool)) as Tool, Infinity);
    copy = { definition, definitionDigest: digest(definition) };
    copies.set(tool, copy);
  }
  return copy;
}

/** `value` itself, frozen with all it holds. */
function frozen<T>(value: T, levels: number): T {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) throw new RangeError('nested too deep');
  for (const member of Object.values(value)) frozen(member, levels - 1);
  return Object.freeze(value);
}
