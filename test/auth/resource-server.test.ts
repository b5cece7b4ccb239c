// A protected server over real HTTP: what is looked at before what, who reaches a handler and as whom, and what nobody else gets.
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { sendJson } from '../../src/transport/http/fixtures/fake-server.ts';
import { ask, eventually, http, post, tell, type Reading } from '../../src/transport/http/fixtures/wire.ts';
import { goodClaims, startIssuer, type Claims, type Issuer } from '../../src/auth/fixtures/issuer.ts';
import { modernParams } from '../../src/server/fixtures/raw-client.ts';
import { startProtected, type ProtectedOptions, type ProtectedServer } from './fixtures/protected-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface Place {
  readonly from: Issuer;
  readonly server: ProtectedServer;
  /** The Authorization header of somebody with a good token. */
  by(subject: string, claims?: Claims): Promise<{ authorization: string }>;
}

async function place(options: Partial<ProtectedOptions> = {}): Promise<Place> {
  const from = await startIssuer();
  open.push(from);
  const server = await startProtected({ issuer: from.url, ...options });
  open.push(server);
  return {
    from,
    server,
    by: async (sub, claims = {}) => ({ authorization: `Bearer ${await from.token(server.url, { sub, ...claims })}` }),
  };
}

const initialize = ask('initialize', 1, {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});

async function openSession(url: string, headers: Record<string, string>): Promise<Record<string, string>> {
  const answer = await post(url, initialize, headers);
  await answer.text();
  expect(answer.status).toBe(200);
  const session = { 'mcp-session-id': String(answer.headers['mcp-session-id']), 'mcp-protocol-version': '2025-11-25' };
  expect((await post(url, tell('notifications/initialized'), { ...headers, ...session })).status).toBe(202);
  return session;
}

/** A call of the newest revision. */
function call(
  url: string,
  name: string,
  headers: Record<string, string>,
  params: Record<string, unknown> = {},
  capabilities = {},
) {
  const mirrored = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  return post(url, ask('tools/call', 1, modernParams({ name, arguments: {}, ...params }, { capabilities })), {
    ...mirrored,
    ...headers,
  });
}

