// The authorizer of one MCP server: gives its requests their token, renews it once when it no longer serves, and has a person sign
// in where one can be asked. Requests that are refused together share one flow, and nothing is tried for ever.
import { isParleyError, ParleyError } from '../errors.ts';
import { systemClock, type Clock } from '../base/index.ts';
import type { AuthorizedAnswer, AuthorizedRequest, Authorizer } from '../transport/http/index.ts';
import { DEFAULT_ACCOUNT } from './accounts.ts';
import { challengeOf, parseChallenges, scopesOf, type Challenge } from './challenge.ts';
import { discover, discoverServer, sameIssuer, type Discovery } from './discover.ts';
import { SharedFlows } from './flows.ts';
import { GrowthLimit } from './growth.ts';
import { createGuard, isLoopbackUrl, type Guard, type Resolver } from './guard.ts';
import { createKeeping, type Keeping, type SignIn } from './keeping.ts';
import { obtain, renew, type Grant, type Interaction, type Means, type Question } from './obtain.ts';
import { standingAt, type ClientIdentity } from './register.ts';
import { canonicalResource, sameResource } from './resource.ts';
import type { AuthStore } from './store.ts';
import { shown } from './text.ts';
import { revoke } from './token.ts';

export interface AuthorizerOptions {
  /** The MCP endpoint: https, or http on this machine. */
  readonly serverUrl: string | URL;
  readonly store: AuthStore;
  readonly client: ClientIdentity;
  /** Whose sign-in it is, where one server is used with several. Default `default`. */
  readonly account?: string;
  /** Default: a person signs in. */
  readonly grant?: Grant;
  /** Scopes to ask for in any case. Default: those the server asks for, or else says that it has. */
  readonly scopes?: readonly string[];
  /** Who can be asked. Without it nothing interactive happens, and a sign-in that is needed is a fault that says so. */
  readonly interact?: Interaction;
  /** The server's name in the configuration, for messages. */
  readonly name?: string;
  /** `allowed` for a server that speaks 2025-03-26: sign-in then works without metadata. Default `refused`. */
  readonly legacy?: 'allowed' | 'refused';
  /** Host names of authorization servers that may be in a private network. */
  readonly trustedHosts?: readonly string[];
  readonly resolve?: Resolver;
  readonly clock?: Clock;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** What there is to say about a sign-in; no secrets. */
export interface SignInStatus {
  readonly issuer: string;
  readonly resource: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** True when it can be renewed without a person. */
  readonly renewable: boolean;
}

export interface SignInOptions {
  readonly challenge?: string | undefined;
  readonly scopes?: readonly string[];
  readonly signal?: AbortSignal;
}

/** An authorizer with the acts of a person who signs in and out. */
export interface OAuthAuthorizer extends Authorizer {
  /**
   * Signs in anew. `challenge` is the WWW-Authenticate header that asked for it, which may say where and for what; `scopes` are
   * asked for besides, and those that were wanted while nobody could consent.
   * @throws ParleyError why it did not come to it
   */
  signIn(options?: SignInOptions): Promise<void>;
  /** Forgets the tokens, after telling the issuer that they are not needed any more, where it wants to know. */
  signOut(options?: { readonly signal?: AbortSignal }): Promise<void>;
  status(): Promise<SignInStatus | undefined>;
}

/** A token is renewed when so little of its life is left, in milliseconds. */
const RENEW_BEFORE_MS = 30_000;
const SILENT_FLOW_MS = 60_000;
const PERSON_FLOW_MS = 600_000;
const MAX_NONCE_TRIES = 3;
const MAX_SCOPES = 64;
const MAX_SCOPE_TEXT = 4_096;

/**
 * Returns an authorizer for one MCP server. Nothing is asked for before the server wants it.
 * @throws ParleyError `config-invalid` when tokens could not be sent to the URL safely
 * @see basic/authorization (2026-07-28)
 */
export function createAuthorizer(options: AuthorizerOptions): OAuthAuthorizer {
  const serverUrl = new URL(options.serverUrl);
  if (!mayHaveTokens(serverUrl)) {
    throw new ParleyError(
      'config-invalid',
      `Tokens are sent over https only, and ${serverUrl.origin} is not. Use its https URL.`,
    );
  }
  return new ServerAuthorizer(serverUrl, options);
}

/** True for a server that tokens can be sent to safely: by https, or on this machine. */
export function mayHaveTokens(serverUrl: URL): boolean {
  return serverUrl.protocol === 'https:' || (serverUrl.protocol === 'http:' && isLoopbackUrl(serverUrl));
}

class ServerAuthorizer implements OAuthAuthorizer {
  readonly #serverUrl: URL;
  readonly #server: string;
  readonly #label: string;
  readonly #options: AuthorizerOptions;
  readonly #means: Means;
  readonly #guard: Guard;
  readonly #keeping: Keeping;
  readonly #flows: SharedFlows;
  readonly #growth: GrowthLimit;
  #loaded: Promise<void> | undefined;
  #current: SignIn | undefined;
  /** How the current token came, as long as no answer has shown that it serves. */
  #unproven: 'renewed' | 'signed-in' | undefined;
  /** The token that was tried to be renewed before the server refused it: that is tried once. */
  #triedEarly: string | undefined;
  #nonce: string | undefined;

