import { describe, expect, test } from 'vitest';
import { createFeed } from './feed.ts';

describe('a listener', () => {
  test('hears what comes after it subscribed, until it stops', () => {
    const { feed, emit } = createFeed<number>();
    const heard: number[] = [];
    emit(1);
    const stop = feed.subscribe((value) => heard.push(value));
    emit(2);
    emit(3);
    stop();
    stop();
    emit(4);
    expect(heard).toEqual([2, 3]);
  });

  test('that subscribes twice hears twice, and each can be stopped by itself', () => {
    const { feed, emit } = createFeed<string>();
    const heard: string[] = [];
    const listener = (value: string) => void heard.push(value);
    const stop = feed.subscribe(listener);
    feed.subscribe(listener);
    emit('a');
    stop();
    emit('b');
    expect(heard).toEqual(['a', 'a', 'b']);
  });

  test('hears nothing more once it was stopped by another during the same value', () => {
    const { feed, emit } = createFeed<number>();
    const heard: number[] = [];
    feed.subscribe(() => stop());
    const stop = feed.subscribe((value) => heard.push(value));
    emit(1);
    expect(heard).toEqual([]);
  });

  test('added during a value hears the next one first', () => {
    const { feed, emit } = createFeed<number>();
    const heard: number[] = [];
    const stop = feed.subscribe(() => {
      stop();
      feed.subscribe((value) => heard.push(value));
    });
    emit(1);
    emit(2);
    expect(heard).toEqual([2]);
  });

  test('hears nothing after the end', () => {
    const { feed, emit, end } = createFeed<number>();
    const heard: number[] = [];
    feed.subscribe((value) => heard.push(value));
    end();
    feed.subscribe((value) => heard.push(value));
    emit(1);
    expect(heard).toEqual([]);
  });
});

describe('an iteration', () => {
  test('gives every value in order, then ends with the feed', async () => {
    const { feed, emit, end } = createFeed<number>();
    const iteration = feed[Symbol.asyncIterator]();
    emit(1);
    emit(2);
    end();
    emit(3);
    expect(await iteration.next()).toEqual({ done: false, value: 1 });
    expect(await iteration.next()).toEqual({ done: false, value: 2 });
    expect(await iteration.next()).toEqual({ done: true, value: undefined });
  });

  test('wakes for a value that comes while it waits', async () => {
    const { feed, emit } = createFeed<string>();
    const iteration = feed[Symbol.asyncIterator]();
    const waiting = iteration.next();
    emit('now');
    expect(await waiting).toEqual({ done: false, value: 'now' });
    await iteration.return?.();
  });

  test('answers two calls of next that wait together, one value each', async () => {
    const { feed, emit, end } = createFeed<number>();
    const iteration = feed[Symbol.asyncIterator]();
    const both = Promise.all([iteration.next(), iteration.next(), iteration.next()]);
    emit(1);
    emit(2);
    end();
    expect(await both).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
    ]);
  });

  test('ends a wait when it is given up', async () => {
    const { feed } = createFeed<number>();
    const iteration = feed[Symbol.asyncIterator]();
    const waiting = iteration.next();
    await iteration.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  test('of an ended feed is over', async () => {
    const { feed, end } = createFeed<number>();
    end();
    for await (const value of feed) expect.unreachable(`got ${value}`);
  });

  test('that falls behind by more than 1,000 values loses the oldest', async () => {
    const { feed, emit, end } = createFeed<number>();
    const iteration = feed[Symbol.asyncIterator]();
    for (let value = 1; value <= 1_002; value++) emit(value);
    end();
    expect(await iteration.next()).toEqual({ done: false, value: 3 });
  });
});