interface Reply {
  readonly result?: { readonly content?: readonly { readonly text: string }[] } & Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The reply in an answer, in whatever form it came. */
async function replyIn(answer: Reading): Promise<Reply> {
  const text = await answer.text();
  return JSON.parse(answer.events.at(-1)?.data ?? text) as Reply;
}

const textIn = async (answer: Reading) => (await replyIn(answer)).result?.content?.[0]?.text;
const challengeOf = ({ headers }: Reading) => String(headers['www-authenticate']);

describe('who has no token', () => {
  it('is told where to get one before anything else of the request is looked at', async () => {
    const { server } = await place();
    const { url, origin } = server;
    for (const sent of [
      { body: initialize },
      { body: ask('tools/list', 1, modernParams()) },
      { body: 'junk' },
      { body: '{}', headers: { 'content-type': 'text/plain' } },
      { body: '{}', headers: { accept: 'text/html' } },
      { body: 'x'.repeat(1_000), headers: { 'content-length': '1000', 'content-encoding': 'gzip' } },
      { method: 'GET' },
      { method: 'GET', headers: { 'mcp-session-id': 'x' } },
      { method: 'DELETE', headers: { 'mcp-session-id': 'x' } },
      { method: 'PUT' },
    ]) {
      const answer = await http(url, sent);
      expect([sent, answer.status]).toEqual([sent, 401]);
      expect(challengeOf(answer)).toBe(
        `Bearer scope="read", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
      );
    }
    expect((await http(`${origin}/nowhere`, { body: '{}' })).status).toBe(404);
    expect(server.listener.sessions).toBe(0);
  });

  it('cannot make sessions, however often they try', async () => {
    const { server, from } = await place();
    const stranger = { authorization: `Bearer ${await from.token('https://elsewhere.example')}` };
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const answer = await post(server.url, initialize, i % 2 === 0 ? {} : stranger);
        await answer.text();
        expect(answer.status).toBe(401);
      }),
    );
    expect([server.listener.sessions, server.listener.exchanges, server.known]).toEqual([0, 0, []]);
  });

  it('is refused by Host and Origin first, also where the metadata are', async () => {
    const { server, by } = await place();
    const metadata = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
    for (const url of [server.url, metadata]) {
      for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
        expect((await http(url, { method: 'GET', headers: { ...headers, ...(await by('ann')) } })).status).toBe(403);
      }
    }
  });

  it('can read the metadata, and nothing else by the same path', async () => {
    const { server, from } = await place();
    const url = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
    const answer = await http(url, { method: 'GET' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    expect(await answer.json()).toMatchObject({
      resource: server.url,
      authorization_servers: [from.url],
      scopes_supported: ['read'],
    });
    const posted = await http(url, { body: '{}' });
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET']);
  });

  it('learns from a malformed request that it is one', async () => {
    const { server, from } = await place();
    const { authorization } = { authorization: `Bearer ${await from.token(server.url)}` };
    const twice = await http(server.url, { body: initialize, headers: { authorization: [authorization, authorization] } });
    const query = await http(`${server.url}?access_token=x`, { body: initialize });
    for (const answer of [twice, query]) {
      expect([answer.status, challengeOf(answer)]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
    }
  });
});

describe('who has one', () => {
  it('reaches the handlers as who they are, and no credential does', async () => {
    const { server, by, from } = await place();
    const headers = { ...(await by('ann')), cookie: 'a=b', 'x-mine': 'yes' };
    expect(await textIn(await call(server.url, 'whoami', headers))).toBe('ann');
    const session = await openSession(server.url, headers);
    const params = { name: 'whoami', arguments: {} };
    expect(await textIn(await post(server.url, ask('tools/call', 2, params), { ...headers, ...session }))).toBe('ann');
    expect(server.known.map(({ era }) => era)).toEqual(['modern', 'legacy']);
    for (const { identity, principal, headers: seen } of server.known) {
      expect(identity).toMatchObject({ issuer: from.url, subject: 'ann', clientId: 'app', scopes: ['read'] });
      expect(principal).toBe(JSON.stringify([from.url, 'ann', 'app']));
      expect(seen?.['x-mine']).toBe('yes');
      expect(JSON.stringify([seen, identity])).not.toContain(headers.authorization.slice(7));
      expect(Object.keys(seen ?? {})).not.toEqual(expect.arrayContaining(['cookie']));
    }
  });

  it('needs a scope more for some tools, and is told all that are needed', async () => {
    const { server, by } = await place();
    const session = await openSession(server.url, await by('ann'));
    const legacy = async (name: string, scope: string) =>
      post(server.url, ask('tools/call', 2, { name, arguments: {} }), { ...(await by('ann', { scope })), ...session });
    const modern = async (name: string, scope: string) => call(server.url, name, await by('ann', { scope }));
    for (const calling of [legacy, modern]) {
      const refused = await calling('admin', 'read');
      expect([refused.status, challengeOf(refused)]).toEqual([
        403,
        expect.stringMatching(/^Bearer error="insufficient_scope", .*scope="read write admin", resource_metadata=/),
      ]);
      expect((await calling('admin', 'read admin')).status).toBe(403);
      expect(challengeOf(await calling('write', 'write'))).toContain('scope="read write"');
      expect(await textIn(await calling('admin', 'admin write read'))).toBe('ann');
    }
    expect(server.known).toHaveLength(2);
    const standing = await http(server.url, { method: 'GET', headers: { ...(await by('ann', { scope: '' })), ...session } });
    expect([standing.status, challengeOf(standing)]).toEqual([403, expect.stringContaining('scope="read"')]);
  });

  it('is told by the body what is needed, whatever the headers say', async () => {
    const { server, by } = await place();
    const headers = { ...(await by('ann')), 'mcp-name': 'whoami' };
    expect((await call(server.url, 'admin', headers)).status).toBe(403);
    const batch = [ask('tools/list', 1), ask('tools/call', 2, { name: 'write' })];
    expect((await post(server.url, batch, { ...(await by('ann')), 'mcp-session-id': 'x' })).status).toBe(403);
  });

  it('has some sessions, and the next one somebody else', async () => {
    const { server, by } = await place({ listening: { maxSessionsEach: 2 } });
    const ann = await by('ann');
    await openSession(server.url, ann);
    await openSession(server.url, ann);
    expect((await post(server.url, initialize, ann)).status).toBe(503);
    await openSession(server.url, await by('bob'));
    const streams = await Promise.all([1, 2].map(() => http(`${server.origin}/sse`, { method: 'GET', headers: ann })));
    expect((await http(`${server.origin}/sse`, { method: 'GET', headers: ann })).status).toBe(503);
    const other = await http(`${server.origin}/sse`, { method: 'GET', headers: await by('bob') });
    expect(other.status).toBe(200);
    for (const stream of [...streams, other]) stream.cut();
  });

  it('is not kept waiting by one whose token cannot be checked', async () => {
    const { from, server } = await place({ introspection: { clientId: 'rs', authentication: { secret: 's' } } });
    from.known.set('good', { active: true, ...goodClaims(from.url, server.url) });
    let release = () => {};
    from.routes.set('/introspect', (seen, response) => {
      const token = new URLSearchParams(seen.body).get('token') ?? '';
      if (token === 'slow') release = () => sendJson(response, { active: false });
      else sendJson(response, from.known.get(token));
    });
    const slow = post(server.url, ask('tools/list'), { authorization: 'Bearer slow' });
    await eventually(() => from.asked('/introspect') === 1);
    expect(await textIn(await call(server.url, 'whoami', { authorization: 'Bearer good' }))).toBe('ann');
    release();
    expect((await slow).status).toBe(401);
  });

  it('may leave while their token is being checked', async () => {
    const { from, server } = await place({ introspection: { clientId: 'rs', authentication: { secret: 's' } } });
    const releases: (() => void)[] = [];
    from.routes.set('/introspect', (_, response) => releases.push(() => sendJson(response, { active: false })));
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer t\r\nContent-Length: 99999\r\n\r\n');
    await eventually(() => releases.length === 1);
    socket.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    for (const release of releases) release();
    const answer = await post(server.url, ask('tools/list'), { authorization: 'Bearer t' });
    expect(answer.status).toBe(401);
  });
});

it('a stream is not opened for who has left while their token was checked', async () => {
  const verdict = {
    token: { issuer: 'https://as.example', subject: 'ann', clientId: 'app', scopes: ['read'], expiresAt: 0 },
  } as const;
  let held: Promise<void> = Promise.resolve();
  let release = () => {};
  let checks = 0;
  const { server } = await place({
    verifier: {
      async verify() {
        checks++;
        await held;
        return { token: { ...verdict.token, confirmation: undefined, claims: {} } };
      },
    },
  });
  const ann = { authorization: 'Bearer any' };
  const session = await openSession(server.url, ann);
  const before = checks;
  held = new Promise((resolve) => (release = resolve));
  const left = request(server.url, { agent: false, headers: { ...ann, ...session, accept: 'text/event-stream' } });
  left.on('error', () => {}).end();
  await eventually(() => checks === before + 1);
  left.destroy();
  await server.isLeft();
  release();
  const standing = await http(server.url, { method: 'GET', headers: { ...ann, ...session } });
  expect(standing.status).toBe(200);
  standing.cut();
  await standing.closed;
});

describe('what belongs to one', () => {
  it('is no session of another, by any method', async () => {
    const { server, by } = await place();
    const [ann, bob] = [await by('ann'), await by('bob')];
    const session = await openSession(server.url, ann);
    for (const sent of [
      { body: ask('tools/list', 2) },
      { body: tell('notifications/initialized') },
      { method: 'GET' },
      { method: 'DELETE' },
    ]) {
      const answer = await http(server.url, { ...sent, headers: { ...bob, ...session } });
      await answer.text();
      expect([sent, answer.status]).toEqual([sent, 404]);
    }
    const app = await by('ann', { client_id: 'another-app' });
    expect((await post(server.url, ask('tools/list', 2), { ...app, ...session })).status).toBe(404);
    const later = await by('ann', { jti: 'renewed' });
    expect((await post(server.url, ask('tools/list', 2), { ...later, ...session })).status).toBe(200);
    expect((await http(server.url, { method: 'DELETE', headers: { ...ann, ...session } })).status).toBe(204);
  });

  it('is not told on the streams of another', async () => {
    const { server, by } = await place();
    const everyone = await Promise.all(
      ['ann', 'bob', 'cat'].map(async (name) => {
        const headers = { ...(await by(name)), ...(await openSession(server.url, await by(name))) };
        return { name, headers };
      }),
    );
    const replies = await Promise.all(
      everyone.map(async ({ name, headers }) => {
        const answer = await post(server.url, ask('tools/call', 7, { name: 'whoami', arguments: {} }), headers);
        return [name, await textIn(answer)];
      }),
    );
    expect(replies).toEqual(everyone.map(({ name }) => [name, name]));
  });

  it('is no state of a question for another', async () => {
    const { server, by } = await place();
    const [ann, bob] = [await by('ann'), await by('bob')];
    const capabilities = { elicitation: { form: {} } };
    const asked = await replyIn(await call(server.url, 'ask', ann, {}, capabilities));
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const answers = { requestState: asked.result?.['requestState'], inputResponses: { 'input-1': { action: 'decline' } } };
    const stolen = await replyIn(await call(server.url, 'ask', bob, answers, capabilities));
    expect(stolen.error?.code).toBe(-32602);
    expect(await textIn(await call(server.url, 'ask', ann, answers, capabilities))).toBe('decline by ann');
  });

  it('is no task of another', async () => {
    const { server, by } = await place();
    const [ann, bob] = [await by('ann'), await by('bob')];
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const made = await replyIn(await call(server.url, 'long', ann, {}, capabilities));
    const taskId = String(made.result?.['taskId']);
    const get = async (headers: Record<string, string>) => {
      const mirrored = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tasks/get', 'mcp-name': taskId };
      return replyIn(
        await post(server.url, ask('tasks/get', 1, modernParams({ taskId }, { capabilities })), { ...mirrored, ...headers }),
      );
    };
    expect((await get(bob)).error?.code).toBe(-32602);
    expect((await get(ann)).result).toMatchObject({ taskId });
  });
});

describe('the endpoints of HTTP with SSE', () => {
  it('are behind the same gate, and a stream serves the one who opened it', async () => {
    const { server, by } = await place();
    const [ann, bob] = [await by('ann'), await by('bob')];
    const stream = `${server.origin}/sse`;
    expect((await http(stream, { method: 'GET' })).status).toBe(401);
    expect((await http(stream, { method: 'GET', headers: await by('ann', { scope: '' }) })).status).toBe(403);
    expect((await post(`${server.origin}/messages?sessionId=x`, initialize)).status).toBe(401);
    const reading = await http(stream, { method: 'GET', headers: ann });
    const [endpoint] = await reading.until(1);
    const messages = server.origin + String(endpoint?.data);
    expect((await post(messages, initialize)).status).toBe(401);
    expect((await post(messages, initialize, bob)).status).toBe(404);
    const older = { ...initialize, params: { ...initialize.params, protocolVersion: '2024-11-05' } };
    expect((await post(messages, older, ann)).status).toBe(202);
    expect((await post(messages, ask('tools/call', 2, { name: 'write' }), ann)).status).toBe(403);
    expect((await post(messages, ask('tools/call', 2, { name: 'whoami', arguments: {} }), ann)).status).toBe(202);
    const events = await reading.until(3);
    expect(events.at(-1)?.data).toContain('ann');
    expect(server.known[0]).toMatchObject({ identity: { subject: 'ann' } });
    expect(server.known[0]?.headers).not.toHaveProperty('authorization');
    reading.cut();
    await reading.closed;
  });
});
