// Our client and our protected server with a real authorization server between them: nothing of the three is a stand-in.
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  browserInteraction,
  createAuthorizer,
  createMemoryStore,
  type AuthorizerOptions,
  type Interaction,
  type OAuthAuthorizer,
  type RegisteredClient,
  type Visit,
} from '../../src/auth/index.ts';
import { connect, type Session } from '../../src/client/index.ts';
import { httpTransport } from '../../src/transport/index.ts';
import {
  ROBOT,
  SERVER_CLIENT,
  signInAt,
  startAuthorizationServer,
  type AuthorizationServer,
  type ServerOptions,
} from './fixtures/authorization-server.ts';
import { startProtected, type ProtectedOptions, type ProtectedServer } from './fixtures/protected-server.ts';

// A machine that has much else to do takes its time with signatures.
vi.setConfig({ testTimeout: 60_000 });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface World {
  readonly as: AuthorizationServer;
  readonly server: ProtectedServer;
  /** Where a person was sent. */
  readonly visits: Visit[];
  /** A person at a browser, who signs in as `account`. */
  person(account?: string): Interaction;
  authorizer(options?: Partial<AuthorizerOptions>): OAuthAuthorizer;
  connect(authorizer: OAuthAuthorizer): Promise<Session>;
}

const INTROSPECTION = {
  clientId: SERVER_CLIENT.clientId,
  authentication: { secret: SERVER_CLIENT.secret },
  cacheMs: 0,
} as const;

async function world(issuing: ServerOptions = {}, protecting: Partial<ProtectedOptions> = {}): Promise<World> {
  const as = await startAuthorizationServer(issuing);
  open.push(as);
  const server = await startProtected({
    issuer: as.issuer,
    ...(issuing.format === 'opaque' && { introspection: INTROSPECTION }),
    ...protecting,
  });
  open.push(server);
  const visits: Visit[] = [];
  const self: World = {
    as,
    server,
    visits,
    person: (account) =>
      browserInteraction({
        show: (visit) => visits.push(visit),
        // The page one comes back to is asked for as well, which is how the answer arrives.
        open: async (url) => void (await fetch(await signInAt(url, account))),
      }),
    authorizer: (options = {}) =>
      createAuthorizer({
        serverUrl: server.url,
        store: createMemoryStore(),
        client: {},
        interact: self.person(),
        name: 'w',
        ...options,
      }),
    async connect(authorizer) {
      const session = await connect(httpTransport({ url: server.url, authorizer }));
      open.push(session);
      return session;
    },
  };
  return self;
}

const textOf = async (session: Session, tool: string) =>
  ((await session.callTool(tool)).content[0] as { readonly text?: string }).text;

/** Milliseconds after which a token is about to end. */
const NEARLY_OVER_MS = 3_590_000;
/** The client that acts for itself, as its owner configures it. */
const robotAt = ({ issuer }: AuthorizationServer): RegisteredClient => ({
  issuer,
  clientId: ROBOT.clientId,
  authentication: { secret: ROBOT.secret },
});
const grantsOf = ({ tokens }: AuthorizationServer) => tokens.map(({ grant, status }) => `${grant} ${status}`);

describe.each(['jwt', 'opaque'] as const)('with tokens of the form %s', (format) => {
  it('a person signs in, and is who they are to the server', async () => {
    const w = await world({ format });
    const authorizer = w.authorizer();
    const session = await w.connect(authorizer);
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(w.visits).toHaveLength(1);
    const asked = new URL(w.visits[0]!.url).searchParams;
    expect([asked.get('resource'), asked.get('code_challenge_method')]).toEqual([w.server.url, 'S256']);
    expect(grantsOf(w.as)).toEqual(['authorization_code 200']);
    expect(w.as.tokens[0]!.parameters.get('resource')).toBe(w.server.url);
    expect(w.as.tokens[0]!.parameters.get('code_verifier')).toHaveLength(43);
    expect(w.server.known[0]?.identity).toMatchObject({ subject: 'ann', issuer: w.as.issuer, scopes: ['read'] });
    expect(w.as.paths.includes('/token/introspection')).toBe(format === 'opaque');
    expect(await authorizer.status()).toMatchObject({ issuer: w.as.issuer, resource: w.server.url, renewable: true });
  });

  it('a token at its end is renewed by one request, and the refresh token with it', async () => {
    const w = await world({ format });
    const store = createMemoryStore();
    await w.connect(w.authorizer({ store }));
    let ahead = NEARLY_OVER_MS;
    const later = w.authorizer({ store, now: () => Date.now() + ahead });
    const session = await w.connect(later);
    await Promise.all(Array.from({ length: 6 }, () => textOf(session, 'whoami')));
    expect(grantsOf(w.as)).toEqual(['authorization_code 200', 'refresh_token 200']);
    ahead *= 2;
    expect(await textOf(session, 'whoami')).toBe('ann');
    const refreshes = w.as.tokens.slice(1).map(({ parameters }) => parameters.get('refresh_token'));
    expect([refreshes.length, new Set(refreshes).size, w.visits.length]).toEqual([2, 2, 1]);
  });

  it('a tool that needs more gets it with the consent of the person, and what there was stays', async () => {
    const w = await world({ format });
    const session = await w.connect(w.authorizer());
    expect(await textOf(session, 'write')).toBe('ann');
    expect(await textOf(session, 'admin')).toBe('ann');
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(w.visits.map(({ added }) => added)).toEqual([['read', 'offline_access'], ['write'], ['admin']]);
    expect(w.server.known.map(({ identity }) => identity?.scopes)).toEqual([
      ['read', 'write'],
      ['read', 'write', 'admin'],
      ['read', 'write', 'admin'],
    ]);
  });
});

