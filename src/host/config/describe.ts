// A server as it may be printed, logged and shown to a person who is to trust it: what was written, never what was filled in,
// and no value of a variable, a header, a query or a user name in a URL.
import type { HttpLaunch, SandboxSettings, ServerDefinition, Source } from './shape.ts';

/** Safe to print apart from control characters, which the output has to escape: a project's author wrote these texts. */
export type ServerDescription = {
  readonly name: string;
  readonly source: Source;
  readonly enabled: boolean;
} & (
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly cwd?: string;
      readonly privateCwd?: boolean;
      readonly sandbox?: SandboxSettings;
      readonly env: readonly string[];
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly transport: HttpLaunch['transport'];
      readonly headers: readonly string[];
    }
);

/** The printable form of a server, expanded or not: names of variables and headers without values, hidden parts as `***`. */
export function describeServer(server: ServerDefinition): ServerDescription {
  const { name, source, enabled, written } = server;
  const common = { name, source, enabled };
  if (written.kind === 'http') {
    return {
      ...common,
      kind: 'http',
      url: hideInUrl(written.url),
      transport: written.transport,
      headers: Object.keys(written.headers),
    };
  }
  const { env, ...launch } = written;
  return { ...common, ...launch, env: Object.keys(env) };
}

/**
 * The URL with its user name and password, the values of its query and its fragment replaced by `***`.
 * Works on text, so that URLs with placeholders and broken ones are covered; a value that is one placeholder stays readable.
 */
export function hideInUrl(url: string): string {
  const [, address = '', query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  const shown = address.replace(/^([a-z][a-z0-9+.-]*:[/\\]*)?[^/\\@]*(?:@[^/\\@]*)*@/i, '$1***@');
  return `${shown}${query === undefined ? '' : hideQuery(query)}${fragment === undefined ? '' : '#***'}`;
}

function hideQuery(query: string): string {
  const parts = query.slice(1).split('&');
  return `?${parts
    .map((part) => {
      const equals = part.indexOf('=');
      const value = part.slice(equals + 1);
      const hidden = value === '' || /^\$\{[^{}:]*(?::[A-Za-z0-9_.][A-Za-z0-9_.-]*)?\}$/.test(value) ? value : '***';
      return equals === -1 ? hidden : `${part.slice(0, equals)}=${hidden}`;
    })
    .join('&')}`;
}
