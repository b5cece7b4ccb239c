// The words of configuration: what a file may say about servers, rules and limits once it has been read and checked.
// Plain data only; nothing here reads, expands or decides.
import type { Limits } from '../../base/index.ts';

/**
 * Where a setting was written. `machine`: the administrator's file, for every user of the machine. `flag`: a file or value the user
 * gave on the command line. `local`: the user's private settings for this one project, kept outside it. `project`: files of the
 * project itself, which are not trusted. `user`: the user's settings for every project.
 */
export type Scope = 'machine' | 'flag' | 'local' | 'project' | 'user';

/** The place a value came from. `key` is the path inside the file, such as `mcpServers.github`. */
export interface Source {
  readonly file: string;
  readonly key: string;
  readonly scope: Scope;
}

/** A program that speaks MCP on its standard streams. A relative `cwd` is relative to the project's root. */
export interface StdioLaunch {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Variables added to the few that every server gets. The values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** True for an empty folder of its own to start in, where there is no `cwd`. */
  readonly privateCwd?: boolean;
  /** Absent: it runs with all the rights of the user. */
  readonly sandbox?: SandboxSettings;
}

/** What a process in a sandbox may reach beside a read-only system. Relative paths are relative to the project's root. */
export interface SandboxSettings {
  /** `required`: without a sandbox the server is not started. `preferred`: it is, and said to run without. */
  readonly mode: 'required' | 'preferred';
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** True when it may use the network, services of this machine included. */
  readonly network: boolean;
}

/** Settings that become part of how a server is launched, so that trust is bound to them too. Beside those below, in the same places. */
export interface LaunchSettings {
  readonly privateCwd?: boolean;
  /** `off` takes back what another file says. A project's files may not say it. */
  readonly sandbox?: SandboxSettings | 'off';
}

/** A server at a URL. `either`: Streamable HTTP first, then the older HTTP+SSE. */
export interface HttpLaunch {
  readonly kind: 'http';
  readonly url: string;
  /** Sent with every request. The values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: 'http' | 'sse' | 'either';
}

/** How a server is reached. */
export type Launch = StdioLaunch | HttpLaunch;

/**
 * How a server is signed in at, as far as its user has to say: `oauth` of its settings. Never taken from a project's files. The
 * texts of a client may hold placeholders, until the server is expanded.
 */
export interface OAuthSettings {
  /** Whose sign-in is used. Default: the one that was signed in with last. */
  readonly account?: string;
  /** A client that is registered at `issuer`, which alone learns of it. Default: Parley registers itself. */
  readonly clientId?: string;
  readonly issuer?: string;
  readonly clientSecret?: string;
  /** PKCS #8 in PEM, instead of a secret; `keyAlgorithm` is ES256 by default. */
  readonly privateKey?: string;
  readonly keyAlgorithm?: string;
  /** The https address of a client metadata document, where there is one for this installation. */
  readonly clientMetadataUrl?: string;
  /** Where people are sent back to, on this machine. Default: any free port. */
  readonly redirectUri?: string;
  /** In whose name tokens are asked for. Default `code`: a person signs in. */
  readonly grant?: 'code' | 'client-credentials';
  /** Scopes to ask for in any case. */
  readonly scopes?: readonly string[];
  /** True for a server of 2025-03-26, which publishes no metadata. */
  readonly legacy?: boolean;
  /** Host names of authorization servers that may be in a private network. */
  readonly trustedHosts?: readonly string[];
}

/**
 * Parley's own settings for one server: `servers.NAME` in a Parley file, or beside `command` or `url` there.
 * `trusted`, `reviewedTools`, `oauth` and a `private` of false are never taken from a project's files.
 */
export interface ServerSettings {
  /** Default true. Also written as `disabled`, its opposite. */
  readonly enabled: boolean;
  /** True when what the server says about its tools (annotations) counts. Default false. */
  readonly trusted: boolean;
  /**
   * Whether what the server gives is private. When true, a run that also read what anybody may have written asks before it calls
   * any server that could send it out; when false, never for this. Absent: before it calls any other server.
   */
  readonly private?: boolean;
  /** Names of tools the user has looked at; they run without a question. Default none. */
  readonly reviewedTools: readonly string[];
  /** The server with the highest number gets a tool's bare name when several offer it. Default 0. */
  readonly priority: number;
  /** Longest wait for the answer to one call. In `.mcp.json` it is called `timeout`, in milliseconds too. */
  readonly timeoutMs: number;
  /** Longest wait until the server is ready. */
  readonly connectTimeoutMs: number;
  /** Time between two checks that the server still answers; 0 for none. */
  readonly healthIntervalMs: number;
  /** What this server may not go past, those of the whole configuration included. Absent: the defaults. */
  readonly limits?: Limits;
  readonly oauth?: OAuthSettings;
}

/** One server as configured. `written` still holds its placeholders: nothing is filled in before the server is trusted. */
export interface ServerDefinition extends ServerSettings {
  readonly name: string;
  readonly source: Source;
  readonly written: Launch;
  /** Set for a server of a project that has the name of one of the user's own: what the user allows that one is not for it. */
  readonly hidesUsers?: true;
}

/** One server ready to open: a definition whose placeholders are filled in, discriminated by `kind`. Holds secrets. */
export type ServerConfig = ServerDefinition & Launch;

/** A permission rule as written, such as `orders/get_*`. */
export interface Rule {
  readonly rule: string;
  readonly source: Source;
}

/** All rules, from all files. */
export interface Rules {
  readonly allow: readonly Rule[];
  readonly ask: readonly Rule[];
  readonly deny: readonly Rule[];
  /** Calls that may be made a second time when nobody knows what became of the first. Never from a project's files. */
  readonly repeatable?: readonly Rule[];
  /** The files that may hold rules, and of which one could not be read. Where there is such a file, a policy must deny everything. */
  readonly unread: readonly string[];
}

/** Settings of the host: top-level keys of a Parley file. A project may only lower them. */
export interface HostSettings {
  /** Default of `connectTimeoutMs` for every server. 30,000, or MCP_TIMEOUT from the environment. */
  readonly connectTimeoutMs: number;
  /** Default of `timeoutMs` for every server. 60,000, or MCP_TOOL_TIMEOUT from the environment. */
  readonly callTimeoutMs: number;
  /** Default of `healthIntervalMs` for every server. 30,000. */
  readonly healthIntervalMs: number;
  /** Most text of one result that goes to a model, in bytes. 102,400. */
  readonly maxResultBytes: number;
}

/** What is said about what is remembered and written down. */
export interface RecordSettings {
  /** Address of the store: a file, `sqlite:FILE`, `memory:` or `postgres://…`. Never from a project's files. Default: a file in the state directory. */
  readonly store?: string;
  /** Names of arguments that hold secrets, besides those that say so; from all files. */
  readonly secretArguments: readonly string[];
}

/** A value that `${input:id}` asks a person for, as the file describes it. */
export interface InputPrompt {
  readonly id: string;
  readonly description: string;
  /** True when it must not be shown while it is typed. */
  readonly secret: boolean;
  readonly source: Source;
}

/** Everything the files say, checked and merged. */
export interface HostConfig {
  /** One a name, those of the strongest scope first, disabled ones too. */
  readonly servers: readonly ServerDefinition[];
  readonly rules: Rules;
  readonly settings: HostSettings;
  /** What no server may go past, where it is not the default. Absent: nothing was said. */
  readonly limits?: Limits;
  readonly inputs: readonly InputPrompt[];
  /** Absent: nothing was said. */
  readonly records?: RecordSettings;
}
