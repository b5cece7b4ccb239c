// Many servers behind one safe surface. The only place that wires the host's parts together.
import { randomBytes, randomUUID } from 'node:crypto';
import { ParleyError } from '../errors.ts';
import { createFeed, limitOf, systemClock, type Clock, type Feed, type Limits } from '../base/index.ts';
import { connect, createCache, type InputHandlers, type News, type Session } from '../client/index.ts';
import { abortError } from '../jsonrpc/index.ts';
import type { Revision } from '../protocol/index.ts';
import type { Authorizer, SandboxStatus, StdioChannel } from '../transport/index.ts';
import type { JournalRecord, Store } from '../store/index.ts';
import { createGrants, denyAll, queueApprover, ticketed, type Approver, type CallIntent } from './approval/index.ts';
import {
  expandServer,
  ownFolders,
  type HostConfig,
  type ServerConfig,
  type ServerDefinition,
  type Surroundings,
} from './config/index.ts';
import { Connection, Lister, openTransport, type ConnectionState } from './connections/index.ts';
import { filledIn, identify, type ServerIdentity, type SignedIn } from './identity/index.ts';
import { createLockCheck, createPins, isLocked, type Lock, type LockCheck } from './lock/index.ts';
import { createOwnFiles, placesOf, readRules, type RuleSet } from './policy/index.ts';
import { createEntries, createRedact, recordedInputs } from './record/index.ts';
import { createRegistry, parseName, type Registry, type RegistryChange } from './registry/index.ts';
import { createRouter, type CallRecord, type Route, type Router } from './router/index.ts';
import { createStorage, type StoreSource } from './storage.ts';
import { createSchemaChecks } from './schemas/index.ts';
import { createSpill, createTaint, type Spill } from './trust/index.ts';

export interface HostOptions {
  readonly config: HostConfig;
  /** What placeholders are filled in from. Default: this process's environment, home and working directory. */
  readonly surroundings: Surroundings;
  /** Who is asked. Default: nobody, so that what needs asking is denied. */
  readonly approver?: Approver;
  /**
   * What was allowed and done is kept here: grants, tickets, calls, the audit. A function is called when it is first needed, and what
   * it gives is closed with the host. Default: a store in memory.
   */
  readonly store?: StoreSource;
  /** What digests of secrets are made with, so that two that are equal can be told to be. To go with the store. Default: a new one. */
  readonly key?: () => Uint8Array;
  /** The way on which calls come that do not say so themselves. Default `library`. */
  readonly route?: Route;
  /** The run that all calls belong to. Default: a new one. */
  readonly run?: string;
  /**
   * Whether a server may be launched or connected to at all. Default: one that a project's file defines only when the store says that
   * somebody trusts its launch as it is now, since whoever wrote the project is nobody the user trusts by opening it.
   */
  readonly mayLaunch?: (server: ServerDefinition) => boolean;
  /** What the user says now: asked at each decision, so that what was changed meanwhile counts. Default: what `config` says. */
  readonly said?: () => Said;
  /**
   * Absolute folders and files that no call may name, whatever a rule allows: where sign-ins, settings and the store are. Default: where
   * Parley keeps them by the surroundings' home and environment.
   */
  readonly ownFolders?: readonly string[];
  /** What was reviewed of the servers: what is not as it stands there is not used. Default: nothing was. */
  readonly lock?: Lock | undefined;
  /**
   * Who signs requests to a server at a URL; asked each time a connection is opened, and not for a server whose configuration holds
   * an Authorization header. Nothing here waits for a person unless the authorizer does. Default: nobody.
   */
  readonly authorizer?: (server: ServerConfig) => HostAuthorizer | undefined | Promise<HostAuthorizer | undefined>;
  /** What a server may ask of us; each handler is declared to it. Default: nothing. */
  readonly inputs?: (server: string) => InputHandlers;
  /** Where each server's stderr is kept, as `NAME.log`. */
  readonly logDir?: string;
  /** For whom all of this is done; nothing that was answered to one principal is given to another. Default ''. */
  readonly principal?: string;
  /** What no server may go past, where it is not the default. */
  readonly limits?: Limits;
  readonly clock?: Clock;
}

