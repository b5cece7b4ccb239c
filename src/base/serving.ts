// What clients may cost a server of ours: one table of names, defaults and what happens beyond, as limits.ts is for what servers may
// cost a client. A bound is held where the data passes. A door of its own, so that a client does not load it.
import { ParleyError } from '../errors.ts';
import type { Limit } from './limits.ts';

/** One bound. */
export interface ServingLimit extends Pick<Limit, 'default' | 'what' | 'breach'> {
  readonly unit: Limit['unit'] | 'header fields' | 'connections' | 'sessions' | 'subscriptions' | 'runs';
  /** Whose option of that name sets it; undefined for one that is fixed. */
  readonly option: 'serveHttp' | 'createServer' | 'tasks' | undefined;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const SERVING = {
  maxBodyBytes: {
    default: 4 * MIB,
    unit: 'bytes',
    option: 'serveHttp',
    what: 'The body of one request.',
    breach: 'It is answered 413.',
  },
  maxBatch: {
    default: 100,
    unit: 'messages',
    option: undefined,
    what: 'Messages in one body.',
    breach: 'It is answered 400.',
  },
  maxHeaderFields: {
    default: 100,
    unit: 'header fields',
    option: undefined,
    what: 'Header fields of one request, and 16 KiB of them.',
    breach: 'It is answered 431.',
  },
  maxConnections: {
    default: 256,
    unit: 'connections',
    option: 'serveHttp',
    what: 'Connections at the same time.',
    breach: 'One more is dropped.',
  },
  headersTimeoutMs: {
    default: 10 * SECOND,
    unit: 'ms',
    option: 'serveHttp',
    what: 'The arrival of the headers of one request.',
    breach: 'It is answered 408 and its connection closed.',
  },
  requestTimeoutMs: {
    default: 30 * SECOND,
    unit: 'ms',
    option: 'serveHttp',
    what: 'The arrival of one request, body included.',
    breach: 'It is answered 408 and its connection closed.',
  },
  keepAliveTimeoutMs: {
    default: 5 * SECOND,
    unit: 'ms',
    option: 'serveHttp',
    what: 'A connection between two requests.',
    breach: 'It is closed.',
  },
  maxBufferedBytes: {
    default: 4 * MIB,
    unit: 'bytes',
    option: 'serveHttp',
    what: 'What a client has not taken of a stream.',
    breach: 'The stream is cut.',
  },
  takeMs: {
    default: MINUTE,
    unit: 'ms',
    option: 'serveHttp',
    what: 'A client that takes nothing of an answer that is all written.',
    breach: 'Its connection is cut.',
  },
  maxSessions: {
    default: 1_024,
    unit: 'sessions',
    option: 'serveHttp',
    what: 'Sessions at the same time, of each of the two transports that have some.',
    breach: 'One more is answered 503.',
  },
  maxSessionsEach: {
    default: 64,
    unit: 'sessions',
    option: 'serveHttp',
    what: 'Those of one who was let in by the gate.',
    breach: 'One more is answered 503.',
  },
  sessionIdleMs: {
    default: 30 * MINUTE,
    unit: 'ms',
    option: 'serveHttp',
    what: 'A session without a connection.',
    breach: 'It ends.',
  },
  maxHeldEvents: {
    default: 1_000,
    unit: 'events',
    option: 'serveHttp',
    what: 'Events that a session keeps for a client that comes back.',
    breach: 'The oldest go; who comes back for them is told so.',
  },
  maxHeldBytes: {
    default: 4 * MIB,
    unit: 'bytes',
    option: 'serveHttp',
    what: 'Their size in all.',
    breach: 'The oldest go; who comes back for them is told so.',
  },
  maxUnsent: {
    default: 100,
    unit: 'messages',
    option: undefined,
    what: 'Messages of a session whose client has no stream open for them.',
    breach: 'The oldest is not sent.',
  },
  maxAnswering: {
    default: 256,
    unit: 'messages',
    option: 'createServer',
    what: 'Requests of one line or session that are being answered.',
    breach: 'One more is answered with an error.',
  },
  maxSubscriptions: {
    default: 4_096,
    unit: 'subscriptions',
    option: 'createServer',
    what: 'Subscriptions to changes of all clients, and sessions.',
    breach: 'One more subscription is answered with an error.',
  },
  maxSubscriptionsEach: {
    default: 64,
    unit: 'subscriptions',
    option: 'createServer',
    what: 'Subscriptions on one line.',
    breach: 'One more is answered with an error.',
  },
  maxFollowed: {
    default: 1_024,
    unit: 'entries',
    option: 'createServer',
    what: 'Resources that one session follows, or one subscription names.',
    breach: 'More are answered with an error.',
  },
  answerTimeoutMs: {
    default: 10 * MINUTE,
    unit: 'ms',
    option: 'createServer',
    what: 'A client, and the person at it, that is asked while a request waits.',
    breach: 'The handler gets an error.',
  },
  maxRuns: {
    default: 16,
    unit: 'runs',
    option: undefined,
    what: 'Runs of one handler that asks the client anew each time.',
    breach: 'The request is answered with an error.',
  },
  maxState: {
    default: 64 * KIB,
    unit: 'characters',
    option: undefined,
    what: 'The answers so far, which travel with the next question.',
    breach: 'The request is answered with an error.',
  },
  maxTasks: {
    default: 1_024,
    unit: 'entries',
    option: 'tasks',
    what: 'Tasks of all clients.',
    breach: 'The oldest that has ended goes; while none has, a call is answered without a task, or with an error.',
  },
  ttlMs: {
    default: 60 * MINUTE,
    unit: 'ms',
    option: 'tasks',
    what: 'The life of a task; at most a day.',
    breach: 'It is aborted and forgotten.',
  },
} as const satisfies Record<string, ServingLimit>;

/**
 * What holds: what was asked for, or the default.
 * @throws ParleyError `usage` for what is no whole number above 0
 */
export function servingLimit(name: keyof typeof SERVING, asked: number | undefined): number {
  if (asked === undefined) return SERVING[name].default;
  if (Number.isSafeInteger(asked) && asked > 0) return asked;
  throw new ParleyError('usage', `${name} must be a whole number above 0, not ${String(asked)}.`);
}
