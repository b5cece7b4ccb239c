import { describe, expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import { createFakeClock } from '../testing/index.ts';
import { abortError, Pending, seconds, type Entry } from './pending.ts';

/** A table on a clock of its own, and a record of all that its entries were told. */
function setUp() {
  const clock = createFakeClock();
  const pending = new Pending<string>(clock);
  const told: string[] = [];
  const add = (id: number, entry: Partial<Entry<string>> = {}) =>
    pending.add(id, {
      method: `m${id}`,
      settle: (reply) => told.push(`${id} settled ${reply}`),
      reject: (error) => told.push(`${id} rejected ${(error as ParleyError).code}`),
      timeoutMs: 100,
      maxMs: 1_000,
      onGiveUp: () => told.push(`${id} expired`),
      ...entry,
    });
  return { clock, pending, told, add };
}

describe('an entry', () => {
  test('is taken once', () => {
    const { pending, add } = setUp();
    add(1);
    expect(pending.take(1)?.method).toBe('m1');
    expect(pending.take(1)).toBeUndefined();
    expect(pending.wasForgotten(1)).toBe(false);
  });

  test('is known by the type of its id too', () => {
    const { pending, add } = setUp();
    add(1);
    expect(pending.take('1')).toBeUndefined();
    expect(pending.take('')).toBeUndefined();
    expect(pending.size).toBe(1);
  });

  test('that is forgotten is remembered for one late reply', () => {
    const { pending, add } = setUp();
    add(1);
    expect(pending.forget(1)?.method).toBe('m1');
    expect(pending.forget(1)).toBeUndefined();
    expect(pending.wasForgotten(1)).toBe(true);
    expect(pending.wasForgotten(1)).toBe(false);
  });

  test('is the only one as long as there is no other', () => {
    const { pending, add } = setUp();
    expect(pending.only()).toBeUndefined();
    add(1);
    expect(pending.only()).toBe(1);
    add(2);
    expect(pending.only()).toBeUndefined();
    pending.take(1);
    expect(pending.only()).toBe(2);
  });
});

test('of the forgotten the last 1,000 are remembered', () => {
  const { pending, add } = setUp();
  for (let id = 1; id <= 1_001; id++) {
    add(id);
    pending.forget(id);
  }
  expect(pending.wasForgotten(1)).toBe(false);
  expect(pending.wasForgotten(2)).toBe(true);
  expect(pending.wasForgotten(1_001)).toBe(true);
});

describe('time', () => {
  test('runs out for each entry by itself', () => {
    const { clock, pending, told, add } = setUp();
    add(1, { timeoutMs: 300 });
    add(2, { timeoutMs: 100 });
    add(3, { timeoutMs: Infinity, maxMs: Infinity });
    clock.advance(99);
    expect(told).toEqual([]);
    clock.advance(1);
    expect(told).toEqual(['2 expired', '2 rejected timeout']);
    clock.advance(200);
    expect(told.slice(2)).toEqual(['1 expired', '1 rejected timeout']);
    clock.advance(1e9);
    expect(pending.size).toBe(1);
    expect(clock.waiting).toBe(0);
  });

  test('that ran out is said in the error, with what was waited for', () => {
    const { clock, add } = setUp();
    const errors: Error[] = [];
    const reject = (error: Error) => void errors.push(error);
    add(1, { reject, timeoutMs: 500 });
    add(2, { reject, timeoutMs: 5_000, maxMs: 2_000 });
    clock.advance(2_000);
    expect(errors).toMatchObject([
      { code: 'timeout', details: { afterMs: 500 } },
      { code: 'timeout', details: { afterMs: 2_000 } },
    ]);
    expect(errors[0]?.message).toBe('No answer to m1 within 0.5 s. Raise the time-out for this call, or look at the server.');
  });

  test('is one timer for the whole table, and none when nothing waits any more', () => {
    const { clock, pending, add } = setUp();
    for (let id = 1; id <= 50; id++) add(id, { timeoutMs: 1_000 - id });
    expect(clock.waiting).toBe(1);
    for (let id = 1; id <= 50; id++) pending.take(id);
    clock.advance(1_000);
    expect(clock.waiting).toBe(0);
  });

  test('still runs for an entry that is added while another expires', () => {
    const { clock, told, add } = setUp();
    add(1, { onGiveUp: () => add(2) });
    clock.advance(100);
    expect(told).toEqual(['1 rejected timeout']);
    clock.advance(100);
    expect(told).toEqual(['1 rejected timeout', '2 expired', '2 rejected timeout']);
  });

  test('does not end an entry again that was ended while another expired', () => {
    const { clock, pending, told, add } = setUp();
    add(1, { onGiveUp: () => pending.failAll(() => new ParleyError('closed', 'Over.')) });
    add(2);
    add(3, { timeoutMs: 500 });
    clock.advance(1_000);
    expect(told).toEqual(['2 rejected closed', '3 rejected closed', '1 rejected timeout']);
    expect(clock.waiting).toBe(0);
  });
});

describe('progress', () => {
  test('is passed on and starts the idle time again, but never past the maximum', () => {
    const { clock, pending, told, add } = setUp();
    const heard: number[] = [];
    add(1, { onProgress: ({ progress }) => heard.push(progress), timeoutMs: 100, maxMs: 250 });
    clock.advance(90);
    expect(pending.progress(1, { progress: 1 })).toBe(true);
    clock.advance(90);
    expect(pending.progress(1, { progress: 2 })).toBe(true);
    clock.advance(69);
    expect(told).toEqual([]);
    expect(heard).toEqual([1, 2]);
    clock.advance(1);
    expect(told).toEqual(['1 expired', '1 rejected timeout']);
  });

  test('that does not increase, is no number, or that nobody wants is not used and wins no time', () => {
    const { clock, pending, told, add } = setUp();
    const heard: number[] = [];
    add(1, { onProgress: ({ progress }) => heard.push(progress) });
    add(2);
    expect(pending.progress(1, { progress: 5 })).toBe(true);
    clock.advance(50);
    for (const progress of [5, 4, -1, NaN, Infinity]) expect(pending.progress(1, { progress })).toBe(false);
    expect(pending.progress('1', { progress: 6 })).toBe(false);
    expect(pending.progress(2, { progress: 1 })).toBe(false);
    expect(pending.progress(3, { progress: 1 })).toBe(false);
    clock.advance(50);
    expect(heard).toEqual([5]);
    expect(told).toEqual(['1 expired', '1 rejected timeout', '2 expired', '2 rejected timeout']);
  });
});

test('failAll ends all that wait, once, and leaves no timer', () => {
  const { clock, pending, told, add } = setUp();
  add(1);
  add(2);
  pending.failAll(({ method }) => new ParleyError('server-stopped', method));
  pending.failAll(() => new ParleyError('internal', 'again'));
  clock.advance(1_000);
  expect(told).toEqual(['1 rejected server-stopped', '2 rejected server-stopped']);
  expect(clock.waiting).toBe(0);
});

test('the process is held only while something waits', () => {
  const held: string[] = [];
  const timer = { cancel: () => held.push('cancel'), hold: (alive: string) => held.push(alive) };
  const pending = new Pending<string>({ now: () => 0, after: () => timer });
  const entry = { method: 'm', settle: () => {}, reject: () => {}, timeoutMs: 10, maxMs: 10, onGiveUp: () => {} };
  pending.add(1, entry);
  pending.add(2, entry);
  pending.take(1);
  expect(held.at(-1)).toBe('hold');
  pending.take(2);
  expect(held.at(-1)).toBe('release');
  pending.add(3, entry);
  expect(held.at(-1)).toBe('hold');
});

test('durations are said in seconds, short ones in milliseconds', () => {
  expect([60_000, 1_500, 500, 100, 40, 0].map(seconds)).toEqual(['60 s', '1.5 s', '0.5 s', '0.1 s', '40 ms', '0 ms']);
});

test('an aborted signal stands for its reason when that is a report of ours, else for aborted', () => {
  const ours = new ParleyError('timeout', 'Too late.');
  expect(abortError(AbortSignal.abort(ours), 'm')).toBe(ours);
  const reason = new Error('enough');
  expect(abortError(AbortSignal.abort(reason), 'tools/list')).toMatchObject({
    code: 'aborted',
    message: 'tools/list was cancelled by the caller.',
    cause: reason,
  });
});
