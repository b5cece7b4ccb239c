// Who we are to an authorization server: the client registered there beforehand, the one that our own metadata document
// describes, or one registered on the spot. What belongs to one issuer is never shown to another.
// @see 2026-07-28 basic/authorization/client-registration; RFC 7591
import type { AuthorizationServer } from 'oauth4webapi';
import { ParleyError } from '../errors.ts';
import { isObject } from '../jsonrpc/index.ts';
import { sameIssuer } from './discover.ts';
import type { Guard } from './guard.ts';
import { shown, shownError } from './text.ts';
import type { Client, ClientAuthentication } from './token.ts';

/** A client that its owner registered at an authorization server. */
export interface RegisteredClient {
  /** The issuer it is registered at, and no other. */
  readonly issuer: string;
  readonly clientId: string;
  /** How it authenticates; a secret alone is sent in the way the server says it takes. Default: not at all. */
  readonly authentication?: { readonly secret: string } | ClientAuthentication;
}

/** What we can be. */
export interface ClientIdentity {
  readonly registered?: RegisteredClient;
  /** The https URL of our client metadata document, which is then our id. */
  readonly metadataUrl?: string;
  /** The name people see when we register ourselves. Default: Parley. */
  readonly name?: string;
  /** Where people are sent back to; without a port, on any that is free. Default: any port of 127.0.0.1, with a path nobody knows. */
  readonly redirectUri?: string;
}

/** A registration as it is kept. */
export interface Registration extends Client {
  readonly redirectUri: string;
  /** Milliseconds since 1970 when its secret stops being valid. */
  readonly expiresAt?: number;
}

/** How we can be known to `server`, in the specification's order. */
export type Standing = { readonly kind: 'known'; readonly client: Client } | { readonly kind: 'register' };

/**
 * Returns the client we are to `server`, or that we have to register.
 * @throws ParleyError `auth-required` when there is no way to be known to it
 */
export function standingAt(server: AuthorizationServer, identity: ClientIdentity): Standing {
  const { registered, metadataUrl } = identity;
  if (registered !== undefined) {
    if (!sameIssuer(registered.issuer, server.issuer)) {
      throw new ParleyError(
        'auth-required',
        `The MCP server now names the issuer ${shown(server.issuer)}, but the client was registered at ${shown(registered.issuer)}. ` +
          'Nothing was sent there. Register a client at the new issuer, if you trust it.',
      );
    }
    return {
      kind: 'known',
      client: { clientId: registered.clientId, authentication: authenticationAt(registered.authentication, server) },
    };
  }
  if (metadataUrl !== undefined && server['client_id_metadata_document_supported'] === true) {
    return { kind: 'known', client: { clientId: documentId(metadataUrl), authentication: { method: 'none' } } };
  }
  if (server.registration_endpoint !== undefined) return { kind: 'register' };
  throw new ParleyError(
    'auth-required',
    `${shown(server.issuer)} takes no new clients. Register one there and configure its client id.`,
  );
}

export interface RegisterOptions {
  readonly identity: ClientIdentity;
  readonly redirectUri: string;
  readonly guard: Guard;
  readonly signal: AbortSignal;
}

/**
 * Registers a client at `server` and resolves with it.
 * @throws ParleyError `auth-required` when it is refused, `protocol-violation` when the answer is no registration, or what the
 * guard's fetch throws
 */
export async function register(server: AuthorizationServer, options: RegisterOptions): Promise<Registration> {
  const { identity, redirectUri, guard, signal } = options;
  const asked = {
    client_name: identity.name ?? 'Parley',
    application_type: 'native',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: preferredMethod(server),
  };
  const response = await guard.fetch(server.registration_endpoint ?? '', {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(asked),
    signal,
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const given = isObject(answer) ? answer : {};
  if (response.status >= 300) {
    const remedy = 'Register a client there yourself and configure its client id.';
    const message = `${shown(server.issuer)} refused to register a client (HTTP ${response.status}, ${shownError(given['error'])}). ${remedy}`;
    throw new ParleyError('auth-required', message);
  }
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expires } = given;
  if (typeof clientId !== 'string' || !/^[\x20-\x7e]{1,2048}$/.test(clientId)) throw unusable(server, 'has no usable client id');
  const method = given['token_endpoint_auth_method'] ?? asked.token_endpoint_auth_method;
  return {
    clientId,
    redirectUri,
    authentication: registeredAuthentication(server, method, secret),
    ...(typeof expires === 'number' && expires > 0 && secret !== undefined ? { expiresAt: expires * 1_000 } : {}),
  };
}

function registeredAuthentication(server: AuthorizationServer, method: unknown, secret: unknown): ClientAuthentication {
  if (method === 'none') return { method };
  if (typeof secret !== 'string' || secret === '') throw unusable(server, 'has no secret, but wants one to be used');
  if (method === 'client_secret_basic' || method === 'client_secret_post') return { method, secret };
  throw unusable(server, `wants to be authenticated in a way that was not asked for: ${shown(method)}`);
}

/** Without a secret where that is possible: a program on a person's machine cannot keep one. */
function preferredMethod(server: AuthorizationServer): string {
  const supported = server.token_endpoint_auth_methods_supported;
  const ours = ['none', 'client_secret_basic', 'client_secret_post'];
  return supported === undefined ? 'none' : (ours.find((method) => supported.includes(method)) ?? 'none');
}

/** How a registered client authenticates at `server`. */
export function authenticationAt(given: RegisteredClient['authentication'], server: AuthorizationServer): ClientAuthentication {
  if (given === undefined) return { method: 'none' };
  if ('method' in given) return given;
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = supported.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post';
  return { method, secret: given.secret };
}

function documentId(metadataUrl: string): string {
  const url = URL.canParse(metadataUrl) ? new URL(metadataUrl) : undefined;
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.hash !== '' || url.username !== '') {
    throw new ParleyError('config-invalid', 'The client metadata document must have an https URL with a path.');
  }
  return metadataUrl;
}

function unusable(server: AuthorizationServer, why: string): ParleyError {
  return new ParleyError('protocol-violation', `The registration that ${shown(server.issuer)} gave ${why}.`);
}
