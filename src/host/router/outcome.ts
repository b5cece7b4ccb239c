// What became of a call, as a value. Nothing here is thrown at a model or a person: each way a call can end has its own type,
// and one sentence that says so.
import type { ParleyError } from '../../errors.ts';
import { seconds } from '../../jsonrpc/index.ts';
import type { ApprovalScope, Denier as ApprovalDenier } from '../approval/index.ts';

/** `R` is the result as it is held: what a server says stays shut in. */
export type Outcome<R> =
  /** The server answered. For a tool, `isError` was not set. */
  | { readonly type: 'ok'; readonly result: R }
  /** The tool ran and says that it failed. */
  | { readonly type: 'tool-error'; readonly result: R }
  /** There is no such name, or more than one; nothing was sent. */
  | { readonly type: 'unknown'; readonly message: string; readonly suggestions: readonly string[] }
  /** The arguments cannot be right; nothing was sent. */
  | { readonly type: 'invalid'; readonly message: string }
  /**
   * Policy, a person or the lack of one said no, or it is not what was reviewed; nothing was sent. `because` is for people. `widest` is
   * there where somebody would have been asked: with `run`, a rule that allows makes the question needless.
   */
  | {
      readonly type: 'denied';
      readonly by: Denier;
      readonly because: string;
      readonly ticket?: string;
      readonly widest?: ApprovalScope;
    }
  /** The server answered with a JSON-RPC error. The message is its own. */
  | { readonly type: 'protocol-error'; readonly code: number; readonly message: string; readonly data: unknown }
  | { readonly type: 'timeout'; readonly afterMs: number }
  /** The server stopped. `sent` says whether the request may have been carried out. */
  | { readonly type: 'lost'; readonly server: string; readonly sent: 'no' | 'perhaps'; readonly error: ParleyError }
  | { readonly type: 'cancelled' }
  /** It could not be done, or its answer not be used: not reachable, sign-in needed, a limit, a broken answer. `sent` as for `lost`. */
  | { readonly type: 'fault'; readonly sent: 'no' | 'perhaps'; readonly error: ParleyError };

/** Who or what said no. `changed`: the project's lock, since the definition is not the one that was reviewed. */
export type Denier = ApprovalDenier | 'changed';

/** A call that was not let through. */
export type Denied = Extract<Outcome<never>, { readonly type: 'denied' }>;

export type OutcomeType = Outcome<unknown>['type'];

/** One sentence on how a call ended, fit for a model: no policy internals. A server's own text stays out of it but for errors. */
export function sayOutcome(outcome: Outcome<unknown>): string {
  switch (outcome.type) {
    case 'ok':
      return 'Done.';
    case 'tool-error':
      return 'The tool reported an error.';
    case 'unknown':
    case 'invalid':
      return outcome.message;
    case 'denied':
      return outcome.by === 'person' ? 'Declined by the user.' : sayDenial(outcome.by);
    case 'protocol-error':
      return `MCP error ${outcome.code}: ${outcome.message.slice(0, 2_048)}`;
    case 'timeout':
      return `Timed out after ${seconds(outcome.afterMs)}; it is not known whether the call was carried out.`;
    case 'lost':
      return outcome.sent === 'no'
        ? `Server "${outcome.server}" has stopped; the call was not made.`
        : `Server "${outcome.server}" has stopped; it is not known whether the call was carried out.`;
    case 'cancelled':
      return 'Cancelled.';
    case 'fault':
      return outcome.sent === 'no'
        ? outcome.error.message
        : `${outcome.error.message} It is not known whether the call was carried out.`;
    default:
      return outcome satisfies never;
  }
}

function sayDenial(by: Exclude<Denier, 'person'>): string {
  switch (by) {
    case 'no-terminal':
      return 'Declined: this call needs approval, and there is nobody to ask.';
    case 'timeout':
      return 'Declined: this call needs approval, and nobody answered in time.';
    case 'policy':
      return 'Declined by policy.';
    case 'parked':
      return 'Not made yet: this call waits for approval. It may be tried again later, with the very same arguments.';
    case 'changed':
      return 'Declined: it is not what was reviewed, and somebody has to look at it first.';
    default:
      return by satisfies never;
  }
}
