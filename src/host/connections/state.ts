// The life of a connection as a value, moved by one pure function. Effects (opening, timers, closing) belong to
// `connection.ts`, which looks only at the state it is handed.
import { isParleyError, RpcError, type ParleyError } from '../../errors.ts';
import type { Session } from '../../client/index.ts';

export type ConnectionState =
  /** Not asked to connect: disabled, or not started. */
  | { readonly type: 'idle' }
  /** `error`: why the attempt or the session before this attempt failed. */
  | { readonly type: 'connecting'; readonly attempt: number; readonly losses: readonly number[]; readonly error?: Error }
  | { readonly type: 'ready'; readonly session: Session; readonly since: number; readonly losses: readonly number[] }
  /** Lost or not reached; tries again at `retryAt`. */
  | {
      readonly type: 'waiting';
      readonly error: Error;
      readonly attempt: number;
      readonly retryAt: number;
      readonly losses: readonly number[];
    }
  /** Wants a person to sign in, as `error` says, with the challenge in its details. Time does not mend it: the next call looks again. */
  | { readonly type: 'needs-auth'; readonly error: ParleyError; readonly losses: readonly number[] }
  /** Given up until somebody acts. */
  | { readonly type: 'failed'; readonly error: Error }
  | { readonly type: 'closed' };

export type ConnectionEvent =
  | { readonly type: 'start' }
  | { readonly type: 'connected'; readonly session: Session }
  /** An attempt to connect failed. */
  | { readonly type: 'failed'; readonly error: Error }
  /** A session that was ready ended. */
  | { readonly type: 'lost'; readonly error: Error }
  /** The back-off is over, or a call needs the server now. */
  | { readonly type: 'retry' }
  /** A person asks for a fresh start. */
  | { readonly type: 'restart' }
  | { readonly type: 'stop' };

export interface Facts {
  /** Milliseconds on the clock. */
  readonly now: number;
  /** Delay before the attempt of this number, in milliseconds. */
  readonly delay: (attempt: number) => number;
}

/** Attempts in a row before a server that cannot be reached is given up. */
const MAX_ATTEMPTS = 5;
/** A server lost this often within the window is in a crash loop. */
export const MAX_LOSSES = 5;
const LOSS_WINDOW_MS = 600_000;

/** The state after `event`. An event that means nothing in a state leaves it as it is. */
export function next(state: ConnectionState, event: ConnectionEvent, facts: Facts): ConnectionState {
  if (state.type === 'closed' || event.type === 'stop') return { type: 'closed' };
  switch (event.type) {
    case 'start':
      return state.type === 'idle' ? { type: 'connecting', attempt: 1, losses: [] } : state;
    case 'restart':
      return state.type === 'connecting' ? state : { type: 'connecting', attempt: 1, losses: [] };
    case 'connected':
      return state.type === 'connecting'
        ? { type: 'ready', session: event.session, since: facts.now, losses: state.losses }
        : state;
    case 'failed': {
      if (state.type !== 'connecting') return state;
      if (isParleyError(event.error, 'auth-required')) return needsAuth(event.error, state.losses);
      if (!mayPass(event.error) || state.attempt >= MAX_ATTEMPTS) return { type: 'failed', error: event.error };
      return wait(event.error, state.attempt + 1, state.losses, facts);
    }
    case 'lost': {
      if (state.type !== 'ready') return state;
      // A server that wants to know who asks is well.
      if (isParleyError(event.error, 'auth-required')) return needsAuth(event.error, state.losses);
      const losses = [...state.losses.filter((at) => facts.now - at < LOSS_WINDOW_MS), facts.now];
      if (losses.length > MAX_LOSSES) return { type: 'failed', error: event.error };
      return wait(event.error, losses.length, losses, facts);
    }
    case 'retry':
      if (state.type !== 'waiting' && state.type !== 'needs-auth') return state;
      return {
        type: 'connecting',
        attempt: state.type === 'waiting' ? state.attempt : 1,
        losses: state.losses,
        error: state.error,
      };
    default:
      return event satisfies never;
  }
}

function needsAuth(error: ParleyError, losses: readonly number[]): ConnectionState {
  return { type: 'needs-auth', error, losses };
}

function wait(error: Error, attempt: number, losses: readonly number[], facts: Facts): ConnectionState {
  return { type: 'waiting', error, attempt, losses, retryAt: facts.now + facts.delay(attempt) };
}

/** True for faults that time may mend; a wrong command or an unknown revision is not among them. */
function mayPass(error: Error): boolean {
  if (error instanceof RpcError) return false;
  if (!isParleyError(error)) return false;
  switch (error.code) {
    case 'unreachable':
    case 'timeout':
    case 'server-stopped':
    case 'session-lost':
      return true;
    case 'http-status':
      return (error.details.status ?? 0) >= 500 || error.details.status === 429;
    default:
      return error.retryable;
  }
}
