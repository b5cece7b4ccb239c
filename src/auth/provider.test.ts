import { afterEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../errors.ts';
import { reply, sendJson, type Answer } from '../transport/http/fixtures/fake-server.ts';
import { startWorld, type World, type WorldOptions } from './fixtures/world.ts';
import { createAuthorizer, createMemoryStore } from './index.ts';

const POST = { method: 'POST', by: 'user', operation: 'x' } as const;

const worlds: World[] = [];
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.close()));
});

async function world(options: WorldOptions = {}): Promise<World> {
  const started = await startWorld(options);
  worlds.push(started);
  return started;
}

describe('a sign-in', () => {
  it('happens once the server wants it, and its token goes with every request', async () => {
    const w = await world();
    const authorizer = w.authorizer();
    expect(await w.call(authorizer)).toEqual({ token: 'token-1' });
    expect(await w.call(authorizer)).toEqual({ token: 'token-1' });
    expect(w.mcp.seen.filter(({ path }) => path === '/mcp').map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer token-1',
      'Bearer token-1',
    ]);
    expect(w.asked()).toEqual(['/.well-known/oauth-authorization-server', '/register', '/authorize', '/token']);
    expect(await authorizer.status()).toMatchObject({
      issuer: w.issuer,
      resource: w.url,
      clientId: 'registered',
      renewable: true,
    });
  });

  it('asks with PKCE, a state, and the resource in both requests', async () => {
    const w = await world();
    await w.call(w.authorizer());
    await w.call(w.authorizer());
    const [first, second] = w.visits.map(({ url }) => new URL(url).searchParams);
    expect(Object.fromEntries(first!)).toMatchObject({
      response_type: 'code',
      client_id: 'registered',
      redirect_uri: 'http://127.0.0.1:4711/back',
      code_challenge_method: 'S256',
      resource: w.url,
    });
    expect(first!.has('scope')).toBe(false);
    expect(first!.get('state')).toHaveLength(43);
    expect(first!.get('state')).not.toBe(second!.get('state'));
    expect(first!.get('code_challenge')).not.toBe(second!.get('code_challenge'));
    expect(w.tokenRequests[0]!.get('resource')).toBe(w.url);
    const registration = w.as.seen.find(({ path }) => path === '/register');
    expect(JSON.parse(registration!.body)).toMatchObject({
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['http://127.0.0.1:4711/back'],
      token_endpoint_auth_method: 'none',
    });
  });

  it('is shared by requests that are refused together', async () => {
    const w = await world();
    const authorizer = w.authorizer();
    await Promise.all(Array.from({ length: 8 }, () => w.call(authorizer)));
    expect([w.visits.length, w.tokenRequests.length]).toEqual([1, 1]);
  });

  it('fails for all of them together', async () => {
    const w = await world({ redirect: (parameters) => parameters.set('error', 'access_denied') });
    const authorizer = w.authorizer();
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => w.call(authorizer)));
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'));
    expect(w.visits).toHaveLength(1);
  });

  it('is remembered by the store, for this server alone', async () => {
    const w = await world();
    const store = createMemoryStore();
    await w.call(w.authorizer({ store }));
    await w.call(w.authorizer({ store }));
    expect(w.visits).toHaveLength(1);
    const neighbour = w.authorizer({ store, serverUrl: `${w.origin}/other` });
    const signal = new AbortController().signal;
    const about = { method: 'POST', by: 'user', operation: 'x' } as const;
    expect(await neighbour.headers({ ...about, url: new URL(`${w.origin}/other`) }, { signal })).toEqual({});
    const known = w.authorizer({ store });
    for (const [url, by, carried] of [
      [`${w.url}/`, 'redirect', true],
      [`${w.origin}/other`, 'redirect', false],
      [`${w.url}?x=y`, 'redirect', false],
      [`${w.origin}/post`, 'server', true],
      ['http://127.0.0.1:1/mcp', 'server', false],
    ] as const) {
      const headers = await known.headers({ method: 'POST', url: new URL(url), by, operation: 'x' }, { signal });
      expect([url, 'authorization' in headers]).toEqual([url, carried]);
    }
  });

  it('is never made where nobody can be asked; the fault says what to run', async () => {
    const w = await world();
    const failure = await w
      .call(createAuthorizer({ serverUrl: w.url, store: createMemoryStore(), client: {}, name: 'w' }))
      .catch((error: unknown) => error as ParleyError);
    expect(failure).toMatchObject({ code: 'auth-required', details: { status: 401, server: 'w' } });
    expect((failure as ParleyError).message).toContain('parley mcp login w');
    expect((failure as ParleyError).details.challenge).toContain('resource_metadata=');
    expect(w.as.seen).toHaveLength(0);
  });

  it('is asked for in the same words when a stored one cannot be renewed', async () => {
    const w = await world();
    const store = createMemoryStore();
    await w.call(w.authorizer({ store }));
    w.valid.clear();
    w.refreshToken = 'another';
    const unattended = createAuthorizer({ serverUrl: w.url, store, client: {}, name: 'w' });
    for (let time = 0; time < 2; time++) {
      await expect(w.call(unattended)).rejects.toMatchObject({
        code: 'auth-required',
        message: expect.stringContaining('parley mcp login w'),
      });
    }
    expect(w.tokenRequests).toHaveLength(2);
  });

  it('is made on demand, with what the challenge said', async () => {
    const w = await world({ challenge: ', scope="a b"' });
    const authorizer = w.authorizer();
    await authorizer.signIn({ challenge: 'Bearer scope="a b"' });
    expect(w.visits[0]).toMatchObject({ issuer: w.issuer, resource: w.url, scopes: ['a', 'b'], added: ['a', 'b'] });
    expect(await w.call(authorizer)).toEqual({ token: 'token-1' });
    await authorizer.signOut();
    expect(await authorizer.status()).toBeUndefined();
  });

  it('tells the issuer when it is over', async () => {
    const w = await world({
      server: ({ issuer }) => ({ revocation_endpoint: `${issuer}/revoke` }),
      routes: { '/revoke': (_, response) => response.writeHead(200).end() },
    });
    const authorizer = w.authorizer();
    await w.call(authorizer);
    await authorizer.signOut();
    const revoked = w.as.seen.find(({ path }) => path === '/revoke');
    expect(new URLSearchParams(revoked?.body).get('token')).toBe('refresh-1');
  });

  it('is not tried again and again when the server refuses each token', async () => {
    const w = await world({
      mcp: (_, response) => sendJson(response, {}, 401, { 'www-authenticate': 'Bearer error="invalid_token"' }),
    });
    const authorizer = w.authorizer();
    await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'auth-required' });
    await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'auth-required' });
    expect(w.visits).toHaveLength(1);
  });

  it('comes after one renewal and ends there, when the server takes neither token', async () => {
    let closed = false;
    const w = await world({
      mcp: (_, response) => {
        if (closed) sendJson(response, {}, 401, { 'www-authenticate': 'Bearer error="invalid_token"' });
      },
    });
    const authorizer = w.authorizer();
    await w.call(authorizer);
    closed = true;
    for (let time = 0; time < 2; time++) await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'auth-required' });
    expect(w.tokenRequests.map((parameters) => parameters.get('grant_type'))).toEqual([
      'authorization_code',
      'refresh_token',
      'authorization_code',
    ]);
  });

  it('leaves other schemes, and refusals that ask for no more rights, alone', async () => {
    for (const [status, challenge] of [
      [401, 'Basic realm="x"'],
      [403, 'Bearer error="invalid_token"'],
    ] as const) {
      const w = await world({
        routes: { '/mcp': (_, response) => sendJson(response, {}, status, { 'www-authenticate': challenge }) },
      });
      await expect(w.call(w.authorizer())).rejects.toMatchObject({ code: 'auth-required', details: { status } });
      expect(w.visits).toHaveLength(0);
    }
  });
});