it('a person who signs in as somebody else is somebody else to the server', async () => {
  const w = await world();
  const sessions = await Promise.all(['ann', 'bob'].map((account) => w.connect(w.authorizer({ interact: w.person(account) }))));
  expect(await Promise.all(sessions.map((session) => textOf(session, 'whoami')))).toEqual(['ann', 'bob']);
});

it('a client of the sessions of old signs in the same way', async () => {
  const w = await world();
  const session = await connect(httpTransport({ url: w.server.url, authorizer: w.authorizer() }), { revisions: ['2025-06-18'] });
  open.push(session);
  expect(await textOf(session, 'admin')).toBe('ann');
  expect([w.server.listener.sessions, w.server.known[0]?.era, w.visits.length]).toEqual([1, 'legacy', 2]);
});

describe('a step up', () => {
  it('is tried twice for one operation, and not again', async () => {
    let more = 0;
    const w = await world({}, { scopesFor: ({ method }) => (method === 'tools/call' ? [`more${++more}`] : []) });
    const session = await w.connect(w.authorizer());
    for (let time = 0; time < 2; time++) {
      await expect(session.callTool('whoami')).rejects.toMatchObject({ code: 'auth-required', details: { status: 403 } });
    }
    expect(w.visits).toHaveLength(3);
    expect(w.server.known).toEqual([]);
  });

  it('is never made where nobody can be asked', async () => {
    const w = await world();
    const store = createMemoryStore();
    await w.connect(w.authorizer({ store }));
    const session = await w.connect(createAuthorizer({ serverUrl: w.server.url, store, client: {}, name: 'w' }));
    await expect(session.callTool('write')).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('parley mcp login w'),
    });
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect([w.visits.length, w.as.tokens.length]).toEqual([1, 1]);
  });
});

describe('what is revoked', () => {
  it('by who signs out is of no use to who kept it', async () => {
    const w = await world({ format: 'opaque' });
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store });
    await w.connect(authorizer);
    const request = { method: 'POST', url: new URL(w.server.url), by: 'user', operation: 'x' } as const;
    const { authorization = '' } = await authorizer.headers(request, { signal: new AbortController().signal });
    await authorizer.signOut();
    expect(w.as.paths.at(-1)).toBe('/token/revocation');
    expect(await authorizer.status()).toBeUndefined();
    const answer = await fetch(w.server.url, { method: 'POST', headers: { authorization }, body: '{}' });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('invalid_token')]);
  });

  it('by the person at the issuer ends in one question to them, and without them in a plain message', async () => {
    const w = await world({ format: 'opaque' });
    const store = createMemoryStore();
    const session = await w.connect(w.authorizer({ store }));
    const unattended = await w.connect(createAuthorizer({ serverUrl: w.server.url, store, client: {}, name: 'w' }));
    await w.as.revokeAll();
    await expect(unattended.callTool('whoami')).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('parley mcp login w'),
    });
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(grantsOf(w.as)).toEqual(['authorization_code 200', 'refresh_token 400', 'authorization_code 200']);
    expect(w.visits).toHaveLength(2);
    expect(await textOf(unattended, 'whoami')).toBe('ann');
  });
});

