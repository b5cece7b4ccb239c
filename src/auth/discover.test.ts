import { afterEach, describe, expect, it } from 'vitest';
import { fakeServer, sendJson, type Answer, type FakeServer } from '../transport/http/fixtures/fake-server.ts';
import { discover, discoverServer, sameIssuer, type DiscoverOptions } from './discover.ts';
import { createGuard, type Resolver } from './guard.ts';
import { canonicalResource, isBroader, sameResource } from './resource.ts';

const servers: FakeServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Pages = Readonly<Record<string, unknown>>;
const RESOURCE = '/.well-known/oauth-protected-resource';
const OAUTH = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';

/** Serves pages by path: an object as JSON, text as HTML, a number as that status, a function as it likes. */
async function site(pages: (origin: string) => Pages): Promise<{ origin: string; paths: () => string[] }> {
  const server = await fakeServer((seen, response) => {
    const page = pages(new URL(server.url).origin)[seen.path];
    if (typeof page === 'function') return (page as Answer)(seen, response);
    if (typeof page === 'number' || page === undefined) return response.writeHead(page ?? 404).end('<p>no</p>');
    if (typeof page === 'string') return response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    sendJson(response, page);
  });
  servers.push(server);
  return { origin: new URL(server.url).origin, paths: () => server.seen.map(({ path }) => path) };
}

function look(origin: string, path = '/mcp', options: Partial<DiscoverOptions> = {}) {
  const serverUrl = new URL(origin + path);
  return discover(serverUrl, { guard: createGuard({ serverUrl }), signal: new AbortController().signal, ...options });
}

