// How a conversation begins, as pure functions: the first messages of each era, what their answers mean, and the one
// verdict table that tells the eras apart (basic/versioning and the "Backward Compatibility" parts of the transports).
import { isParleyError, ParleyError, RpcError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { isModernCode, mcpCode } from './code.ts';
import type { ClientTerms } from './dialect.ts';
import { extension, withoutExtension } from './extension.ts';
import { metaKey, metaOf } from './meta.ts';
import {
  bestCommon,
  isLegacyRevision,
  isModernRevision,
  LEGACY_REVISIONS,
  MODERN_REVISIONS,
  REVISIONS,
  type LegacyRevision,
  type ModernRevision,
  type Revision,
} from './revision.ts';
import type { Implementation, ServerCapabilities } from './schema/index.ts';

/** What a server said of itself. The texts are its own. */
export interface ServerFacts {
  readonly info: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}

/** What a modern probe (`server/discover`) led to. */
export type Probe =
  { readonly type: 'result'; readonly result: JsonObject } | { readonly type: 'error'; readonly error: unknown };

/** What follows from a probe: speak modern, try another revision once, shake hands instead, or give up. */
export type Verdict =
  | { readonly type: 'modern'; readonly revision: ModernRevision; readonly facts: ServerFacts }
  | { readonly type: 'retry'; readonly revision: ModernRevision }
  | { readonly type: 'legacy'; readonly propose: LegacyRevision }
  | { readonly type: 'fail'; readonly error: Error };

/**
 * Judges a probe made in `asked`. Only a result of `server/discover` or one of the modern error codes shows a modern server;
 * sign-in, outages and our own cancellation are failures; everything else is a server of the handshake era. No single code
 * decides for legacy. `spoken` lists what this client may speak.
 */
export function judge(
  probe: Probe,
  asked: ModernRevision,
  attempt: 'first' | 'second',
  spoken: readonly Revision[] = REVISIONS,
): Verdict {
  if (probe.type === 'result') return judgeResult(probe.result, asked, spoken);
  const { error } = probe;
  if (error instanceof RpcError) {
    if (error.code === mcpCode.unsupportedVersion) return judgeRefusal(error, attempt, spoken);
    if (isModernCode(error.code)) return { type: 'fail', error };
    return legacy(spoken, undefined, error);
  }
  if (isParleyError(error)) {
    if (error.code === 'http-status' && error.details.status !== undefined && isClientFault(error.details.status)) {
      return legacy(spoken, undefined, error);
    }
    const silentOrGone = error.code === 'timeout' || error.code === 'server-stopped' || error.code === 'protocol-violation';
    if (silentOrGone || error.code === 'session-lost') return legacy(spoken, undefined, error);
    return { type: 'fail', error };
  }
  return { type: 'fail', error: error instanceof Error ? error : new ParleyError('internal', String(error)) };
}

/** 4xx that a server of an earlier era may answer an unknown POST with; 401 and 403 never come here. */
function isClientFault(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429 && status !== 408;
}

function judgeResult(result: JsonObject, asked: ModernRevision, spoken: readonly Revision[]): Verdict {
  const versions = result['supportedVersions'];
  if (!Array.isArray(versions) || !isObject(result['capabilities'])) {
    return legacy(
      spoken,
      undefined,
      new ParleyError('protocol-violation', 'The answer to server/discover is no discovery result.'),
    );
  }
  const theirs = versions.filter((version) => typeof version === 'string');
  const revision = theirs.includes(asked) ? asked : bestCommon(spoken.filter(isModernRevision), theirs);
  if (revision !== undefined) {
    const info = metaOf(result)[metaKey.serverInfo] ?? result['serverInfo'];
    return { type: 'modern', revision, facts: readFacts(result, info) };
  }
  return legacyAmong(theirs, spoken);
}

function judgeRefusal(error: RpcError, attempt: 'first' | 'second', spoken: readonly Revision[]): Verdict {
  const supported = isObject(error.data) ? error.data['supported'] : undefined;
  const theirs = Array.isArray(supported) ? supported.filter((version) => typeof version === 'string') : [];
  const revision = bestCommon(spoken.filter(isModernRevision), theirs);
  if (revision !== undefined && attempt === 'first') return { type: 'retry', revision };
  if (revision !== undefined) return { type: 'fail', error: nothingCommon(theirs, spoken) };
  return legacyAmong(theirs, spoken);
}

/** The server named its revisions: shake hands only in one of them. */
function legacyAmong(theirs: readonly string[], spoken: readonly Revision[]): Verdict {
  const propose = bestCommon(spoken.filter(isLegacyRevision), theirs);
  return propose === undefined ? { type: 'fail', error: nothingCommon(theirs, spoken) } : { type: 'legacy', propose };
}

function legacy(spoken: readonly Revision[], propose: LegacyRevision | undefined, cause: Error): Verdict {
  const newest = propose ?? spoken.find(isLegacyRevision);
  if (newest !== undefined) return { type: 'legacy', propose: newest };
  return {
    type: 'fail',
    error: new ParleyError(
      'version-unsupported',
      `The server does not speak ${spoken.join(', ')}, and the handshake of earlier revisions is not allowed here.`,
      { cause, details: { ours: spoken } },
    ),
  };
}

/** The error that lists both sides' revisions. */
function nothingCommon(theirs: readonly string[], ours: readonly Revision[] = REVISIONS): ParleyError {
  const refused = ours.find((revision) => theirs.includes(revision));
  if (refused !== undefined) {
    const message = `The server names ${refused}, which Parley speaks too, and refuses to be spoken to in it. Report it to the server’s author.`;
    return new ParleyError('version-unsupported', message, { details: { ours, theirs } });
  }
  const list =
    theirs.length === 0
      ? 'none by name'
      : theirs
          .slice(0, 20)
          .map((version) => version.slice(0, 32))
          .join(', ');
  return new ParleyError(
    'version-unsupported',
    `No protocol revision in common: the server offers ${list}; Parley speaks ${ours.join(', ')}. Update the older side.`,
    { details: { ours, theirs } },
  );
}

/** Params of `initialize`, proposing `revision`. */
export function initializeParams(revision: LegacyRevision, terms: ClientTerms): JsonObject {
  // Tasks are an extension of later revisions alone (SEP-2663, "Backward Compatibility").
  const capabilities = withoutExtension(terms.capabilities, extension.tasks);
  return { protocolVersion: revision, capabilities, clientInfo: terms.client };
}

/** What the answer to `initialize` leads to: an agreed revision, one more try with another, or failure. */
export type Handshake =
  | { readonly type: 'agreed'; readonly revision: LegacyRevision; readonly facts: ServerFacts }
  | { readonly type: 'retry'; readonly revision: LegacyRevision }
  | { readonly type: 'fail'; readonly error: Error };

export function judgeHandshake(probe: Probe, attempt: 'first' | 'second', spoken: readonly Revision[] = REVISIONS): Handshake {
  const ours = spoken.filter(isLegacyRevision);
  if (probe.type === 'result') {
    const version = probe.result['protocolVersion'];
    if (typeof version !== 'string') {
      return { type: 'fail', error: new ParleyError('protocol-violation', 'The answer to initialize has no protocolVersion.') };
    }
    const revision = ours.find((candidate) => candidate === version);
    if (revision === undefined) return { type: 'fail', error: nothingCommon([version], spoken) };
    return { type: 'agreed', revision, facts: readFacts(probe.result, probe.result['serverInfo']) };
  }
  const { error } = probe;
  const supported = error instanceof RpcError && isObject(error.data) ? error.data['supported'] : undefined;
  if (Array.isArray(supported)) {
    const theirs = supported.filter((version) => typeof version === 'string');
    const revision = bestCommon(ours, theirs);
    if (revision !== undefined && attempt === 'first') return { type: 'retry', revision };
    return { type: 'fail', error: nothingCommon(theirs, spoken) };
  }
  return { type: 'fail', error: error instanceof Error ? error : new ParleyError('internal', String(error)) };
}

function readFacts(result: JsonObject, info: unknown): ServerFacts {
  const { capabilities, instructions } = result;
  return {
    info:
      isObject(info) && typeof info['name'] === 'string' ? ({ version: '', ...info } as unknown as Implementation) : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

export const PREFERRED: { readonly modern: ModernRevision; readonly legacy: LegacyRevision } = {
  modern: MODERN_REVISIONS[0],
  legacy: LEGACY_REVISIONS[0],
};