  constructor(serverUrl: URL, options: AuthorizerOptions) {
    const {
      name,
      store,
      client,
      account = DEFAULT_ACCOUNT,
      grant = { kind: 'code' },
      interact,
      trustedHosts,
      resolve,
      clock = systemClock,
      now = Date.now,
    } = options;
    this.#serverUrl = serverUrl;
    this.#server = canonicalResource(serverUrl);
    this.#label = name === undefined ? serverUrl.origin : `Server "${name}"`;
    this.#options = options;
    this.#flows = new SharedFlows({
      clock,
      maxMs: interact === undefined ? SILENT_FLOW_MS : PERSON_FLOW_MS,
      late: `${this.#label}: the sign-in took too long.`,
    });
    this.#growth = new GrowthLimit(clock);
    this.#guard = createGuard({ serverUrl, clock, ...(trustedHosts && { trustedHosts }), ...(resolve && { resolve }) });
    this.#keeping = createKeeping(store, this.#server, account);
    this.#means = { identity: client, grant, interact, guard: this.#guard, keeping: this.#keeping, now };
  }

  async headers(request: AuthorizedRequest, { signal }: { readonly signal: AbortSignal }): Promise<Record<string, string>> {
    if (!this.#mayCarry(request)) return {};
    await this.#load();
    if (this.#isStale()) {
      const stale = this.#current?.tokens.accessToken;
      await this.#share(this.#authorization(), (flow) => this.#renewSilently(flow), signal).catch(() => {
        // The old token may serve still; if not, the refusal says what is wrong.
      });
      this.#triedEarly = stale;
    }
    const { tokens, key } = this.#current ?? {};
    if (tokens === undefined) return {};
    const authorization = this.#authorization()!;
    if (key === undefined) return { authorization };
    const { method, url } = request;
    const proof = { method, url, accessToken: tokens.accessToken, nonce: this.#nonce, now: this.#means.now() };
    return { authorization, dpop: await key.prove(proof) };
  }

  async challenged(answer: AuthorizedAnswer, { signal }: { readonly signal: AbortSignal }): Promise<'again' | 'refused'> {
    if (!this.#mayCarry(answer)) return 'refused';
    await this.#load();
    const challenges = parseChallenges(answer.headers['www-authenticate']);
    const challenge = challengeOf(challenges, 'dpop', 'bearer');
    if (answer.sent['dpop'] !== undefined && challenge?.params.get('error') === 'use_dpop_nonce') {
      this.#takeNonce(answer);
      return answer.attempt <= MAX_NONCE_TRIES ? 'again' : 'refused';
    }
    if (answer.status === 403) return this.#stepUp(answer, challenge, signal);
    // Another scheme is none of ours; without any the metadata may say what is wanted.
    if (challenge === undefined && challenges.length > 0) return 'refused';
    const { authorization } = answer.sent;
    await this.#share(authorization, (flow) => this.#replace(authorization, challenge, flow), signal).catch((error: unknown) => {
      throw this.#explained(error, answer);
    });
    return 'again';
  }

  answered(answer: AuthorizedAnswer): void {
    if (answer.sent['authorization'] === undefined) return;
    this.#takeNonce(answer);
    this.#proven(answer);
  }

  async signIn({ challenge, scopes = [], signal = never() }: SignInOptions = {}): Promise<void> {
    await this.#load();
    const asked = challengeOf(parseChallenges(challenge), 'dpop', 'bearer');
    const wanted = [...scopesOf(asked?.params.get('scope')), ...scopes, ...(await this.#keeping.wanted())];
    const act = async (flow: AbortSignal) => {
      const found = await this.#discover(asked, flow);
      await this.#obtain(found, asked, [...new Set(wanted)], flow);
      await this.#keeping.saveWanted([]);
    };
    await this.#share(this.#authorization(), act, signal).catch((error: unknown) => {
      throw this.#explained(error);
    });
  }

  async signOut({ signal = never() }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const kept = await this.#keeping.load();
    this.#current = undefined;
    await this.#keeping.saveWanted([]);
    if (kept === undefined) return;
    await this.#revoke(kept, signal).catch(() => {
      // They are forgotten here in any case.
    });
    await this.#keeping.forget(kept);
  }

  async status(): Promise<SignInStatus | undefined> {
    const kept = await this.#kept();
    if (kept === undefined) return undefined;
    const { issuer, resource, clientId, tokens } = kept;
    const scopes = tokens.granted ?? tokens.requested;
    return { issuer, resource, clientId, scopes, expiresAt: tokens.expiresAt, renewable: this.#isRenewable(kept) };
  }

  /** A token goes to the configured URL, with or without a slash at its end, and to what the server names of its own origin. */
  #mayCarry({ url, by }: AuthorizedRequest): boolean {
    if (url.origin !== this.#serverUrl.origin) return false;
    return by === 'server' || sameResource(url.href, this.#serverUrl);
  }

  /** The sign-in that is kept, unless it is that of another client than the one that is configured. */
  async #kept(): Promise<SignIn | undefined> {
    const kept = await this.#keeping.load();
    const { registered } = this.#means.identity;
    return registered === undefined || registered.clientId === kept?.clientId ? kept : undefined;
  }

  #load(): Promise<void> {
    return (this.#loaded ??= this.#kept().then(
      (kept) => void (this.#current = kept),
      (error: unknown) => {
        this.#loaded = undefined;
        throw error;
      },
    ));
  }

  #authorization(): string | undefined {
    const tokens = this.#current?.tokens;
    if (tokens === undefined) return undefined;
    return `${tokens.type === 'dpop' ? 'DPoP' : 'Bearer'} ${tokens.accessToken}`;
  }

  #isRenewable({ tokens }: SignIn): boolean {
    return tokens.refreshToken !== undefined || this.#means.grant.kind !== 'code';
  }

  #isStale(): boolean {
    const current = this.#current;
    if (current?.tokens.expiresAt === undefined || current.tokens.accessToken === this.#triedEarly) return false;
    return current.tokens.expiresAt - this.#means.now() <= RENEW_BEFORE_MS && this.#isRenewable(current);
  }

  async #renewSilently(signal: AbortSignal): Promise<void> {
    const current = this.#current;
    if (current?.tokens.refreshToken !== undefined) {
      const renewed = await renew(current, this.#means, signal);
      if (renewed !== undefined) return this.#take(renewed, 'renewed');
    }
    if (this.#means.grant.kind === 'code') return;
    await this.#obtain(await this.#discover(undefined, signal), undefined, [], signal);
  }

  /** Replaces a token that the server refused with 401, or the want of one. */
  async #replace(refused: string | undefined, challenge: Challenge | undefined, signal: AbortSignal): Promise<void> {
    const before = this.#current;
    this.#current = await this.#kept();
    // Another process may have signed in.
    if (this.#current !== undefined && this.#authorization() !== refused) return void (this.#unproven = undefined);
    if (this.#current !== undefined && this.#unproven === 'signed-in' && before !== undefined) {
      throw new ParleyError(
        'auth-required',
        `${this.#label} refuses the token that it was just given. Check the account and its rights.`,
      );
    }
    const current = this.#current;
    const canRenew = current?.tokens.refreshToken !== undefined && this.#unproven === undefined;
    if (!canRenew) this.#checkPerson();
    const found = await this.#discover(challenge, signal);
    if (canRenew && this.#isFor(found, current)) {
      const renewed = await renew(current, this.#means, signal);
      if (renewed !== undefined) return this.#take(renewed, 'renewed');
    }
    await this.#obtain(found, challenge, scopesOf(challenge?.params.get('scope')), signal);
  }

  async #stepUp(answer: AuthorizedAnswer, challenge: Challenge | undefined, signal: AbortSignal): Promise<'again' | 'refused'> {
    this.#proven(answer);
    const { authorization } = answer.sent;
    const text = challenge?.params.get('scope') ?? '';
    const wanted = scopesOf(text);
    const requested = this.#current?.tokens.requested;
    const asksForMore = challenge?.params.get('error') === 'insufficient_scope';
    if (!asksForMore || authorization === undefined || requested === undefined) return 'refused';
    // Somebody else stepped up meanwhile, here or in another process, and perhaps far enough.
    const kept = await this.#kept();
    if (authorization !== this.#authorization()) return 'again';
    if (kept !== undefined && kept.tokens.accessToken !== this.#current?.tokens.accessToken) {
      this.#current = kept;
      return 'again';
    }
    if (wanted.every((scope) => requested.includes(scope))) return 'refused';
    if (wanted.length > MAX_SCOPES || text.length > MAX_SCOPE_TEXT) return 'refused';
    if (this.#isUnattended()) {
      // Whoever signs in next is asked for these too.
      await this.#keeping.saveWanted(wanted);
      throw this.#explained(this.#needsPerson(' wants more rights'), answer);
    }
    if (!this.#growth.allows(answer.operation)) return 'refused';
    const act = async (flow: AbortSignal) => {
      await this.#obtain(await this.#discover(challenge, flow), challenge, wanted, flow);
    };
    await this.#share(authorization, act, signal).catch((error: unknown) => {
      throw this.#explained(error, answer);
    });
    return 'again';
  }

  #discover(challenge: Challenge | undefined, signal: AbortSignal): Promise<Discovery> {
    const issuers = [this.#current?.issuer, this.#means.identity.registered?.issuer].filter((issuer) => issuer !== undefined);
    return discover(this.#serverUrl, {
      guard: this.#guard,
      resourceMetadata: challenge?.params.get('resource_metadata'),
      preferredIssuers: issuers,
      knownIssuer: this.#means.identity.registered?.issuer,
      legacy: this.#options.legacy ?? 'refused',
      acceptBroader: async (resource) =>
        resource === this.#current?.resource ||
        this.#confirm({ kind: 'broader-resource', server: this.#server, resource }, signal),
      signal,
    });
  }

  #isFor({ server, resource }: Discovery, signIn: SignIn): boolean {
    return signIn.issuer === server.issuer && signIn.resource === resource;
  }

  async #obtain(
    found: Discovery,
    challenge: Challenge | undefined,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { server } = found;
    let earlier = this.#current;
    if (earlier !== undefined && !sameIssuer(earlier.issuer, server.issuer)) {
      const question: Question = { kind: 'issuer-changed', server: this.#server, from: earlier.issuer, to: server.issuer };
      if (!(await this.#confirm(question, signal))) {
        const change = `${shown(server.issuer)} instead of ${shown(earlier.issuer)}`;
        throw this.#needsPerson(` now has another authorization server, ${change}; nothing was sent there`);
      }
      await this.#keeping.forget(earlier);
      earlier = undefined;
    }
    this.#checkPerson();
    const own = this.#options.scopes ?? [];
    const basic = wanted.length > 0 || own.length > 0 ? wanted : (found.scopes ?? []);
    const scopes = new Set([...(earlier?.tokens.requested ?? []), ...own, ...basic]);
    const supported = server.scopes_supported;
    // It is no scope of the resource, so the authorization server alone knows whether there is one.
    if (this.#means.grant.kind === 'code' && supported?.includes('offline_access')) scopes.add('offline_access');
    else scopes.delete('offline_access');
    const bound = found.dpopRequired || challenge?.scheme === 'dpop' || earlier?.key !== undefined;
    const signIn = await obtain(found, { scopes: [...scopes], earlier, bound, signal }, this.#means);
    this.#take(signIn, 'signed-in');
  }

  async #confirm(question: Question, signal: AbortSignal): Promise<boolean> {
    return (await this.#means.interact?.confirm?.(question, { signal })) === true;
  }

  #take(signIn: SignIn, how: 'renewed' | 'signed-in'): void {
    this.#current = signIn;
    this.#unproven = how;
  }

  #proven({ sent }: AuthorizedAnswer): void {
    if (sent['authorization'] === this.#authorization()) this.#unproven = undefined;
  }

  #takeNonce({ headers }: AuthorizedAnswer): void {
    const nonce = headers['dpop-nonce'];
    if (typeof nonce === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/.test(nonce)) this.#nonce = nonce;
  }

  async #revoke({ issuer, tokens }: SignIn, signal: AbortSignal): Promise<void> {
    const server = await discoverServer(issuer, { guard: this.#guard, signal });
    const standing = standingAt(server, this.#means.identity);
    const client = standing.kind === 'known' ? standing.client : await this.#keeping.registration(issuer, this.#means.now());
    if (server.revocation_endpoint === undefined || client === undefined) return;
    await revoke({ server, client, guard: this.#guard, signal }, tokens.refreshToken ?? tokens.accessToken);
  }

  /** Runs `act`, once for all who want the Authorization header `instead` replaced, unless it has been already. */
  #share(instead: string | undefined, act: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const isReplaced = () => {
      const current = this.#authorization();
      return current !== undefined && current !== instead;
    };
    return this.#flows.share({ key: instead, isDone: isReplaced, act, signal });
  }

  #isUnattended(): boolean {
    return this.#means.grant.kind === 'code' && this.#means.interact === undefined;
  }

  #checkPerson(): void {
    if (this.#isUnattended()) throw this.#needsPerson('');
  }

  #needsPerson(why: string): ParleyError {
    const { name } = this.#options;
    const remedy = name === undefined ? 'sign in where a person can be asked' : `run \`parley mcp login ${name}\``;
    return new ParleyError('auth-required', `${this.#label}${why}: sign-in needed: ${remedy}.`);
  }

  /** The same fault with what the caller may want to know about the refusal. */
  #explained(error: unknown, answer?: AuthorizedAnswer): unknown {
    if (!isParleyError(error)) return error;
    const { name } = this.#options;
    const challenge = answer?.headers['www-authenticate'];
    const details = {
      ...error.details,
      ...(name === undefined ? {} : { server: name }),
      ...(answer === undefined ? {} : { status: answer.status }),
      ...(challenge === undefined ? {} : { challenge }),
    };
    return new ParleyError(error.code, error.message, { cause: error.cause, retryable: error.retryable, details });
  }
}

function never(): AbortSignal {
  return new AbortController().signal;
}
