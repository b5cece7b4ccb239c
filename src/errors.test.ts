import { describe, expect, test } from 'vitest';
import { ERRORS, isParleyError, ParleyError, RpcError, type ErrorFacts } from './errors.ts';

const facts = Object.entries<ErrorFacts>(ERRORS);

describe('the table', () => {
  test('gives these exit codes and HTTP statuses, which others rely on', () => {
    expect(Object.fromEntries(facts.map(([code, { exit, http }]) => [code, [exit, http]]))).toEqual({
      usage: [1, 400],
      'config-invalid': [1, 500],
      'not-found': [2, 404],
      'invalid-arguments': [1, 400],
      'auth-required': [3, 401],
      unreachable: [4, 502],
      'server-stopped': [4, 502],
      'session-lost': [4, 502],
      timeout: [4, 504],
      'http-status': [4, 502],
      'not-mcp': [4, 502],
      'version-unsupported': [4, 502],
      'protocol-violation': [4, 502],
      unsupported: [2, 501],
      'input-unanswered': [6, 409],
      limit: [4, 502],
      aborted: [130, 499],
      closed: [1, 500],
      denied: [6, 403],
      'definition-changed': [7, 409],
      'not-recorded': [6, 503],
      'sandbox-unavailable': [6, 503],
      'store-unavailable': [1, 503],
      'tool-failed': [5, 200],
      'outcome-unknown': [8, 502],
      internal: [1, 500],
    });
  });

  test.each(facts)('says of %s in whole sentences what it is and what to do', (_, { summary, remedy }) => {
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(remedy).toMatch(/^[A-Z].*\.$/);
  });
});

describe('a ParleyError', () => {
  test('carries its code, details and cause, and is not retryable unless it says so', () => {
    const cause = new Error('below');
    const error = new ParleyError('timeout', 'No answer.', { cause, details: { afterMs: 5 } });
    expect(error).toMatchObject({ name: 'ParleyError', code: 'timeout', message: 'No answer.', details: { afterMs: 5 } });
    expect(error.cause).toBe(cause);
    expect(error.retryable).toBe(false);
    expect(new ParleyError('limit', 'Too many.', { retryable: true }).retryable).toBe(true);
  });

  test('without a cause has none at all', () => {
    expect('cause' in new ParleyError('closed', 'Over.')).toBe(false);
  });

  test('is known by isParleyError, by its code too', () => {
    const error: unknown = new ParleyError('timeout', 'No answer.');
    expect(isParleyError(error)).toBe(true);
    expect(isParleyError(error, 'timeout')).toBe(true);
    expect(isParleyError(error, 'limit')).toBe(false);
    for (const other of [new RpcError(-32601, 'x'), new Error('x'), { code: 'timeout' }, undefined]) {
      expect(isParleyError(other)).toBe(false);
    }
  });
});

test('an RpcError carries what the peer answered', () => {
  expect(new RpcError(-32602, 'Bad cursor', { cursor: 'x' })).toMatchObject({
    name: 'RpcError',
    code: -32602,
    message: 'Bad cursor',
    data: { cursor: 'x' },
  });
});
