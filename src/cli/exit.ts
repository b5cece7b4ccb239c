// Exit codes, as the manual lists them. Scripts depend on them.
import { ERRORS, isParleyError, RpcError } from '../errors.ts';
import type { Outcome } from '../host/index.ts';

export const exitCode = {
  ok: 0,
  usage: 1,
  negative: 2,
  auth: 3,
  unreachable: 4,
  toolError: 5,
  denied: 6,
  changed: 7,
  unknown: 8,
  interrupted: 130,
} as const;

/** The exit code of what a command threw. */
export function exitOfError(error: unknown): number {
  if (isParleyError(error)) return ERRORS[error.code].exit;
  return error instanceof RpcError ? exitCode.toolError : exitCode.usage;
}

/** The exit code and the error's code of an outcome. */
export function exitOfOutcome(outcome: Outcome<unknown>): { readonly exit: number; readonly code: string } {
  switch (outcome.type) {
    case 'ok':
      return { exit: exitCode.ok, code: 'ok' };
    case 'tool-error':
      return { exit: exitCode.toolError, code: 'tool-failed' };
    case 'protocol-error':
      return { exit: exitCode.toolError, code: `rpc.${outcome.code}` };
    case 'unknown':
      return { exit: exitCode.negative, code: 'not-found' };
    case 'invalid':
      return { exit: exitCode.usage, code: 'invalid-arguments' };
    case 'denied':
      return outcome.by === 'changed'
        ? { exit: exitCode.changed, code: 'definition-changed' }
        : { exit: exitCode.denied, code: 'denied' };
    case 'timeout':
      return { exit: exitCode.unreachable, code: 'timeout' };
    case 'lost':
      return outcome.sent === 'no'
        ? { exit: exitCode.unreachable, code: 'server-stopped' }
        : { exit: exitCode.unknown, code: 'outcome-unknown' };
    case 'cancelled':
      return { exit: exitCode.interrupted, code: 'aborted' };
    case 'fault':
      return { exit: exitOfError(outcome.error), code: outcome.error.code };
    default:
      return outcome satisfies never;
  }
}