describe('what comes back from a sign-in', () => {
  const supported = (yes: boolean | undefined) => () => ({ authorization_response_iss_parameter_supported: yes });

  it.each<[string, boolean | undefined, (issuer: string) => string | undefined, boolean]>([
    ['announced and right', true, (issuer) => issuer, true],
    ['announced and missing', true, () => undefined, false],
    ['announced and empty', true, () => '', false],
    ['not announced and missing', undefined, () => undefined, true],
    ['not announced and right', false, (issuer) => issuer, true],
    ['not announced and empty', undefined, () => '', false],
    ['of another', true, () => 'https://attacker.example', false],
    ['with a slash more', true, (issuer) => `${issuer}/`, false],
    ['in another case', undefined, (issuer) => issuer.replace('http', 'HTTP'), false],
    ['escaped', undefined, (issuer) => issuer.replace('127', '%3127'), false],
  ])('is used only with the right issuer: %s', async (_, announced, iss, used) => {
    const w = await world({
      server: supported(announced),
      redirect: (parameters, { issuer }) => {
        const value = iss(issuer);
        if (value !== undefined) parameters.set('iss', value);
      },
    });
    if (used) expect(await w.call(w.authorizer())).toEqual({ token: 'token-1' });
    else await expect(w.call(w.authorizer())).rejects.toMatchObject({ code: 'protocol-violation' });
    expect(w.tokenRequests).toHaveLength(used ? 1 : 0);
  });

  it.each<[string, (parameters: URLSearchParams) => void]>([
    ['another state', (parameters) => parameters.set('state', 'other')],
    ['no state', (parameters) => parameters.delete('state')],
    ['two states', (parameters) => parameters.append('state', parameters.get('state')!)],
    ['two codes', (parameters) => parameters.append('code', 'x')],
    ['no code', (parameters) => parameters.delete('code')],
    ['a token of the implicit flow', (parameters) => parameters.set('id_token', 'x')],
  ])('is refused with %s', async (_, change) => {
    const w = await world({ redirect: change });
    await expect(w.call(w.authorizer())).rejects.toMatchObject({ code: 'protocol-violation' });
    expect(w.tokenRequests).toHaveLength(0);
  });

  it('says what went wrong only when it is from the right issuer, and never in the words of the server', async () => {
    const wrong = (issuer: string) => (parameters: URLSearchParams) => {
      parameters.delete('code');
      parameters.set('iss', issuer);
      parameters.set('error', 'access_denied');
      parameters.set('error_description', 'call \u001b[31m this number');
    };
    const foreign = await world({ redirect: wrong('https://attacker.example') });
    const message = (w: World) => w.call(w.authorizer()).then(String, (error: unknown) => (error as Error).message);
    expect(await message(foreign)).not.toContain('access_denied');
    const own = await world({ redirect: (parameters, { issuer }) => wrong(issuer)(parameters) });
    expect(await message(own)).toContain('access_denied');
    expect(await message(own)).not.toContain('number');
  });

  it.each([[undefined], [[]], [['plain']]])('is not even asked for when the server supports %s for PKCE', async (methods) => {
    const w = await world({ server: () => ({ code_challenge_methods_supported: methods }) });
    await expect(w.call(w.authorizer())).rejects.toMatchObject({
      code: 'protocol-violation',
      message: expect.stringContaining('PKCE'),
    });
    expect(w.visits).toHaveLength(0);
  });

  it.each(['javascript:alert(1)', 'file:///x', 'http://as.example/authorize', '--help', 'parley://x'])(
    'is not asked for at %s',
    async (endpoint) => {
      const w = await world({ server: () => ({ authorization_endpoint: endpoint }) });
      await expect(w.call(w.authorizer())).rejects.toMatchObject({ code: 'denied' });
      expect(w.visits).toHaveLength(0);
    },
  );
});

