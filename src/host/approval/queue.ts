// Asks one question at a time. Calls that come in parallel wait for their turn, so a person never faces two prompts at once,
// and nobody waits for ever or is worn down by repetition.
import { limitOf, systemClock, type Clock } from '../../base/index.ts';
import { abortError } from '../../jsonrpc/index.ts';
import type { ApprovalRequest, Approver, Verdict } from './approver.ts';
import type { CallIntent } from './intent.ts';

export interface QueueOptions {
  /** How long one question stands before it is denied, counted from when it is shown. Default: the limit `approvalMs`. */
  readonly timeoutMs?: number;
  /** Questions that may wait, in all and of one server; more are denied at once. Default: `maxAsked`, `maxAskedOfServer`. */
  readonly maxPending?: number;
  readonly maxPendingOfServer?: number;
  /** After this many denials of one tool by a person, it is denied without a question. Default 3. */
  readonly maxDenials?: number;
  readonly clock?: Clock;
}

/**
 * Returns an approver that hands requests to `approver` one after the other, in order; `isAllowed` says what was allowed while it
 * waited. Time-out, too many questions and too many denials are verdicts; an abort rejects with ParleyError `aborted`, and what the
 * approver throws is passed on.
 */
export function queueApprover(
  approver: Approver,
  isAllowed: (intent: CallIntent) => boolean | Promise<boolean>,
  options: QueueOptions = {},
): Approver {
  const { maxDenials = 3, clock = systemClock } = options;
  const timeoutMs = limitOf('approvalMs', options.timeoutMs);
  const maxPending = limitOf('maxAsked', options.maxPending);
  const maxPendingOfServer = limitOf('maxAskedOfServer', options.maxPendingOfServer);
  const pending = new Set<{ readonly server: string }>();
  const denials = new Map<string, number>();
  let lastTurn: Promise<unknown> = Promise.resolve();

  /** The denial that needs nobody, if there is one. */
  function refused({ intent }: ApprovalRequest): Verdict | undefined {
    if ((denials.get(keyOf(intent)) ?? 0) >= maxDenials) {
      return deny('policy', `It was denied ${maxDenials} times in this run, so it is not asked for again.`);
    }
    return undefined;
  }

  function overflow({ intent: { server } }: ApprovalRequest): Verdict | undefined {
    const ofServer = [...pending].filter((other) => other.server === server).length;
    if (pending.size < maxPending && ofServer < maxPendingOfServer) return undefined;
    return deny('policy', `Too many calls wait for approval: ${ofServer} of server "${server}", ${pending.size} in all.`);
  }

  function remember({ intent }: ApprovalRequest, verdict: Verdict): Verdict {
    if (verdict.type === 'deny' && verdict.by === 'person') {
      denials.set(keyOf(intent), (denials.get(keyOf(intent)) ?? 0) + 1);
    }
    return verdict;
  }

  /** Shows one question until it is answered, out of time or aborted, whichever is first. */
  function show(request: ApprovalRequest, signal: AbortSignal | undefined): Promise<Verdict> {
    const shown = new AbortController();
    return bounded(signal, (resolve, reject) => {
      void approver.ask(request, { signal: shown.signal }).then(resolve, reject);
      const timer = clock.after(timeoutMs, () => resolve(deny('timeout', `Nobody answered within ${timeoutMs / 1_000} s.`)));
      return () => {
        timer.cancel();
        shown.abort();
      };
    });
  }

  return {
    async ask(request, { signal } = {}) {
      const now = refused(request) ?? overflow(request);
      if (now !== undefined) return now;
      const place = { server: request.intent.server };
      pending.add(place);
      const before = lastTurn;
      let endTurn = () => {};
      const turn = new Promise<void>((resolve) => (endTurn = resolve));
      lastTurn = before.then(() => turn);
      try {
        await bounded(signal, (resolve) => {
          void before.then(resolve);
          return () => {};
        });
        const early = refused(request);
        if (early !== undefined) return early;
        if (request.widest === 'run' && (await isAllowed(request.intent))) return { type: 'allow', scope: 'run' };
        return remember(request, await show(request, signal));
      } finally {
        pending.delete(place);
        endTurn();
      }
    },
  };
}

/** Waits until `start` resolves or rejects it, or until `signal` aborts; then calls the function that `start` returned. */
async function bounded<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  if (signal?.aborted) throw abortError(signal, 'The approval');
  let abort = () => {};
  let cleanUp = () => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      abort = () => signal && reject(abortError(signal, 'The approval'));
      signal?.addEventListener('abort', abort, { once: true });
      cleanUp = start(resolve, reject);
    });
  } finally {
    signal?.removeEventListener('abort', abort);
    cleanUp();
  }
}

function keyOf({ server, tool }: { readonly server: string; readonly tool: string }): string {
  return JSON.stringify([server, tool]);
}

function deny(by: 'timeout' | 'policy', message: string): Verdict {
  return { type: 'deny', by, message };
}
