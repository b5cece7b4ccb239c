import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../errors.ts';
import type { Session } from '../../client/index.ts';
import { MAX_LOSSES, next, type ConnectionEvent, type ConnectionState } from './state.ts';

const session = {} as Session;
const lasting = new ParleyError('version-unsupported', 'no revision in common');
const unknown = new ParleyError('auth-required', 'sign in', { details: { challenge: 'Bearer' } });
const passing = new ParleyError('server-stopped', 'gone');
const facts = (now = 0) => ({ now, delay: (attempt: number) => attempt * 1_000 });
const run = (events: readonly ConnectionEvent[], from: ConnectionState = { type: 'idle' }) =>
  events.reduce((state, event) => next(state, event, facts()), from);

const start = { type: 'start' } as const;
const connected = { type: 'connected', session } as const;
const lost = { type: 'lost', error: passing } as const;
const failed = { type: 'failed', error: passing } as const;
const retry = { type: 'retry' } as const;

describe('the life of a connection', () => {
  it('goes from idle over connecting to ready', () => {
    expect(run([start])).toEqual({ type: 'connecting', attempt: 1, losses: [] });
    expect(run([start, connected])).toMatchObject({ type: 'ready', session });
  });

  it('waits longer after each failure and gives up after five attempts', () => {
    expect(run([start, failed])).toMatchObject({ type: 'waiting', attempt: 2, retryAt: 2_000 });
    expect(run([start, failed, retry, failed])).toMatchObject({ type: 'waiting', attempt: 3, retryAt: 3_000 });
    const four = Array.from({ length: 4 }, () => [failed, retry]).flat();
    expect(run([start, ...four, failed])).toEqual({ type: 'failed', error: passing });
  });

  it('gives up at once on what time does not mend', () => {
    expect(run([start, { type: 'failed', error: lasting }])).toEqual({ type: 'failed', error: lasting });
  });

  it('comes back after a loss, and calls too many losses in ten minutes a crash loop', () => {
    const loss = [connected, lost, retry];
    expect(run([start, connected, lost])).toMatchObject({ type: 'waiting', attempt: 1 });
    const loop = Array.from({ length: MAX_LOSSES }, () => loss).flat();
    expect(run([start, ...loop, connected, lost])).toEqual({ type: 'failed', error: passing });
    let state = run([start, ...loop, connected]);
    state = next(state, lost, facts(600_001));
    expect(state).toMatchObject({ type: 'waiting', attempt: 1 });
  });

  it('waits for a sign-in without trying again by itself, until a call looks or a person asks', () => {
    const needsAuth = { type: 'needs-auth', error: unknown, losses: [] };
    const refused = { type: 'failed', error: unknown } as const;
    expect(run([start, refused])).toEqual(needsAuth);
    expect(run([start, failed, retry, refused, retry])).toEqual({ type: 'connecting', attempt: 1, losses: [], error: unknown });
    expect(run([start, refused, start, failed, lost, connected])).toEqual(needsAuth);
    expect(run([start, refused, { type: 'restart' }])).toEqual({ type: 'connecting', attempt: 1, losses: [] });
  });

  it('does not count a sign-in that became needed as a loss, and forgets none that was', () => {
    const asked = { type: 'lost', error: unknown } as const;
    const many = Array.from({ length: 3 * MAX_LOSSES }, () => [connected, asked, retry]).flat();
    expect(run([start, ...many, connected, asked])).toEqual({ type: 'needs-auth', error: unknown, losses: [] });
    const losses = Array.from({ length: MAX_LOSSES }, () => [connected, lost, retry]).flat();
    expect(run([start, ...losses, connected, asked, retry, connected, lost])).toEqual({ type: 'failed', error: passing });
  });

  it('starts afresh when a person asks', () => {
    expect(run([start, { type: 'failed', error: lasting }, { type: 'restart' }])).toEqual({
      type: 'connecting',
      attempt: 1,
      losses: [],
    });
  });

  it('never leaves closed, never loses its session by a stray event, and counts within bounds, whatever comes', () => {
    const event = fc.constantFrom<ConnectionEvent>(
      start,
      connected,
      lost,
      failed,
      retry,
      { type: 'restart' },
      { type: 'stop' },
      { type: 'failed', error: lasting },
      { type: 'failed', error: unknown },
      { type: 'lost', error: unknown },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let state: ConnectionState = { type: 'idle' };
        for (const each of events) {
          const after = next(state, each, facts());
          if (state.type === 'closed') expect(after.type).toBe('closed');
          if (state.type === 'ready')
            expect(['ready', 'waiting', 'needs-auth', 'failed', 'connecting', 'closed']).toContain(after.type);
          if (after.type === 'ready' && state.type !== 'ready')
            expect([state.type, each.type]).toEqual(['connecting', 'connected']);
          if (after.type === 'needs-auth') expect(after.error).toBe(unknown);
          // Nothing but a call or a person ends it.
          if (state.type === 'needs-auth' && after !== state) expect(['retry', 'restart', 'stop']).toContain(each.type);
          if ('attempt' in after) expect(after.attempt).toBeLessThanOrEqual(6);
          if ('losses' in after) expect(after.losses.length).toBeLessThanOrEqual(MAX_LOSSES);
          state = after;
        }
      }),
    );
  });
});
