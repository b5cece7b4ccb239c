// Answering "ask this first, then call again" by hand, for handlers that keep their own state.
import { ParleyError } from '../errors.ts';
import type { InputRequest } from '../protocol/index.ts';

const made = Symbol('input required');

/** What a handler returns instead of a result. The handler runs again with `context.inputResponses` and `context.requestState`. */
export interface InputRequired {
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  /** Comes back as it is. Make it with `context.seal` when anything depends on it. */
  readonly requestState?: string;
  readonly [made]: true;
}

/**
 * Returns what a handler answers to be run again once the client has given the inputs. A client of an earlier era is asked by
 * requests, and the handler is run again without it noticing.
 * @throws ParleyError `usage` when there is neither a request nor a state
 * @see 2026-07-28 basic/patterns/mrtr
 */
export function inputRequired(wanted: Omit<InputRequired, typeof made>): InputRequired {
  if (wanted.requestState === undefined && Object.keys(wanted.inputRequests ?? {}).length === 0) {
    throw new ParleyError('usage', 'inputRequired needs inputRequests or a requestState.');
  }
  return { ...wanted, [made]: true };
}

export function isInputRequired(value: unknown): value is InputRequired {
  return typeof value === 'object' && value !== null && made in value;
}