it('is asked for at one address without quotes or line ends, whatever the server put in it', async () => {
  const nasty = '?x=$(id)`id`&y=\'"|;<>\\ \n--flag\u202e';
  const w = await world({ server: ({ issuer }) => ({ authorization_endpoint: `${issuer}/authorize${nasty}` }) });
  await w.call(w.authorizer());
  const { url } = w.visits[0]!;
  expect(url).toBe(new URL(url).href);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?[\x21\x23-\x3b\x3d\x3f-\x7e]+$/);
});

it('names the resource in both requests where there are no metadata, in its canonical form', async () => {
  const w = await world({ resource: () => ({ authorization_servers: undefined }) });
  const client = { registered: { issuer: w.issuer, clientId: 'c' } };
  for (const [serverUrl, resource] of [
    [w.url, w.url],
    [w.origin, w.origin],
    [`${w.origin}/`, w.origin],
    [`${w.origin}/a/?b=c#d`, `${w.origin}/a/?b=c`],
  ] as const) {
    await w.authorizer({ client, serverUrl }).signIn();
    expect(new URL(w.visits.at(-1)!.url).searchParams.getAll('resource')).toEqual([resource]);
    expect(w.tokenRequests.at(-1)!.getAll('resource')).toEqual([resource]);
  }
});