describe('a server that names another issuer', () => {
  async function moving() {
    const w = await world();
    const second = await startAuthorizationServer();
    open.push(second);
    const questions: unknown[] = [];
    const answer = { agree: false };
    const interact: Interaction = {
      ...w.person(),
      confirm: async (question) => {
        questions.push(question);
        return answer.agree;
      },
    };
    const store = createMemoryStore();
    const authorizer = w.authorizer({ store, interact });
    const session = await w.connect(authorizer);
    const secrets = w.as.tokens.flatMap(({ parameters }) =>
      ['code', 'code_verifier', 'client_id'].flatMap((name) => parameters.get(name) ?? []),
    );
    const { authorization = '' } = await authorizer.headers(
      { method: 'POST', url: new URL(w.server.url), by: 'user', operation: 'x' },
      { signal: new AbortController().signal },
    );
    secrets.push(authorization.slice('Bearer '.length));
    return { w, second, store, session, questions, answer, secrets };
  }

  /** Nothing but its metadata was asked for, and its keys by the server, by nobody who said anything. */
  const learnedNothing = (second: AuthorizationServer, secrets: readonly string[]) => {
    expect(new Set(second.paths)).toEqual(new Set(['/.well-known/oauth-authorization-server', '/jwks']));
    expect(second.tokens).toEqual([]);
    expect(secrets.filter((secret) => second.came.join().includes(secret))).toEqual([]);
  };

  it('gets nothing there, and the person learns of both', async () => {
    const { w, second, session, questions, secrets, answer } = await moving();
    w.server.protectBy(second.issuer);
    await expect(session.callTool('whoami')).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining(second.issuer),
    });
    expect(questions).toEqual([{ kind: 'issuer-changed', server: w.server.url, from: w.as.issuer, to: second.issuer }]);
    learnedNothing(second, secrets);
    answer.agree = true;
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(grantsOf(second)).toEqual(['authorization_code 200']);
    expect(secrets.filter((secret) => second.came.join().includes(secret))).toEqual([]);
  });

  it('gets nothing there after a restart either, or from who cannot be asked', async () => {
    const { w, second, store, secrets } = await moving();
    w.server.protectBy(second.issuer);
    for (let time = 0; time < 2; time++) {
      await expect(w.connect(createAuthorizer({ serverUrl: w.server.url, store, client: {}, name: 'w' }))).rejects.toMatchObject({
        code: 'auth-required',
        message: expect.stringContaining('parley mcp login w'),
      });
    }
    learnedNothing(second, secrets);
  });

  it('gets nothing there when a token is renewed', async () => {
    const { w, second, store, secrets } = await moving();
    w.server.protectBy(second.issuer);
    const later = w.authorizer({
      store,
      now: () => Date.now() + NEARLY_OVER_MS,
      interact: { ...w.person(), confirm: async () => false },
    });
    await expect(w.connect(later)).rejects.toMatchObject({ code: 'auth-required' });
    expect(grantsOf(w.as)).toEqual(['authorization_code 200', 'refresh_token 200']);
    learnedNothing(second, secrets);
  });

  it('gets no credentials of a client that is registered elsewhere', async () => {
    const w = await world();
    const second = await startAuthorizationServer();
    open.push(second);
    const authorizer = createAuthorizer({
      serverUrl: w.server.url,
      store: createMemoryStore(),
      client: { registered: robotAt(w.as) },
      grant: { kind: 'client-credentials' },
      name: 'w',
    });
    const session = await w.connect(authorizer);
    w.server.protectBy(second.issuer);
    await expect(session.callTool('whoami')).rejects.toMatchObject({ code: 'auth-required' });
    learnedNothing(second, [ROBOT.secret, ROBOT.clientId]);
  });
});

