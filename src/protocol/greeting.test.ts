import { describe, expect, it } from 'vitest';
import { ParleyError, RpcError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { judge, judgeHandshake, type Verdict } from './greeting.ts';

const discovery = (supportedVersions: unknown) => ({ supportedVersions, capabilities: { tools: {} } });
const fault = (code: ErrorCode, details: ErrorDetails = {}) => ({
  type: 'error' as const,
  error: new ParleyError(code, 'it', { details }),
});
const answered = (code: number, data?: unknown) => ({ type: 'error' as const, error: new RpcError(code, 'no', data) });
const first = (probe: Parameters<typeof judge>[0]): Verdict => judge(probe, '2026-07-28', 'first');

describe('the verdict on a modern greeting', () => {
  it('is modern for a discovery result that lists the asked revision', () => {
    const verdict = first({ type: 'result', result: discovery(['2025-11-25', '2026-07-28']) });
    expect(verdict).toMatchObject({ type: 'modern', revision: '2026-07-28', facts: { capabilities: { tools: {} } } });
  });

  it('takes the server’s name from the reserved key of _meta', () => {
    const result = {
      ...discovery(['2026-07-28']),
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'orders', version: '2' } },
    };
    expect(first({ type: 'result', result })).toMatchObject({ facts: { info: { name: 'orders', version: '2' } } });
  });

  it('shakes hands when discovery lists only handshake revisions', () => {
    expect(first({ type: 'result', result: discovery(['2025-06-18']) })).toEqual({ type: 'legacy', propose: '2025-06-18' });
  });

  it('fails with both sides’ versions when discovery lists nothing common', () => {
    const verdict = first({ type: 'result', result: discovery(['2030-01-01']) });
    expect(verdict).toMatchObject({
      type: 'fail',
      error: { code: 'version-unsupported', details: { theirs: ['2030-01-01'] } },
    });
  });

  it.each([-32601, -32602, -32600, -32000, -32603, 1])('is legacy for the error %i, which no modern server need send', (code) => {
    expect(first(answered(code))).toEqual({ type: 'legacy', propose: '2025-11-25' });
  });

  it.each([-32020, -32021])('never falls back on the modern error %i', (code) => {
    expect(first(answered(code))).toMatchObject({ type: 'fail', error: { code } });
  });

  it('retries once with the best common revision on -32022', () => {
    const refusal = answered(-32022, { supported: ['2026-07-28', '2025-11-25'] });
    expect(first(refusal)).toEqual({ type: 'retry', revision: '2026-07-28' });
    expect(judge(refusal, '2026-07-28', 'second')).toMatchObject({
      type: 'fail',
      error: { code: 'version-unsupported', message: expect.stringContaining('refuses to be spoken to in it') as string },
    });
  });

  it('shakes hands on -32022 only in a revision the server names', () => {
    expect(first(answered(-32022, { supported: ['2025-03-26'] }))).toEqual({ type: 'legacy', propose: '2025-03-26' });
    expect(first(answered(-32022, { supported: ['2099-01-01'] }))).toMatchObject({
      type: 'fail',
      error: { details: { theirs: ['2099-01-01'] } },
    });
    expect(first(answered(-32022))).toMatchObject({ type: 'fail' });
  });

  it.each<[ErrorCode, ErrorDetails]>([
    ['timeout', {}],
    ['server-stopped', {}],
    ['protocol-violation', {}],
    ['http-status', { status: 400 }],
    ['http-status', { status: 404 }],
    ['http-status', { status: 405 }],
  ])('is legacy for %s %o', (code, details) => {
    expect(first(fault(code, details))).toMatchObject({ type: 'legacy' });
  });

  it.each<[ErrorCode, ErrorDetails]>([
    ['auth-required', { status: 401 }],
    ['auth-required', { status: 403 }],
    ['http-status', { status: 500 }],
    ['http-status', { status: 429 }],
    ['unreachable', {}],
    ['aborted', {}],
    ['not-mcp', {}],
  ])('is a failure, and no evidence of an era, for %s %o', (code, details) => {
    expect(first(fault(code, details))).toMatchObject({ type: 'fail', error: { code } });
  });

  it('does not shake hands where only modern revisions may be spoken', () => {
    expect(judge(answered(-32601), '2026-07-28', 'first', ['2026-07-28'])).toMatchObject({
      type: 'fail',
      error: { code: 'version-unsupported' },
    });
  });
});

describe('the verdict on a handshake', () => {
  const result = (protocolVersion: unknown) => ({
    type: 'result' as const,
    result: { protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } },
  });

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('agrees on %s, whatever was proposed', (version) => {
    expect(judgeHandshake(result(version), 'first')).toMatchObject({ type: 'agreed', revision: version });
  });

  it('fails with both sides’ versions for one that is not spoken here', () => {
    expect(judgeHandshake(result('1999-01-01'), 'first')).toMatchObject({
      type: 'fail',
      error: { code: 'version-unsupported', message: expect.stringContaining('1999-01-01') as string },
    });
  });

  it('fails when no version is named', () => {
    expect(judgeHandshake(result(7), 'first')).toMatchObject({ type: 'fail', error: { code: 'protocol-violation' } });
  });

  it('retries once with a version the refusal names', () => {
    const refusal = answered(-32602, { supported: ['2024-11-05'] });
    expect(judgeHandshake(refusal, 'first')).toEqual({ type: 'retry', revision: '2024-11-05' });
    expect(judgeHandshake(refusal, 'second')).toMatchObject({ type: 'fail' });
  });
});
