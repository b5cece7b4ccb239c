// The port to whoever may allow a call: a person at a terminal, a queue, a console. Somebody who cannot be reached is a denial.
import type { CallIntent } from './intent.ts';
import type { ArgumentPattern, Proposal } from './pattern.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';

/** What an approval may cover at most: this one call, or more of the kind. */
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
  /**
   * What may be allowed beyond this run, narrowest first. Empty for a server that fetches what it runs, and for a tool that says
   * that it destroys or reaches out. Default none.
   */
  readonly proposals?: readonly Proposal[];
  /** The server runs something that it fetches, in no certain version. */
  readonly floating?: boolean;
  /** What changed in the tool since it was allowed before, line by line and made visible; absent where nothing did. */
  readonly changes?: readonly string[];
}

/**
 * Who said no. `no-terminal`: there is nobody to ask. `timeout`: nobody answered. `policy`: Parley answered by itself, so as not to
 * ask too often. `parked`: nobody has answered yet; the same call may be made again and finds its ticket.
 */
export type Denier = 'person' | 'no-terminal' | 'timeout' | 'policy' | 'parked';

/** For what a call is allowed, besides itself. */
export type AllowedScope =
  | { readonly scope: 'once' }
  | { readonly scope: 'run' }
  | { readonly scope: 'always'; readonly pattern: ArgumentPattern }
  /** Until a time in milliseconds since 1970, at most 30 days from now. */
  | { readonly scope: 'until'; readonly at: number; readonly pattern: ArgumentPattern };

interface Answered {
  /** Who it was. Default: the host's principal. */
  readonly who?: string;
  /** Where: `terminal`, `cli`, … Default `approver`. */
  readonly channel?: string;
  /** The ticket it was decided by; Parley's own. */
  readonly ticket?: string;
}

/** Yes. `args` are sent instead of those that were asked about, after they were decided on afresh. */
export type Allowance = Answered & AllowedScope & { readonly type: 'allow'; readonly args?: JsonObject };

/** No. A model is told only that it was denied, never the message. */
export type Refusal = Answered & { readonly type: 'deny'; readonly by: Denier; readonly message?: string };

/** The answer. */
export type Verdict = Allowance | Refusal;

export interface Approver {
  /**
   * Asks, and waits for the answer. When the signal aborts, the question is taken back; an answer that comes later counts
   * nowhere. A rejection is a denial too: whoever asks must not make the call.
   */
  ask(request: ApprovalRequest, options?: { readonly signal?: AbortSignal }): Promise<Verdict>;
  /** Set when it keeps its own order and its own time: it is then asked as soon as there is a question, and many at once. */
  readonly keepsQueue?: true;
}

/** An approver for where nobody can be asked: denies everything and says why. */
export function denyAll(message: string): Approver {
  return { ask: async () => ({ type: 'deny', by: 'no-terminal', message }) };
}