const server = (issuer: string) => ({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` });

describe('the metadata of the MCP server', () => {
  it('are looked for where the challenge says and nowhere else, when they are there', async () => {
    const { origin, paths } = await site((at) => ({
      '/custom.json': { resource: `${at}/mcp`, authorization_servers: [at], scopes_supported: ['a'] },
      [OAUTH]: server(at),
    }));
    const found = await look(origin, '/mcp', { resourceMetadata: `${origin}/custom.json` });
    expect(found).toMatchObject({ resource: `${origin}/mcp`, scopes: ['a'], dpopRequired: false, metadata: 'published' });
    expect(paths()).toEqual(['/custom.json', OAUTH]);
  });

  it.each([
    ['nothing', 404],
    ['a refusal', 403],
    ['an outage', 500],
    ['a web page', '<html>'],
    ['an empty body', ''],
    ['null', (_: unknown, response: Parameters<Answer>[1]) => sendJson(response, 'null')],
    ['an empty object', {}],
    ['members of other types', { resource: 1, authorization_servers: 'x' }],
    ['no resource', { authorization_servers: ['https://as.example'] }],
    ['arrays without end', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['no server', { resource: 'x', authorization_servers: [] }],
    ['a redirect', (_: unknown, response: Parameters<Answer>[1]) => response.writeHead(302, { location: '/canary' }).end()],
  ])('are looked for at the next place after %s', async (_, page) => {
    const { origin, paths } = await site((at) => ({
      '/custom.json': page,
      [`${RESOURCE}/mcp`]: page,
      [RESOURCE]: { resource: at, authorization_servers: [at] },
      [OAUTH]: server(at),
    }));
    const found = await look(origin, '/mcp', { resourceMetadata: `${origin}/custom.json` });
    expect(found.resource).toBe(origin);
    expect(paths()).toEqual(['/custom.json', `${RESOURCE}/mcp`, RESOURCE, OAUTH]);
  });

  it('are looked for at the root alone when the server is there', async () => {
    const { origin, paths } = await site((at) => ({
      [RESOURCE]: { resource: at, authorization_servers: [at] },
      [OAUTH]: server(at),
    }));
    expect((await look(origin, '/')).resource).toBe(origin);
    expect(paths()).toEqual([RESOURCE, OAUTH]);
  });

  it.each([
    'https://evil.example.com/mcp',
    'http://127.0.0.1:1/mcp',
    'ORIGIN/other',
    'ORIGIN/mcp#fragment',
    'ORIGIN/mcp/below',
    'no url',
  ])('are of no use when they are about %s', async (resource) => {
    const { origin, paths } = await site((at) => ({
      [`${RESOURCE}/mcp`]: { resource: resource.replace('ORIGIN', at), authorization_servers: [at] },
      [OAUTH]: server(at),
    }));
    await expect(look(origin)).rejects.toMatchObject({
      code: 'protocol-violation',
      message: expect.stringContaining('another resource'),
    });
    expect(paths()).not.toContain(OAUTH);
  });

  it('may be about more than this server when somebody agrees to that', async () => {
    const { origin } = await site((at) => ({
      [`${RESOURCE}/a/mcp`]: { resource: `${at}/a`, authorization_servers: [at] },
      [OAUTH]: server(at),
    }));
    await expect(look(origin, '/a/mcp')).rejects.toMatchObject({ code: 'protocol-violation' });
    const asked: string[] = [];
    const acceptBroader = async (resource: string) => asked.push(resource) > 0;
    expect((await look(origin, '/a/mcp', { acceptBroader })).resource).toBe(`${origin}/a`);
    expect(asked).toEqual([`${origin}/a`]);
  });

  it('end the search when there are none, unless the user knows the issuer or the server is an old one', async () => {
    const { origin, paths } = await site((at) => ({ [OAUTH]: server(at) }));
    await expect(look(origin)).rejects.toMatchObject({ code: 'auth-required' });
    expect(paths()).toEqual([`${RESOURCE}/mcp`, RESOURCE]);
    const known = await look(origin, '/mcp', { knownIssuer: origin });
    const old = await look(origin, '/mcp', { legacy: 'allowed' });
    expect([known.resource, known.server.issuer, old.server.issuer]).toEqual([`${origin}/mcp`, origin, origin]);
    const bare = await site(() => ({}));
    expect(await look(bare.origin, '/mcp', { legacy: 'allowed' })).toMatchObject({
      metadata: 'assumed',
      server: { token_endpoint: `${bare.origin}/token` },
    });
  });

  it('are not said to be missing when nobody could be asked', async () => {
    const { origin } = await site(() => ({}));
    await Promise.all(servers.splice(0).map((one) => one.close()));
    await expect(look(origin)).rejects.toMatchObject({ code: 'unreachable' });
  });
});

describe('the metadata of the authorization server', () => {
  const about = (at: string, issuer: string) => ({
    [`${RESOURCE}/mcp`]: { resource: `${at}/mcp`, authorization_servers: [issuer] },
  });

  it('are looked for in the order of the specification', async () => {
    const plain = await site((at) => ({ ...about(at, at), [OIDC]: server(at) }));
    await look(plain.origin);
    expect(plain.paths().slice(1)).toEqual([OAUTH, OIDC]);
    const tenant = await site((at) => ({ ...about(at, `${at}/t/1`), [`/t/1${OIDC}`]: server(`${at}/t/1`) }));
    await look(tenant.origin);
    expect(tenant.paths().slice(1)).toEqual([`${OAUTH}/t/1`, `${OIDC}/t/1`, `/t/1${OIDC}`]);
  });

  it.each([
    ['another host', 'https://attacker.example.com'],
    ['another path', 'ORIGIN/other'],
    ['another port', 'http://127.0.0.1:1'],
    ['another case', 'HTTP://127.0.0.1:PORT'],
  ])('are not used when they are those of %s', async (_, issuer) => {
    const { origin } = await site((at) => {
      const named = issuer.replace('ORIGIN', at).replace('PORT', new URL(at).port);
      return { ...about(at, at), [OAUTH]: { ...server(at), issuer: named }, [OIDC]: { ...server(at), issuer: named } };
    });
    const fault = await look(origin).catch((error: unknown) => error as Error);
    expect(fault).toMatchObject({ code: 'protocol-violation', message: expect.stringContaining('another issuer') });
    // Both, so that a person can see which of the two is to be corrected.
    for (const value of [origin, issuer.replace('ORIGIN', origin).replace('PORT', new URL(origin).port)]) {
      expect((fault as Error).message).toContain(JSON.stringify(value));
    }
  });

  it('may name the root with and without its slash, and a path only as it was named', async () => {
    const slash = await site((at) => ({ ...about(at, `${at}/`), [OAUTH]: server(at) }));
    expect((await look(slash.origin)).server.issuer).toBe(slash.origin);
    const none = await site((at) => ({ ...about(at, at), [OAUTH]: { ...server(at), issuer: `${at}/` } }));
    expect((await look(none.origin)).server.issuer).toBe(`${none.origin}/`);
    const path = await site((at) => ({ ...about(at, `${at}/t`), [`${OAUTH}/t`]: { ...server(at), issuer: `${at}/t/` } }));
    await expect(look(path.origin)).rejects.toMatchObject({ code: 'protocol-violation' });
    expect([sameIssuer('https://a', 'https://a/'), sameIssuer('https://a/t', 'https://a/t/')]).toEqual([true, false]);
  });

  it.each(['http://as.example/token', 'https://10.0.0.1/token', 'https://u:p@as.example/token', 'javascript:alert(1)', 5])(
    'are refused with an endpoint at %s',
    async (endpoint) => {
      const { origin } = await site((at) => ({ ...about(at, at), [OAUTH]: { ...server(at), token_endpoint: endpoint } }));
      await expect(look(origin)).rejects.toMatchObject({ code: expect.stringMatching(/^(denied|protocol-violation)$/) });
    },
  );

  it.each(['http://169.254.169.254', 'https://10.0.0.1', 'http://as.example', 'ftp://x', 'https://a.example?x'])(
    'are not asked for at %s',
    async (issuer) => {
      const { origin } = await site((at) => about(at, issuer));
      await expect(look(origin)).rejects.toMatchObject({ code: expect.stringMatching(/^(denied|protocol-violation)$/) });
    },
  );

  it('are those of a preferred issuer when the server names several', async () => {
    const { origin } = await site((at) => ({
      [`${RESOURCE}/mcp`]: { resource: `${at}/mcp`, authorization_servers: [at, `${at}/second`] },
      [OAUTH]: server(at),
      [`${OAUTH}/second`]: server(`${at}/second`),
    }));
    expect((await look(origin)).server.issuer).toBe(origin);
    const preferring = await look(origin, '/mcp', { preferredIssuers: ['https://unknown', `${origin}/second`] });
    expect(preferring.server.issuer).toBe(`${origin}/second`);
  });
});

it.each([
  ['where the challenge says', (to: string) => ({ challenge: to })],
  ['what the server names', (to: string) => ({ named: to })],
])('fetches nothing of this machine for a server that is elsewhere: %s', async (_, aim) => {
  const canary = await site(() => ({}));
  const { port } = new URL(canary.origin);
  const serverUrl = new URL('https://mcp.example/mcp');
  const asked: string[] = [];
  const resolve: Resolver = async (hostname) => {
    asked.push(hostname);
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const guard = createGuard({ serverUrl, resolve });
  for (const host of [
    ...['127.0.0.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '[::1]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]'],
    ...['localhost', 'localhost.', 'a.localhost', 'rebound.example'],
  ]) {
    for (const scheme of ['http', 'https']) {
      const { challenge, named } = { challenge: undefined, named: undefined, ...aim(`${scheme}://${host}:${port}`) };
      const signal = new AbortController().signal;
      const tried =
        named === undefined
          ? discover(serverUrl, { guard, resourceMetadata: challenge, signal })
          : discoverServer(named, { guard, signal });
      await expect(tried).rejects.toMatchObject({ code: expect.stringMatching(/^(denied|unreachable)$/) });
    }
  }
  expect(canary.paths()).toEqual([]);
  expect(asked).toContain('rebound.example');
});

