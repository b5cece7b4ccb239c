// The official clients sign in at a real authorization server and call a protected server of ours: with what it says in challenges
// and metadata, others find their way as well.
import {
  Client as NewClient,
  DpopSession,
  StreamableHTTPClientTransport as NewHttp,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, expect, it, vi } from 'vitest';
import { signInAt, startAuthorizationServer, type AuthorizationServer } from './fixtures/authorization-server.ts';
import { startProtected, type ProtectedOptions, type ProtectedServer } from './fixtures/protected-server.ts';

// A machine that has much else to do takes its time with signatures.
vi.setConfig({ testTimeout: 60_000 });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function world(options: Partial<ProtectedOptions> = {}): Promise<{ as: AuthorizationServer; server: ProtectedServer }> {
  const as = await startAuthorizationServer();
  open.push(as);
  const server = await startProtected({ issuer: as.issuer, ...options });
  open.push(server);
  return { as, server };
}

/** An application that keeps everything in memory, and a person who consents at once. */
class Application implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:4711/back';
  readonly clientMetadata = {
    client_name: 'other',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
  /** What the person brought back last. */
  callback = new URLSearchParams();
  readonly sentTo: URL[] = [];
  readonly #kept = new Map<string, unknown>();

  clientInformation = () => this.#kept.get('client') as never;
  saveClientInformation = (information: unknown) => void this.#kept.set('client', information);
  tokens = () => this.#kept.get('tokens') as never;
  saveTokens = (tokens: unknown) => void this.#kept.set('tokens', tokens);
  discoveryState = () => this.#kept.get('discovery') as never;
  saveDiscoveryState = (state: unknown) => void this.#kept.set('discovery', state);
  codeVerifier = () => this.#kept.get('verifier') as string;
  saveCodeVerifier = (verifier: string) => void this.#kept.set('verifier', verifier);

  async redirectToAuthorization(url: URL): Promise<void> {
    this.sentTo.push(url);
    this.callback = new URL(await signInAt(url.href)).searchParams;
  }
}

/** Connects once the person has signed in. */
async function connected(url: string, application: Application, kind: 'new' | 'old') {
  const client = kind === 'new' ? new NewClient({ name: 'o', version: '1' }) : new OldClient({ name: 'o', version: '1' });
  const options = { authProvider: application };
  const first = kind === 'new' ? new NewHttp(new URL(url), options) : new OldHttp(new URL(url), options);
  await expect(client.connect(first as never)).rejects.toThrow(/unauthorized/i);
  if (first instanceof NewHttp) await first.finishAuth(application.callback);
  else await first.finishAuth(application.callback.get('code') ?? '');
  await first.close();
  const next = kind === 'new' ? new NewHttp(new URL(url), options) : new OldHttp(new URL(url), options);
  await client.connect(next);
  open.push(client);
  return client;
}

const textOf = (result: object) => (result as { content?: { text?: string }[] }).content?.[0]?.text;

it.each(['new', 'old'] as const)('the %s client signs in and calls', async (kind) => {
  const { as, server } = await world();
  const application = new Application();
  const client = await connected(server.url, application, kind);
  expect(textOf(await client.callTool({ name: 'whoami', arguments: {} }))).toBe('ann');
  const asked = application.sentTo.map(({ searchParams }) => [
    searchParams.get('resource'),
    searchParams.get('scope')?.split(' ')[0],
  ]);
  expect(asked).toEqual([[server.url, 'read']]);
  expect(server.known[0]?.identity).toMatchObject({ subject: 'ann', issuer: as.issuer });
});

it('the new client brings tokens that are bound to a key', async () => {
  const { server } = await world({ dpop: 'required' });
  const session = await DpopSession.create();
  const application = Object.assign(new Application(), { dpop: () => session });
  const client = await connected(server.url, application, 'new');
  for (let time = 0; time < 3; time++) expect(textOf(await client.callTool({ name: 'whoami', arguments: {} }))).toBe('ann');
  expect(server.known[0]?.identity?.claims).toMatchObject({ cnf: { jkt: session.thumbprint } });
});