describe('what comes back from the issuer', () => {
  /** Signs in with a browser that changes what it brings back, and resolves with the fault. */
  async function tampered(w: World, change: (callback: URL) => void, options: Partial<AuthorizerOptions> = {}) {
    const interact = browserInteraction({
      show: () => {},
      open: 'none',
      paste: async () => pasted,
    });
    let bring!: (callback: string) => void;
    const pasted = new Promise<string>((resolve) => (bring = resolve));
    const authorizer = w.authorizer({
      interact: {
        ...interact,
        async open(asked) {
          const address = await interact.open(asked);
          return {
            ...address,
            async visit(visit, visiting) {
              const callback = new URL(await signInAt(visit.url));
              change(callback);
              bring(callback.href);
              return address.visit(visit, visiting);
            },
          };
        },
      },
      ...options,
    });
    return w.connect(authorizer).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('is used as it is, by the way of a person who pastes it', async () => {
    const w = await world();
    expect(await tampered(w, () => {})).toBeUndefined();
  });

  it.each<[string, (callback: URL) => void]>([
    ['another issuer', ({ searchParams }) => searchParams.set('iss', 'https://attacker.example')],
    ['a slash more', ({ searchParams }) => searchParams.set('iss', `${searchParams.get('iss')}/`)],
    ['no issuer', ({ searchParams }) => searchParams.delete('iss')],
    ['another state', ({ searchParams }) => searchParams.set('state', 'x'.repeat(43))],
    ['no state', ({ searchParams }) => searchParams.delete('state')],
  ])('is not used with %s', async (_, change) => {
    const w = await world();
    expect(await tampered(w, change)).toMatchObject({ code: 'protocol-violation' });
    expect([w.as.tokens, w.server.known]).toEqual([[], []]);
  });

  it('is no use to who brings a code that was made for another sign-in', async () => {
    const w = await world();
    let code = '';
    await tampered(w, ({ searchParams }) => {
      code = searchParams.get('code') ?? '';
      searchParams.set('state', 'lost');
    });
    const fault = await tampered(w, ({ searchParams }) => searchParams.set('code', code));
    expect(fault).toMatchObject({ code: 'auth-required', message: expect.stringContaining('invalid_grant') });
    expect(w.as.tokens.map(({ status, error }) => [status, error])).toEqual([[400, 'invalid_grant']]);
  });
});

describe('another resource', () => {
  it('has tokens of its own, which are no good here', async () => {
    const w = await world();
    const other = await startProtected({ issuer: w.as.issuer });
    open.push(other);
    const authorizer = w.authorizer({ serverUrl: other.url });
    await authorizer.signIn();
    const about = { method: 'POST', by: 'user', operation: 'x' } as const;
    const signal = new AbortController().signal;
    expect(await authorizer.headers({ ...about, url: new URL(w.server.url) }, { signal })).toEqual({});
    const { authorization = '' } = await authorizer.headers({ ...about, url: new URL(other.url) }, { signal });
    for (const [url, status] of [
      [w.server.url, 401],
      [other.url, 415],
    ] as const) {
      const answer = await fetch(url, { method: 'POST', headers: { authorization, accept: 'application/json' }, body: '{}' });
      expect([url, answer.status]).toEqual([url, status]);
    }
    const refused = await fetch(w.server.url, { method: 'POST', headers: { authorization }, body: '{}' });
    expect(refused.headers.get('www-authenticate')).toContain('The token is for another resource');
  });

  it('that the issuer does not know ends the sign-in', async () => {
    const w = await world({ resources: (resource) => resource === 'https://other.example' });
    await expect(w.connect(w.authorizer())).rejects.toMatchObject({
      code: 'auth-required',
      message: expect.stringContaining('invalid_target'),
    });
    expect(w.as.tokens).toEqual([]);
  });
});

it('a program signs in as itself, and again when its token ends', async () => {
  const w = await world();
  let ahead = 0;
  const authorizer = w.authorizer({
    client: { registered: robotAt(w.as) },
    grant: { kind: 'client-credentials' },
    now: () => Date.now() + ahead,
  });
  const session = await w.connect(authorizer);
  expect(await textOf(session, 'whoami')).toBe(ROBOT.clientId);
  ahead = NEARLY_OVER_MS;
  expect(await textOf(session, 'whoami')).toBe(ROBOT.clientId);
  expect(await textOf(session, 'write')).toBe(ROBOT.clientId);
  expect(grantsOf(w.as)).toEqual(Array.from({ length: 3 }, () => 'client_credentials 200'));
  expect(w.as.tokens.map(({ parameters }) => [parameters.get('scope'), parameters.get('resource')])).toEqual([
    ['read', w.server.url],
    ['read', w.server.url],
    ['read write', w.server.url],
  ]);
  expect(w.visits).toEqual([]);
});

describe('tokens that are bound to a key', () => {
  it.each([true, false])('go with a proof each time, also when they are renewed (nonces wanted: %s)', async (nonces) => {
    let ahead = 0;
    const now = () => Date.now() + ahead;
    const w = await world({ nonces }, { dpop: 'required', now });
    const store = createMemoryStore();
    const session = await w.connect(w.authorizer({ store, now }));
    expect(await textOf(session, 'whoami')).toBe('ann');
    ahead = NEARLY_OVER_MS;
    expect(await textOf(session, 'whoami')).toBe('ann');
    expect(w.as.tokens.at(-1)).toMatchObject({ grant: 'refresh_token', status: 200 });
    expect(w.as.tokens.some(({ error }) => error === 'use_dpop_nonce')).toBe(nonces);
    expect(w.visits).toHaveLength(1);
  });

  it('are no good to who has stolen one, with its proof or without', async () => {
    const w = await world({}, { dpop: 'required' });
    const authorizer = w.authorizer();
    await w.connect(authorizer);
    const request = { method: 'POST', url: new URL(w.server.url), by: 'user', operation: 'x' } as const;
    const { authorization = '', dpop = '' } = await authorizer.headers(request, { signal: new AbortController().signal });
    const statusOf = async (headers: Record<string, string>) =>
      (await fetch(w.server.url, { method: 'POST', headers: { accept: 'application/json', ...headers }, body: '{}' })).status;
    expect(await statusOf({ authorization: authorization.replace('DPoP', 'Bearer') })).toBe(401);
    expect(await statusOf({ authorization })).toBe(401);
    expect(await statusOf({ authorization, dpop })).toBe(415);
    expect(await statusOf({ authorization, dpop })).toBe(401);
  });
});
