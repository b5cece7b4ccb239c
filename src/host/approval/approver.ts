// The port through which somebody is asked whether a call may be made. Who answers (a terminal, a page) is not known here.
import type { CallIntent } from './intent.ts';

/** What an approval covers: this one call, or the tool, with any arguments, until Parley ends or the tool changes. */
export type ApprovalScope = 'once' | 'run';

/** What somebody is asked. */
export interface ApprovalRequest {
  readonly intent: CallIntent;
  /** Why it is asked at all: for people, never for a model. */
  readonly because: string;
  /** Whether the user trusts what the server says about its tools. */
  readonly trusted: boolean;
  /** The widest scope to offer. `once` where a rule wants every call asked for. */
  readonly widest: ApprovalScope;
}

/**
 * The answer. `no-terminal`: there is nobody to ask. `timeout`: nobody answered. `policy`: Parley answered by itself, so as
 * not to ask too often. A model is told only that it was denied, never the message.
 */
export type Verdict =
  | { readonly type: 'allow'; readonly scope: ApprovalScope }
  | { readonly type: 'deny'; readonly by: 'person' | 'no-terminal' | 'timeout' | 'policy'; readonly message?: string };

export interface Approver {
  /**
   * Asks, and waits for the answer. When the signal aborts, the question is taken back; an answer that comes later counts
   * nowhere. A rejection is a denial too: whoever asks must not make the call.
   */
  ask(request: ApprovalRequest, options?: { readonly signal?: AbortSignal }): Promise<Verdict>;
}

/** An approver for where nobody can be asked: denies everything and says why. */
export function denyAll(message: string): Approver {
  return { ask: async () => ({ type: 'deny', by: 'no-terminal', message }) };
}
