// Every limit that keeps a peer from growing us: one table of names, defaults and ceilings. A limit is enforced where the data
// passes; this file only says how much is allowed and what an excess is called.
import { ParleyError, type ErrorDetails } from '../errors.ts';

/** One limit. `breach` says what happens to what goes past it. */
export interface Limit {
  readonly default: number;
  /** The most that a setting can raise it to. */
  readonly ceiling: number;
  readonly unit:
    | 'bytes'
    | 'characters'
    | 'ms'
    | 'levels'
    | 'values'
    | 'lines'
    | 'messages'
    | 'events'
    | 'pages'
    | 'entries'
    | 'processes'
    | 'files'
    | 'rounds'
    | 'a second'
    | 'an hour';
  readonly what: string;
  readonly breach: string;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const MINUTE = 60_000;

export const LIMITS = {
  maxLineBytes: {
    default: 16 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One message on a stdio line.',
    breach: 'It is dropped as it arrives, and its request fails.',
  },
  maxOversized: {
    default: 2,
    ceiling: 2,
    unit: 'messages',
    what: 'Messages on a stdio line within a minute that are too large, too deep or of too many values.',
    breach: 'The line ends.',
  },
  stallMs: {
    default: 30_000,
    ceiling: 10 * MINUTE,
    unit: 'ms',
    what: 'Silence in the middle of a message on a stdio line.',
    breach: 'The line ends.',
  },
  messageMs: {
    default: 2 * MINUTE,
    ceiling: 10 * MINUTE,
    unit: 'ms',
    what: 'The arrival of one message on a stdio line.',
    breach: 'The line ends.',
  },
  maxBacklogBytes: {
    default: 8 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'What waits to be written to a stdio line.',
    breach: 'The message that would exceed it is not sent.',
  },
  drainMs: {
    default: 30_000,
    ceiling: 10 * MINUTE,
    unit: 'ms',
    what: 'A server process that does not read its input.',
    breach: 'The line ends.',
  },
  maxNoiseLines: {
    default: 100,
    ceiling: 10_000,
    unit: 'lines',
    what: 'Lines on standard output that are not MCP, between two requests.',
    breach: 'The line ends with `not-mcp`: the server prints to standard output.',
  },
  maxNoiseBytes: {
    default: 64 * KIB,
    ceiling: 8 * MIB,
    unit: 'bytes',
    what: 'The size of those lines in all.',
    breach: 'The line ends with `not-mcp`.',
  },
  // These three are looked at once in a while, on Linux alone.
  maxServerProcesses: {
    default: 64,
    ceiling: 4_096,
    unit: 'processes',
    what: 'A server process and all that came of it.',
    breach: 'All of them are killed, and the line ends.',
  },
  maxServerMemoryBytes: {
    default: 2_048 * MIB,
    ceiling: 1_048_576 * MIB,
    unit: 'bytes',
    what: 'The memory of all these together.',
    breach: 'All of them are killed, and the line ends.',
  },
  maxServerFiles: {
    default: 1_024,
    ceiling: 1_048_576,
    unit: 'files',
    what: 'Files, sockets and pipes that one of these has open.',
    breach: 'All of them are killed, and the line ends.',
  },
  maxMessageBytes: {
    default: 16 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One message over HTTP, decoded.',
    breach: 'The exchange is cut and its request fails.',
  },
  maxStreamBytes: {
    default: 64 * MIB,
    ceiling: 1_024 * MIB,
    unit: 'bytes',
    what: 'What the reply stream of one request brings within a minute.',
    breach: 'The stream is cut and its request fails.',
  },
  maxStreamEvents: {
    default: 10_000,
    ceiling: 1_000_000,
    unit: 'events',
    what: 'Events on the reply stream of one request within a minute.',
    breach: 'The stream is cut and its request fails.',
  },
  maxEventId: {
    default: KIB,
    ceiling: KIB,
    unit: 'bytes',
    what: 'The id of one event of a stream.',
    breach: 'The stream is cut.',
  },
  maxEventName: {
    default: 128,
    ceiling: 128,
    unit: 'bytes',
    what: 'The name of one event of a stream.',
    breach: 'The stream is cut.',
  },
  maxInterimResponses: {
    default: 100,
    ceiling: 100,
    unit: 'messages',
    what: 'Interim responses (1xx) before the answer to one request.',
    breach: 'The exchange is cut and its request fails.',
  },
  maxHeaderBytes: {
    default: 16 * KIB,
    ceiling: 16 * KIB,
    unit: 'bytes',
    what: 'The headers of one HTTP answer.',
    breach: 'The exchange is cut and its request fails.',
  },
  maxExchanges: {
    default: 256,
    ceiling: 4_096,
    unit: 'messages',
    what: 'Requests to one server over HTTP at the same time.',
    breach: 'One more is not sent.',
  },
  maxJsonDepth: {
    default: 64,
    ceiling: 512,
    unit: 'levels',
    what: 'Arrays and objects inside each other in one message.',
    breach: 'The message is refused before it is parsed, and its request fails.',
  },
  maxJsonValues: {
    default: 200_000,
    ceiling: 5_000_000,
    unit: 'values',
    what: 'Values in one message.',
    breach: 'The message is refused before it is parsed, and its request fails.',
  },
  maxInFlight: {
    default: 1_024,
    ceiling: 65_536,
    unit: 'messages',
    what: 'Requests that wait for an answer on one line.',
    breach: 'One more is not sent.',
  },
  maxAnswering: {
    default: 256,
    ceiling: 4_096,
    unit: 'messages',
    what: 'Requests of the peer that are being answered.',
    breach: 'One more is answered with an error.',
  },
  maxNotificationsPerSecond: {
    default: 100,
    ceiling: 10_000,
    unit: 'a second',
    what: 'Notifications of one kind, and reports of one fault, after a burst of twice as many.',
    breach: 'The rest is dropped and counted.',
  },
  maxFloodPerSecond: {
    default: 1_000,
    ceiling: 100_000,
    unit: 'a second',
    what: 'Messages of all kinds that answer nothing, in each of ten seconds in a row.',
    breach: 'The line ends.',
  },
  maxProgress: {
    default: 10_000,
    ceiling: 1_000_000,
    unit: 'messages',
    what: 'Progress of one request.',
    breach: 'The rest is dropped, and wins the request no more time.',
  },
  maxLogsPerSecond: {
    default: 20,
    ceiling: 1_000,
    unit: 'a second',
    what: 'Log messages of one server, after a burst of five times as many.',
    breach: 'The rest is dropped and counted.',
  },
  maxRequestId: {
    default: 256,
    ceiling: 256,
    unit: 'characters',
    what: 'The id of a request of the peer.',
    breach: 'The request is refused.',
  },
  maxErrorMessage: {
    default: 2 * KIB,
    ceiling: 2 * KIB,
    unit: 'characters',
    what: 'The message of an error that a peer answers.',
    breach: 'It is cut.',
  },
  maxErrorData: {
    default: 64 * KIB,
    ceiling: 64 * KIB,
    unit: 'characters',
    what: 'The data of an error that a peer answers, as JSON.',
    breach: 'It is left out.',
  },
  maxPages: {
    default: 500,
    ceiling: 10_000,
    unit: 'pages',
    what: 'Pages of one list.',
    breach: 'The list fails; the one from before stays, marked as out of date.',
  },
  maxItems: {
    default: 50_000,
    ceiling: 1_000_000,
    unit: 'entries',
    what: 'Entries of one list.',
    breach: 'The list fails; the one from before stays, marked as out of date.',
  },
  maxCursor: {
    default: 4 * KIB,
    ceiling: 64 * KIB,
    unit: 'characters',
    what: 'The cursor of the next page of a list.',
    breach: 'The list fails; the one from before stays, marked as out of date.',
  },
  maxQuestions: {
    default: 8,
    ceiling: 64,
    unit: 'messages',
    what: 'Questions of one server to a person or a model at the same time.',
    breach: 'One more is refused, and the request that needs it fails.',
  },
  maxQuestionsPerHour: {
    default: 60,
    ceiling: 3_600,
    unit: 'an hour',
    what: 'Such questions in all, after a burst of as many.',
    breach: 'One more is refused, and the request that needs it fails.',
  },
  maxRounds: {
    default: 8,
    ceiling: 64,
    unit: 'rounds',
    what: 'Rounds of input that one request may take.',
    breach: 'The request fails.',
  },
  maxRoundsMs: {
    default: 30 * MINUTE,
    ceiling: 24 * 60 * MINUTE,
    unit: 'ms',
    what: 'All rounds of one request, people included.',
    breach: 'The request fails.',
  },
  maxBlocks: {
    default: 256,
    ceiling: 4_096,
    unit: 'entries',
    what: 'Blocks of content of one result, contents of a resource, messages of a prompt.',
    breach: 'The rest is left out, and said to be.',
  },
  maxStructuredBytes: {
    default: 4 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'The structured content of one result, and each member and block that is nothing else.',
    breach: 'It is left out, and said to be.',
  },
  maxImageBytes: {
    default: 5 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One image of a result, as it came.',
    breach: 'It is left out, and said to be.',
  },
  maxAudioBytes: {
    default: 10 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One sound of a result, as it came.',
    breach: 'It is left out, and said to be.',
  },
  maxResourceBytes: {
    default: 4 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One resource, read or in a result.',
    breach: 'It is left out, and said to be.',
  },
  maxKeptBytes: {
    default: 256 * MIB,
    ceiling: 4_096 * MIB,
    unit: 'bytes',
    what: 'Texts of one server that are too long for a model and kept in files.',
    breach: 'No more is kept; a model gets the beginning alone.',
  },
  maxKeptBytesInAll: {
    default: 1_024 * MIB,
    ceiling: 16_384 * MIB,
    unit: 'bytes',
    what: 'The same of all servers.',
    breach: 'No more is kept; a model gets the beginning alone.',
  },
  maxSchemaSize: {
    default: 64 * KIB,
    ceiling: 64 * KIB,
    unit: 'characters',
    what: 'The schema of one tool, as JSON.',
    breach: 'Calls of the tool are refused.',
  },
  maxSchemaDepth: {
    default: 64,
    ceiling: 64,
    unit: 'levels',
    what: 'Arrays and objects inside each other in a schema.',
    breach: 'Calls of the tool are refused.',
  },
  maxSubschemas: {
    default: 5_000,
    ceiling: 5_000,
    unit: 'entries',
    what: 'Schemas in a schema.',
    breach: 'Calls of the tool are refused.',
  },
  maxPattern: {
    default: 1_024,
    ceiling: 1_024,
    unit: 'characters',
    what: 'One pattern of a schema.',
    breach: 'The pattern is not checked.',
  },
  maxPatternProgram: {
    default: 20_000,
    ceiling: 20_000,
    unit: 'entries',
    what: 'Steps that all patterns of a schema are made of.',
    breach: 'Calls of the tool are refused.',
  },
  // Waited for in a thread, so that it holds nobody up; time goes by faster on a machine that has much else to do.
  schemaCompileMs: {
    default: 5_000,
    ceiling: MINUTE,
    unit: 'ms',
    what: 'Making a schema ready that is too heavy to be made ready at once.',
    breach: 'Calls of the tool are refused.',
  },
  schemaCheckMs: {
    default: 2_000,
    ceiling: MINUTE,
    unit: 'ms',
    what: 'Checking a value that takes too long to be checked at once.',
    breach: 'The call is refused; a result stays, unchecked.',
  },
  maxTasks: {
    default: 64,
    ceiling: 1_024,
    unit: 'entries',
    what: 'Tasks of one server that are followed at the same time.',
    breach: 'One more is cancelled, and its request fails.',
  },
  maxCacheEntries: {
    default: 512,
    ceiling: 8_192,
    unit: 'entries',
    what: 'Answers that are kept as long as they are fresh.',
    breach: 'The oldest makes room.',
  },
  maxCacheSize: {
    default: 32 * MIB,
    ceiling: 512 * MIB,
    unit: 'characters',
    what: 'Their size in all, as JSON.',
    breach: 'The oldest makes room.',
  },
  maxFactBytes: {
    default: 8 * MIB,
    ceiling: 64 * MIB,
    unit: 'bytes',
    what: 'One fact that is remembered, such as a call with its arguments.',
    breach: 'It is not remembered, and a call that cannot be written down is not sent.',
  },
  maxAsked: {
    default: 32,
    ceiling: 256,
    unit: 'entries',
    what: 'Calls that wait for their turn to be shown to a person.',
    breach: 'One more is denied.',
  },
  maxAskedOfServer: {
    default: 8,
    ceiling: 64,
    unit: 'entries',
    what: 'Such calls of one server.',
    breach: 'One more is denied.',
  },
  approvalMs: {
    default: 5 * MINUTE,
    ceiling: 60 * MINUTE,
    unit: 'ms',
    what: 'The time in which a call that is shown to a person is answered.',
    breach: 'The call is denied.',
  },
  maxPendingApprovals: {
    default: 1_000,
    ceiling: 100_000,
    unit: 'entries',
    what: 'Calls that wait for somebody to approve them.',
    breach: 'One more is refused.',
  },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof LIMITS;

/** Limits other than their defaults. */
export type Limits = { readonly [K in LimitName]?: number };

/** What is allowed: the default, or what was asked for up to the ceiling. */
export function limitOf(name: LimitName, asked: number | undefined): number {
  const { default: usual, ceiling } = LIMITS[name];
  return asked === undefined ? usual : Math.min(asked, ceiling);
}

/** The error of a breach. `message` says what was done to what went past the limit; `allowed` is needed where it is not the default. */
export function overLimit(
  name: LimitName,
  observed: number,
  message: string,
  allowed: number = LIMITS[name].default,
  details: ErrorDetails = {},
): ParleyError {
  const remedy = LIMITS[name].ceiling > LIMITS[name].default ? ` Raise limits.${name} if that is honest.` : '';
  return new ParleyError('limit', `${message}${remedy}`, { details: { limit: name, allowed, observed, ...details } });
}
