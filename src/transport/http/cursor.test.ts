import { describe, expect, it } from 'vitest';
import { Cursor } from './cursor.ts';

/** Delays until the cursor gives up. `random` is 1, so a back-off is its upper bound. */
function delays(cursor: Cursor): number[] {
  const all: number[] = [];
  for (let delay = cursor.nextDelayMs(); delay !== undefined; delay = cursor.nextDelayMs()) all.push(delay);
  return all;
}

const create = (options = {}) => new Cursor({ random: () => 1, ...options });

describe('the cursor of a stream', () => {
  it('waits as the server asked twice, then backs off, and gives up after five connections', () => {
    const cursor = create();
    cursor.ended(0, '1', 500);
    expect(delays(cursor)).toEqual([500, 500, 1_000, 2_000, 4_000]);
  });

  it('backs off from the start when the server did not ask for a delay', () => {
    expect(delays(create())).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  });

  it('never waits shorter than the server asked', () => {
    const cursor = create();
    cursor.ended(0, '1', 3_000);
    expect(delays(cursor)).toEqual([3_000, 3_000, 3_000, 3_000, 4_000]);
  });

  it('keeps what the server asks for within bounds', () => {
    for (const [asked, waited] of [
      [0, 100],
      [99, 100],
      [100, 100],
      [99_999_999_999, 60_000],
      [Infinity, 60_000],
    ]) {
      const cursor = create();
      cursor.ended(0, undefined, asked);
      expect(cursor.nextDelayMs()).toBe(waited);
    }
  });

  it('does not wait before the first connection of a stream that was never open', () => {
    expect(delays(create({ unopened: true }))).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000]);
  });

  it('starts again after a message or a connection of 30 s, and after nothing else', () => {
    const cursor = create();
    for (const [act, next] of [
      [() => cursor.ended(29_999, '1', undefined), 2_000],
      [() => cursor.progressed(), 1_000],
      [() => cursor.ended(30_000, undefined, undefined), 1_000],
    ] as const) {
      cursor.progressed();
      cursor.nextDelayMs();
      act();
      expect(cursor.nextDelayMs()).toBe(next);
    }
  });

  it('keeps the last id until the server takes it back', () => {
    const cursor = create();
    expect(cursor.lastEventId).toBeUndefined();
    cursor.ended(0, 'a', undefined);
    cursor.ended(0, undefined, undefined);
    expect(cursor.lastEventId).toBe('a');
    cursor.ended(0, '', undefined);
    expect(cursor.lastEventId).toBeUndefined();
  });

  it('knows an event that came on an earlier connection, but not one whose id is used twice on the same', () => {
    const cursor = create();
    expect([cursor.repeats('a'), cursor.repeats('a')]).toEqual([false, false]);
    cursor.ended(0, 'a', undefined);
    expect([cursor.repeats('a'), cursor.repeats('b'), cursor.repeats('a')]).toEqual([true, false, true]);
  });

  it('remembers a bounded number of ids', () => {
    const cursor = create();
    for (let n = 0; n <= 1_000; n++) cursor.repeats(String(n));
    cursor.ended(0, '1000', undefined);
    expect([cursor.repeats('1'), cursor.repeats('0')]).toEqual([true, false]);
  });
});
