// The gate by itself: what it makes of the head of a request. How it stands in a server is tested in test/auth.
import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, calculateJwkThumbprint, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../testing/index.ts';
import type { Arrival, Gate } from '../transport/http/index.ts';
import { sendJson } from '../transport/http/fixtures/fake-server.ts';
import { requireBearer, type BearerOptions } from './bearer.ts';
import { goodClaims, sign, startIssuer, type Claims, type Issuer } from './fixtures/issuer.ts';

const HERE = 'https://mcp.example/mcp';
const METADATA = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';
/** Of one request. */
const waiting = () => ({ signal: new AbortController().signal });

const open: Issuer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((issuer) => issuer.close()));
});

async function issuer(): Promise<Issuer> {
  const started = await startIssuer();
  open.push(started);
  return started;
}

async function gateOf(options: Partial<BearerOptions> = {}): Promise<{ gate: Gate; from: Issuer }> {
  const from = await issuer();
  return { gate: requireBearer({ issuer: from.url, audience: HERE, scopes: ['read'], ...options }), from };
}

function arrival(headers: Record<string, string>, more: Partial<Arrival> = {}): Arrival {
  return { method: 'POST', target: '/mcp', headers, rawHeaders: Object.entries(headers).flat(), ...more };
}

const bearing = (token: string, more: Partial<Arrival> = {}) => arrival({ authorization: `Bearer ${token}` }, more);

/** The status and challenge of a refusal, or the principal. */
async function outcome(gate: Gate, request: Arrival): Promise<unknown> {
  const admission = await gate.admit(request, waiting());
  if ('identity' in admission) return admission.identity.principal;
  return [admission.refusal.status, admission.refusal.headers?.['WWW-Authenticate']];
}

const invalid = (why: string) => [
  401,
  `Bearer error="invalid_token", error_description="${why}", scope="read", resource_metadata="${METADATA}"`,
];

describe('the metadata', () => {
  it('are at the address that is made of the path of the resource, and there alone', async () => {
    const { gate, from } = await gateOf({ name: 'Orders' });
    expect(gate.document('/.well-known/oauth-protected-resource/mcp')).toMatchObject({
      resource: HERE,
      authorization_servers: [from.url],
      bearer_methods_supported: ['header'],
      scopes_supported: ['read'],
      resource_name: 'Orders',
    });
    for (const path of ['/.well-known/oauth-protected-resource', '/mcp', '/']) expect(gate.document(path)).toBeUndefined();
    const whole = requireBearer({ issuer: from.url, audience: 'https://mcp.example/' });
    expect(whole.document('/.well-known/oauth-protected-resource')).toMatchObject({ resource: 'https://mcp.example' });
  });

  it.each<[string, Partial<BearerOptions>]>([
    ['an audience in the clear', { audience: 'http://mcp.example/mcp' }],
    ['an audience with a query', { audience: `${HERE}?x` }],
    ['an issuer in the clear', { issuer: 'http://as.example' }],
    ['no signature', { algorithms: ['none'] }],
    ['a shared secret', { algorithms: ['ES256', 'HS256'] }],
    ['no algorithm', { algorithms: [] }],
    ['a scope that would end its quotes', { scopes: ['a"b'] }],
    ['offline access', { scopes: ['offline_access'] }],
  ])('are not made for %s', (_, options) => {
    expect(() => requireBearer({ issuer: 'https://as.example', audience: HERE, ...options })).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    );
  });
});