it('asks a bounded number of places, whatever each of them says', async () => {
  const { origin, paths } = await site((at) => ({
    [RESOURCE]: { resource: at, authorization_servers: Array.from({ length: 50 }, (_, i) => `${at}/t/${i}`) },
  }));
  await expect(look(origin, '/mcp', { resourceMetadata: `${origin}/custom.json` })).rejects.toMatchObject({
    code: 'protocol-violation',
  });
  expect(paths()).toHaveLength(6);
});

it('writes the identifier of a server in its canonical form', () => {
  const canonical = (url: string) => canonicalResource(new URL(url));
  expect(canonical('HTTPS://MCP.Example.com')).toBe('https://mcp.example.com');
  expect(canonical('https://mcp.example.com/')).toBe('https://mcp.example.com');
  expect(canonical('https://u:p@mcp.example.com:443/a/#x')).toBe('https://mcp.example.com/a/');
  expect(canonical('https://mcp.example.com/a?b=c')).toBe('https://mcp.example.com/a?b=c');
});

it('tells a resource from its neighbours', () => {
  const url = new URL('https://h/a/mcp');
  expect(['https://h/a/mcp', 'https://H/a/mcp/'].map((id) => sameResource(id, url))).toEqual([true, true]);
  expect(
    ['https://h:444/a/mcp', 'https://h/a/MCP', 'https://u@h/a/mcp', 'https://h/a/mcp?x'].map((id) => sameResource(id, url)),
  ).toEqual([false, false, false, false]);
  expect(['https://h', 'https://h/a', 'https://h/a/'].map((id) => isBroader(id, url))).toEqual([true, true, true]);
  expect(['https://h/b', 'https://h/a/mcp/x', 'https://g/', 'https://h/a/mc'].map((id) => isBroader(id, url))).toEqual([
    false,
    false,
    false,
    false,
  ]);
});
