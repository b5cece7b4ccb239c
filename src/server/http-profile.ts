// The protocol's part in serving HTTP: which POST is an exchange of its own, which opens or belongs to a session, and which
// status an error has. Looks at headers and a few members; what is wrong with a modern message, its exchange answers.
import { isObject, rpcCode, type ErrorObject, type JsonObject } from '../jsonrpc/index.ts';
import {
  factsOf,
  headerName,
  headerOf,
  mcpCode,
  metaKey,
  metaOf,
  method,
  readInitialize,
  sessionHabits,
  type RequestHeaders,
  type SessionHabits,
} from '../protocol/index.ts';
import type { HttpProfile, Inspection, Refusal } from '../transport/http/index.ts';

export const httpProfile: HttpProfile = { inspect, status, check };

const SESSION_ID = 'mcp-session-id';

function inspect(value: unknown, headers: RequestHeaders): Inspection {
  const habits = sessionHabits(headerOf(headers, headerName.version));
  if (Array.isArray(value)) return inspectBatch(value, headers, habits);
  if (habits === undefined || !isObject(value)) return { kind: 'single' };
  const { method: name, params } = value;
  if (isObject(params) && metaKey.protocolVersion in metaOf(params)) return { kind: 'single' };
  if (name === method.initialize) return { kind: 'open', priming: primingOf(sessionHabits(negotiated(params))) };
  // No session has such a method: the exchange says what the request lacks.
  if (typeof name === 'string' && headers[SESSION_ID] === undefined && factsOf(name)?.eras.includes('legacy') === false) {
    return { kind: 'single' };
  }
  return { kind: 'session', priming: primingOf(habits) };
}

/** The revision that a session would have; undefined when `initialize` will be refused. */
function negotiated(params: unknown): string | undefined {
  try {
    return readInitialize(params as JsonObject).revision;
  } catch {
    return undefined;
  }
}

function primingOf(habits: SessionHabits | undefined): 'send' | 'omit' {
  return habits?.primedStreams === true ? 'send' : 'omit';
}

function inspectBatch(batch: readonly unknown[], headers: RequestHeaders, habits: SessionHabits | undefined): Inspection {
  const isGreeting = batch.some((item) => isObject(item) && item['method'] === method.initialize);
  if (habits?.batches === true && headers[SESSION_ID] !== undefined && batch.length > 0 && !isGreeting) {
    return { kind: 'session', priming: primingOf(habits) };
  }
  return { kind: 'refuse', ...refusal('A batch is accepted only within a session of a revision that has batches') };
}

/** Refuses a GET or DELETE in a revision that is not of the era of sessions. */
function check(headers: RequestHeaders): Refusal | undefined {
  if (sessionHabits(headerOf(headers, headerName.version)) !== undefined) return undefined;
  return refusal(`There are no sessions in the revision that ${headerName.version} names`);
}

function refusal(message: string): Refusal {
  return { status: 400, reply: { jsonrpc: '2.0', error: { code: rpcCode.invalidRequest, message } } };
}

/** What the specification asks for, where it does; an application's errors are answers like any other. */
function status({ code }: ErrorObject): number {
  switch (code) {
    case rpcCode.methodNotFound:
      return 404;
    case rpcCode.parseError:
    case rpcCode.invalidRequest:
    case rpcCode.invalidParams:
    case mcpCode.headerMismatch:
    case mcpCode.missingCapability:
    case mcpCode.unsupportedVersion:
      return 400;
    default:
      return 200;
  }
}