describe('a request', () => {
  it('without a token is told where to get one, and for what', async () => {
    const { gate, from } = await gateOf();
    const challenge = [401, `Bearer scope="read", resource_metadata="${METADATA}"`];
    expect(await outcome(gate, arrival({}))).toEqual(challenge);
    expect(await outcome(gate, arrival({ authorization: 'Basic YTpi' }))).toEqual(challenge);
    expect(from.server.seen).toEqual([]);
  });

  it('that is malformed is refused as such, and its token is not looked at', async () => {
    const { gate, from } = await gateOf();
    const token = await from.token(HERE);
    const one = `Bearer ${token}`;
    for (const request of [
      arrival({ authorization: one }, { rawHeaders: ['Authorization', one, 'AUTHORIZATION', one] }),
      bearing(token, { target: `/mcp?access_token=${token}` }),
      arrival({}, { target: '/mcp?a=b&access_token=x' }),
      arrival({ authorization: 'Bearer' }),
      arrival({ authorization: 'Bearer a b' }),
      arrival({ authorization: `${one}, ${one}` }),
      arrival({ authorization: `Bearer ${'a'.repeat(16_385)}` }),
    ]) {
      expect(await outcome(gate, request)).toEqual([400, expect.stringContaining('error="invalid_request"')]);
    }
    expect(from.server.seen).toEqual([]);
  });

  it('is let in with a good token, as the one it is of', async () => {
    const { gate, from } = await gateOf();
    const admission = await gate.admit(bearing(await from.token(HERE)), waiting());
    expect(admission).toMatchObject({
      identity: { issuer: from.url, subject: 'ann', clientId: 'app', scopes: ['read'], claims: { jti: 'j' } },
    });
    const principals = new Set<unknown>();
    for (const claims of [{}, { sub: 'bob' }, { client_id: 'other' }, { sub: undefined }, { client_id: undefined }]) {
      principals.add(await outcome(gate, bearing(await from.token(HERE, claims))));
    }
    expect(principals.size).toBe(5);
  });

  it('may write the scheme in any case, and scopes as some issuers do', async () => {
    const { gate, from } = await gateOf();
    const token = await from.token(HERE, { scope: undefined, scp: ['read', 'write'] });
    expect(await gate.admit(arrival({ authorization: `bearer ${token}` }), waiting())).toMatchObject({
      identity: { scopes: ['read', 'write'] },
    });
  });
});

