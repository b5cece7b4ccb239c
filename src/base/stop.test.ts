import { expect, test } from 'vitest';
import { realSignal, Stop } from './stop.ts';

const reason = new Error('enough');

test('its listeners are told once, with the reason there', () => {
  const stop = new Stop();
  const told: unknown[] = [];
  stop.addEventListener('abort', () => told.push(stop.reason));
  stop.abort(reason);
  stop.abort(new Error('again'));
  expect(told).toEqual([reason]);
  expect([stop.aborted, stop.reason]).toEqual([true, reason]);
});

test('a listener that was removed is not told', () => {
  const stop = new Stop();
  const told: string[] = [];
  const first = () => told.push('first');
  stop.addEventListener('abort', first);
  stop.addEventListener('abort', () => told.push('second'));
  stop.removeEventListener('abort', first);
  stop.removeEventListener('abort', first);
  stop.abort(reason);
  expect(told).toEqual(['second']);
});

test.each(['before', 'after'] as const)('the real signal that is asked for %s the end aborts with its reason', (when) => {
  const stop = new Stop();
  const before = when === 'before' ? stop.signal : undefined;
  stop.abort(reason);
  const signal = before ?? stop.signal;
  expect([signal.aborted, signal.reason]).toEqual([true, reason]);
  expect(realSignal(stop)).toBe(signal);
});

test('a signal that is real already stays itself', () => {
  const { signal } = new AbortController();
  expect(realSignal(signal)).toBe(signal);
});
