import { describe, expect, it } from 'vitest';
import { limitOf, LIMITS, overLimit, type LimitName } from './limits.ts';

describe('a limit', () => {
  it('has its default, may be asked for lower or higher, and never goes above its ceiling', () => {
    expect(limitOf('maxLineBytes', undefined)).toBe(16_777_216);
    expect(limitOf('maxLineBytes', 100)).toBe(100);
    expect(limitOf('maxLineBytes', Infinity)).toBe(67_108_864);
  });

  it.each(Object.keys(LIMITS) as LimitName[])('called %s has a default within its ceiling', (name) => {
    expect(LIMITS[name].default).toBeGreaterThan(0);
    expect(LIMITS[name].ceiling).toBeGreaterThanOrEqual(LIMITS[name].default);
  });

  it('that was passed is an error which says by how much, and how to raise it where that can be done', () => {
    const error = overLimit('maxLineBytes', 120, 'It was dropped.', 100, { unsent: true });
    expect(error).toMatchObject({
      code: 'limit',
      message: 'It was dropped. Raise limits.maxLineBytes if that is honest.',
      details: { limit: 'maxLineBytes', allowed: 100, observed: 120, unsent: true },
    });
    expect(overLimit('maxRequestId', 300, 'It was refused.').message).toBe('It was refused.');
  });
});