describe('a token', () => {
  const now = () => Math.floor(Date.now() / 1_000);
  it.each<[string, () => Claims, string]>([
    ['of another issuer', () => ({ iss: 'https://attacker.example' }), 'The token is from another issuer'],
    ['of no issuer', () => ({ iss: undefined }), 'The token is from another issuer'],
    ['for another resource', () => ({ aud: 'https://mcp.example/other' }), 'The token is for another resource'],
    ['for all of the origin', () => ({ aud: 'https://mcp.example' }), 'The token is for another resource'],
    ['for nobody', () => ({ aud: undefined }), 'The token is for another resource'],
    ['for several others', () => ({ aud: ['a', 'b'] }), 'The token is for another resource'],
    ['that has expired', () => ({ exp: now() - 31 }), 'The token has expired'],
    ['that never expires', () => ({ exp: undefined }), 'The token has expired'],
    ['that is to come', () => ({ nbf: now() + 60 }), 'The token is not valid yet, or its dates are no dates'],
    ['of nobody', () => ({ sub: undefined, client_id: '' }), 'The token names nobody'],
  ])('%s is refused', async (_, claims, why) => {
    const { gate, from } = await gateOf();
    expect(await outcome(gate, bearing(await from.token(HERE, claims())))).toEqual(invalid(why));
  });

  it('is good for a moment longer than it says, and for one of several resources', async () => {
    const { gate, from } = await gateOf();
    for (const claims of [{ exp: now() - 20 }, { nbf: now() + 20 }, { aud: ['x', HERE] }]) {
      expect(await outcome(gate, bearing(await from.token(HERE, claims)))).toContain('ann');
    }
  });

  it('may be of the kinds that issuers write, and of no other', async () => {
    const { gate, from } = await gateOf();
    const of = async (typ: string) => outcome(gate, bearing(await from.token(HERE, {}, { typ })));
    for (const typ of ['at+jwt', 'application/at+jwt', 'JWT']) expect(await of(typ)).toContain('ann');
    for (const typ of ['dpop+jwt', 'logout+jwt', 'id_token'])
      expect(await of(typ)).toEqual(invalid('The token is not an access token'));
  });

  it('has to be signed by the issuer, with its key', async () => {
    const { gate, from } = await gateOf();
    const good = await from.token(HERE);
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const claims = goodClaims(from.url, HERE);
    const publicKeyAsSecret = new TextEncoder().encode(JSON.stringify(await exportJWK(publicKey)));
    const [head, body, signature] = good.split('.') as [string, string, string];
    for (const token of [
      new UnsecuredJWT(claims).setIssuer(from.url).encode(),
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`,
      `${Buffer.from('{"alg":"None","kid":"k1"}').toString('base64url')}.${body}.${signature}`,
      await sign(privateKey, claims),
      await sign(privateKey, claims, { jwk: await exportJWK(publicKey) }),
      await sign(privateKey, claims, { jku: 'https://attacker.example/jwks' }),
      await sign(publicKeyAsSecret, claims, { alg: 'HS256' }),
      `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}.${signature}`,
      `${head}.${body}`,
      'opaque',
    ]) {
      expect(await outcome(gate, bearing(token))).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
  });

  it('has to be signed in one of the ways that were chosen', async () => {
    const { gate, from } = await gateOf({ algorithms: ['RS256', 'EdDSA'] });
    expect(await outcome(gate, bearing(await from.token(HERE)))).toEqual(invalid('The token is not one of the issuer'));
  });

  it('costs one look at the keys, whatever keys are named', async () => {
    const { gate, from } = await gateOf();
    const { privateKey } = await generateKeyPair('ES256');
    const token = await from.token(HERE);
    await Promise.all(Array.from({ length: 8 }, () => outcome(gate, bearing(token))));
    for (let i = 0; i < 20; i++) {
      const unknown = await sign(privateKey, goodClaims(from.url, HERE), { kid: `k${i + 2}` });
      expect(await outcome(gate, bearing(unknown))).toEqual(
        invalid('The token is not signed with one of the keys of the issuer'),
      );
    }
    expect([from.asked('/jwks'), from.asked('/.well-known/oauth-authorization-server')]).toEqual([1, 1]);
  });

  it('cannot be judged while the issuer cannot be asked: that is no fault of the token, and not asked again at once', async () => {
    const clock = createFakeClock();
    const faults: unknown[] = [];
    const { gate, from } = await gateOf({ clock, log: (level, message) => faults.push([level, message]) });
    const token = await from.token(HERE);
    for (const path of ['/.well-known/oauth-authorization-server', '/jwks']) {
      const before = from.asked(path);
      from.routes.set(path, (_, response) => sendJson(response, {}, 500));
      for (let i = 0; i < 3; i++) expect(await outcome(gate, bearing(token))).toEqual([503, undefined]);
      expect(from.asked(path)).toBe(before + 1);
      from.routes.delete(path);
      clock.advance(5_001);
    }
    expect(faults[0]).toEqual(['error', 'A token could not be checked.']);
    expect(await outcome(gate, bearing(token))).toContain('ann');
  });

  it('is not checked with keys at an address that may not be fetched', async () => {
    const { gate, from } = await gateOf();
    from.routes.set('/.well-known/oauth-authorization-server', (_, response) =>
      sendJson(response, { issuer: from.url, jwks_uri: 'http://169.254.169.254/keys' }),
    );
    expect(await outcome(gate, bearing(await from.token(HERE)))).toEqual([503, undefined]);
  });
});

describe('a token the issuer is asked about', () => {
  const CLIENT = { clientId: 'mcp', authentication: { secret: 's3cret' } } as const;

  it('is good as long as the issuer says so, and a moment longer', async () => {
    const clock = createFakeClock();
    const { gate, from } = await gateOf({ introspection: { ...CLIENT, cacheMs: 1_000 }, clock });
    from.known.set('t', { active: true, ...goodClaims(from.url, HERE) });
    await Promise.all(Array.from({ length: 5 }, () => outcome(gate, bearing('t'))));
    expect(await outcome(gate, bearing('t'))).toContain('ann');
    expect(from.asked('/introspect')).toBe(1);
    const asked = from.server.seen.find(({ path }) => path === '/introspect');
    expect(asked?.headers.authorization).toBe(`Basic ${Buffer.from('mcp:s3cret').toString('base64')}`);
    from.known.delete('t');
    expect(await outcome(gate, bearing('t'))).toContain('ann');
    clock.advance(1_001);
    expect(await outcome(gate, bearing('t'))).toEqual(invalid('The token is not valid, or not any more'));
    expect(await outcome(gate, bearing('t'))).toEqual(invalid('The token is not valid, or not any more'));
    expect(from.asked('/introspect')).toBe(2);
  });

  it('is not good any more when it expires, though it is remembered', async () => {
    let ahead = 0;
    const { gate, from } = await gateOf({ introspection: { ...CLIENT, cacheMs: 1e9 }, now: () => Date.now() + ahead });
    from.known.set('t', { active: true, ...goodClaims(from.url, HERE) });
    expect(await outcome(gate, bearing('t'))).toContain('ann');
    ahead = 400_000;
    expect(await outcome(gate, bearing('t'))).toEqual(invalid('The token has expired'));
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['names another resource', { aud: 'https://other.example' }, 'The token is for another resource'],
    ['names no resource', { aud: undefined }, 'The token is for another resource'],
    ['names another issuer', { iss: 'https://other.example' }, 'The token is from another issuer'],
    ['says that it has expired', { exp: 1 }, 'The token has expired'],
    ['says that it is to come', { nbf: 1e11 }, 'The token is not valid yet'],
    ['says no end', { exp: undefined }, 'The token has expired'],
  ])('is refused when the issuer %s', async (_, answer, why) => {
    const { gate, from } = await gateOf({ introspection: CLIENT });
    from.known.set('t', { active: true, ...goodClaims(from.url, HERE), ...answer });
    expect(await outcome(gate, bearing('t'))).toEqual(invalid(why));
  });

  it('is not judged by what is no answer', async () => {
    const { gate, from } = await gateOf({ introspection: CLIENT });
    for (const active of [undefined, 'true', 1]) {
      from.known.set(`t${String(active)}`, { ...goodClaims(from.url, HERE), active });
      expect(await outcome(gate, bearing(`t${String(active)}`))).toEqual([503, undefined]);
    }
  });

  it('needs no issuer in the answer, which is from the issuer', async () => {
    const { gate, from } = await gateOf({ introspection: CLIENT });
    from.known.set('t', { active: true, ...goodClaims(from.url, HERE, { iss: undefined }) });
    expect(await outcome(gate, bearing('t'))).toContain('ann');
  });

  it('costs the issuer few requests at once, and the others nothing', async () => {
    const { gate, from } = await gateOf({ introspection: CLIENT });
    from.known.set('t', { active: true, ...goodClaims(from.url, HERE) });
    expect(await outcome(gate, bearing('t'))).toContain('ann');
    const release: (() => void)[] = [];
    from.routes.set('/introspect', (_, response) => release.push(() => sendJson(response, { active: false })));
    const flood = Array.from({ length: 100 }, (_, i) => outcome(gate, bearing(`x${i}`)));
    await from.server.until(() => release.length === 32);
    expect(await outcome(gate, bearing('t'))).toContain('ann');
    for (const go of release.splice(0)) go();
    const statuses = (await Promise.all(flood)).map((each) => (each as [number])[0]);
    expect(statuses.filter((status) => status === 503)).toHaveLength(68);
    expect(statuses.filter((status) => status === 401)).toHaveLength(32);
  });
});

describe('scopes', () => {
  it('are needed for everything, and more of them for some messages, all named at once', async () => {
    const { gate, from } = await gateOf({
      scopesFor: ({ method, params }) => (method === 'tools/call' ? [`tool:${String(params['name'])}`] : []),
    });
    const admission = await gate.admit(bearing(await from.token(HERE, { scope: 'read tool:add' })), waiting());
    const none = await gate.admit(bearing(await from.token(HERE, { scope: undefined })), waiting());
    if (!('identity' in admission && 'identity' in none)) throw new Error('not let in');
    const asked = (name: string) => ({ method: 'tools/call', params: { name } });
    expect(gate.permit(admission.identity, [])).toBeUndefined();
    expect(gate.permit(admission.identity, [asked('add')])).toBeUndefined();
    const challenge = (scope: string) =>
      `Bearer error="insufficient_scope", error_description="The token lacks a scope that this needs", scope="${scope}", resource_metadata="${METADATA}"`;
    expect(gate.permit(admission.identity, [asked('add'), asked('drop')])).toMatchObject({
      status: 403,
      headers: { 'WWW-Authenticate': challenge('read tool:add tool:drop') },
    });
    expect(gate.permit(none.identity, [])?.headers).toEqual({ 'WWW-Authenticate': challenge('read') });
    expect(() => gate.permit(admission.identity, [asked('a"b')])).toThrow();
  });
});

describe('a token that is bound to a key', () => {
  interface Holder {
    readonly jkt: string;
    prove(token: string, changes?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  }

  async function holder(): Promise<Holder> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    return {
      jkt: await calculateJwkThumbprint(jwk),
      prove: (token, changes = {}, header = {}) =>
        new SignJWT({
          htm: 'POST',
          htu: HERE,
          iat: Math.floor(Date.now() / 1_000),
          jti: randomUUID(),
          ath: createHash('sha256').update(token).digest('base64url'),
          ...changes,
        })
          .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
          .sign(privateKey),
    };
  }

  const proving = (token: string, dpop: string) => arrival({ authorization: `DPoP ${token}`, dpop });

  it('is good with a proof by that key, once', async () => {
    const { gate, from } = await gateOf();
    const { jkt, prove } = await holder();
    const token = await from.token(HERE, { cnf: { jkt } });
    const proof = await prove(token);
    expect(await outcome(gate, proving(token, proof))).toContain('ann');
    expect(await outcome(gate, proving(token, proof))).toEqual(invalid('The proof was used before'));
    expect(await outcome(gate, proving(token, await prove(token)))).toContain('ann');
  });

  it('is no good without, or with another proof', async () => {
    const { gate, from } = await gateOf();
    const { jkt, prove } = await holder();
    const other = await holder();
    const token = await from.token(HERE, { cnf: { jkt } });
    const plain = await from.token(HERE);
    const now = Math.floor(Date.now() / 1_000);
    const needed = 'The token is bound to a key, and has to come with a proof (DPoP)';
    for (const [request, why] of [
      [bearing(token), needed],
      [arrival({ authorization: `Bearer ${token}`, dpop: await prove(token) }), needed],
      [arrival({ authorization: `DPoP ${token}` }), 'The proof is missing'],
      [proving(token, await other.prove(token)), 'The proof is by another key'],
      [proving(token, await prove(token, { htm: 'GET' })), 'The proof is for another request'],
      [proving(token, await prove(token, { htu: 'https://mcp.example/other' })), 'The proof is for another request'],
      [proving(token, await prove(plain)), 'The proof is for another token'],
      [proving(token, await prove(token, { iat: now - 90 })), 'The proof is too old, or from the future'],
      [proving(token, await prove(token, { iat: now + 90 })), 'The proof is too old, or from the future'],
      [proving(token, await prove(token, { jti: '' })), 'The proof has no usable jti'],
      [proving(token, await prove(token, {}, { typ: 'jwt' })), 'The proof is none'],
      [proving(token, `${(await prove(token)).split('.').slice(0, 2).join('.')}.AAAA`), 'The proof is none'],
      [proving(token, 'junk'), 'The proof is none'],
      [proving(plain, await prove(plain)), 'The token is not bound to a key'],
      [bearing(await from.token(HERE, { cnf: { 'x5t#S256': 'x' } })), 'The token is bound in a way that is not served here'],
    ] as const) {
      expect(await outcome(gate, request)).toEqual(invalid(why));
    }
  });

  it('can be all that is taken', async () => {
    const { gate, from } = await gateOf({ dpop: 'required' });
    const { jkt, prove } = await holder();
    expect(await outcome(gate, arrival({}))).toEqual([401, expect.stringMatching(/^DPoP scope="read", .*algs="[^"]*ES256/)]);
    expect(await outcome(gate, bearing(await from.token(HERE)))).toEqual([401, expect.stringContaining('invalid_token')]);
    const token = await from.token(HERE, { cnf: { jkt } });
    expect(await outcome(gate, proving(token, await prove(token)))).toContain('ann');
    expect(gate.document('/.well-known/oauth-protected-resource/mcp')).toMatchObject({ dpop_bound_access_tokens_required: true });
  });
});
