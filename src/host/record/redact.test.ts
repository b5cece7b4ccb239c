import { describe, expect, it } from 'vitest';
import { createRedact } from './redact.ts';

const key = Buffer.alloc(32, 7);
const redact = createRedact({ key: () => key, names: ['Kennwort'] });
const hiddenIn = (value: unknown) => JSON.stringify(value);

describe('redacted arguments', () => {
  it('hold no value of a name that says it is secret, however deep', () => {
    const args = {
      path: '/srv/x',
      password: 'hunter2',
      kennwort: 'geheim',
      nested: { list: [{ apiKey: 'abc', ok: true, token: { value: 'deep' } }] },
    };
    const text = hiddenIn(redact(args));
    for (const secret of ['hunter2', 'geheim', 'abc', 'deep']) expect(text).not.toContain(secret);
    expect(redact(args)).toMatchObject({ path: '/srv/x', password: { bytes: 7 }, nested: { list: [{ ok: true }] } });
  });

  it('hold no text that has the form of a secret', () => {
    for (const secret of [
      'sk-abcdefghijklmnopqrstuv',
      'ghp_abcdefghijklmnopqrst1234',
      'AKIAABCDEFGHIJKLMNOP',
      'Authorization: Bearer abcdefghijklmnopqrstuvwx',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
      '-----BEGIN RSA PRIVATE KEY-----\nMIIE',
      'postgres://bob:hunter2@db.example/x',
      'https://api.example/x?user=bob&access_token=abcdef123456',
      'Server=db;User=bob;Password=hunter22',
      'API_KEY="abcdef123456"',
      '{"client_secret": "abcdef12"}',
      "{'password':'hunter22'}",
      'db:\n  password: hunter22',
      'Authorization: Basic YTpi',
      'AIzaSyA-1234567890abcdefghijklmnopqrstu',
    ]) {
      expect(hiddenIn(redact({ text: `take ${secret}` })), secret).not.toContain(secret.slice(-8));
    }
    for (const text of [
      'a plain text',
      'const token = lexer.next();',
      'Forgot the password? Ask the secretary: Ann.',
      'f(token=None)',
    ]) {
      expect(redact({ text, count: 3 })).toEqual({ text, count: 3 });
    }
  });

  it.each(['pwd', 'pass', 'accessKey', 'signing_key', 'jwt', 'cvv', 'X-Api-Key', 'proxyAuthorization'])(
    'hold no value that is called %s',
    (name) => {
      expect(
        hiddenIn(
          redact({
            [name]: 'hunter2',
            list: [
              { name, value: 'hunter2' },
              { key: name, value: 'hunter2' },
            ],
          }),
        ),
      ).not.toContain('hunter2');
    },
  );

  it('say whether two secrets are the same, under one key only', () => {
    const of = (token: string, by = redact) => (by({ token })['token'] as { redacted: string }).redacted;
    expect(of('a')).toBe(of('a'));
    expect(of('a')).not.toBe(of('b'));
    expect(of('a', createRedact({ key: () => Buffer.alloc(32, 8) }))).not.toBe(of('a'));
  });

  it('are the arguments themselves where there is nothing to hide, and else a copy', () => {
    const args = { path: '/srv/x', list: [{ ok: true }, 'text'], nested: { deep: [1, null] } };
    expect(redact(args)).toBe(args);
    const secret = { path: '/srv/x', list: [1, { token: 'abc' }], last: { ok: true } };
    expect(redact(secret)).toEqual({ ...secret, list: [1, { token: expect.objectContaining({ bytes: 3 }) as object }] });
    expect(secret.list[1]).toEqual({ token: 'abc' });
  });

  it('are of bounded length', () => {
    expect(JSON.stringify(redact({ text: 'x'.repeat(1_000_000) })).length).toBeLessThan(200);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`n${String(at)}`, 'x'.repeat(100)]));
    expect(redact(many)).toEqual({ redacted: expect.any(String) as string, bytes: expect.any(Number) as number });
  });
});