describe('a token', () => {
  const stale = { store: createMemoryStore, now: () => Date.now() + 3_590_000 };

  it('is renewed once for all when the server does not take it any more, by a refresh token that is used once', async () => {
    const w = await world();
    const authorizer = w.authorizer();
    await w.call(authorizer);
    for (let round = 2; round < 5; round++) {
      w.valid.clear();
      const results = await Promise.all(Array.from({ length: 6 }, () => w.call(authorizer)));
      expect(results).toEqual(Array.from({ length: 6 }, () => ({ token: `token-${round}` })));
    }
    expect(w.tokenRequests.map((parameters) => parameters.get('refresh_token'))).toEqual([
      null,
      'refresh-1',
      'refresh-2',
      'refresh-3',
    ]);
    expect(w.tokenRequests[1]!.get('resource')).toBe(w.url);
    expect(w.visits).toHaveLength(1);
  });

  it('is renewed before it ends, without the server having to refuse it', async () => {
    const w = await world();
    const store = stale.store();
    await w.call(w.authorizer({ store }));
    const later = w.authorizer({ store, now: stale.now });
    await Promise.all([w.call(later), w.call(later)]);
    expect(w.tokenRequests.map((parameters) => parameters.get('grant_type'))).toEqual(['authorization_code', 'refresh_token']);
    expect(w.mcp.seen.at(-1)?.headers.authorization).toBe('Bearer token-2');
  });

  it('is not lost when the caller gives up while it is renewed', async () => {
    let came!: () => void;
    let answer!: () => void;
    const asked = new Promise<void>((resolve) => (came = resolve));
    const allowed = new Promise<void>((resolve) => (answer = resolve));
    const w = await world({
      routes: {
        '/token': async ({ body }, response) => {
          const refreshing = new URLSearchParams(body).has('refresh_token');
          if (refreshing) {
            came();
            await allowed;
          }
          w.valid.add('new');
          sendJson(response, {
            access_token: refreshing ? 'new' : 'old',
            token_type: 'bearer',
            refresh_token: refreshing ? 'r2' : 'r1',
          });
        },
      },
      mcp: ({ headers, id }, response) => {
        if (headers.authorization === 'Bearer new') sendJson(response, reply(id));
        else sendJson(response, {}, 401);
      },
    });
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store });
    await authorizer.signIn();
    authorizer.answered?.({
      ...POST,
      url: new URL(w.url),
      status: 200,
      headers: {},
      sent: { authorization: 'Bearer old' },
      attempt: 1,
    });
    const control = new AbortController();
    const refused = { ...POST, url: new URL(w.url), status: 401, headers: {}, sent: { authorization: 'Bearer old' }, attempt: 1 };
    const waiting = expect(authorizer.challenged(refused, { signal: control.signal })).rejects.toMatchObject({ code: 'aborted' });
    await asked;
    control.abort();
    await waiting;
    answer();
    expect(await w.call(w.authorizer({ store }))).toEqual({});
    expect(w.as.seen.filter(({ body }) => body.includes('refresh_token=r1'))).toHaveLength(1);
  });

  it.each([
    ['is refused too late', { status: 400, body: { error: 'invalid_grant' } }],
    ['succeeds too late', { body: { access_token: 'late', token_type: 'bearer', refresh_token: 'late' } }],
  ])('that somebody signed in for meanwhile is not lost when a renewal %s', async (_, answer) => {
    let came!: () => void;
    let go!: () => void;
    const asked = new Promise<void>((resolve) => (came = resolve));
    const allowed = new Promise<void>((resolve) => (go = resolve));
    const w = await world({
      token: async (parameters) => {
        if (parameters.get('grant_type') !== 'refresh_token') return undefined;
        came();
        await allowed;
        return answer;
      },
    });
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store });
    await w.call(authorizer);
    w.valid.clear();
    const waiting = w.call(authorizer);
    await asked;
    await w.authorizer({ store }).signIn();
    go();
    expect(await waiting).toEqual({ token: 'token-2' });
    const name = { kind: 'tokens', server: w.url, issuer: w.issuer, clientId: 'registered', resource: w.url } as const;
    expect(await store.get(name)).toMatchObject({ accessToken: 'token-2', refreshToken: 'refresh-2' });
    expect(w.visits).toHaveLength(2);
  });

  it('is not brought back by a renewal for who has signed out meanwhile', async () => {
    let came!: () => void;
    let go!: () => void;
    const asked = new Promise<void>((resolve) => (came = resolve));
    const allowed = new Promise<void>((resolve) => (go = resolve));
    const w = await world({
      token: async (parameters) => {
        if (parameters.get('grant_type') !== 'refresh_token') return undefined;
        came();
        await allowed;
        return undefined;
      },
    });
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store });
    await w.call(authorizer);
    const later = createAuthorizer({ serverUrl: w.url, store, client: {}, now: stale.now });
    const waiting = w.call(later).catch((error: unknown) => error);
    await asked;
    await authorizer.signOut();
    go();
    await waiting;
    expect(await authorizer.status()).toBeUndefined();
  });

  it('keeps its refresh token when no other is given', async () => {
    const w = await world({
      token: (parameters, { valid }) => {
        if (parameters.get('grant_type') !== 'refresh_token') return undefined;
        valid.add('plain');
        return { body: { access_token: 'plain', token_type: 'bearer' } };
      },
    });
    const authorizer = w.authorizer();
    await w.call(authorizer);
    w.valid.clear();
    expect(await w.call(authorizer)).toEqual({ token: 'plain' });
    w.valid.clear();
    await w.call(authorizer);
    expect(w.tokenRequests.slice(1).map((parameters) => parameters.get('refresh_token'))).toEqual(['refresh-1', 'refresh-1']);
  });

  it('is asked for anew when the refresh token is of no use any more', async () => {
    const w = await world();
    const authorizer = w.authorizer();
    await w.call(authorizer);
    w.valid.clear();
    w.refreshToken = 'another';
    expect(await w.call(authorizer)).toEqual({ token: 'token-2' });
    expect(w.visits).toHaveLength(2);
  });

  it('outlives an outage of the authorization server', async () => {
    let broken = false;
    const w = await world({ token: () => (broken ? { status: 503, body: {} } : undefined) });
    const authorizer = w.authorizer();
    await w.call(authorizer);
    w.valid.clear();
    broken = true;
    await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'unreachable', retryable: true });
    broken = false;
    expect(await w.call(authorizer)).toEqual({ token: 'token-2' });
    expect(w.visits).toHaveLength(1);
  });

  it.each([
    ['a line end', { access_token: 'a\nb', token_type: 'bearer' }],
    ['no type', { access_token: 'a' }],
    ['an unknown type', { access_token: 'a', token_type: 'mac' }],
    ['a type that was not asked for', { access_token: 'a', token_type: 'dpop' }],
    ['too much of it', { access_token: 'a'.repeat(20_000), token_type: 'bearer' }],
    ['a life that is no number', { access_token: 'a', token_type: 'bearer', expires_in: 'long' }],
  ])('is refused with %s', async (_, body) => {
    const w = await world({ token: () => ({ body }) });
    await expect(w.call(w.authorizer())).rejects.toMatchObject({ code: 'protocol-violation' });
  });

  it('is never in a message, nor is any other secret', async () => {
    const secrets = ['s3cret', 'code-1', 'token-1', 'refresh-1'];
    const w = await world({
      server: () => ({ token_endpoint_auth_methods_supported: ['client_secret_post'] }),
      token: () => ({ status: 400, body: { error: 'invalid_grant', error_description: 's3cret token-1 refresh-1' } }),
    });
    const client = { registered: { issuer: w.issuer, clientId: 'c', authentication: { secret: 's3cret' } } };
    const failure = (await w.call(w.authorizer({ client })).catch((error: unknown) => error)) as ParleyError;
    expect(failure).toMatchObject({ code: 'auth-required', message: expect.stringContaining('invalid_grant') });
    const told = [failure.message, failure.stack, JSON.stringify(failure.details), String(failure.cause)].join();
    expect(secrets.filter((secret) => told.includes(secret))).toEqual([]);
    expect(w.tokenRequests[0]!.get('client_secret')).toBe('s3cret');
    expect(w.as.seen.map(({ path }) => path).join()).not.toContain('s3cret');
  });
});