/** What decides about calls: rules, and what the user says of each server. */
export interface Said {
  readonly rules: RuleSet;
  readonly servers: HostConfig['servers'];
}

/** An authorizer that may say where its tokens are from: what was allowed for a server holds for one issuer and resource. */
export type HostAuthorizer = Authorizer & { status?(): Promise<SignedIn | undefined> };

/** What happens in a host, as it happens. Texts of servers are untrusted. */
export type HostEvent =
  | { readonly type: 'connection'; readonly server: string; readonly state: ConnectionState }
  | { readonly type: 'registry'; readonly change: RegistryChange }
  | { readonly type: 'call'; readonly record: CallRecord }
  /** Calls of processes that are gone: nobody knows what became of them. */
  | { readonly type: 'recovered'; readonly calls: readonly JournalRecord[] }
  /** Something could not be written down after the fact. */
  | { readonly type: 'trouble'; readonly error: ParleyError }
  | { readonly type: 'news'; readonly server: string; readonly news: News };

/** How one server is doing. */
export interface ServerStatus {
  readonly name: string;
  readonly definition: ServerDefinition;
  readonly state: ConnectionState;
  /** True once its first lists are in, or it is known that there will be none for now. */
  readonly settled: boolean;
  /** Of a server that is ready and that we started: whether it runs in a sandbox. */
  readonly sandbox?: SandboxStatus;
}

export interface Host extends Router, AsyncDisposable {
  readonly registry: Registry;
  readonly events: Feed<HostEvent>;
  /** Keeps texts that are too long to pass on, in files that go with the host. */
  readonly spill: Spill;
  readonly config: HostConfig;
  /** What is wrong in the rules; with a problem, everything is denied. And the digest of all that decides about a server. */
  readonly policy: Pick<RuleSet, 'problems' | 'version'>;
  /** The run that calls belong to. */
  readonly run: string;
  /** The enabled servers, in the order of the configuration. */
  readonly servers: readonly ServerStatus[];
  /** What is remembered; opened if it is not yet. */
  store(): Store | Promise<Store>;
  /** Why a tool or prompt may not be used, by the lock; undefined when it may. */
  readonly drift: LockCheck;
  /**
   * Resolves when every server has connected and listed, or failed for now; or after `withinMs`, with whatever is there by then.
   */
  settled(options?: { readonly withinMs?: number; readonly signal?: AbortSignal }): Promise<void>;
  /**
   * A session with one server, connecting it if need be. For looking at a server: what is called through a session is not decided.
   * @throws ParleyError `not-found` for a server that is not configured or not enabled, or why it cannot be used
   */
  session(server: string, options?: { readonly signal?: AbortSignal }): Promise<Session>;
  /**
   * Looks again at the servers that wanted a sign-in, since somebody may have signed in elsewhere. Resolves when what they offer is
   * known, or after `withinMs`. A call of such a server does so by itself.
   */
  recheck(options?: { readonly withinMs?: number; readonly signal?: AbortSignal }): Promise<void>;
  /** Connects a server anew, whatever became of it before. */
  restart(server: string): Promise<void>;
  /** Ends every connection and waits until no process and no socket of them is left. */
  close(): Promise<void>;
}

/** One configured server and what the host keeps of it. */
interface Member {
  readonly definition: ServerDefinition;
  readonly connection: Connection;
  readonly lister: Lister;
  settled: boolean;
  /** What it was when it was last launched or connected to. */
  identity?: ServerIdentity;
}

/**
 * Starts connecting to every enabled server and returns at once: one slow or dead server keeps nobody from using the others. A
 * permission rule that cannot be read stops no server; nothing is called then, and `policy` says why.
 */
