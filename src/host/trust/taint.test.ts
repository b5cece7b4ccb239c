import { describe, expect, it } from 'vitest';
import { createTaint, taintFor, type ReadFacts } from './taint.ts';

const read = (more: Partial<ReadFacts> = {}): ReadFacts => ({
  server: 'web',
  from: 'fetch',
  call: { digest: 'd1' },
  settings: { trusted: true },
  annotations: { openWorldHint: false },
  ...more,
});

describe('a result', () => {
  it.each<[string, Partial<ReadFacts>, boolean]>([
    ['of a trusted server’s tool that stays at home', {}, false],
    ['of a trusted server’s tool that reaches out', { annotations: { openWorldHint: true } }, true],
    ['of a trusted server’s tool that does not say', { annotations: {} }, true],
    ['of a trusted server’s tool that says so in another type', { annotations: { openWorldHint: 'no' } as never }, true],
    ['of a trusted server that is no tool’s', { annotations: undefined }, true],
    ['of an unknown server, whatever it says', { settings: { trusted: false } }, true],
  ])('%s: written by anybody is %s', (_, more, expected) => {
    const taint = createTaint();
    taint.mark(read(more));
    expect(taintFor(taint.of(), 'mail').untrusted.length > 0).toBe(expected);
  });

  it.each<[boolean | undefined, string, boolean]>([
    [undefined, 'mail', true],
    [undefined, 'web', false],
    [true, 'mail', true],
    [true, 'web', true],
    [false, 'mail', false],
    [false, 'web', false],
  ])('of a server whose data is private: %s, kept from %s: %s', (marked, to, expected) => {
    const taint = createTaint();
    taint.mark(read({ settings: { trusted: false, ...(marked !== undefined && { private: marked }) } }));
    expect(taintFor(taint.of(), to).private.length > 0).toBe(expected);
  });
});

describe('the marks of a run', () => {
  it('are one of a kind for each server, with the call that was first', () => {
    const taint = createTaint();
    for (const digest of ['d1', 'd2', 'd3'])
      taint.mark(read({ call: { digest }, from: `page ${digest}`, settings: { trusted: false } }));
    taint.mark(read({ server: 'notes', call: { digest: 'd4' } }));
    expect(taint.of()).toEqual([
      { server: 'web', from: 'page d1', untrusted: true, private: 'to-others', digest: 'd1' },
      { server: 'notes', from: 'fetch', untrusted: false, private: 'to-others', digest: 'd4' },
    ]);
  });

  it('hold nothing of what is neither', () => {
    const taint = createTaint();
    taint.mark(read({ settings: { trusted: true, private: false } }));
    expect(taint.of()).toEqual([]);
  });

  it('are not changed behind the back of who has them', () => {
    const taint = createTaint();
    const before = taint.of();
    taint.mark(read());
    expect(before).toEqual([]);
  });
});
