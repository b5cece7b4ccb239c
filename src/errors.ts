// Every fault Parley reports: one table of codes, one class for our own reports and one for what a peer answered.
// Outcomes of a tool call (denied, cancelled, tool error) are values, never these.

/** What a code means to the person who meets it. `exit` is the CLI's exit code, `http` the status of our HTTP surfaces. */
export interface ErrorFacts {
  readonly summary: string;
  readonly remedy: string;
  readonly exit: number;
  readonly http: number;
}

export const ERRORS = {
  usage: {
    summary: 'The command or call was not formed as it should be.',
    remedy: 'Read the message, then `parley help <command>`.',
    exit: 1,
    http: 400,
  },
  'config-invalid': {
    summary: 'A configuration file could not be read or has an entry that makes no sense.',
    remedy: 'Correct the named entry; the others are used.',
    exit: 1,
    http: 500,
  },
  'not-found': {
    summary: 'No server, tool, prompt or resource has that name.',
    remedy: 'Use one of the names the message suggests, or list them.',
    exit: 2,
    http: 404,
  },
  'invalid-arguments': {
    summary: 'Arguments do not fit the schema they are meant for; nothing was sent.',
    remedy: 'Compare the arguments with `parley tools show <tool>`.',
    exit: 1,
    http: 400,
  },
  'auth-required': {
    summary: 'The server wants sign-in, or refused the credentials it was given.',
    remedy: 'Run `parley mcp login <server>`, or give the server a valid credential in its `headers` setting.',
    exit: 3,
    http: 401,
  },
  unreachable: {
    summary: 'No connection could be made: the address does not answer, or the command cannot be started.',
    remedy: 'Check the command or URL, then run `parley mcp doctor <server>`.',
    exit: 4,
    http: 502,
  },
  'server-stopped': {
    summary: 'The server ended, or the line to it broke, while it was needed.',
    remedy: 'Look at `parley mcp logs <server>`; a new call starts it again.',
    exit: 4,
    http: 502,
  },
  'session-lost': {
    summary: 'The server no longer knows the session; the request was not carried out.',
    remedy: 'Connect again; a host does it by itself.',
    exit: 4,
    http: 502,
  },
  timeout: {
    summary: 'No answer came within the time allowed.',
    remedy: 'Raise the time-out the message names, or look at the server.',
    exit: 4,
    http: 504,
  },
  'http-status': {
    summary: 'The server answered a request with an HTTP status that carries no MCP reply.',
    remedy: 'Check that the URL is an MCP endpoint and that the server is well.',
    exit: 4,
    http: 502,
  },
  'sandbox-unavailable': {
    summary: 'The server must run in a sandbox, and none can be made here.',
    remedy: 'Install bubblewrap where it works, or change the `sandbox` setting of the server.',
    exit: 6,
    http: 503,
  },
  'not-mcp': {
    summary: 'Something answered, but not in MCP.',
    remedy: 'Check the command or URL: it may be a web page or another program.',
    exit: 4,
    http: 502,
  },
  'version-unsupported': {
    summary: 'The two sides have no protocol revision in common.',
    remedy: 'Update the side whose versions are older; the message lists both.',
    exit: 4,
    http: 502,
  },
  'protocol-violation': {
    summary: 'The peer sent something the protocol does not allow.',
    remedy: 'Report it to the server’s author with the message.',
    exit: 4,
    http: 502,
  },
  unsupported: {
    summary: 'The negotiated revision or the peer’s capabilities do not include what was asked.',
    remedy: 'See `parley mcp get <server>` for what it offers.',
    exit: 2,
    http: 501,
  },
  'input-unanswered': {
    summary: 'The server asked for input that nobody here answers.',
    remedy: 'Run it where a person can answer, or set a handler for that kind of input.',
    exit: 6,
    http: 409,
  },
  limit: {
    summary: 'The peer went past a limit that protects this process.',
    remedy: 'Raise the named limit in your own configuration if the size is honest.',
    exit: 4,
    http: 502,
  },
  aborted: {
    summary: 'The caller gave up before the answer came.',
    remedy: 'Nothing to do.',
    exit: 130,
    http: 499,
  },
  closed: {
    summary: 'It was used after it had been closed.',
    remedy: 'Open it again.',
    exit: 1,
    http: 500,
  },
  denied: {
    summary: 'Policy or a person refused the call; nothing was sent.',
    remedy: 'Approve it when asked, or add a rule that allows it.',
    exit: 6,
    http: 403,
  },
  'definition-changed': {
    summary: 'A tool, prompt or server is not what was reviewed; nothing was sent.',
    remedy: 'Look at `parley lock diff`, then run `parley lock update`.',
    exit: 7,
    http: 409,
  },
  'not-recorded': {
    summary: 'A call could not be written down before it was sent, so it was not sent.',
    remedy: 'See to it that the state directory or the database can be written, then call again.',
    exit: 6,
    http: 503,
  },
  'tool-failed': {
    summary: 'The tool ran and reported an error.',
    remedy: 'Read the tool’s own message.',
    exit: 5,
    http: 200,
  },
  'outcome-unknown': {
    summary: 'The server was lost after the call was sent: it may or may not have happened.',
    remedy: 'Check with the server before you call again.',
    exit: 8,
    http: 502,
  },
  'store-unavailable': {
    summary: 'What Parley remembers could not be read or written; what depends on it was not done.',
    remedy: 'Look at the file or database that the message names, then try again.',
    exit: 1,
    http: 503,
  },
  internal: {
    summary: 'A fault in Parley itself.',
    remedy: 'Report it with the output of the same command and `-v`.',
    exit: 1,
    http: 500,
  },
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof ERRORS;

/** What some codes carry besides their message. All optional; none holds a secret. */
export interface ErrorDetails {
  /** The configured server's name. */
  readonly server?: string;
  /** `limit`: which one, the allowed value and the one observed. */
  readonly limit?: string;
  readonly allowed?: number;
  readonly observed?: number;
  /** `http-status` and `auth-required`: the HTTP status and a short piece of the body. */
  readonly status?: number;
  readonly body?: string;
  /** `auth-required`: the WWW-Authenticate header as sent. */
  readonly challenge?: string;
  /** `server-stopped` and `unreachable`: how a process ended. */
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly stderrTail?: string;
  /** `version-unsupported`: both sides' versions. */
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  /** `timeout`: how long was waited, in milliseconds. */
  readonly afterMs?: number;
  /** True when the request surely never reached the peer's code. */
  readonly unsent?: boolean;
  /** `not-found`: names that come close. */
  readonly suggestions?: readonly string[];
}

export interface ErrorOptions {
  readonly cause?: unknown;
  readonly details?: ErrorDetails;
  /** True when the same act may well succeed if done again. Default false. */
  readonly retryable?: boolean;
}

/** A fault as Parley reports it: a stable string code, a message that says what to do, and the cause. */
export class ParleyError extends Error {
  override readonly name = 'ParleyError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.retryable = options.retryable ?? false;
  }
}

/** An error a JSON-RPC peer answered, or one to answer a peer with. Its text is the peer's: untrusted. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** True when `error` is a ParleyError, and of `code` when one is given. */
export function isParleyError(error: unknown, code?: ErrorCode): error is ParleyError {
  return error instanceof ParleyError && (code === undefined || error.code === code);
}