export function openHost(options: HostOptions): Host {
  const { config, surroundings, inputs, logDir, principal = '', clock = systemClock } = options;
  const limits: Limits = { ...config.limits, ...options.limits };
  const { route = 'library', run = `run_${randomUUID()}` } = options;
  const ownKey = randomBytes(32);
  const key = options.key ?? (() => ownKey);
  const registry = createRegistry();
  const events = createFeed<HostEvent>();
  const progress = createFeed<undefined>();
  const storage = createStorage(options.store, (calls) => events.emit({ type: 'recovered', calls }));
  const grants = createGrants(storage.get);
  const taint = createTaint();
  const cache = createCache({
    clock,
    maxEntries: limitOf('maxCacheEntries', limits.maxCacheEntries),
    maxSize: limitOf('maxCacheSize', limits.maxCacheSize),
  });
  const schemas = createSchemaChecks({ clock });
  const spill = createSpill({
    perServer: limitOf('maxKeptBytes', limits.maxKeptBytes),
    inAll: limitOf('maxKeptBytesInAll', limits.maxKeptBytesInAll),
  });
  const places = placesOf(config.servers, surroundings);
  const { said } = options;
  const rules = said === undefined ? readRules(config, places) : rulesOf(said);
  const { ownFolders: own = Object.values(ownFolders(surroundings)) } = options;
  const ownFiles = createOwnFiles(own, places);
  const drift = createLockCheck(options.lock, config.servers, () => registry.snapshot);
  const approver = approverOf(options.approver);
  const members = new Map<string, Member>();
  const revisions = new Map<string, Revision>();

  for (const definition of config.servers) {
    const { name, enabled, limits: own } = definition;
    if (enabled) members.set(name, createMember({ ...definition, limits: { ...own, ...options.limits } }));
  }
  registry.changes.subscribe((change) => {
    // A definition that changed or went away takes what was allowed for it along.
    if (change.kind === 'tool') for (const { name } of [...change.changed, ...change.removed]) grants.revoke(change.server, name);
    events.emit({ type: 'registry', change });
  });
  for (const { connection } of members.values()) connection.start();

  function createMember(definition: ServerDefinition): Member {
    const { name, priority, healthIntervalMs } = definition;
    const lister = new Lister({ server: { name, priority }, registry, clock });
    const connection = new Connection({ name, clock, healthIntervalMs, open: ({ signal }) => open(definition, signal) });
    const member: Member = { definition, connection, lister, settled: false };
    connection.changes.subscribe((state) => moved(member, state));
    return member;
  }

  /** Whoever answers does so by way of the store; questions come one at a time unless the approver wants it otherwise. */
  function approverOf(given: Approver | undefined): Approver {
    if (given === undefined) return denyAll('There is nobody to ask.');
    if (given.keepsQueue) return given;
    const expiresAfterMs = limitOf('approvalMs', limits.approvalMs);
    const isAllowed = async (intent: CallIntent) => (await grants.covering(intent)).length > 0;
    return queueApprover(ticketed(given, { store: storage.get, clock, expiresAfterMs }), isAllowed, {
      clock,
      timeoutMs: expiresAfterMs,
      ...(limits.maxAsked !== undefined && { maxPending: limits.maxAsked }),
      ...(limits.maxAskedOfServer !== undefined && { maxPendingOfServer: limits.maxAskedOfServer }),
    });
  }

  /** @throws ParleyError `denied` for a server of the project's that nobody trusts as it is */
  async function refuseUntrusted(definition: ServerDefinition, identity: ServerIdentity): Promise<void> {
    const { name, source } = definition;
    const store = options.mayLaunch === undefined ? await storage.get() : undefined;
    if (store === undefined ? options.mayLaunch?.(definition) : await store.trust.find(identity.launch)) return;
    const before = (await store?.trust.list({ server: name, file: source.file })) ?? [];
    throw new ParleyError(
      'denied',
      before.length === 0
        ? `It is defined by this project and not trusted yet. Look at it, then run \`parley mcp trust ${name}\`.`
        : `It is defined by this project and has changed since it was trusted. Look at what changed with \`parley mcp trust ${name}\`.`,
      { details: { server: name } },
    );
  }

  async function open(definition: ServerDefinition, signal: AbortSignal): Promise<Session> {
    const { name, connectTimeoutMs, timeoutMs, source, limits = {} } = definition;
    const { workspaceFolder, home, env } = surroundings;
    const identifying = identify(definition, { key, workspaceFolder, home, path: env['PATH'] });
    identifying.catch(() => {
      // Told where it is waited for.
    });
    // The user's own servers need no look into the store, and are not waited for.
    if (options.mayLaunch !== undefined || source.scope === 'project') await refuseUntrusted(definition, await identifying);
    const server = await expandServer(definition, { ...surroundings, signal });
    const remembered = revisions.get(name);
    const authorizer = signsItself(server) ? undefined : await options.authorizer?.(server);
    const hide = Object.values(ownFolders(surroundings));
    const session = await connect(await openTransport(server, { logDir, limits, authorizer, hide }), {
      signal,
      clock,
      cache,
      principal,
      // A name may be given to another server later; the launch that was written may not.
      cacheServer: JSON.stringify([name, definition.written]),
      connectTimeoutMs,
      callTimeoutMs: timeoutMs,
      limits,
      ...(inputs && { inputs: recorded(inputs(name), name) }),
      ...(remembered && { remembered }),
    });
    revisions.set(name, session.revision);
    memberOf(name).identity = filledIn(await identifying, server, { key, signedIn: await authorizer?.status?.() });
    return session;
  }

  function recorded(handlers: InputHandlers, server: string): InputHandlers {
    const ofServer = { server, identity: () => members.get(server)?.identity?.digest };
    return recordedInputs(handlers, { ...ofServer, store: storage.get, key, principal, run, now: Date.now });
  }

  function moved(member: Member, state: ConnectionState): void {
    const { name } = member.definition;
    if (state.type === 'ready') {
      state.session.news.subscribe((news) => events.emit({ type: 'news', server: name, news }));
      void member.lister.follow(state.session).then(() => settle(member));
    } else if (state.type === 'waiting' || state.type === 'needs-auth' || state.type === 'failed') {
      member.lister.release();
      member.lister.markStale(state.error.message);
      settle(member);
    } else if (state.type === 'closed') {
      member.lister.release();
      settle(member);
    }
    events.emit({ type: 'connection', server: name, state });
  }

  function settle(member: Member): void {
    member.settled = true;
    progress.emit(undefined);
  }

  function memberOf(server: string): Member {
    const member = members.get(server);
    if (member !== undefined) return member;
    throw new ParleyError('not-found', `There is no server "${server}" that is enabled.`, { details: { server } });
  }

  /** Resolves when `done` holds, checked after every step of a server. */
  function until(done: () => boolean, { withinMs, signal }: { withinMs?: number; signal?: AbortSignal }): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const finish = (end: () => void) => {
        unsubscribe();
        timer?.cancel();
        signal?.removeEventListener('abort', abort);
        end();
      };
      const abort = () => finish(() => reject(abortError(signal as AbortSignal, 'Waiting for the servers')));
      const unsubscribe = progress.feed.subscribe(() => done() && finish(resolve));
      const timer = withinMs === undefined ? undefined : clock.after(withinMs, () => finish(resolve));
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Looks again at the servers that `typed` may mean and that wanted a sign-in; resolves with why the one it names still does. */
  async function signedIn(typed: string, waiting: { readonly signal?: AbortSignal }): Promise<Error | undefined> {
    const named = parseName(typed, members).flatMap(({ server }) => server ?? []);
    await lookAgain(named.length === 0 ? [...members.keys()] : named, waiting);
    const states = named.flatMap((server) => members.get(server)?.connection.state ?? []);
    return states.find((state) => state.type === 'needs-auth')?.error;
  }

  async function lookAgain(
    servers: readonly string[],
    waiting: { readonly withinMs?: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    const absent = servers
      .flatMap((server) => members.get(server) ?? [])
      .filter(({ connection }) => connection.state.type === 'needs-auth');
    for (const member of absent) {
      member.settled = false;
      // What comes of it is seen in its state.
      member.connection.session().catch(() => {});
    }
    await until(() => absent.every(({ settled }) => settled), waiting);
  }

  const allSettled = () => [...members.values()].every((member) => member.settled);
  const session = async (server: string, sessionOptions: { readonly signal?: AbortSignal } = {}) =>
    memberOf(server).connection.session(sessionOptions);

  const { drained, ...router } = createRouter({
    registry,
    schemas,
    rules,
    ownFiles,
    grants,
    approver,
    clock,
    principal,
    route,
    run,
    taint,
    store: storage.get,
    isLocked: (server) => isLocked(options.lock, memberOf(server).definition),
    pins: createPins({ store: storage.get, others: () => registry.snapshot.tools.map(({ name }) => name) }),
    entries: createEntries(createRedact({ key, names: config.records?.secretArguments ?? [] }), Date.now),
    identity: (server) => members.get(server)?.identity,
    trouble: (error) => events.emit({ type: 'trouble', error }),
    settings(server) {
      const { definition } = memberOf(server);
      return said === undefined ? definition : settingsOf(definition, said().servers);
    },
    hosts: (server) => hostsOf(memberOf(server).definition),
    session(server, waiting) {
      const { connection } = memberOf(server);
      return connection.state.type === 'ready' ? connection.state.session : connection.session(waiting);
    },
    listed: (waiting) => until(allSettled, waiting),
    signedIn,
    drift,
    record: (record) => events.emit({ type: 'call', record }),
  });

  const close = async () => {
    await Promise.all([...members.values()].map(({ connection }) => connection.close()));
    await schemas.close();
    // What was under way has ended with its connection; its end is written down before the store goes.
    await drained();
    await spill.close();
    await storage.close();
    registry.close();
    events.end();
    progress.end();
  };

  return {
    ...router,
    registry,
    events: events.feed,
    spill,
    config,
    policy: rules,
    run,
    store: storage.get,
    get servers() {
      return [...members.values()].map(({ definition, connection, settled }) => ({
        name: definition.name,
        definition,
        state: connection.state,
        settled,
        ...sandboxOf(connection.state),
      }));
    },
    drift,
    settled: (waiting = {}) => until(allSettled, waiting),
    session,
    recheck: (waiting = {}) => lookAgain([...members.keys()], waiting),
    async restart(server) {
      const member = memberOf(server);
      member.settled = false;
      await member.connection.restart();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The rules as they are whenever they are looked at. */
function rulesOf(said: () => Said): RuleSet {
  return {
    get rules() {
      return said().rules.rules;
    },
    get repeatable() {
      return said().rules.repeatable;
    },
    get problems() {
      return said().rules.problems;
    },
    version: (server) => said().rules.version(server),
  };
}

/** The settings of a server with what the user says of it now: of one that there is no more, nothing. */
function settingsOf(definition: ServerDefinition, servers: Said['servers']): ServerDefinition {
  const now = servers.find(({ name }) => name === definition.name);
  const { private: _before, ...rest } = definition;
  const { trusted = false, reviewedTools = [], private: marked } = now ?? {};
  return { ...rest, trusted, reviewedTools, ...(marked !== undefined && { private: marked }) };
}

/** True for a server that is sent credentials of its own, or is no server at a URL. */
function signsItself(server: ServerConfig): boolean {
  return server.kind !== 'http' || Object.keys(server.headers).some((name) => name.toLowerCase() === 'authorization');
}

function sandboxOf(state: ConnectionState): Pick<ServerStatus, 'sandbox'> {
  if (state.type !== 'ready' || state.session.channel.kind !== 'stdio') return {};
  return { sandbox: (state.session.channel as StdioChannel).sandbox };
}

/** The host of a server's address, as far as it is written. */
function hostsOf({ written }: ServerDefinition): readonly string[] {
  return written.kind === 'http' && URL.canParse(written.url) ? [new URL(written.url).hostname] : [];
}
