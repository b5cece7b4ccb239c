// A host whose server wants sign-in: it waits without trying, sees that somebody has signed in elsewhere, renews while it runs, and
// never waits for a person.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthorizer, createFileStore, createMemoryStore, type AuthStore, type Interaction } from '../../src/auth/index.ts';
import { forWire, loadConfig, openHost, serverAuthorizer, type Host, type ToolOutcome } from '../../src/host/index.ts';
import {
  ROBOT,
  SERVER_CLIENT,
  signInAt,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../auth/fixtures/authorization-server.ts';
import { startProtected, type ProtectedServer } from '../auth/fixtures/protected-server.ts';

let as: AuthorizationServer;
let server: ProtectedServer;
let directory = '';
const given = new Set<string>();
const hosts: Host[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parley-host-'));
  as = await startAuthorizationServer({ format: 'opaque' });
  as.provider.on('access_token.saved', ({ jti }) => given.add(jti));
  const { clientId, secret } = SERVER_CLIENT;
  server = await startProtected({ issuer: as.issuer, introspection: { clientId, authentication: { secret }, cacheMs: 0 } });
});

afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  await server.close();
  await as.close();
  given.clear();
  rmSync(directory, { recursive: true });
});

function hostOf(store: AuthStore, entry: object = {}): Host {
  const extra = { mcpServers: { s: { url: server.url, ...entry } }, permissions: { allow: ['*/*'] } };
  const { config, diagnostics } = loadConfig({ cwd: directory, home: directory, env: {}, extra });
  expect(diagnostics).toEqual([]);
  const surroundings = { env: {}, home: directory, workspaceFolder: directory };
  const host = openHost({ config, surroundings, authorizer: (each) => serverAuthorizer(each, { store }) });
  hosts.push(host);
  return host;
}

const stateOf = (host: Host) => host.servers[0]!.state;
const textOf = (outcome: ToolOutcome): unknown => {
  const [block] = outcome.type === 'ok' ? forWire(outcome.result.value).content : [];
  return block?.type === 'text' ? block.text : outcome;
};

/** Somebody signs in, in another process for all the host knows. */
async function signIn(store: AuthStore): Promise<void> {
  const person: Interaction = {
    open: async ({ redirectUri = 'http://127.0.0.1:4711/back' }) => ({
      redirectUri,
      visit: ({ url }) => signInAt(url),
      close: async () => {},
    }),
  };
  await createAuthorizer({ serverUrl: server.url, store, client: {}, interact: person }).signIn();
}

describe('a host', () => {
  it('waits for a sign-in with its reason, and the next call, by whatever name, sees that there was one', async () => {
    const stores = ['call', 'resource', 'prompt'].map((name) => createFileStore({ directory: join(directory, name) }));
    const [first] = stores as [AuthStore];
    const host = hostOf(first);
    await host.settled();
    expect(stateOf(host)).toMatchObject({
      type: 'needs-auth',
      error: {
        code: 'auth-required',
        message: 'Server "s": sign-in needed: run `parley mcp login s`.',
        details: { server: 's', status: 401, challenge: expect.stringContaining('resource_metadata=') as string },
      },
    });
    for (const outcome of [
      await host.call('s/whoami', {}),
      await host.readResource('s:test://r'),
      await host.getPrompt('s/p'),
      await host.complete('s', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }),
    ]) {
      expect(outcome).toMatchObject({ type: 'fault', sent: 'no', error: { code: 'auth-required' } });
    }
    // A bare name is nobody's in particular.
    expect(await host.call('whoami', {})).toMatchObject({ type: 'unknown' });
    await signIn(createFileStore({ directory: join(directory, 'call') }));
    expect(textOf(await host.call('whoami', {}))).toBe('ann');
    expect(stateOf(host).type).toBe('ready');
    expect(host.registry.snapshot.tools.map(({ name }) => name)).toContain('write');
  });

  it('looks again when it is told to, and offers what it finds', async () => {
    const store = createMemoryStore();
    const host = hostOf(store);
    await host.settled();
    await host.recheck();
    expect([stateOf(host).type, host.registry.snapshot.tools]).toEqual(['needs-auth', []]);
    await signIn(store);
    await host.recheck();
    expect([stateOf(host).type, host.registry.snapshot.tools.map(({ name }) => name)]).toEqual([
      'ready',
      expect.arrayContaining(['whoami', 'write']),
    ]);
  });

  it('lists again and calls after a sign-in that ended while it ran', async () => {
    const store = createMemoryStore();
    await signIn(store);
    const host = hostOf(store);
    expect(textOf(await host.call('s/whoami', {}))).toBe('ann');
    for (const token of given) await (await as.provider.AccessToken.find(token))?.destroy();
    expect(textOf(await host.call('s/whoami', {}))).toBe('ann');
    expect(as.tokens.map(({ grant }) => grant)).toEqual(['authorization_code', 'refresh_token']);

    await as.revokeAll();
    const refused = await host.call('s/whoami', {});
    expect(refused).toMatchObject({ type: 'fault', sent: 'no', error: { code: 'auth-required' } });
    await signIn(store);
    expect(textOf(await host.call('s/whoami', {}))).toBe('ann');
  });

  it('does not step up by itself, and does once somebody has consented', async () => {
    const store = createMemoryStore();
    await signIn(store);
    const host = hostOf(store);
    expect(await host.call('s/admin', {})).toMatchObject({
      type: 'fault',
      sent: 'no',
      error: { code: 'auth-required', details: { status: 403 } },
    });
    expect(textOf(await host.call('s/whoami', {}))).toBe('ann');
    expect(stateOf(host).type).toBe('ready');
    await signIn(store);
    expect(textOf(await host.call('s/admin', {}))).toBe('ann');
  });

  it('signs in by itself as a client of its own', async () => {
    const client = { clientId: ROBOT.clientId, issuer: as.issuer, clientSecret: ROBOT.secret, grant: 'client-credentials' };
    const store = createMemoryStore();
    const oauth = { ...client, scopes: ['read'] };
    expect(textOf(await hostOf(store, { oauth }).call('s/whoami', {}))).toBe('robot');
    // Which is nobody's sign-in, and does not stand in for it.
    expect(await hostOf(store).call('s/whoami', {})).toMatchObject({ type: 'fault', error: { code: 'auth-required' } });
    await signIn(store);
    expect(textOf(await hostOf(store).call('s/whoami', {}))).toBe('ann');
    expect(textOf(await hostOf(store, { oauth }).call('s/whoami', {}))).toBe('robot');
  });

  it('leaves a server alone that has an Authorization header of its own, or is a program, or speaks over plain HTTP', async () => {
    let asked = 0;
    const { config } = loadConfig({
      cwd: directory,
      home: directory,
      env: {},
      extra: {
        mcpServers: {
          own: { url: server.url, headers: { AUTHORIZATION: 'Bearer mine' } },
          program: { command: process.execPath, args: ['-e', '0'] },
        },
      },
    });
    const surroundings = { env: {}, home: directory, workspaceFolder: directory };
    const host = openHost({ config, surroundings, authorizer: () => void asked++ });
    hosts.push(host);
    await host.settled();
    expect(asked).toBe(0);
    expect(stateOf(host)).toMatchObject({ type: 'needs-auth', error: { message: expect.stringContaining('headers') as string } });
    const plain = {
      ...config.servers[0]!,
      name: 'plain',
      kind: 'http',
      url: 'http://192.0.2.1/mcp',
      headers: {},
      transport: 'http',
    } as const;
    expect(await serverAuthorizer(plain, { store: createMemoryStore() })).toBeUndefined();
  });
});