describe('scopes', () => {
  const refusing =
    (scopeOf: (method: string) => string | undefined): Answer =>
    (seen, response) => {
      const { method } = JSON.parse(seen.body) as { method: string };
      const scope = scopeOf(method);
      if (scope === undefined) return;
      sendJson(response, {}, 403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` });
    };

  it('are those of the challenge, else those the server lists', async () => {
    const listed = { resource: () => ({ scopes_supported: ['x', 'y'] }) };
    const challenged = await world({ ...listed, challenge: ', scope="a"' });
    await challenged.call(challenged.authorizer());
    const plain = await world(listed);
    await plain.call(plain.authorizer());
    expect([challenged.visits[0]!.scopes, plain.visits[0]!.scopes]).toEqual([['a'], ['x', 'y']]);
  });

  it('include offline_access only where the authorization server has it', async () => {
    const w = await world({ challenge: ', scope="a offline_access"', server: () => ({ scopes_supported: ['a'] }) });
    await w.call(w.authorizer());
    const offline = await world({ challenge: ', scope="a"', server: () => ({ scopes_supported: ['a', 'offline_access'] }) });
    await offline.call(offline.authorizer());
    expect([w.visits[0]!.scopes, offline.visits[0]!.scopes]).toEqual([['a'], ['a', 'offline_access']]);
  });

  it('grow by what an operation needs, and what was granted stays', async () => {
    let granted = false;
    const w = await world({
      challenge: ', scope="read"',
      mcp: refusing((method) => (method === 'tools/call' && !granted ? 'write' : undefined)),
      token: (parameters) => {
        granted = parameters.get('grant_type') === 'authorization_code' && w.visits.length === 2;
        return undefined;
      },
    });
    const authorizer = w.authorizer();
    await w.call(authorizer);
    await w.call(authorizer, 'tools/call');
    expect(w.visits.map(({ scopes, added }) => [scopes, added])).toEqual([
      [['read'], ['read']],
      [['read', 'write'], ['write']],
    ]);
  });

  it('grow no more than twice for one operation, and not for what was asked for already', async () => {
    let wanted = 0;
    const w = await world({ challenge: ', scope="s0"', mcp: refusing(() => `s${++wanted}`) });
    const authorizer = w.authorizer();
    await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'auth-required', details: { status: 403 } });
    expect(w.visits).toHaveLength(3);
    await expect(w.call(authorizer)).rejects.toMatchObject({ code: 'auth-required' });
    expect(w.visits).toHaveLength(3);
    const same = await world({ challenge: ', scope="admin"', mcp: refusing(() => 'admin') });
    await expect(same.call(same.authorizer())).rejects.toMatchObject({ code: 'auth-required' });
    expect(same.visits).toHaveLength(1);
  });

  it('that were wanted while nobody could consent are asked for at the next sign-in, with those a person names, once', async () => {
    const store = createMemoryStore();
    const w = await world({ challenge: ', scope="read"', mcp: refusing((method) => (method === 'x' ? 'write' : undefined)) });
    await w.call(w.authorizer({ store }));
    const unattended = createAuthorizer({ serverUrl: w.url, store, client: {}, name: 'w' });
    await expect(w.call(unattended, 'x')).rejects.toMatchObject({ code: 'auth-required' });
    await w.authorizer({ store, scopes: ['own'] }).signIn({ scopes: ['named'] });
    await w.authorizer({ store, account: 'other', scopes: ['own'] }).signIn();
    await w.authorizer({ store: createMemoryStore() }).signIn();
    expect(w.visits.map(({ added }) => [...added].sort())).toEqual([['read'], ['named', 'own', 'write'], ['own'], []]);
    await w.authorizer({ store }).signOut();
    await w.authorizer({ store }).signIn();
    expect(w.visits.at(-1)!.scopes).toEqual([]);
  });

  it('never grow unattended, nor by a list without end', async () => {
    const store = createMemoryStore();
    const w = await world({
      mcp: refusing((method) => (method === 'x' ? 'more' : method === 'y' ? 'a '.repeat(5_000) : undefined)),
    });
    await w.call(w.authorizer({ store }));
    const { interact: _, ...unattended } = { store, interact: undefined, serverUrl: w.url, client: {}, name: 'w' };
    await expect(w.call(createAuthorizer(unattended), 'x')).rejects.toMatchObject({
      code: 'auth-required',
      message: 'Server "w" wants more rights: sign-in needed: run `parley mcp login w`.',
    });
    await expect(w.call(w.authorizer({ store }), 'y')).rejects.toMatchObject({ code: 'auth-required' });
    expect(w.visits).toHaveLength(1);
  });
});

describe('another authorization server', () => {
  async function moving() {
    const second = await world();
    let moved = false;
    const first = await world({ resource: ({ issuer }) => ({ authorization_servers: [moved ? second.issuer : issuer] }) });
    return {
      first,
      second,
      move: () => {
        moved = true;
        first.valid.clear();
      },
    };
  }

  it('gets nothing of the first, and is signed in at only when a person agrees', async () => {
    const { first, second, move } = await moving();
    const questions: unknown[] = [];
    let agree = false;
    const interact = {
      ...first.person,
      confirm: async (question: unknown) => {
        questions.push(question);
        return agree;
      },
    };
    const authorizer = first.authorizer({ interact });
    await first.call(authorizer);
    move();
    await expect(first.call(authorizer)).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining(second.issuer),
    });
    expect(questions).toEqual([{ kind: 'issuer-changed', server: first.url, from: first.issuer, to: second.issuer }]);
    expect(second.asked()).toEqual(['/.well-known/oauth-authorization-server']);
    agree = true;
    await first.call(authorizer).catch(() => {});
    expect(second.asked()).toContain('/register');
    const shown = second.as.seen.map(({ path, body }) => path + body).join();
    expect(['token-1', 'refresh-1'].filter((secret) => shown.replaceAll('"token-1"', '').includes(secret))).toEqual([]);
    expect(second.tokenRequests.map((parameters) => parameters.get('grant_type'))).toEqual(['authorization_code']);
  });

  it('gets nothing when the server wants more rights, by tokens of the first', async () => {
    const second = await world();
    let moved = false;
    const first = await world({
      resource: ({ issuer }) => ({ authorization_servers: [moved ? second.issuer : issuer] }),
      mcp: (_, response) => {
        if (moved) sendJson(response, {}, 403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more"' });
      },
    });
    const store = createMemoryStore();
    const authorizer = first.authorizer({ store, interact: { ...first.person, confirm: async () => false } });
    await first.call(authorizer);
    moved = true;
    await expect(first.call(authorizer)).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining(second.issuer),
    });
    expect(second.asked()).toEqual(['/.well-known/oauth-authorization-server']);
    expect(await authorizer.status()).toMatchObject({ issuer: first.issuer });
  });

  it('gets nothing of a store that does not say which issuer its tokens are of', async () => {
    const w = await world();
    const store = createMemoryStore();
    const unstamped = { server: w.url, issuer: '', clientId: 'registered', resource: w.url };
    await store.set({ kind: 'sign-in', server: w.url }, { clientId: 'registered', resource: w.url });
    await store.set(
      { kind: 'tokens', ...unstamped },
      { accessToken: 'old', type: 'bearer', refreshToken: 'old-refresh', requested: [] },
    );
    expect(await w.call(w.authorizer({ store }))).toEqual({ token: 'token-1' });
    const shown = [...w.as.seen, ...w.mcp.seen].map(({ path, body, headers }) => path + body + JSON.stringify(headers)).join();
    expect(shown).not.toContain('old');
  });

  it('gets no credentials that are registered elsewhere', async () => {
    const { first, second, move } = await moving();
    const client = { registered: { issuer: first.issuer, clientId: 'c', authentication: { secret: 's3cret' } } };
    const authorizer = first.authorizer({ client, grant: { kind: 'client-credentials' } });
    await first.call(authorizer);
    move();
    await expect(first.call(authorizer)).rejects.toMatchObject({ code: 'auth-required' });
    expect(second.tokenRequests).toHaveLength(0);
  });
});

describe('other grants', () => {
  it('get tokens for the client itself, and new ones when they end', async () => {
    const w = await world({ challenge: ', scope="a"' });
    const client = { registered: { issuer: w.issuer, clientId: 'c', authentication: { secret: 'a b:c' } } };
    const store = createMemoryStore();
    const options = { serverUrl: w.url, client, store, grant: { kind: 'client-credentials' } } as const;
    await w.call(createAuthorizer(options));
    await w.call(createAuthorizer({ ...options, now: () => Date.now() + 3_590_000 }));
    expect(w.tokenRequests.map((parameters) => [parameters.get('scope'), parameters.get('resource')])).toEqual([
      ['a', w.url],
      ['a', w.url],
    ]);
    expect(w.tokenRequests[0]!.has('client_secret')).toBe(true);
    expect(w.visits).toHaveLength(0);
  });

  it('say so when they are refused, and do not try anything else', async () => {
    const w = await world({ token: () => ({ status: 400, body: { error: 'invalid_grant' } }) });
    const client = { registered: { issuer: w.issuer, clientId: 'c' } };
    const asked: string[] = [];
    const assertion = async ({ issuer }: { issuer: string }) => {
      asked.push(issuer);
      return 'jwt';
    };
    const authorizer = w.authorizer({ client, grant: { kind: 'assertion', assertion } });
    await expect(w.call(authorizer)).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('invalid_grant'),
    });
    expect(asked).toEqual([w.issuer]);
    expect(w.tokenRequests.map((parameters) => [parameters.get('grant_type'), parameters.get('assertion')])).toEqual([
      ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'jwt'],
    ]);
    expect(w.asked()).not.toContain('/register');
  });

  it('need a client that is registered', async () => {
    const w = await world();
    await expect(w.call(w.authorizer({ grant: { kind: 'client-credentials' } }))).rejects.toMatchObject({
      code: 'config-invalid',
    });
  });
});

describe('a user for whom their organisation vouches', () => {
  const jwt = (claims: object) => ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'x'].join('.');

  async function vouching(
    answer: (w: World) => { status?: number; body: Record<string, unknown> },
    token?: WorldOptions['token'],
  ) {
    const asked: URLSearchParams[] = [];
    const w = await world({
      ...(token && { token }),
      routes: {
        '/idp': ({ body }, response) => {
          asked.push(new URLSearchParams(body));
          const { status, body: given } = answer(w);
          sendJson(response, given, status);
        },
      },
    });
    const authorizer = w.authorizer({
      client: { registered: { issuer: w.issuer, clientId: 'c', authentication: { secret: 's' } } },
      grant: {
        kind: 'enterprise',
        provider: { issuer: `${w.issuer}/idp`, tokenEndpoint: `${w.issuer}/idp`, clientId: 'i', idToken: async () => 'id-token' },
      },
    });
    return { w, authorizer, asked };
  }

  const grant = (assertion: string) => ({
    body: { access_token: assertion, token_type: 'N_A', issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag' },
  });

  it('is signed in by an assertion for this issuer and this resource', async () => {
    let assertion = '';
    const { w, authorizer, asked } = await vouching(({ issuer }) => grant((assertion = jwt({ aud: issuer }))));
    expect(await w.call(authorizer)).toEqual({ token: 'token-1' });
    expect(asked.map((parameters) => Object.fromEntries(parameters))).toEqual([
      expect.objectContaining({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        subject_token: 'id-token',
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        audience: w.issuer,
        resource: w.url,
        client_id: 'i',
      }),
    ]);
    expect(w.tokenRequests.map((parameters) => [parameters.get('grant_type'), parameters.get('assertion')])).toEqual([
      ['urn:ietf:params:oauth:grant-type:jwt-bearer', assertion],
    ]);
    expect(w.visits).toHaveLength(0);
  });

  it.each<[string, () => { status?: number; body: Record<string, unknown> }, string, string]>([
    ['refuses', () => ({ status: 400, body: { error: 'access_denied' } }), 'auth-required', 'access_denied'],
    ['vouches towards another issuer', () => grant(jwt({ aud: 'https://other.example' })), 'protocol-violation', 'but not for'],
    ['gives something that is no assertion', () => grant('opaque'), 'protocol-violation', 'but not for'],
    [
      'gives a token of another kind',
      () => ({ body: { ...grant(jwt({})).body, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' } }),
      'protocol-violation',
      'but not for',
    ],
  ])('is not signed in when the identity provider %s', async (_, answer, code, message) => {
    const { w, authorizer, asked } = await vouching(answer);
    await expect(w.call(authorizer)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect([asked.length, w.tokenRequests.length]).toEqual([1, 0]);
  });

  it('is not signed in with an assertion that the issuer does not take, which is not tried twice', async () => {
    const refusing = () => ({ status: 400, body: { error: 'invalid_grant' } });
    const { w, authorizer, asked } = await vouching(({ issuer }) => grant(jwt({ aud: issuer })), refusing);
    await expect(w.call(authorizer)).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('invalid_grant'),
    });
    expect([asked.length, w.tokenRequests.length, w.visits.length]).toEqual([1, 1, 0]);
  });
});

describe('a client', () => {
  it('that is configured leaves the tokens of another alone, until it has its own', async () => {
    const store = createMemoryStore();
    const w = await world();
    const client = { registered: { issuer: w.issuer, clientId: 'mine' } };
    await w.call(w.authorizer({ store }));
    const unattended = { serverUrl: w.url, store, client, name: 'w' };
    await expect(w.call(createAuthorizer(unattended))).rejects.toMatchObject({ code: 'auth-required' });
    expect(await createAuthorizer(unattended).status()).toBeUndefined();
    expect(w.tokenRequests).toHaveLength(1);
    await w.call(w.authorizer({ store, client }));
    expect(await createAuthorizer(unattended).status()).toMatchObject({ clientId: 'mine' });
    // One sign-in is kept for one account.
    const old = { kind: 'tokens', server: w.url, issuer: w.issuer, clientId: 'registered', resource: w.url } as const;
    expect([await store.get(old), await store.get({ ...old, clientId: 'mine' })]).toEqual([undefined, expect.anything()]);
  });

  it('is the one that its own document describes where the server knows such', async () => {
    const w = await world({ server: () => ({ client_id_metadata_document_supported: true }) });
    await w.call(w.authorizer({ client: { metadataUrl: 'https://parley.example/client.json' } }));
    expect(new URL(w.visits[0]!.url).searchParams.get('client_id')).toBe('https://parley.example/client.json');
    expect(w.asked()).not.toContain('/register');
  });

  it('is registered once an issuer, and not where nobody takes new ones', async () => {
    const w = await world();
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store });
    await w.call(authorizer);
    await authorizer.signOut();
    await w.call(w.authorizer({ store }));
    expect(w.asked().filter((path) => path === '/register')).toHaveLength(1);
    const closed = await world({ server: () => ({ registration_endpoint: undefined }) });
    await expect(closed.call(closed.authorizer())).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('client id'),
    });
    const refusing = await world({
      routes: { '/register': (_, response) => sendJson(response, { error: 'invalid_redirect_uri' }, 400) },
    });
    await expect(refusing.call(refusing.authorizer())).rejects.toMatchObject({
      message: expect.stringContaining('invalid_redirect_uri'),
    });
  });
});

it('does not send tokens over a network in the clear', () => {
  const serverUrl = 'http://mcp.example/mcp';
  expect(() => createAuthorizer({ serverUrl, store: createMemoryStore(), client: {} })).toThrow(ParleyError);
});

it('gives a token bound to a key, with a proof for each request and the nonces that are asked for', async () => {
  const proofs: { nonce?: string; jti: string; htm: string; htu: string; ath?: string }[] = [];
  const claims = (proof: unknown) =>
    JSON.parse(Buffer.from(String(proof).split('.')[1]!, 'base64url').toString()) as (typeof proofs)[number];
  const w = await world({
    server: () => ({ dpop_signing_alg_values_supported: ['ES256'] }),
    resource: () => ({ dpop_bound_access_tokens_required: true }),
    token: () => ({ body: { access_token: 'bound', token_type: 'DPoP' } }),
    mcp: (seen, response) => {
      const proof = claims(seen.headers['dpop']);
      proofs.push(proof);
      expect(seen.headers.authorization).toBe('DPoP bound');
      const nonce = { 'dpop-nonce': `n${proofs.length}` };
      if (proof.nonce === undefined) sendJson(response, {}, 401, { 'www-authenticate': 'DPoP error="use_dpop_nonce"', ...nonce });
      else sendJson(response, reply(seen.id, {}), 200, nonce);
    },
  });
  const store = createMemoryStore();
  await w.call(w.authorizer({ store }));
  const again = w.authorizer({ store });
  await w.call(again);
  await w.call(again);
  expect(proofs.map(({ nonce }) => nonce)).toEqual([undefined, 'n1', undefined, 'n3', 'n4']);
  expect(new Set(proofs.map(({ jti }) => jti)).size).toBe(5);
  expect(proofs[0]).toMatchObject({ htm: 'POST', htu: w.url, ath: expect.any(String) });
  expect(w.tokenRequests).toHaveLength(1);
});
